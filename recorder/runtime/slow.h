/* The runtime's slow side, for its own files: records with their time, frames that do not fit,
 * threads and processes that begin. All of it may run inside a signal handler, in a program that
 * is in any state: no libc calls but those named in lifetime.c, modules.c and helper.c. */
#ifndef TTP_RUNTIME_SLOW_H
#define TTP_RUNTIME_SLOW_H

#include <tracetape/runtime.h>

#include "recorder/arena/record.h"
#include "recorder/arena/wait_share.h"
#include "recorder/runtime/state.h"

static inline void ttp_store(uint64_t *place, uint64_t record)
{
    *(volatile uint64_t *)place = record;
}

/* A handler may fork; the operation that it interrupted goes on in both processes. In the child,
 * the places that the operation holds in the arena are the parent's. So it checks for the fork
 * before it stores; what it stores until the next check is what the parent stores there, too. */
static inline uint32_t ttp_process_now(void) /* first of all that is looked at */
{
    uint32_t now = *(volatile const uint32_t *)&ttp_process.page->process_id;
    TTP_SIGNAL_FENCE();
    return now;
}

static inline bool ttp_is_child_of(uint32_t process)
{
    bool is_cold = *(volatile const uint32_t *)&ttp_thread.page->gate == TTP_GATE_NO_STATE;
    uint32_t now = ttp_process_now(); /* after the gate: a child may begin in between */
    return is_cold || now != process || now == 0;
}

static inline bool ttp_failed(long result) { return result < 0 && result > -4096; }

/* block.c: NULL or false where no block is to be had. */
bool ttp_block_next(void);
void ttp_block_end(void);    /* the thread's block is done */
void ttp_block_reopen(void); /* goes on in it, when the recorder did not take it yet */
uint64_t *ttp_reserve_timed(uint32_t count, uint64_t *now); /* neighbours in one block */
/* Room for a record that ends a call: where the thread has to wait for it, the call was over. */
uint64_t *ttp_reserve_end(uint32_t count, uint64_t *now);
void ttp_slot_fill(uint64_t slot); /* a place that is not needed */

/* drop_period.c: what was not recorded, and how recording goes on after it. A drop period may begin
 * in a signal handler at any moment, and ends only where no other operation is under way. */
void ttp_drop_begin(uint32_t gate, uint32_t reason);
/* False: in a child, that has to begin. */
bool ttp_gate_set(struct ttp_thread_page *page, uint32_t gate);
void ttp_drop_inherit(void); /* in a forked child: its drop period has begun */
bool ttp_drop_end(void);
void ttp_drop_restate_innermost(void); /* the innermost frame has a wrong record */
void ttp_drop_publish(void);           /* counts what was dropped in the arena */
void ttp_drop_write_gap(void);         /* for events that were dropped without a drop period */
/* The record of `change` frames is missing, which were pushed (popped: negative) on the current
 * stack before or after the drop period began. */
void ttp_drop_record_missing(long change);
void ttp_drop_frames_changed(long change); /* by an operation of the drop period */
void ttp_period_check(void);               /* whether tracing was off since the last record */
void ttp_drop_end_off(void);               /* the thread ends, and it may be off now */
/* The thread records from here on. */
bool ttp_gate_open(struct ttp_thread_page *page);
static inline bool ttp_is_dropping(void) { return ttp_thread.page->gate == TTP_GATE_DROP; }

/* drop_period.c, too: one operation at a time. False: another one is under way below. */
bool ttp_operation_begin(uintptr_t sp);
void ttp_operation_end(bool was_begun);
void ttp_event_lost(void);   /* one more, counted where there is a place for it */
void ttp_event_missed(void); /* one that a thread could not record */

/* ready.c: whether to go on at all: a thread that has its state, or gets it. */
bool ttp_ready(uintptr_t sp);

/* patch/calls.c: values of a call's beginning or end, all of one type, but for those whose contents
 * were read. */
