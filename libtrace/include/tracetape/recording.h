/* Recording: the receiving end of the runtime. Traced processes leave records in a shared mapping
 * (the arena); this drains it, encodes and appends while they run, and keeps on disk what is not in
 * the trace yet, so that nothing that was recorded is lost with this process.
 *
 *   open -> (poll)* -> finish -> close
 *
 * Everything lies in a directory OUTPUT.recording (mode 0700) until finish gives the trace its
 * name. A recorder that dies leaves it behind for ttape_recover. Threads: one thread calls poll and
 * finish; set_mode, request_snapshot and get_status may come from others. A thread of its own
 * encodes. Memory: about 64 MiB, not depending on the length of the run. */
#ifndef TRACETAPE_RECORDING_H
#define TRACETAPE_RECORDING_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/filter.h>
#include <tracetape/types.h>
#include <tracetape/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_recording ttape_recording;

typedef enum ttape_clock {
    TTAPE_CLOCK_AUTO = 0,      /* TSC where the kernel trusts it, else monotonic */
    TTAPE_CLOCK_TSC = 1,       /* time stamp counter, made to follow CLOCK_MONOTONIC */
    TTAPE_CLOCK_MONOTONIC = 2, /* clock_gettime: about 20 ns more per event */
    TTAPE_CLOCK_COARSE = 3,    /* the kernel's tick: 1 to 4 ms */
    TTAPE_CLOCK_NONE = 4       /* order only */
} ttape_clock;

/* What a program does when the arena is full and cannot grow. */
typedef enum ttape_when_full {
    TTAPE_FULL_WAIT = 0,  /* waits for the recorder, up to a second; then drops events */
    TTAPE_FULL_BLOCK = 1, /* waits for as long as the recorder lives */
    TTAPE_FULL_DROP = 2   /* drops events */
} ttape_when_full;

/* What select says of a site: all but KEEP may be said together. */
#define TTAPE_SELECT_KEEP      0u
#define TTAPE_SELECT_DROP      1u /* its calls are left out, those below it stay */
#define TTAPE_SELECT_BELOW     2u /* keeps calls from here down (where any site says so) */
#define TTAPE_SELECT_NOT_BELOW 4u /* leaves out calls from here down */
#define TTAPE_SELECT_TO        8u /* keeps it and the calls that led to it (the same) */

/* Called once per site, from the encoding thread, before it is defined: `name` may fill in symbol,
 * file and line (strings valid until the next call); `select` says what becomes of its calls. */
typedef struct ttape_site_rules {
    bool has_below;     /* select may say TTAPE_SELECT_BELOW */
    bool has_to;        /* and TTAPE_SELECT_TO */
    bool of_calls;      /* select is asked of system calls, too; else all that are chosen stay */
    bool cull_hot;      /* leave out calls of leaf functions that are many and short */
    uint32_t max_depth; /* calls that are kept, one in another; 0: any */
    uint64_t min_ns;    /* calls that take less, and hold none that takes more, are left out */
    void (*name)(void *context, ttape_site *site, const ttape_module *module);
    uint32_t (*select)(void *context, const ttape_site *site, const ttape_module *module);
    void *context; /* of all */
    /* May be NULL. Called before `name`, from the same thread: that many functions of one module
     * are likely to be named next, in this order, so that they can be looked up together. */
    void (*expect)(void *context, const ttape_module *module, const uint64_t *addresses,
                   size_t count);
    /* Where not NULL, paths of system calls have only the frames for whose module (NULL: they are
     * in none) it says true: the application's. `executable` is what the process has executed. A
     * path that has none is not known. Called from there, too, once per module or more often. */
    bool (*is_application)(void *context, const ttape_module *module, ttape_string executable);
} ttape_site_rules;

#define TTAPE_SYSCALL_NUMBERS 512

/* Which system calls of the programs are recorded, as calls of sites of their own kind: by the
 * runtime, which changes the code that makes them (x86-64). For that it needs a plan of each module
 * (`tracetape binary`); they lie in a folder, as CONTENT.plan, and belong to the caller. CONTENT is
 * a hash of the module's file, which STAMP.file in that folder tells by what stat says of it
 * (spec/recording.md, 8). */
