/* Beginnings and ends: of the process, of its forked children, of threads.
 *
 * A process looks for its arena once: at its first event or in our constructor, whatever is first.
 * A thread gets its state at its first event, which may be in a signal handler; so all is done by
 * system calls, and as few as can be: what ended threads leave is kept for the next.
 *
 *   a thread's memory: four pages (struct ttp_thread_page), zeroed in a forked child | stacks |
 *   frames of the thread's own stack
 *
 * A forked child goes on with the next page, so that a hook that began in its parent, and was
 * interrupted by the handler that forked, or by one whose child did so, sees that it did.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define PAGE         4096u
#define LINES_BYTES  (4 * PAGE)
#define FRAMES_AT    (LINES_BYTES + PAGE)
#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK */
#define KEPT_STATES  64u
#define PATH_BYTES   1024u
#define ROUNDS_MAX   4u  /* of destructors at a thread's end */
#define AHEAD_STATES 48u /* of threads that begin under a filter; as many are kept in all */
#define AHEAD_FEW    8u  /* where memory is limited */

_Static_assert(sizeof(struct ttp_thread_page) <= PAGE, "it has a page");
_Static_assert(sizeof(struct ttp_stacks) <= PAGE, "and so have stacks");

struct ttp_thread_page ttp_page_no_state = {.gate = TTP_GATE_NO_STATE};
struct ttp_thread_page ttp_page_unusable = {.gate = TTP_GATE_UNUSABLE};
struct ttp_thread_page ttp_page_vfork_child = {.gate = TTP_GATE_VFORK_CHILD};
struct ttp_thread_page ttp_page_recorder_thread = {.gate = TTP_GATE_RECORDER_THREAD};
struct ttp_thread_page ttp_page_silent = {.gate = TTP_GATE_UNUSABLE};
struct ttp_runtime_process ttp_process;
union ttp_arena_page ttp_arena __attribute__((aligned(TTP_ARENA_HEAD_BYTES))) = {
    .head = {.mode = TTP_MODE_ON}}; /* until the arena was looked for */
__thread struct ttp_thread_state ttp_thread __attribute__((
    aligned(TTP_THREAD_ALIGNMENT), tls_model("initial-exec"))) = {.page = &ttp_page_no_state};

static uint64_t lost_before_environment; /* events before there was an environment to look into */
static void *kept_states[KEPT_STATES];

/* -- process -- */

void ttp_process_refuse(void)
{
    ttp_arena.head.mode = TTP_MODE_STOPPED;
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_NEVER, __ATOMIC_RELEASE);
}

bool ttp_process_attach(const char *path, bool is_own)
{
    if (!ttp_arena_attach(path, is_own)) {
        ttp_process_refuse();
        return false;
    }
    __atomic_add_fetch(&ttp_arena.head.lost, lost_before_environment, __ATOMIC_RELAXED);
    lost_before_environment = 0;
    if (ttp_process.avoids_system_calls)
        ttp_states_map_ahead();
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_ON, __ATOMIC_RELEASE);
    ttp_note_came();
    return true;
}

/* Before the C library's own constructor, `environ` is not there yet; our constructor is given it.
 */