#define TTP_CALL_ARGUMENTS  6u  /* of a system call */
#define TTP_CALL_VALUES_MAX 12u /* of any */
struct ttp_call_values {
    uint32_t type, count;
    bool has_types; /* each has one of its own */
    uint8_t types[TTP_CALL_VALUES_MAX];
    uint64_t numbers[TTP_CALL_VALUES_MAX];
    struct ttp_call_texts *texts; /* patch.h; NULL: all are numbers */
};
/* Where a compiled-in hook's function was called, where that is asked for; NULL: it is not. */
static inline const struct ttp_call_values *ttp_hook_site(struct ttp_call_values *values,
                                                          uintptr_t call_site)
{
    if (ttp_arena.head.hook_sites == 0 || call_site == 0)
        return NULL;
    values->type = TTP_VALUE_HOOK_SITE;
    values->count = 1;
    values->has_types = false;
    values->numbers[0] = call_site - 1;
    values->texts = NULL;
    return values;
}
/* The record and its values, in neighbouring places; false: no place, or not this process's. */
bool ttp_call_write(uint32_t process, uint64_t tag, uintptr_t key,
                    const struct ttp_call_values *values);
/* slow.c: as hooks' ends have them, for system calls; the exit finds the frame by where it is. */
#define TTP_CALL_HANDLER_BYTES 512u /* of what a handler within a call has on the stack, at least */
void ttp_call_enter_slow(uintptr_t key, uintptr_t call_site, uintptr_t sp,
                         const struct ttp_call_values *values);
void ttp_call_exit_slow(uintptr_t call_site, uintptr_t sp, const struct ttp_call_values *values);
void ttp_call_enter_put(uintptr_t key, const struct ttp_thread_page *page,
                        const struct ttp_call_values *values);
void ttp_call_exit_put(uintptr_t key, const struct ttp_thread_page *page,
                       const struct ttp_call_values *values);

/* frames/tails.c: a function is about to jump to another one, and ends with it; target: where that
 * is, 0: not known. The second one: where it is not the innermost frame, or not known to be. */
void ttp_tail_leave(uintptr_t function, uintptr_t call_site, uintptr_t sp, uintptr_t target);
void ttp_tail_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp, uintptr_t target);
/* tail_target.c: the registers that a probe's hook was called with, mixed. */
uintptr_t ttp_tail_registers(uintptr_t sp);
/* Whether this is what the innermost frame has jumped to, by the place, the return address and the
 * target, or by the registers, which are still those of the jump: it is not known where that
 * led, or there is nothing but a jump. */
bool ttp_tail_goes_on(const struct ttp_runtime_frame *top, uintptr_t function, uintptr_t call_site,
                      uintptr_t sp);
/* Whether what is called from there may be another function each time. */
bool ttp_tail_calls_any(uintptr_t call_site);
/* It is, and not recorded itself; its exit will be seen. */
void ttp_tail_join(struct ttp_runtime_frame *top);
/* Beside the hot path, for what has nothing to do with anything but jumps; false: it does. */
bool ttp_tail_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp);
bool ttp_tail_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp);

/* frames/doubts.c: an unwinder works on this thread's stack; who: its code. And where it finds the
 * functions of a module. */
void ttp_doubt_frames(uintptr_t who);
void ttp_doubt_table(uintptr_t start, uintptr_t end, const void *table);

/* slow.c: control goes from sp to target by a jump or a catch. */
void ttp_jump(uintptr_t sp, uintptr_t target);
bool ttp_thread_ready(uintptr_t sp); /* records can be written now */
/* The frame lives as long as the call around it. */
void ttp_enter_in_call(uintptr_t function, uintptr_t sp);

struct operation;
/* stacks.c: on which of the thread's stacks an address lies; UINT32_MAX: this is not the thread.
 * op: of what is entered there; NULL: nothing is known of it. */