typedef struct ttape_syscall_options {
    uint64_t chosen[TTAPE_SYSCALL_NUMBERS / 64]; /* bits by number; all 0: none */
    bool no_results;                             /* without what they return */
    bool arguments;   /* with what they are given: six numbers, paths and names as strings */
    bool stacks;      /* with the stack that led to each, where no recorded function is open */
    bool is_attached; /* of a process that runs already; for the metadata */
    bool traced; /* with plan_folder: another process records the calls that a program makes before
                  * it can record its own (ttape_trace_options.runtime) */
    const char *plan_folder; /* an absolute path; NULL: programs stay as they are, another process
                              * records their calls (syscalls.h) */
    /* Makes the plan of a module in that folder, where there is none; NULL: nobody does. Called by
     * poll; the program waits for it, up to two seconds. */
    void (*plan)(void *context, const char *module_path);
    void *plan_context;
    /* Stacks are taken of one in so many calls of a thread, which is anywhere among them; or of
     * about so many in a second of a thread (of all, without a clock), which goes first. 0: all. */
    uint32_t stack_every, stack_rate;
    uint64_t data_bytes; /* with arguments: of buffers so many bytes, at most 4,096; 0: none */
    /* With what each costs of a counter, as its last value, which the thread asks for itself:
     * "cpu-time" (ns), "page-faults" or "context-switches"; NULL: of none. */
    const char *measure;
} ttape_syscall_options;

#define TTAPE_VALUES_GIVEN    1 /* what a function is given */
#define TTAPE_VALUES_RETURNED 2

/* Functions without compiled-in hooks: where a program starts, the runtime patches the code of
 * those that were chosen, of its executable, or of any module, those that are loaded later
 * included (x86-64). What it needs lies in the folder of plans (ttape_syscall_options.plan_folder,
 * which has to be there): CONTENT.patch says where each function is entered and left,
 * CONTENT-CHOICE.chosen which are patched; CHOICE has 16 hexadecimal digits, FNV-1a of the module's
 * path with `choice` for its start. */
typedef struct ttape_patch_options {
    uint64_t choice;    /* 0: nothing is patched */
    const char *filter; /* what was chosen, for the metadata */
    /* Makes both files for a module; as ttape_syscall_options.plan, which has then to make those of
     * the loader and the C library, too. */
    void (*plan)(void *context, const char *module_path);
    void *plan_context;
    bool all_modules; /* the files are asked for of every module, not of the executable only */
    /* Not 0: and functions that the executable calls of other modules, where it does; CONTENT.patch
     * is asked for of these. 2: and where other modules call one another. */
    uint64_t library_calls;
    uint64_t library_arguments; /* not 0: with what these are given and return, where it is known */
    /* With library_arguments: bits of TTAPE_VALUES_* for a function of that name. Called by open,
     * with plan_context, for each that is known. NULL: all of all. */
    uint32_t (*values_wanted)(void *context, const char *function);
} ttape_patch_options;

/* Rules of a filter that go by what single calls are given and return, and by how long they take,
 * and triggers. Rules have the numbers that they have in the filter, those of triggers behind them:
 * all together not more than TTAPE_FILTER_MAX_RULES. Where a site is a rule's that has such
 * conditions, each of its calls is judged, by all of the filter's rules that are the site's: select
 * says of it what else there is to say. Called from the thread that calls `select`. */
typedef struct ttape_call_conditions {
    const ttape_filter *filter;   /* borrowed; NULL: there are no conditions */
    const ttape_filter *triggers; /* the same, of ttape_filter_parse_triggers; NULL: none */
    /* Rules that are about a site, as bits; one with a size: it has that. Once for each site. */
    uint64_t (*match)(void *context, const ttape_site *site, const ttape_module *module);
    /* The others as of ttape_filtering (copy.h), by the site: for names that name_values does not
     * know, once for each site; texts at each call. */
    uint32_t (*argument)(void *context, const ttape_site *site, ttape_string name);
    bool (*constant)(void *context, const ttape_site *site, ttape_string name, int64_t *value);
    bool (*text)(void *context, uint32_t rule, uint32_t condition, ttape_string text);
    void *context;   /* of all */
    bool starts_off; /* until a trigger switches on, no calls are recorded */
    /* Triggers that do TTAPE_TRIGGER_KEEP, and of exit statuses: looked at when recording ends. Of
     * a recording that none of them keeps no file is left. The status is what set_number was given
     * as "exit_code", or as "signal"; without, all is kept. NULL: so, too. */
    const ttape_filter *at_end;
} ttape_call_conditions;

