/* What the rooms of attaching share (spec/attach.md).
 *
 *     attach_look.c     may this process be attached to, in words
 *     attach_maps.c     what it has mapped, and a place for the segment
 *     attach_elf.c      a module, in memory and in its file
 *     attach_constants.c what can be read of it as long as it runs
 *     attach_plan.c     its windows: which are used, and what their code becomes
 *     attach_calls.c    those of its system calls, and the tasks that wait in them
 *     attach_targets.c  all modules whose functions are patched
 *     attach_stop.c     all its threads stand still, and go on
 *     attach_threads.c  their control blocks, stacks and names; what the recording is told of them
 *     attach_points.c   where they would go on
 *     attach_call.c     one thread makes a system call for us
 *     attach_segment.c  the segment: made, filled, found again
 *     attach_code.c     bytes of code: changed, put back
 *     attach_open.c     calls that were open before
 *     attach_leave.c    all is put back
 *     attach_change.c   stubs and jumps, in stops
 *     attach_later.c    modules that are loaded later
 *     attach_functions.c  other functions are chosen meanwhile
 *     attach_picks.c    jumps that come and go then
 *     attach_process.c  the order of it all
 *
 * Only the thread that stopped a process may let it go. */
#ifndef TTP_ATTACH_INSIDE_H
#define TTP_ATTACH_INSIDE_H

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include <tracetape/error.h>

#include "recorder/arena/agent_layout.h"
#include "recorder/attach/attach.h"
#include "recorder/ptrace/outside.h"
#include "recorder/ptrace/traced_stack.h"
#include "recorder/runtime/decide/decide.h"
#include "recorder/state/proc_maps.h"
#include "writer/os_status.h"

#define TTP_PAGE UINT64_C(4096)

struct ttp_targets;

extern const uint8_t ttp_agent_image[], ttp_agent_image_end[];

static inline const struct ttp_agent_head *ttp_agent_image_head(void)
{
    return (const struct ttp_agent_head *)(const void *)ttp_agent_image;
}
static inline uint64_t ttp_page_up(uint64_t bytes)
{
    return (bytes + TTP_PAGE - 1) & ~(TTP_PAGE - 1);
}