uint32_t ttp_stack_locate(uintptr_t sp, const struct operation *op, bool *is_alternate);
/* The current stack where there is no room for more. */
uint32_t ttp_stack_add(uintptr_t low, uintptr_t high, uint64_t generation, bool exact);
/* Whether memory of another stack that is known lies there. */
bool ttp_stack_is_other_within(uintptr_t low, uintptr_t high);
void ttp_stack_switch(uint32_t index);
void ttp_stack_verify(void); /* that the current stack is the one with the frames */
size_t ttp_frame_count(void);
void ttp_stacks_open(struct ttp_stacks *stacks, uintptr_t sp, struct ttp_runtime_frame *frames,
                     uint32_t frame_count);
void ttp_stacks_close(struct ttp_stacks *stacks);
void ttp_stack_register(uintptr_t low, uintptr_t high);
void ttp_stack_exact(void); /* finds the current stack's bounds */
static inline struct ttp_runtime_stack *ttp_stack_current(void)
{
    return &ttp_thread.stacks->list[ttp_thread.stacks->current];
}
static inline bool ttp_stack_holds(const struct ttp_runtime_stack *stack, uintptr_t address)
{
    return address >= stack->low && address < stack->high;
}

/* frames/loose_stacks.c: stacks that nobody announced; TTP_STACK_NONE: it is on none of them, or
 * UINT32_MAX. Where frames are, or one begins; near them; where one begins; up to where it may be
 * read. */
#define TTP_STACK_NONE (UINT32_MAX - 1)
uint32_t ttp_loose_find(uintptr_t sp, const struct operation *op);
uint32_t ttp_loose_claim(uintptr_t sp);
void ttp_loose_close(const struct ttp_stacks *stacks);
uint32_t ttp_loose_begin(uintptr_t sp, uintptr_t high);
uintptr_t ttp_loose_end(const struct ttp_runtime_stack *stack, uintptr_t sp);
/* Whether another one of them than the current stack lies there. */
bool ttp_loose_is_within(uintptr_t low, uintptr_t high);
bool ttp_is_first_call(uintptr_t call_site, uintptr_t sp);
bool ttp_is_in_stubs(uintptr_t code); /* patch/areas.c */

/* signal_frames.c: whether this is a handler's own frame: then where its return address is, and the
 * signal, 0 where it is not known. */
bool ttp_is_signal_return(uintptr_t call_site);
uintptr_t ttp_signal_find(uintptr_t handler, uintptr_t call_site, uintptr_t sp, uint32_t *number);
/* Whether the signal at such a location was a fault of the program's of which the handler is told
 * where it was. */
bool ttp_signal_fault(uintptr_t location, uintptr_t handler, uint32_t number, uint64_t *address);
/* The address that the handler interrupted, by its mark's call site. */
uintptr_t ttp_signal_place(const uint64_t *frame);
/* The next frame that the kernel made for a handler, from its return address on, or NULL. */
const uint64_t *ttp_signal_next(uintptr_t from, uintptr_t end);

/* frames/far_calls.c: where a call is entered that lies far below its caller's frame. */
void ttp_far_know(const struct ttp_runtime_frame *caller, uintptr_t sp, uintptr_t call_site);
bool ttp_far_learn(const struct ttp_runtime_frame *top, struct ttp_thread_page *page, uintptr_t sp,
                   uintptr_t call_site);
void ttp_far_forget(void);

/* left_hooks.c: of those that handlers have interrupted, between sp and target, where a jump goes
 */
void ttp_hooks_left(uintptr_t sp, uintptr_t target);
/* A child that a handler forks: hooks that it interrupted have places in their parent's blocks,
 * which may be others' when they store. */
void ttp_hooks_before_fork(void);
void ttp_hooks_forked(uintptr_t sp);