typedef struct ttape_recording_options {
    size_t size;         /* sizeof(ttape_recording_options) */
    bool replace;        /* files that are there already are replaced */
    bool start_off;      /* wait for set_mode */
    bool live;           /* OUTPUT is there from the start and grows in short partitions */
    bool separate_files; /* one file for each process image: OUTPUT.PID-N */
    bool only_first;     /* of the first process; others are left alone */
    ttape_clock clock;
    ttape_when_full when_full;
    uint64_t buffer_bytes; /* the arena, 512 MiB at most; 0: 4 MiB, and more while the recorder
                                  * falls behind: up to a quarter of the memory that is free (of
                                  * the control group's, too), half of the room in /dev/shm */
    uint64_t thread_bytes; /* where buffer_bytes is not 0, added to it for every thread as
                                  * needed; default 896 KiB */
    uint64_t spill_bytes;  /* waiting to be encoded, on disk; default 4 GiB, and with keep_bytes no
                            * more than 16 of it, but 64 MiB at least */
    uint64_t max_bytes;    /* stop when the trace is as large; 0: never */
    uint64_t max_ns;       /* stop so long after the first thread began */
    uint64_t rotate_bytes; /* begin a new file OUTPUT.0001, ... when one is as large */
    uint64_t keep_bytes;   /* keep only the last of it (flight recorder); 0: all */
    uint64_t keep_ns;      /* the same by time */
    ttape_writer_options writer; /* of the trace; its size may be 0 where all is default */
    ttape_site_rules rules;
    const char *command; /* for the metadata; NULL: unknown */
    /* Checkpoints, as by request_snapshot: so often, where something came; and when a site is
     * entered of which is_checkpoint (with the context of rules; called once per site, after name)
     * says true. Those that are asked for while one is made, and for nine times as long as it took
     * behind it, are made as one. */
    uint64_t checkpoint_ns; /* 0: never */
    bool (*is_checkpoint)(void *context, const ttape_site *site, const ttape_module *module);
    bool follows;    /* ttape_recording_follow will be called: saves it 10 ms */
    bool keep_old;   /* a trace that is there already is renamed to OUTPUT.old, over a trace of that
                      * name; other files stay, as without replace */
    bool drop_empty; /* no file where no event was recorded */
    ttape_syscall_options syscalls;
    ttape_patch_options patch;
    /* Where not NULL, a system call is left out of which it says false, once its result is known;
     * NULL: it did not return yet, but waits no longer. Arguments as they were recorded: none
     * without syscalls.arguments. A call on its own; what is called within it stays. */
    bool (*keep_call)(void *context, uint32_t number, const ttape_value *arguments, uint32_t count,
                      const int64_t *result);
    void *keep_context;
    bool no_blocks; /* basic blocks of programs that tell of them (-fsanitize-coverage) are not
                     * recorded */
    /* Where not NULL, says what the values of a function's calls are called (patch.plan's values),
     * from the thread that calls rules.name, for each trace file in which the function is. What it
     * fills in is valid until its next call. False: nothing is known of them. */
    bool (*name_values)(void *context, const ttape_site *site, const ttape_module *module,
                        ttape_site_values *values);
    void *values_context;
    /* With system calls that the program records itself: what write, writev and pwrite64 wrote to
     * these descriptors (0 to 63, bits) is there behind their result: a hash, the context value. */
    uint64_t line_descriptors;
    ttape_call_conditions conditions;
    /* Where not NULL, says what filters and triggers come to that ttape_control_change has sent
     * (NULL: these stay as they are; both: functions were chosen, see
     * ttape_session_options.choose), from the thread that calls rules.select: it changes what
     * *rules and *conditions say of them, and what select, match and the others answer, of which
     * each site is asked again. A failure is told to who asked, and nothing changes. */
    ttape_status (*change)(void *context, const char *filter, const char *triggers,
                           ttape_site_rules *rules, ttape_call_conditions *conditions,
                           ttape_error *err);
    void *change_context;
    bool hook_sites; /* of functions whose hooks are told (-finstrument-functions), where each
                      * call was made: a value of the call (F-SIT-14); */
    /* of those alone of which it says true (as is_checkpoint); NULL: of all. */
    bool (*has_call_site)(void *context, const ttape_site *site, const ttape_module *module);
} ttape_recording_options;