void ttp_process_start(char **environment)
{
    uint32_t expected = TTP_PROCESS_NEW;
    if (environment == NULL && (environment = environ) == NULL) {
        lost_before_environment++;
        return;
    }
    if (!__atomic_compare_exchange_n(&ttp_process.state, &expected, TTP_PROCESS_STARTING, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    const char *path;
    if (getauxval(AT_SECURE) != 0 || !ttp_libc_is_ours() ||
        ttp_environment_find(environment, TTP_ENV_ARENA, &path) == NULL)
        ttp_process_refuse();
    else
        ttp_process_attach(path, false);
}

/* -- a thread's memory -- */

static struct ttp_stacks *stacks_of(void *memory)
{
    return (struct ttp_stacks *)((uint8_t *)memory + LINES_BYTES);
}

static void *memory_of(struct ttp_stacks *stacks) { return (uint8_t *)stacks - LINES_BYTES; }

static size_t state_bytes(void *memory)
{
    return FRAMES_AT + stacks_of(memory)->frame_count * sizeof(struct ttp_runtime_frame);
}

static void *take_kept(void)
{
    for (uint32_t i = 0; i < KEPT_STATES; i++) {
        void *state = __atomic_load_n(&kept_states[i], __ATOMIC_RELAXED);
        if (state != NULL && __atomic_compare_exchange_n(&kept_states[i], &state, NULL, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return state;
    }
    return NULL;
}

static void keep_or_unmap(void *state)
{
    for (uint32_t i = 0; i < KEPT_STATES; i++) {
        void *expected = NULL;
        if (__atomic_load_n(&kept_states[i], __ATOMIC_RELAXED) == NULL &&
            __atomic_compare_exchange_n(&kept_states[i], &expected, state, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    ttp_room_unmap(state, state_bytes(state));
}

static void *map_state(size_t frames)
{
    size_t bytes = FRAMES_AT + frames * sizeof(struct ttp_runtime_frame);
    long memory = ttp_room_map(bytes);
    if (ttp_failed(memory))
        return NULL;
    if (!ttp_process.forks_by_hand &&
        ttp_syscall(SYS_madvise, memory, LINES_BYTES, WIPE_ON_FORK, 0, 0, 0) != 0) {
        ttp_room_unmap((void *)memory, bytes);
        return NULL;
    }
    stacks_of((void *)memory)->frame_count = (uint32_t)frames;
    return (void *)memory;
}

void ttp_states_map_ahead(void)
{
    uint32_t count = ttp_room_is_limited() ? AHEAD_FEW : AHEAD_STATES, kept = 0;
    for (uint32_t i = 0; i < KEPT_STATES; i++)
        kept += __atomic_load_n(&kept_states[i], __ATOMIC_RELAXED) != NULL;
    for (; kept < count; kept++) {
        bool is_first = kept == 0 && ttp_process.state != TTP_PROCESS_ON;
        void *state = map_state(is_first ? TTP_FRAMES_MAIN : TTP_FRAMES_OTHER);
        if (state == NULL)
            return;
        keep_or_unmap(state);
    }
}

/* The thread that forked is the only one. */
void ttp_forked_by_hand(void)
{
    struct ttp_thread_page *page = ttp_thread.shared_page;
    uint8_t *lines = ttp_thread.stacks != NULL ? memory_of(ttp_thread.stacks) : NULL;
    if (page == NULL)
        return;
    for (uint32_t i = 0; lines != NULL && i < LINES_BYTES / sizeof(uint64_t); i++)
        ((volatile uint64_t *)lines)[i] = 0;
    *ttp_process.page = (struct ttp_process_page){0};
    ttp_thread.sharing_lost = 0;
    ttp_thread.shared_page = NULL;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
}

/* -- beginnings -- */

static uint32_t parent_id(void)
{
    if (ttp_process.avoids_system_calls)
        return 0;
    return (uint32_t)ttp_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

/* The process's first message; false: not yet. */
bool ttp_write_pending_process(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    char path[PATH_BYTES];
    if (!page->has_pending_process)
        return true;
    uint64_t numbers[4] = {ttp_process.page->image, page->pending_parent, ttp_thread.started,
                           (uint64_t)parent_id() << 32 | ttp_thread.process_id};
    size_t size = ttp_program_path(path, sizeof(path));
    if (page->pending_parent == 0)
        size = ttp_program_link(path, size, sizeof(path));
    struct ttp_message_field fields[2] = {{numbers, sizeof(numbers)}, {path, size}};
    page->has_pending_process = false; /* a handler must not write it once more */
    if (ttp_message(TTP_MESSAGE_PROCESS, fields, 2)) {
        /* Only now: children cannot name a parent that has not written its own message. */
        ttp_process.last_image = ttp_process.page->image;
        return true;
    }
    page->has_pending_process = true;
    return false;
}

static uint32_t process_id(void) { return ttp_process.page->process_id; }

/* A forked child whose id the recorder cannot know never records: by a wrong one, the recorder
 * would take it for another process, and might wait for that one's end. */
static bool know_process(void)
{
    bool is_closed = ttp_process.avoids_system_calls != 0;
    if (process_id() != 0)
        return !ttp_process.is_elsewhere || !is_closed; /* nor can a thread's id be asked for */
    if (!(ttp_process.is_elsewhere && is_closed) && ttp_ids_find(&ttp_arena.head, true))
        return true;
    uint32_t *count = ttp_process.is_elsewhere || !is_closed ? &ttp_arena.head.unknown_elsewhere
                                                             : &ttp_arena.head.unknown_sandboxed;
    __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_NEVER, __ATOMIC_RELEASE);
    return false;
}

static uint32_t thread_id(bool is_child)
{
    if (is_child) /* has one thread, that which forked */
        return process_id();
    if (ttp_process.tid_offset != 0 && !ttp_process.is_elsewhere)
        return *(const uint32_t *)(ttp_thread_block() + ttp_process.tid_offset);
    uint64_t image = ttp_process.page->image;
    if (!ttp_process.avoids_system_calls)
        return ttp_thread_number();
    return image == 0 || image == ttp_thread.serial ? process_id() : 0; /* its first thread */
}

/* Of a process that a tracer stops at each call, until it records them itself. */
void ttp_tell_tracer(enum ttp_tracer_mark what, struct ttp_mark_stream *stream)
{
    if ((ttp_arena.head.call_flags & TTP_CALLS_TRACED) == 0 || ttp_process.records_calls ||
        ttp_process.avoids_system_calls)
        return;
    ttp_syscall(SYS_prctl, TTP_MARK, (long)what, (long)stream, 0, 0, 0);
}

/* A tracer that stops this process at no call looks at what is executed next: where that has more
 * rights than this process, it has to let go of it in front of that call. The kernel stops it where
 * a child begins. */
void ttp_warn_tracer(void)
{
    if (!ttp_process.records_calls || ttp_process.avoids_system_calls ||
        (ttp_arena.head.call_flags & TTP_CALLS_TRACED) == 0)
        return;
    long child = ttp_start_nothing(CLONE_VM | CLONE_VFORK, TTP_MARK_EXECUTES, TTP_MARK);
    if (child > 0)
        (void)ttp_syscall(SYS_wait4, child, 0, __WALL, 0, 0, 0);
}

/* The first thread of a process image gives it its number, unless a tracer has. */
static void draw_serial(struct ttp_thread_page *page, bool is_child)
{
    uint32_t process = process_id();
    struct ttp_mark_stream given = {0};
    uint64_t none = 0;
    if (ttp_thread.serial != 0 && ttp_thread.process_id == process && !is_child)
        return; /* its destructors run: the same thread goes on */
    if (ttp_process.page->image == 0)
        ttp_tell_tracer(TTP_MARK_STREAM, &given);
    bool is_traced = given.serial != 0;
    if (!is_traced) {
        given.started = ttp_arena.head.clock == TTP_CLOCK_NONE ? 0 : ttp_process.clock();
        given.serial = __atomic_add_fetch(&ttp_arena.head.next_serial, 1, __ATOMIC_RELAXED);
        given.image = given.serial;
    }
    ttp_thread.sequence = given.sequence;
    ttp_thread.process_id = process;
    ttp_thread.started = given.started;
    ttp_thread.serial = given.serial;
    if (!__atomic_compare_exchange_n(&ttp_process.page->image, &none, given.image, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    page->has_pending_process = !is_traced; /* the tracer has written it */
    page->pending_parent = ttp_process.last_image;
    if (is_traced)
        ttp_process.last_image = given.image;
    if (!is_child)
        ttp_note_image();
}

static void fill_line(struct ttp_thread_page *page, bool is_child)
{
    page->period = __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED);
    page->epoch_start = ttp_process.clock() & ~(uint64_t)TTP_RECORD_TIME_MASK;
    page->thread_id = thread_id(is_child);
    page->freed_seen = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED) - 1;
    if (!ttp_process.avoids_system_calls)
        ttp_syscall(SYS_prctl, PR_GET_NAME, (long)page->name, 0, 0, 0, 0);
}

static struct ttp_thread_page *next_line(struct ttp_thread_page *page)
{
    uint8_t *first = memory_of(ttp_thread.stacks), *next = (uint8_t *)page + PAGE;
    return (struct ttp_thread_page *)(next == first + LINES_BYTES ? first : next);
}

static uint8_t *find_memory(void)
{
    uint32_t own = thread_id(false);
    void *memory = own == 0 ? NULL : take_kept();
    if (own == 0)
        return NULL;
    if (memory == NULL) {
        memory = ttp_late_reuse(process_id(), own);
        if (memory != NULL)
            ttp_stacks_close(stacks_of(memory));
        else
            memory = map_state(ttp_room_is_limited() ? TTP_FRAMES_OTHER : TTP_FRAMES_MAIN);
    }
    if (memory != NULL && ttp_thread.destructor_rounds >= ROUNDS_MAX &&
        !ttp_late_begin(memory, own)) {
        keep_or_unmap(memory);
        return NULL;
    }
    return memory;
}

/* A thread has this of the one that made it. */
static bool has_clock(void)
{
    int mode = PR_TSC_SIGSEGV;
    return !ttp_process.has_no_tsc ||
           (!ttp_process.avoids_system_calls &&
            ttp_syscall(SYS_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0, 0) == 0 &&
            mode == PR_TSC_ENABLE);
}

static struct ttp_thread_page *new_state(uintptr_t sp)
{
    uint8_t *memory = has_clock() ? find_memory() : NULL;
    if (memory == NULL)
        return NULL;
    struct ttp_thread_page *page = (struct ttp_thread_page *)memory;
    struct ttp_stacks *stacks = stacks_of(memory);
    *page = (struct ttp_thread_page){.gate = TTP_GATE_UNUSABLE};
    ttp_stacks_open(stacks, sp, (struct ttp_runtime_frame *)(memory + FRAMES_AT),
                    stacks->frame_count);
    ttp_thread.stacks = stacks;
    ttp_thread.top = stacks->list[0].base;
    return page;
}

/* Below the innermost handler, or where there is none, as if there were one without a frame. */
static struct ttp_runtime_frame *find_interrupted(void)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!ttp_thread.stacks->has_marks)
        return top;
    for (struct ttp_runtime_frame *at = top; !ttp_is_base(at); at--)
        if (ttp_is_mark(at))
            return at - 1;
    return top;
}

/* A forked child goes on with its copy of the frames; its stream has none of them yet. */
static void inherit(struct ttp_thread_page *page)
{
    ttp_drop_inherit();
    page->announced_stack = 0;
    page->forked_top = find_interrupted();
    page->forked_function = page->forked_top->function;
    (void)ttp_gate_set(page, TTP_GATE_DROP);
}

static bool give_up(void)
{
    ttp_thread.page = &ttp_page_unusable;
    ttp_thread.is_starting = false;
    ttp_event_lost();
    return false;
}

/* Handlers' calls would have to be counted as lost meanwhile. */
static bool hold_signals(uint64_t *before)
{
    uint64_t all = UINT64_MAX;
    return !ttp_process.avoids_system_calls &&
           ttp_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)before, sizeof(all), 0,
                       0) == 0;
}

static void free_signals(const uint64_t *before)
{
    ttp_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)before, 0, sizeof(*before), 0, 0);
}

static bool begin_thread(uintptr_t sp)
{
    if (ttp_thread.page->gate != TTP_GATE_NO_STATE) { /* a handler was faster */
        ttp_thread.is_starting = false;
        return ttp_has_state();
    }
    if (!know_process())
        return give_up();
    bool is_child = ttp_thread.page != &ttp_page_no_state;
    struct ttp_thread_page *page = is_child ? next_line(ttp_thread.page) : new_state(sp);
    if (page == NULL)
        return give_up();
    page->gate = TTP_GATE_UNUSABLE;
    ttp_thread.page = page;
    ttp_stack_verify();
    page->frames_end = page->hot_end = ttp_stack_current()->end;
    draw_serial(page, is_child);
    ttp_thread.cursor = ttp_no_block(ttp_thread.sequence);
    fill_line(page, is_child);
    if (is_child) {
        ttp_hooks_forked(sp);
        ttp_thread.start_number = 0; /* its parent's, if any */
        ttp_late_forked(memory_of(ttp_thread.stacks), page, page->thread_id);
        inherit(page);
    } else {
        ttp_block_reopen();
        if (ttp_write_pending_process() && ttp_kept_write())
            (void)ttp_gate_open(page);
        else
            ttp_drop_begin(TTP_GATE_DROP, 0);
    }
    ttp_thread_watch();
    TTP_SIGNAL_FENCE();
    ttp_thread.is_starting = false;
    page->dropped += ttp_thread.lost_before_state;
    ttp_thread.lost_before_state = 0;
    ttp_drop_write_gap();
    ttp_fact_write_start();
    return true;
}

bool ttp_thread_start(uintptr_t sp)
{
    uint64_t signals;
    if (__atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) != TTP_PROCESS_ON) {
        ttp_process_start(NULL);
        if (__atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) != TTP_PROCESS_ON)
            return false;
    }
    if (ttp_thread.is_starting) {
        ttp_thread.lost_before_state++;
        return false;
    }
    ttp_thread.is_starting = true;
    TTP_SIGNAL_FENCE();
    bool is_held = hold_signals(&signals);
    bool is_ready = begin_thread(sp);
    if (is_held)
        free_signals(&signals);
    return is_ready;
}