/* start.c: false: nothing to record into. */
bool ttp_thread_start(uintptr_t sp);
void ttp_thread_end(void);
void ttp_drop_try_last(void); /* of the thread, or of the process */
/* Memory of threads to come, while it can be had. */
void ttp_states_map_ahead(void);
/* Clears a child's thread where the kernel does not (forks_by_hand). */
void ttp_forked_by_hand(void);
void ttp_process_start(char **environment);
/* status.c. filters: of system calls; where the kernel does not count them, not 0 if any. */
struct ttp_status {
    uint32_t process_id, parent_id, filters, threads;
};
bool ttp_status_read(struct ttp_status *status);

/* ids.c. Finds the process's id as the recorder knows it; false: it cannot be known. */
bool ttp_ids_find(const struct ttp_arena_head *head, bool is_forked);
/* Whether a program that this process executes will know its id; also in a vfork child. */
bool ttp_ids_ask(uint32_t *process_id);
/* The ids of this process and thread, as the recorder knows them. */
uint32_t ttp_process_number(void);
/* sharing.c: a child will have this thread's state; it has, by its process id (0: there is none,
 * or it is another program by now; -1: not known, for ever); whether an event of the thread is lost
 * for it, which is counted. */
/* False: the flags cannot be read, and the kernel will refuse them. */
bool ttp_clone_flags(uintptr_t arguments, uint64_t size_bytes, uintptr_t sp, uint64_t *flags);
void ttp_sharing_begin(void);
void ttp_sharing_is_with(long child);
bool ttp_sharing_stays(void);
uint32_t ttp_thread_number(void);
bool ttp_process_attach(const char *path, bool is_own); /* is_own: mapped by us already */
char **ttp_environment_find(char **environment, const char *name, const char **value);
void ttp_process_refuse(void); /* never records */
void ttp_tell_tracer(enum ttp_tracer_mark what, struct ttp_mark_stream *stream);
void ttp_warn_tracer(void); /* in front of a call that executes a program */
size_t ttp_program_path(char *path, size_t room);
size_t ttp_program_link(char *path, size_t size, size_t room);
bool ttp_write_pending_process(void); /* writes what has to come before all other records */

/* late.c: a thread that its own destructors do not end any more. False: no room for one more. */
bool ttp_late_begin(void *memory, uint32_t thread_id);
/* The thread goes on in a forked child, with that page. */
void ttp_late_forked(const void *memory, struct ttp_thread_page *page, uint32_t thread_id);
/* Memory of one that is gone, or NULL. */
void *ttp_late_reuse(uint32_t process_id, uint32_t thread_id);

/* room.c: private memory of ours, which a program that locks its memory does not lock. */
long ttp_room_map(size_t bytes);
void ttp_room_unmap(void *memory, size_t bytes);
bool ttp_room_is_limited(void);          /* the program has a limit on memory that it maps */
bool ttp_room_has(uint64_t block_bytes); /* whether so much may be mapped of blocks */

/* arena_attach.c */
void ttp_arena_unlock(void);
bool ttp_arena_attach(const char *path, bool is_own);
/* Maps more blocks, or makes more where there are none; false: they cannot be had. Safe in
 * handlers, and in several threads at once. */
bool ttp_arena_grow(void);
void ttp_arena_map_ahead(void);
uint32_t ttp_arena_mapped(void); /* blocks, from 0 */
struct ttp_block_head *ttp_arena_block(uint32_t index);
uint32_t ttp_arena_index(const struct ttp_block_head *block);
bool ttp_arena_holds(uint64_t address); /* in one of the blocks that are mapped */

/* wait.c: for a free block, as the arena's flags say. */
struct ttp_wait {
    struct ttp_share_wait share;
    uint64_t beat, stall; /* when the recorder was last seen to live; 0: no clock */
    uint64_t heartbeat;
    uint32_t wakes, rounds, spins;
};
bool ttp_wait_is_due(void); /* whether any may begin, but where the flags say that all wait */
void ttp_wait_begin(struct ttp_wait *wait);
bool ttp_wait_once(struct ttp_wait *wait); /* false: no more */
void ttp_wait_end(const struct ttp_wait *wait);
/* The thread could not go on from then to then, by its clock; where it has records, they tell. */
void ttp_wait_note(uint64_t from, uint64_t until);
static inline bool ttp_wait_is_noted(void) { return ttp_thread.page->waited_until != 0; }
void ttp_wait_tell(void); /* writes what was noted */
bool ttp_recorder_is_gone(void);
void ttp_wait_spin(void); /* a moment, without a system call */