typedef struct ttape_recording_status {
    uint64_t event_count;   /* of programs: appended to the trace, without end_count */
    uint64_t lost_count;    /* dropped, damaged or never written, with gaps or without */
    uint64_t culled_count;  /* left out by min_ns and cull_hot */
    uint64_t written_bytes; /* of trace files */
    uint64_t spill_bytes, spill_peak_bytes;   /* waiting */
    uint32_t process_count, thread_count;     /* ever */
    uint32_t live_count, live_pid;            /* processes that hold blocks now; one of them */
    uint32_t file_count;                      /* trace files begun */
    uint32_t snapshot_failures;               /* that a poll has returned */
    bool stopped;                             /* by max_bytes, max_ns, a request or a failure */
    bool failed;                              /* finish will say why */
    uint64_t waited_ns, wait_count;           /* that programs waited for room, and how often */
    uint64_t buffer_bytes, buffer_peak_bytes; /* of the arena: now, at most */
    uint64_t snapshot_count;                  /* written */
    uint64_t snapshot_failed_count;           /* not written, told or not */
    uint64_t end_count;      /* facts of ends, which the recorder has appended beside event_count */
    uint64_t unplaced_count; /* part of lost_count: the trace does not say where they are missing */
    uint64_t late_plan_count; /* modules of programs whose plan was not there in time: the functions
                               * and system calls that it would have shown are not seen */
    uint64_t hit_count, hit_copy_count; /* entries of what is_checkpoint chose; copied as it was */
} ttape_recording_status;

/* Why a process that was started under the recorder recorded nothing: spec/registry.md. */
typedef enum ttape_unrecorded {
    TTAPE_UNRECORDED_NOT_INSTRUMENTED = 0,
    TTAPE_UNRECORDED_NO_CALLS = 1, /* of what is compiled with hooks */
    TTAPE_UNRECORDED_STATIC = 2,
    TTAPE_UNRECORDED_SET_UID = 3,
    TTAPE_UNRECORDED_OTHER_USER = 4,
    TTAPE_UNRECORDED_OTHER_NAMESPACE = 5,
    TTAPE_UNRECORDED_SANITIZER = 6,
    TTAPE_UNRECORDED_ENVIRONMENT = 7, /* it does not name the recorder */
    TTAPE_UNRECORDED_OTHER_MACHINE = 8,
    TTAPE_UNRECORDED_UNKNOWN = 9,
    TTAPE_UNRECORDED_OTHER_LIBC = 10,  /* another C library than glibc */
    TTAPE_UNRECORDED_OLDER_LIBC = 11,  /* a glibc before 2.35, and no hooks */
    TTAPE_UNRECORDED_OWN_THREADS = 12, /* that are not the C library's */
    TTAPE_UNRECORDED_NOT_STARTED = 13, /* its loader ended it */
    TTAPE_UNRECORDED_UNREACHABLE = 14, /* the runtime or the arena cannot be read there */
    TTAPE_UNRECORDED_SANDBOX = 15, /* started under a filter of system calls: nothing is patched */
    TTAPE_UNRECORDED_COUNT = 16
} ttape_unrecorded;

/* Makes OUTPUT.recording and the arena. TTAPE_E_EXISTS when that is there already, or OUTPUT is and
 * must stay. */
TTAPE_API ttape_status ttape_recording_open(ttape_recording **out, const char *output,
                                            const ttape_recording_options *options,
                                            ttape_error *err);
/* Path of the arena: traced programs find it in the environment as TRACETAPE_ARENA. */
TTAPE_API const char *ttape_recording_arena(const ttape_recording *recording);
/* One round: takes what is there. *drained: bytes taken; poll again soon when it is not 0. A
 * failure while status.failed is not set (a snapshot that could not be written, say) leaves the
 * recording as it was. Of snapshots that fail one after another, the first is told. */
TTAPE_API ttape_status ttape_recording_poll(ttape_recording *recording, uint64_t *drained,
                                            ttape_error *err);
/* For a handler of SIGBUS, which touching the arena gives once somebody has truncated its file (who
 * may do that may as well kill this process): whether `address`, the one that was touched, is in
 * the arena. Then zeros are there from now on, the recording is stopped, counts an event as lost
 * for what was there, and can be finished with what it has. Async-signal-safe. Threads of the
 * recording take SIGBUS where the thread that calls open does not block it. */
