/* A session is one recording as a call: a command that is started, or a process that runs already,
 * from its first instruction to the result.
 *
 *   open    all that records is there: the trace's folder, the memory that programs write into
 *   start   the command runs
 *   round   takes what programs have recorded; TTAPE_END: nothing records any more
 *   end     the trace is complete, and the result is known
 *   close   gives everything back
 *
 *   open -> start -> (round)* -> end -> close        ttape_session_record is all of it in one call
 *
 * A session prints nothing, ends no process and changes no signal of the caller's. Memory: that of
 * a recording (recording.h), and some kilobytes for the command's environment. Failures are values;
 * spec/session.md says which step fails how, and what is left then.
 *
 * Threads: a session is used by one thread at a time, and several sessions by several threads. With
 * an engine that traces, the thread that opened a session lives until its end (the kernel ties the
 * tracing process to that thread). ttape_session_leave alone may come from any thread, and from a
 * handler of signals. */
#ifndef TRACETAPE_SESSION_H
#define TRACETAPE_SESSION_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/recording.h>
#include <tracetape/syscalls.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_session ttape_session;

/* What records. */
typedef enum ttape_engine {
    TTAPE_ENGINE_IN_PROCESS = 0, /* the runtime, which is loaded into programs: hooks, patched
                                  * functions, system calls */
    TTAPE_ENGINE_PTRACE = 1,     /* another process, which stops programs at each system call;
                                  * nothing is loaded into them */
    TTAPE_ENGINE_COMPLETE = 2,   /* both: the other process until the runtime of a program records,
                                  * and of programs that the runtime cannot be in */
    TTAPE_ENGINE_BARE = 3        /* nothing: the command runs as without a session, there is no
                                  * trace, and the result is its status */
} ttape_engine;

/* What became of another choice of functions. Struct and strings are borrowed for a call. */
typedef struct ttape_functions_changed {
    uint64_t added, removed;
    uint64_t recorded; /* that are patched now, but for what others call in libraries */
    uint64_t left;     /* that are chosen, and cannot be patched */
    uint64_t busy;     /* neither added nor removed, as somebody was inside each time; the first: */
    struct {
        const char *module; /* path; NULL: there is none */
        uint64_t address;   /* ELF address of the function */
    } inside[4];
    uint64_t stop_count, longest_stop_ns; /* all threads stood still meanwhile */
    uint64_t reserved[4];
} ttape_functions_changed;

/* Zero means the default everywhere; all is borrowed until the session is closed. */
typedef struct ttape_session_options {
    size_t size;         /* sizeof(ttape_session_options) */
    ttape_engine engine; /* default TTAPE_ENGINE_IN_PROCESS */
    const char *output;  /* the trace's path; of TTAPE_ENGINE_BARE NULL */
    char *const *argv;   /* the command's words, NULL behind the last. The first is a path, or is
                          * looked for in PATH */
    uint32_t pid;        /* in the place of a command (argv is NULL then): a process that runs, till
                          * it ends or is left. TTAPE_ENGINE_PTRACE: its system calls, and what it
                          * starts; TTAPE_ENGINE_IN_PROCESS, with `patch`: its functions */
    char *const *environment; /* of the command; NULL: the caller's. Two entries are added:
                               * TRACETAPE_ARENA and LD_PRELOAD, whose old value stays behind */
    const char *runtime; /* the file of libtracetape-rt; NULL: as TRACETAPE_RUNTIME says, beside
                               * the library, or beside the running program */
    const char *measure; /* a counter of each system call (ttape_trace_options.measure); engines
                          * that trace only */
    const ttape_recording_options *recording; /* NULL: defaults, and `follows`. An engine that
                                               * traces sees all calls where none is chosen */
    /* Called in the command's process before it becomes the program, to set its limits, signals,
     * folder or streams: async-signal-safe calls only, as after any fork. NULL: nothing is set. */
    void (*prepare)(void *context);
    /* The plan of a module, for stacks of calls that the tracing process sees
     * (ttape_trace_options.plan). Called in that process, which has one thread, standard streams
     * and no other file of the caller's; at last with NULL, when nothing more is asked. With
     * `patch` it is called by start, for the stacks of calls that are open then. NULL: such stacks
     * end in each module. */
    const void *(*plan)(void *context, const char *module_path, size_t *size_bytes);
    void *context; /* of all */
    /* Of TTAPE_ENGINE_IN_PROCESS with pid: the patch plan of a module of the process, and in
     * *chosen which functions of it are patched (NULL: all), both as in a folder of plans
     * (spec/attach.md); valid until the session is closed. Called by start for the executable, then
     * for each other file that is mapped with code; by rounds for those that are loaded later.
     * NULL: nothing of it is patched. */
    const void *(*patch)(void *context, const char *module_path, const void **chosen);
    const uint32_t *threads; /* with `patch`: only these of its threads, by the kernel's numbers; */
    size_t thread_count;     /* at most 64; 0: all, and those that it starts */
    /* With `patch`: others are to be patched, as ttape_control_functions asks. `patch` answers by
     * that from then on, and what it gave before stays valid. A failure is told to who asked. NULL:
     * the change was not made after all, what was chosen before holds again. Where this is NULL no
     * other functions can be chosen. */
    ttape_status (*choose)(void *context, const char *functions, ttape_error *err);
    /* What became of it: a sentence for who asked. True: rules.select answers otherwise now, and
     * ttape_recording_options.change is called. */
    bool (*changed)(void *context, const ttape_functions_changed *changed, char *said, size_t room);
} ttape_session_options;