/* Comparing without the C library's functions: sanitizers stand in front of these, and may not have
 * begun. */
static inline bool ttp_is_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* vdso.c */
void ttp_vdso_find(void);
bool ttp_vdso_has_clock(void); /* without a system call */
uint64_t ttp_clock_monotonic(void);
uint64_t ttp_clock_coarse(void);

/* messages.c: begin, then exactly size_bytes, then end. */
struct ttp_message_out {
    uint64_t *head, *place;
    uint64_t word, now;
    uint32_t count, process;
    size_t size_bytes;
};
struct ttp_message_field {
    const void *data;
    size_t size_bytes;
};
bool ttp_message_begin(struct ttp_message_out *out, size_t size_bytes);
void ttp_message_bytes(struct ttp_message_out *out, const void *data, size_t size_bytes);
void ttp_message_end(struct ttp_message_out *out, uint32_t kind);
bool ttp_message(uint32_t kind, const struct ttp_message_field *fields, uint32_t count);
#define TTP_MESSAGE_MAX ((TTP_BLOCK_RECORDS - 1) * 7u)

/* api.c: a marker with values, where records can be written; false: it is not there. */
bool ttp_marker_write(ttape_rt_site *site, const ttape_value *values, uint32_t count);
/* Counts the marker as lost where it cannot be written. */
void ttp_marker_pass(ttape_rt_site *site, const ttape_value *values, uint32_t count, uintptr_t sp);

/* facts.c: what starts threads and processes (spec/facts.md) */
enum ttp_fact {
    TTP_FACT_THREAD_CREATE,
    TTP_FACT_THREAD_CREATE_FAILED,
    TTP_FACT_THREAD_START,
    TTP_FACT_PROCESS_CREATE,
    TTP_FACT_THREAD_NAME,
    TTP_FACT_FAULT
};
/* Records a fact of a thread that is in a call; nothing otherwise. */
void ttp_fact_pass(enum ttp_fact fact, uint64_t first, uint64_t second, uintptr_t sp);
void ttp_fact_name(uint32_t thread_id, const char *name, uint32_t size_bytes, uintptr_t sp);
void ttp_fact_write_fault(uint32_t number, uint64_t address);
void ttp_fact_write_start(void); /* where the thread's own is still to be written, and can be */
/* The process ends: how is of enum ttape_process_end, status what it leaves to its parent. */
void ttp_fact_end(uint32_t how, int status);

/* modules.c */
struct ttp_module_seen {
    uint64_t start, end;
    const uint8_t *build_id;
    uint32_t build_id_size;
};
struct dl_phdr_info;
bool ttp_modules_write(void); /* false: it is kept for later */
/* kept_modules.c: begin says false where nothing is to be kept; write, where there is no place. */
bool ttp_kept_begin(void);
void ttp_kept_add(const struct ttp_message_field *fields, uint32_t count);
void ttp_kept_end(uint32_t count);
void ttp_kept_forget(void);
bool ttp_kept_write(void);
void ttp_modules_visit(int (*see)(struct dl_phdr_info *, size_t, void *), void *data);
/* False for an object without anything mapped. */
bool ttp_module_look(const struct dl_phdr_info *info, struct ttp_module_seen *module);
void ttp_libc_find(void);

/* context/: in our constructor; of the thread that ends */
void ttp_context_begin(char **environment);
void ttp_context_show(uint32_t kind);      /* context/context_layout.c: TTP_LAYOUT_... */
void ttp_branch_begin(char **environment); /* branch/branch_value.c */
void ttp_branch_end(void);
void ttp_context_end(void);