TTAPE_API bool ttape_recording_mend(ttape_recording *recording, const void *address);
TTAPE_API void ttape_recording_set_mode(ttape_recording *recording, bool on);
/* Recording is off while it is held, whoever switches it on, and is as it was asked to be then: say
 * so each time before a poll. */
TTAPE_API void ttape_recording_hold(ttape_recording *recording, bool holds);
/* A copy of the trace as it is at the next poll (of a flight recorder: all that it keeps; with
 * rotate_bytes: the current file) as OUTPUT.snapshot-N, N from 1, while recording goes on. */
TTAPE_API void ttape_recording_request_snapshot(ttape_recording *recording);
TTAPE_API void ttape_recording_get_status(const ttape_recording *recording,
                                          ttape_recording_status *status);
/* Before the recording is ended because nobody holds a block: other processes that have the arena
 * mapped and may record yet, and those that were given its name and have not come so far (or never
 * will: programs that the runtime cannot be in). Looks through /proc, which takes milliseconds;
 * sees what the caller may look at. */
TTAPE_API void ttape_recording_find_users(const ttape_recording *recording, uint32_t *users,
                                          uint32_t *starting);
/* A process that the caller has started with the arena's name in its environment: `command` is what
 * it executes, a path or a name to be looked for in PATH. Before the next poll. */
TTAPE_API void ttape_recording_note_started(ttape_recording *recording, uint32_t pid,
                                            const char *command);
/* Before that, of a process whose environment had no room for the recorder's entries. */
TTAPE_API void ttape_recording_note_bare(ttape_recording *recording, uint32_t pid);
/* Asks the kernel when threads of the process, and of all that it starts, do not run: the trace
 * then says so. The caller has started the process, which has one thread, executes nothing yet, and
 * waits; once in a recording. TTAPE_E_UNSUPPORTED: the kernel refuses (its setting
 * perf_event_paranoid is above 2, a filter of system calls), and recording goes on without. */
TTAPE_API ttape_status ttape_recording_follow(ttape_recording *recording, uint32_t pid,
                                              ttape_error *err);
/* A process that the caller has waited for, and its wait status; before the next poll. How others
 * ended the kernel is asked, which knows it for a while only. */
TTAPE_API void ttape_recording_note_ended(ttape_recording *recording, uint32_t pid,
                                          int wait_status);
/* After finish: how many processes recorded nothing for that reason; *example: the program of one
 * of them (valid until close), NULL where it is not known. */
TTAPE_API uint64_t ttape_recording_get_unrecorded(const ttape_recording *recording,
                                                  ttape_unrecorded reason, const char **example);
/* What was patched so far, added up over the modules of all processes. */
typedef struct ttape_patch_counts {
    uint64_t functions, exits;
    uint64_t functions_left, exits_left; /* chosen, and not patched; exits of patched functions */
    uint64_t hooked;                     /* chosen; they record themselves */
    uint64_t modules_left;               /* of which it is not known how */
    uint64_t times;                      /* of one module: processes and loads */
    uint64_t inlined, inlined_left;      /* copies of inlined functions: patched; chosen, and not */
    const char *left_names;     /* of one module: of some of functions_left, where known, or NULL */
    uint64_t marks, marks_left; /* static probes: patched; chosen, and not */
    uint64_t reserved[2];
} ttape_patch_counts;
TTAPE_API void ttape_recording_get_patched(const ttape_recording *recording,
                                           ttape_patch_counts *counts);
/* The same by module, in the order in which they came, without what is known of the sum only: the
 * path of module `index` (valid until close), or NULL, where there are no more. */
TTAPE_API const char *ttape_recording_get_patched_module(const ttape_recording *recording,
                                                         size_t index, ttape_patch_counts *counts);
/* Adds metadata, before finish. */
TTAPE_API ttape_status ttape_recording_set_number(ttape_recording *recording, const char *key,
                                                  uint64_t value, ttape_error *err);
/* A text has at most 1023 bytes: of a longer one the words that fit are kept. An empty one is
 * none. */
TTAPE_API ttape_status ttape_recording_set_text(ttape_recording *recording, const char *key,
                                                const char *text, ttape_error *err);
/* Takes the rest (of processes that run on, what they have recorded so far), ends the trace, gives
 * it its name and removes the directory. After a failure the directory stays. */