ttape_status ttp_attach_refuse(ttape_error *err, uint32_t pid, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -- attach_look.c: from the texts of /proc, so that they can be any -- */

struct ttp_look_texts {
    const char *status;       /* /proc/PID/status; NULL: there is no such process */
    const char *limits;       /* /proc/PID/limits; may be NULL */
    const char *ptrace_scope; /* /proc/sys/kernel/yama/ptrace_scope; NULL: there is none */
    uint32_t own_user, pid;
    bool has_all_rights; /* of root */
    bool is_descendant;  /* the process is one of ours */
};
/* NULL: nothing speaks against it; else why not, in words. */
const char *ttp_look_refuse(const struct ttp_look_texts *texts);
ttape_status ttp_look(uint32_t pid, ttape_error *err);
/* No filter of system calls has come, by what is open as /proc/PID/status. */
bool ttp_look_may_call(int status);
/* The text of a file of /proc/PID, to be freed; NULL: it cannot be read. */
char *ttp_look_read(uint32_t pid, const char *name);
/* A number of such a text, in that base; `missing` where there is none. */
uint64_t ttp_look_number(const char *text, const char *name, int base, uint64_t missing);

/* -- attach_maps.c -- */

struct ttp_map {
    uint64_t start, end, offset, device, inode;
    bool can_read, can_write, can_execute, is_shared;
    char *path; /* "": it has none */
};
struct ttp_maps {
    struct ttp_map *list;
    size_t count, capacity;
};
bool ttp_maps_read(struct ttp_maps *maps, uint32_t pid);
void ttp_maps_free(struct ttp_maps *maps);
/* The list is sorted by address, as the kernel's is. */
const struct ttp_map *ttp_maps_at(const struct ttp_maps *maps, uint64_t address);
/* Whether all of a mapping stays while a stack is in it, by what lies in front of it. */
bool ttp_maps_is_guarded(const struct ttp_maps *maps, const struct ttp_map *stack);
/* A place for so many bytes that a jump from [low, high) reaches; 0: there is none. */
uint64_t ttp_maps_place(const struct ttp_maps *maps, uint64_t low, uint64_t high, uint64_t bytes);
/* Whether these pages of a mapping are in memory as they are in its file. */
bool ttp_maps_is_as_in_file(uint32_t pid, int memory, const struct ttp_map *map,
                            const struct ttp_agent_range *range);
/* Cuts memory into pieces that have so many pages each, of those that are there; the last one, of
 * `most`, has the rest. Returns how many. */
size_t ttp_maps_cut(uint32_t pid, struct ttp_agent_range whole, uint64_t pages,
                    struct ttp_agent_range *pieces, size_t most);

/* -- attach_threads.c: what the recording is told of the process -- */

void ttp_told_name(uint32_t pid, uint32_t thread_id, char name[16]);
/* Begins the stream of the process's first thread, which then goes on with it. */
void ttp_told_give(struct ttp_outside *outside, uint32_t pid, struct ttp_agent_known *known,
                   uint64_t *image);

/* -- attach_constants.c -- */

/* The ranges are sorted by address. */
void ttp_constants_find(uint32_t pid, int memory, const struct ttp_maps *maps,
                        struct ttp_agent_range ranges[TTP_AGENT_RANGES]);

/* -- attach_stop.c -- */

/* A task waits in a system call whose window is about to be changed: it goes on in the stub. Or it
 * is there already. */
struct ttp_moved_task {
    uint64_t from;        /* where it was: behind the instruction; 0: it is not moved */
    uint64_t plain, seen; /* behind that of the stub; seen: the hook is told of its end */
    const bool *is_left;  /* the window is not changed now */
    bool is_told;         /* that it waits there is in its stream */
};
struct ttp_stopped_task {
    pid_t tid;
    bool is_seized, is_stopped;
    bool is_near;  /* who waits for it runs where it does, and only a wait lets it run */
    bool is_heard; /* who waits for it is told by SIGCHLD */
    bool is_held;  /* by a signal that stopped the process: it goes nowhere when it is let go */
    struct user_regs_struct registers;
    struct ttp_moved_task moved;
};
/* What the kernel takes by sched_setattr(2). */
struct ttp_turns {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
struct ttp_stop {
    uint32_t pid;
    int memory, status;     /* /proc/PID/mem, /proc/PID/status */
    DIR *folder;            /* /proc/PID/task */
    struct ttp_frame *room; /* for what a call of ours saves */
    struct ttp_stopped_task *tasks;
    size_t count, capacity;
    uint64_t began_ns, stood_ns; /* and from when on all stand */
    bool is_near;                /* the recorder runs on the processor of the first thread, */
    cpu_set_t processors;        /* and before on any of these */
    bool has_short_turns, is_heard, is_masked;
    struct ttp_turns turns; /* and the mask, as they were before */
    sigset_t mask;
};
/* All tasks of the process; nothing is stopped after a failure. `stood` counts tries that fail. */
ttape_status ttp_stop_all(struct ttp_stop *stop, uint32_t pid, struct ttp_stood *stood,
                          ttape_error *err);
/* Lets all go on, and counts it. */
void ttp_stop_end(struct ttp_stop *stop, struct ttp_stood *stood);
void ttp_stood_add(struct ttp_stood *stood, const struct ttp_stood *more);
/* Lets one of them go on for so long, while all others stand. False: it does not stand again. */
bool ttp_stop_run(struct ttp_stopped_task *task, uint64_t ns);
/* Those that are in code of ours, and do not wait in a system call there, go on until they are out:
 * for a part of the stop. True: all others are outside. */
bool ttp_stop_lead_out(struct ttp_stop *stop, const struct ttp_agent_range *code, size_t count);
/* How many pages of code may be changed, so that it is about as long as one that does nothing. */
uint32_t ttp_stop_pages(const struct ttp_stop *stop);
/* Waits for the next stop of a task. False: it has ended, or does not come. */
bool ttp_stop_wait(const struct ttp_stopped_task *task, int *status);
/* Opens /proc/PID/mem; `how` is O_RDONLY or O_RDWR. Returns less than 0 where that is not allowed,
 * or the process is not there. */
int ttp_memory_open(uint32_t pid, int how);
bool ttp_memory_read(int memory, uint64_t at, void *into, size_t bytes);
bool ttp_memory_write(int memory, uint64_t at, const void *from, size_t bytes);
uint64_t ttp_attach_now_ns(void);

/* -- attach_threads.c -- */

/* The place of a thread's id in its control block; 0: it is not known. */
uint32_t ttp_threads_id_place(const struct ttp_stop *stop);
/* NULL, or why they cannot be told apart. */
const char *ttp_threads_check(const struct ttp_stop *stop);
struct ttp_thread_name {
    uint32_t thread_id;
    char name[16];
};
/* Reads the names of all threads that are there now, TTP_AGENT_KNOWN at most, while the process
 * runs: it takes longer than all else that is done for a thread. Returns how many. */
uint32_t ttp_threads_names(struct ttp_thread_name *names, uint32_t pid);
/* One of them, or as it is now. */
void ttp_threads_name(const struct ttp_thread_name *names, uint32_t count, uint32_t pid,
                      uint32_t thread_id, char name[16]);
const struct ttp_map *ttp_threads_stack(const struct ttp_maps *maps, uint32_t pid,
                                        const struct ttp_stopped_task *task);

/* -- attach_call.c -- */

/* Room for what one call of a thread saves, to be freed; NULL: no memory. */
struct ttp_frame *ttp_frame_make(void);

/* Places in the program's code: syscall; ret. And mov $15, %rax; syscall. */
struct ttp_call_places {
    uint64_t call, restore;
};
/* Those that are known stay, unless their module has been unloaded: to be asked in each stop. */
bool ttp_call_places_find(struct ttp_call_places *places, const struct ttp_maps *maps, int memory);
struct ttp_called {
    long number;
    uint64_t arguments[6];
    int64_t result;
};
/* The first task of the process makes it, and stands as before. */
bool ttp_call(struct ttp_stop *stop, const struct ttp_call_places *places,
              struct ttp_called *called);
/* It runs from `begin` on until the word at `result_at` is another one, and stays in [low, high)
 * then, for so long that it is found there; else it returns by the frame at `frame`. */
struct ttp_called_code {
    uint64_t begin, low, high, frame, stack, result_at;
    int64_t result; /* as it is before */
};
bool ttp_call_code(struct ttp_stop *stop, struct ttp_called_code *code);
#define TTP_FRAME_ROOM UINT64_C(16384) /* that a frame may take, with what it holds */

/* -- attach_elf.c -- */

/* A module in memory, zero where nothing can be read; and its head. */
struct ttp_code_text {
    uint8_t *bytes; /* of [low, high) */
    uint64_t low, high;
};
struct ttp_elf_view {
    ElfW(Phdr) * segments;
    uint32_t count;
    uint64_t bias, low, high; /* where it is in memory */
    uint64_t read_high;       /* up to where it is looked at: without many zeros behind it */
};
/* Refuses one whose code is not as in its file, but for what is ours, which the text is without. */
struct ttp_target_look;
ttape_status ttp_code_open(struct ttp_elf_view *elf, struct ttp_code_text *text,
                           const struct ttp_target_look *look, const char *path, ttape_error *err);
void ttp_code_close(struct ttp_elf_view *elf, struct ttp_code_text *text);

/* -- attach_points.c -- */

struct ttp_points {
    const struct ttp_targets *targets;    /* words of stacks in there count as well; NULL: none */
    const struct ttp_agent_range *ranges; /* and in these, which are sorted */
    size_t range_count;
    uint64_t *list; /* sorted */
    size_t count, capacity;
};
/* False: not all stacks could be looked at. */
bool ttp_points_find(struct ttp_points *points, const struct ttp_stop *stop,
                     const struct ttp_maps *maps);
struct ttp_segment;
/* Where its tasks are, and the functions of which they have open calls in the trace: by the agent's
 * frames, but for those of coroutines that are left now. */
bool ttp_points_find_open(struct ttp_points *points, const struct ttp_stop *stop,
                          const struct ttp_segment *segment);
bool ttp_points_hold(const struct ttp_points *points, uint64_t from, uint64_t end);
void ttp_points_free(struct ttp_points *points);

/* -- attach_plan.c: which windows are used, and what their code becomes -- */

struct ttp_window {
    uint64_t at;
    uint32_t function, bytes;
};
struct ttp_windows {
    struct ttp_patch_head *plan; /* a copy, without what cannot be when attaching */
    const struct ttp_chosen_head *chosen;
    struct ttp_chosen_head *own_chosen; /* NULL: as it was given */
    uint32_t finds;                     /* 1 + the function that answers unwinders; 0: none */
    struct ttp_plan_head *calls;        /* a copy, too; NULL: no system calls */
    struct ttp_call_decision call_decision;
    size_t calls_at; /* of their stubs, in the area */
    uint32_t call_sites;
    struct ttp_code_view view;
    struct ttp_probe_decision decision;
    uint8_t *area; /* stubs and what is known of values, as they go into the segment */
    size_t area_bytes, stub_bytes, values_bytes; /* whole pages; and of the last, as it is */
    struct ttp_changes changes;                  /* sorted by address */
    struct ttp_window *list;                     /* of each change */
    uint8_t *has_entry; /* of each function: there is a jump for its entry */
    uint32_t faults;    /* functions left as they may fault */
};
struct ttp_target_look {
    uint32_t pid;
    int memory;
    const struct ttp_maps *maps;
    const struct ttp_changes *ours; /* that its code has, some of them; NULL: none */
    const uint64_t *chosen_calls;   /* bits of system calls; NULL: none is recorded */
    bool minds_faults;
    bool is_later; /* any module may be left out */
};
const char *ttp_windows_open(struct ttp_windows *windows, const struct ttp_attach_wish *wish,
                             const struct ttp_target_look *look, const struct ttp_elf_view *elf,
                             const struct ttp_code_text *text);
/* The stubs, for an area at that place, whose hooks are those of the agent at `agent`. */
const char *ttp_windows_make(struct ttp_windows *windows, uint64_t agent, uint64_t area_at,
                             const uint64_t *chosen_calls);
void ttp_windows_close(struct ttp_windows *windows);
/* Whether it touches registers and the stack's top only, so that no fault comes of it. */
bool ttp_code_is_quiet(const uint8_t *code, uint32_t count);

/* -- attach_calls.c -- */

bool ttp_calls_are_dispatched(const struct ttp_stop *stop); /* to a handler, by where they are */
/* NULL, or why not. A plan that is damaged is none. */
const char *ttp_calls_open(struct ttp_windows *windows, const struct ttp_plan_head *plan,
                           const struct ttp_target_look *look);
void ttp_calls_make(struct ttp_windows *windows, uint64_t agent, uint64_t area_at,
                    const uint64_t *chosen);
/* The window of each site that has a stub, with a number behind those of functions. */
size_t ttp_calls_windows(const struct ttp_windows *windows, struct ttp_window *into);
/* Tasks that wait in calls are to go on in stubs: in `registers` only; where the window is left
 * after all, not; and in the kernel. */
void ttp_calls_move(const struct ttp_targets *targets, struct ttp_stop *stop);
void ttp_calls_settle(struct ttp_stop *stop);
bool ttp_calls_go(struct ttp_stop *stop);
/* Those that wait in stubs go on in the code, which is as it was. */
void ttp_calls_return(struct ttp_stop *stop, const struct ttp_agent_module *modules);

/* -- attach_code.c: bytes of code, page by page -- */

void ttp_changes_sort(struct ttp_changes *changes); /* by address */
/* The list is sorted by address. Each page is written whole or not at all. False: something else is
 * there than was, or it cannot be written: what was changed is put back. */
bool ttp_code_apply(int memory, const struct ttp_changes *changes);
/* The first change behind so many pages of them. */
uint32_t ttp_code_pages_end(const struct ttp_changes *changes, uint32_t from, uint32_t pages);
struct ttp_restored {
    uint32_t changed, foreign; /* put back; left, as somebody else has changed them */
    uint64_t low, high;        /* the pages */
};
bool ttp_code_restore(int memory, const struct ttp_changes *changes, struct ttp_restored *restored);

/* -- attach_open.c -- */

struct ttp_open_calls {
    const struct ttp_targets *targets;
    const struct ttp_traced_modules *modules;
    struct ttp_stop *stop; /* moved tasks are told of there */
    struct ttp_outside *outside;
    uint64_t image;
};
/* Open calls go into the streams of these threads, and into `calls`, which has room for
 * TTP_AGENT_CALLS. Returns how many there are. */
uint32_t ttp_open_calls_tell(const struct ttp_open_calls *open, struct ttp_agent_known *list,
                             uint32_t known_count, struct ttp_agent_call *calls);

/* -- attach_segment.c -- */

struct ttp_segment {
    uint64_t at, bytes;                                            /* 0: there is none */
    uint64_t states, pages, changes, calls, scratch, area, blocks; /* distances from `at` */
    uint32_t state_count, state_bytes, frame_count, block_count;
    uint32_t memory_at; /* in a state; 0: no values are recorded */
    uint64_t file_bytes;
};
/* What goes where. */
struct ttp_segment_wish {
    size_t threads;
    uint32_t changes;
    uint64_t area_bytes; /* of stubs */
    bool has_values;
};
void ttp_segment_lay(struct ttp_segment *segment, const struct ttp_segment_wish *wish,
                     const struct ttp_arena_head *arena);
/* Three steps, of which each stands still for as long as one call takes. They return NULL, or why
 * not. The first one maps it, and leaves nothing where it fails; then its contents go there while
 * the process runs; it gets its rights; and the agent maps the arena. */
const char *ttp_segment_map(const struct ttp_segment *segment, struct ttp_stop *stop,
                            const struct ttp_call_places *places,
                            const struct ttp_agent_shared *shared);
extern const char ttp_segment_no_room[]; /* from the first one: somebody else was quicker there */
/* Room for code of ours: there, or nowhere. Returns NULL, or why not, as the first one. */
const char *ttp_segment_map_at(uint64_t at, uint64_t bytes, struct ttp_stop *stop,
                               const struct ttp_call_places *places);
const char *ttp_segment_put(const struct ttp_segment *segment, int memory,
                            const struct ttp_agent_shared *shared);
const char *ttp_segment_open(const struct ttp_segment *segment, struct ttp_stop *stop,
                             const struct ttp_call_places *places);
const char *ttp_segment_begin(const struct ttp_segment *segment, struct ttp_stop *stop);
/* Finds one that somebody has left. shared->region is 0 where nothing is there but its head. */
bool ttp_segment_find(struct ttp_segment *segment, struct ttp_agent_shared *shared,
                      const struct ttp_maps *maps, int memory);
/* Whether a segment is there still: a program that was executed has none. */
bool ttp_segment_is_there(const struct ttp_segment *segment, int memory);
/* The address of what our agent is told, from a distance in struct ttp_agent_shared on; that of
 * another recorder may lie elsewhere. */
uint64_t ttp_segment_shared(const struct ttp_segment *segment, size_t distance);
/* Whether somebody records by it still. */
bool ttp_segment_is_used(const struct ttp_agent_shared *shared, int memory);

/* -- attach_targets.c -- */

/* A change, by the function that it is of: 1 + its number; 0: what answers unwinders. */
struct ttp_place {
    uint32_t function, change;
};
struct ttp_target {
    const struct ttp_attach_wish *wish;
    bool is_called; /* only what others of them call is recorded */
    struct ttp_elf_view elf;
    struct ttp_code_text text;
    struct ttp_windows windows;
    uint64_t near_low, near_high; /* what jumps and moved instructions reach */
    uint32_t cluster;
    uint64_t area, area_at;  /* of its stubs: distance in the cluster's; where it is */
    bool *done, *skip;       /* of each change */
    struct ttp_place *order; /* those that are not done, by functions, then by system calls */
    uint32_t next, turn_end, order_count; /* a stop changes [next, turn_end) of it */
    struct ttp_change *turn;              /* room for these, sorted by address */
    bool *wanted;                         /* of each change, while others are chosen */
    uint8_t *jumps;                       /* of each function, then: how many it has */
    char *module;                         /* its path */
};
struct ttp_cluster {
    uint64_t low, high, bytes; /* bytes: of stubs */
};
struct ttp_targets {
    struct ttp_target *list; /* sorted by address */
    size_t count;
    uint32_t left; /* not looked at any more, as their code is not as in their files */
    struct ttp_cluster clusters[TTP_AGENT_AREAS];
    struct ttp_agent_area areas[TTP_AGENT_AREAS];
    uint32_t cluster_count;
    const uint64_t *chosen_calls; /* as ttp_target_look has them */
    /* Areas and modules that were there before those that come later; else 0. */
    uint32_t first_area, first_module;
    uint64_t changes_room; /* behind the first cluster's stubs, for the list of changes */
    bool is_answered;      /* unwinders, by those that came first */
};
/* Refused only where the first one is. */
ttape_status ttp_targets_open(struct ttp_targets *targets, const struct ttp_target_look *look,
                              const struct ttp_attach_wish *wishes, size_t count, ttape_error *err);
void ttp_targets_close(struct ttp_targets *targets);
uint32_t ttp_targets_changes(const struct ttp_targets *targets); /* at most */
/* The place in the segment where modules that come later are listed. */
void ttp_targets_come_later(struct ttp_targets *targets, uint32_t first_area,
                            uint32_t first_module);
bool ttp_targets_have_values(const struct ttp_targets *targets, bool of_called_only);
void ttp_targets_name(const struct ttp_targets *targets, const struct ttp_maps *maps,
                      struct ttp_agent_module *modules);
/* The one that has the address; NULL: none. */
const struct ttp_target *ttp_targets_at(const struct ttp_targets *targets, uint64_t address);
/* The stubs of one cluster behind the first get their place, while the process stands still, by a
 * list of what is mapped. Returns NULL, or why not, as ttp_segment_map. */
const char *ttp_targets_map(struct ttp_targets *targets, uint32_t cluster,
                            const struct ttp_maps *maps, const struct ttp_segment *segment,
                            struct ttp_stop *stop, const struct ttp_call_places *places);
void ttp_targets_place(struct ttp_targets *targets, const struct ttp_segment *segment);
/* Stubs, and the list of changes, by which they are known for those of `shared`, that has their
 * names. */
const char *ttp_targets_fill(struct ttp_targets *targets, const struct ttp_segment *segment,
                             struct ttp_agent_shared *shared, int memory);
/* All jumps that are not there yet are to come, in as many stops as it takes; while it runs. */
void ttp_targets_order(struct ttp_targets *targets);
/* Those that this stop is for, in so many pages or few more. True: the rest of them. */
bool ttp_targets_limit(struct ttp_targets *targets, uint32_t pages);
/* Which of these are left for now, as somebody is there; adds to *busy of how many functions. */
void ttp_targets_mark(struct ttp_targets *targets, const struct ttp_points *points, uint32_t *busy);
/* The others. False: the code is not as it was, or cannot be written. */
bool ttp_targets_change(struct ttp_targets *targets, int memory);
/* Whether system calls are recorded, and unwinders cannot be told of stubs. */
bool ttp_targets_lack_answers(const struct ttp_targets *targets);
/* Whether it is the jump at the entry of one of the module's functions. */
bool ttp_windows_is_entry(const struct ttp_windows *windows, uint32_t change);
/* How many functions have that jump now; of those that are not wanted there. */
uint32_t ttp_target_entries(const struct ttp_target *target, bool of_unwanted);
/* Adds them; `busy` as it was said last. */
void ttp_targets_count(const struct ttp_targets *targets, uint32_t busy,
                       struct ttp_attach_counts *counts);

/* -- attach_leave.c -- */

struct ttp_leaving {
    uint32_t pid;
    bool is_gone; /* the process has ended */
    bool is_back; /* the code is as it was */
    bool is_unmapped;
    uint32_t foreign; /* windows that somebody else has changed: they were left */
    struct ttp_stood stood;
};
/* Puts everything back that a segment says is ours. */
ttape_status ttp_leave(struct ttp_leaving *leaving, const struct ttp_segment *segment,
                       ttape_error *err);
/* The same for all that have the segment and the arena of that inode: children that were forked
 * meanwhile. Returns how many. */
uint32_t ttp_leave_children(const struct ttp_segment *segment, uint32_t parent, uint64_t arena);

/* -- attach_process.c: which modules are looked at -- */

struct ttp_wishes {
    struct ttp_attach_wish *list;
    size_t count;
};
/* False: no memory. */
bool ttp_wishes_make(struct ttp_wishes *wishes, const struct ttp_attach_options *options,
                     const struct ttp_traced_modules *modules, bool has_calls);
void ttp_wishes_free(struct ttp_wishes *wishes);
/* How many modules have come since these were looked at. */
uint32_t ttp_wishes_loaded(const struct ttp_traced_modules *modules, uint32_t pid);

#endif