/* How far a session has come. */
typedef struct ttape_session_state {
    uint32_t pid;           /* of the command, or as attached to; 0: there is none yet */
    bool has_ended;         /* a round has returned TTAPE_END */
    bool has_command_ended; /* what it has started may run on, and records */
    bool has_status;        /* its end is known: exit_code and signal_number say which */
    int32_t exit_code;      /* where it has exited */
    int32_t signal_number;  /* that has ended it; 0: it has exited */
    uint64_t drained_bytes; /* taken by the last round */
    uint64_t pause_ns;      /* after which the next round should come: 0.3 to 4 ms */
    uint64_t reserved[4];
} ttape_session_state;

/* What became of it. */
typedef struct ttape_session_result {
    bool has_status; /* as of ttape_session_state */
    int32_t exit_code, signal_number;
    ttape_recording_status recording; /* events, losses, waits, files */
    ttape_patch_counts patched;
    uint64_t unrecorded[TTAPE_UNRECORDED_COUNT]; /* processes that recorded nothing, by reason */
    bool was_traced; /* by the process that traces: these counts are there */
    ttape_trace_counts traced;
    /* A process whose functions were patched while it ran stood still so often, also where a thread
     * did not stop in time and all went on, and for so long at most; it forked so many children
     * meanwhile, at least: none is recorded; so many functions were not patched, as somebody was
     * inside them each time. */
    uint64_t stop_count, longest_stop_ns;
    uint32_t child_count, busy_count;
    uint32_t loaded_count;      /* libraries that it loaded meanwhile, and that are not recorded */
    uint32_t left_module_count; /* modules that were not patched: their code is not as in files */
    bool is_segment_left;    /* memory of ours stays in it: nobody could say that it is not used */
    bool can_unwind;         /* who unwinds within it was told how to from code of ours */
    bool was_debugged;       /* a debugger came, which ended it: its code is as it was */
    uint32_t followed_count; /* libraries that it loaded meanwhile, and that were patched then */
    uint64_t total_stop_ns;  /* all times together that it stood still */
} ttape_session_result;

/* Nothing runs yet. With an engine that traces, the calling process forks here, before it has the
 * recording's threads. TTAPE_E_NOT_FOUND: there is no runtime. TTAPE_E_UNSUPPORTED: no engine does
 * that. Else as of ttape_recording_open. */
TTAPE_API ttape_status ttape_session_open(ttape_session **out, const ttape_session_options *options,
                                          ttape_error *err);
/* Starts the command, or holds the process that is attached to. After a failure the session can
 * only be closed, which leaves nothing behind. TTAPE_E_NOT_FOUND: there is no such command; any
 * other failure while state.pid is not 0: the command cannot be executed (os_errno says why). */
TTAPE_API ttape_status ttape_session_start(ttape_session *session, ttape_error *err);
/* TTAPE_OK: there will be more, after state.pause_ns. TTAPE_END: the command, and all that it
 * started and that could still record, has ended, or was left. Any failure is of a copy of the
 * trace that was asked for while it is recorded, or of the recording as a whole, of which
 * ttape_session_end says more: rounds go on until TTAPE_END, so that the command comes to its end.
 */
TTAPE_API ttape_status ttape_session_round(ttape_session *session, ttape_error *err);
/* Rounds, and the pauses between them, until TTAPE_END. */
TTAPE_API void ttape_session_run(ttape_session *session);
/* Does not wait any longer: a process that was attached to is let go, and runs on. A command is
 * waited for all the same, but not what it has started. */
TTAPE_API void ttape_session_leave(ttape_session *session);
/* Ends the trace and gives it its name; result (it may be NULL) is filled in any case. After a
 * failure the folder OUTPUT.recording stays, for ttape_recover_recording. */
TTAPE_API ttape_status ttape_session_end(ttape_session *session, ttape_session_result *result,
                                         ttape_error *err);
/* Of a session that was started and has not ended, what was recorded stays in OUTPUT.recording.
 * The command is not waited for. */
TTAPE_API void ttape_session_close(ttape_session *session);
/* All of it. *result is zero where nothing was started. */
TTAPE_API ttape_status ttape_session_record(const ttape_session_options *options,
                                            ttape_session_result *result, ttape_error *err);

TTAPE_API void ttape_session_get_state(const ttape_session *session, ttape_session_state *state);
/* The recording in it, for what recording.h has: switching it off and on, copies while it runs,
 * metadata, names of files. Valid until the session is closed; NULL: there is none. */
TTAPE_API ttape_recording *ttape_session_recording(ttape_session *session);
/* Whether the kernel says when threads do not run (recording.follows): TTAPE_OK, or why not. */
TTAPE_API ttape_status ttape_session_get_switches(const ttape_session *session, ttape_error *err);

#ifdef __cplusplus
}
#endif
#endif