TTAPE_API ttape_status ttape_recording_finish(ttape_recording *recording, ttape_error *err);
/* Without finish, the directory stays as a killed recorder would leave it. */
TTAPE_API void ttape_recording_close(ttape_recording *recording);
/* Closes and leaves nothing behind. */
TTAPE_API void ttape_recording_discard(ttape_recording *recording);
/* Names of the trace files, after finish; the oldest first; none where nothing keeps the trace
 * (at_end). With keep_bytes or keep_ns they are to be merged. Valid until close. */
TTAPE_API const char *ttape_recording_file(const ttape_recording *recording, uint32_t index);

/* Steering a recording from another process, by the process id of a traced program or of the
 * recorder. Same user only. A control is used by one thread at a time; it stays valid (and says
 * so) when the recording has ended. */
typedef struct ttape_control ttape_control;

typedef enum ttape_control_request {
    TTAPE_CONTROL_ON = 0,
    TTAPE_CONTROL_OFF = 1,
    TTAPE_CONTROL_FLUSH = 2,    /* what was recorded until now goes into the trace file */
    TTAPE_CONTROL_SNAPSHOT = 3, /* and a copy of it into a file of its own, OUTPUT.snapshot-N */
    TTAPE_CONTROL_STOP = 4      /* nothing more is recorded, for ever; the programs go on */
} ttape_control_request;

typedef enum ttape_recording_mode {
    TTAPE_RECORDING_OFF = 0,
    TTAPE_RECORDING_ON = 1,
    TTAPE_RECORDING_STOPPED = 2
} ttape_recording_mode;

typedef struct ttape_control_status {
    ttape_recording_mode mode;
    ttape_clock clock;
    uint32_t block_used, block_ready, block_max, block_bytes; /* of the shared buffer */
    uint64_t event_count, lost_count; /* in the trace and lost so far, as the recorder knows */
    uint32_t snapshot_count;          /* written so far */
    uint32_t recorder_pid;
    bool recorder_lives;
    uint64_t reserved[4];
} ttape_control_status;

/* TTAPE_E_NOT_FOUND: no such process, or it is not recorded; TTAPE_E_IO: not permitted. */
TTAPE_API ttape_status ttape_control_open(ttape_control **out, uint32_t pid, ttape_error *err);
TTAPE_API void ttape_control_close(ttape_control *control);
TTAPE_API void ttape_control_get_status(const ttape_control *control, ttape_control_status *status);
/* Gives a recording that was begun with rules of a filter, or with conditions, another filter,
 * other triggers, or both, as texts; NULL: that stays. It holds for what begins behind what was
 * recorded when it was asked; waits as FLUSH does. TTAPE_E_STATE: the recorder refuses them, with
 * words. */
TTAPE_API ttape_status ttape_control_change(ttape_control *control, const char *filter,
                                            const char *triggers, uint64_t wait_ns,
                                            ttape_error *err);
/* Has other functions patched of a process that is attached to (ttape_session_options.choose):
 * regular expressions of their names, one a line; "": those that were chosen at first. `said` is
 * what became of it, as a sentence. TTAPE_E_STATE: it is refused, in words, and nothing changed.
 * TTAPE_E_UNSUPPORTED: the process was started for recording. */
TTAPE_API ttape_status ttape_control_functions(ttape_control *control, const char *functions,
                                               char *said, size_t room, uint64_t wait_ns,
                                               ttape_error *err);
/* Sends a ttape_control_request. FLUSH and SNAPSHOT wait up to wait_ns for the recorder to have
 * done it (0: not at all); TTAPE_E_IO when it has not, or could not. TTAPE_E_STATE: the recording
 * has stopped, or its recorder is gone. */
TTAPE_API ttape_status ttape_control_send(ttape_control *control, ttape_control_request request,
                                          uint64_t wait_ns, ttape_error *err);

/* Path of the trace that the recording becomes. NULL: not known. Valid until close. */
TTAPE_API const char *ttape_control_output(const ttape_control *control);

/* A file of the snapshot that the last SNAPSHOT has waited for: its path. Where the recorder has a
 * file for each process, there are several, of which as many as fit are told. NULL: there is no
 * such. Valid until the next request. */
TTAPE_API const char *ttape_control_snapshot_file(const ttape_control *control, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