/* -- ends -- */

/* Once more, whatever speaks against it. */
void ttp_drop_try_last(void)
{
    if (ttp_is_dropping() && ttp_operation_begin(UINTPTR_MAX)) {
        ttp_thread.page->freed_seen--;
        ttp_drop_end();
        ttp_operation_end(true);
    }
    if (ttp_is_dropping())
        ttp_drop_publish();
}

static void write_end(struct ttp_thread_page *page)
{
    uint64_t now;
    if (ttp_arena.head.mode == TTP_MODE_STOPPED) {
        ttp_drop_publish();
        return;
    }
    ttp_drop_end_off();
    ttp_drop_try_last();
    uint64_t count = ttp_frame_count() + page->deep_frames - page->unrecorded_deep_frames;
    uint64_t *place = ttp_is_dropping() || count == 0 ? NULL : ttp_reserve_timed(1, &now);
    if (place != NULL)
        ttp_store(place, ttp_record_extension(TTP_EXT_UNWIND, now,
                                              ttp_unwind_payload(TTP_UNWIND_ALL_BUT, 0)));
    ttp_drop_publish();
}

static void end_thread(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    ttp_name_check();
    write_end(page);
    page->gate = TTP_GATE_UNUSABLE;
    ttp_block_end();
    struct ttp_stacks *stacks = ttp_thread.stacks;
    ttp_walk_cache_end();
    ttp_call_texts_end();
    ttp_context_end();
    ttp_branch_end();
    ttp_thread.page = &ttp_page_no_state;
    ttp_thread.top = NULL;
    TTP_SIGNAL_FENCE();
    ttp_stacks_close(stacks);
    keep_or_unmap(memory_of(stacks));
}

/* Handlers that come meanwhile have no state to record with; those that come behind it, one of
 * their own. */
void ttp_thread_end(void)
{
    uint64_t signals;
    if (!ttp_has_state())
        return;
    bool is_held = hold_signals(&signals);
    end_thread();
    if (is_held)
        free_signals(&signals);
}