/* maps.c */
bool ttp_mapping_find(uintptr_t address, uintptr_t *low, uintptr_t *high, uintptr_t *before);
size_t ttp_mapping_path(uintptr_t address, char *path, size_t room); /* 0: no file */
typedef void (*ttp_mapping_visitor)(void *context, uintptr_t low, uintptr_t high, bool is_arena);
bool ttp_mappings_visit(ttp_mapping_visitor visit, void *context);
bool ttp_mapping_has_file(uint64_t device, uint64_t inode);
/* The file that an address is mapped from, by the list's own numbers; false: it is of none. */
struct ttp_mapped_file {
    uint64_t device, inode;
};
bool ttp_mapped_file_read(uintptr_t address, struct ttp_mapped_file *file);
/* The same, of what was mapped when the list was held: by one thread, until it is let. */
bool ttp_mapped_file_find(uintptr_t address, struct ttp_mapped_file *file);
void ttp_mapped_files_hold(void);
void ttp_mapped_files_let(void);

/* results/restrictions.c: a call that may forbid the thread system calls or its clock; what it does
 * forbid is known when it has come back. */
#define TTP_RESTRICTS_CALLS 1u
#define TTP_RESTRICTS_CLOCK 2u
void ttp_restriction_begin(struct ttp_restriction *r, uint32_t what);
void ttp_restriction_end(struct ttp_restriction *r, bool is_done);
void ttp_silence_lost(void); /* an event of a thread without a clock */
/* Room for a GAP of reason sandbox that may have to stand there: it does, if is_told; then
 * true. */
void ttp_gap_reserve(struct ttp_gap_place *gap);
bool ttp_gap_settle(struct ttp_gap_place *gap, bool is_told);
void ttp_clock_is_back(void);
/* Around changes of code: no signal comes meanwhile, and no filter. False: nothing may change. */
bool ttp_patching_begin(uint64_t *signals_before);
void ttp_patching_end(const uint64_t *signals_before);
/* No call of ours, as a filter may end the program, or the process beside it, for it. */
static inline bool ttp_avoids_calls(void)
{
    return ttp_process.avoids_system_calls != 0 || ttp_thread.child_avoids;
}

/* results/prctl.c: what the program asked the kernel for; names of threads */
uint32_t ttp_prctl_restricts(int option, uintptr_t first, uintptr_t second);
uint32_t ttp_seccomp_restricts(uint32_t operation, uint32_t flags, uintptr_t arguments);
bool ttp_seccomp_is_done(long result, uint32_t flags);
void ttp_prctl_done(int option, uintptr_t first); /* the kernel did it */
void ttp_prctl_begin(void);
void ttp_name_was_set(const char *name);
void ttp_name_of(uint32_t thread_id, const char *name); /* of another thread */
void ttp_name_check(void);                              /* others may have given us one */

/* lifetime.c */
void ttp_thread_watch(void);   /* calls ttp_thread_end at the current thread's end */
void ttp_process_follow(void); /* once records can be written */

bool ttp_hooks_are_ours(void);
void ttp_record_itself(char **environment); /* where that asks for it */

/* helper.c */
const char *ttp_helper_begin(const char *path); /* path of the arena, or NULL */
void ttp_helper_end(bool at_once);

/* notes.c: what the recorder has to know of programs that are executed (recording.md, 2.7). A turn
 * is drawn before what the note is about. */
struct ttp_noted {
    struct ttp_note *note; /* NULL: none was written */
    uint32_t turn, pid;
};
uint32_t ttp_note_turn(void);
void ttp_note_came(void); /* this program has the arena */
/* It wants a plan of that file: the note has that state until it was made, or cannot be. NULL: no
 * note has room now. */
const struct ttp_note *ttp_note_plan(const char *path, uint32_t flags, uint32_t *state);
/* So many of that file's functions, with so many exits; so many chosen ones were left. */
/* left_names: of functions that are left, or NULL. */
void ttp_note_patched(const char *path, uint32_t functions, uint32_t exits, uint32_t left,
                      const char *left_names);
void ttp_note_image(void); /* and its number */
struct ttp_exec;           /* exec/exec.h */
void ttp_note_exec(struct ttp_noted *noted, const char *path, const struct ttp_exec *exec);
void ttp_note_failed(const struct ttp_noted *noted); /* it was not executed */
void ttp_note_spawned(uint32_t pid, uint32_t turn, const char *path, const struct ttp_exec *exec);

/* process/aside.c. From here on nothing of this process is recorded, and no hook looks for a
 * thread's state. */
void ttp_stand_aside(void);
/* Steps aside for such a clone; what it returns is given back behind it, in the parent. */
uintptr_t ttp_step_aside(uint64_t flags);
void ttp_step_back(uintptr_t kept);
bool ttp_clone_is_foreign(uint64_t flags);
/* A system call that is about to be made, not by the C library for a thread of its own. */
void ttp_thread_call_seen(uint64_t number, uint64_t first, uint64_t second, uintptr_t sp);
/* What the program is known to do unnoticed: make threads without the C library, forbid itself
 * system calls, or either, maybe. */
#define TTP_PROGRAM_FOREIGN  1u
#define TTP_PROGRAM_CONFINES 2u
#define TTP_PROGRAM_MAY      4u
uint32_t ttp_program_look(void);
void ttp_note_aside(void); /* notes.c */

/* exec/exec_environment.c: what this program was given itself; memory that a vfork child left. */
void ttp_exec_begin(char **environment);
void ttp_exec_done(void);
/* exec/execs.c: as the system call does it, with errno. */
int ttp_exec_by_system_call(const char *path, char *const *arguments, char *const *environment);

/* jumps/heard_jumps.c */
void ttp_jumps_begin(void);

/* interpose.c */
void ttp_interpose_begin(void);

/* patch/: system calls and patched functions are seen from here on, once the process is followed;
 * modules have come, and those that were not noticed are counted; what unwinds through it is
 * found. */
void ttp_calls_begin(void);
void ttp_calls_modules_changed(void);
/* A system call that another function makes in the place of the C library's: its first arguments,
 * and the caller's rbp, where they are known. */
struct ttp_begun_call {
    uint32_t number;
    uintptr_t first, second, third, rbp;
    uintptr_t
        frame_sp; /* within a library's call that is recorded, whose frame is there; 0: none */
};
/* calls.c: of a call that is made where no stub is; `after`: where it returns to. */
void ttp_call_begins(const struct ttp_begun_call *call, uintptr_t after, uintptr_t sp);
void ttp_call_ended(uint32_t number, uint64_t result, uintptr_t after, uintptr_t sp);
void ttp_unwind_begin(void);
void ttp_walk_cache_end(void); /* of the thread */
void ttp_call_texts_end(void);

/* starts.c, execs.c */
void ttp_starts_begin(void);
void ttp_told_begin(void);
void ttp_contexts_begin(void);
void ttp_execs_begin(void);

/* hooks.c: of functions that were patched; sp is where the return address lies. */
void ttp_probe_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_joined(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_inlined(uintptr_t function, uintptr_t unused, uintptr_t sp);
/* marks/marks.c: a static probe at that address. */
void ttp_probe_mark(uintptr_t address, uintptr_t unused, uintptr_t sp);
void ttp_probe_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_enter_with(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                          const struct ttp_call_values *values);
void ttp_probe_exit_with(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                         const struct ttp_call_values *values);
void ttp_library_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_library_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_tail(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_probe_joined_tail(uintptr_t function, uintptr_t call_site, uintptr_t sp);
/* This copy's, whatever the name stands for in this process */
void ttp_own_enter(void *function, void *call_site);

#endif
