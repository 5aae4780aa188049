/* Threads of a program whose open calls are known and not recorded: each has its frames from its
 * first hook to its end. A forked child goes on with its copy. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/context_layout.h"
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/slow.h"

#define PAGE        4096u
#define FRAMES_AT   (2 * PAGE) /* behind the thread's page and its stacks */
#define KEYS_INLINE 32u        /* glibc keeps the first ones in the thread's own memory */

_Static_assert(sizeof(struct ttp_thread_page) <= PAGE, "it has a page");
_Static_assert(sizeof(struct ttp_stacks) <= PAGE, "and so have stacks");

static struct ttp_runtime_frame no_frames[2]; /* that nothing fits */
struct ttp_thread_page ttp_page_no_state = {.gate = TTP_GATE_NO_STATE};
static struct ttp_thread_page page_unusable = {.gate = TTP_GATE_UNUSABLE};
static struct ttp_process_page process_page = {.process_id = 1}; /* a child is not told apart */
struct ttp_runtime_process ttp_process = {.page = &process_page};
union ttp_arena_page ttp_arena = {.head = {.mode = TTP_MODE_ON}}; /* there is none */
__thread struct ttp_thread_state ttp_thread
    __attribute__((aligned(TTP_THREAD_ALIGNMENT), tls_model("initial-exec"))) = {
        .page = &ttp_page_no_state, .top = &no_frames[1]};

long ttp_room_map(size_t bytes)
{
    return ttp_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void ttp_room_unmap(void *memory, size_t bytes)
{
    ttp_syscall(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
}

/* Few frames where the program has a limit that more do not fit into. */
static uint8_t *map_thread(uint32_t *frames)
{
    for (*frames = TTP_FRAMES_MAIN; *frames >= TTP_FRAMES_OTHER; *frames /= 16) {
        long memory = ttp_room_map(FRAMES_AT + *frames * sizeof(struct ttp_runtime_frame));
        if (!ttp_failed(memory))
            return (uint8_t *)memory;
    }
    return NULL;
}

/* Handlers have hooks, too: none may come while a thread's state is half there. */
static uint64_t hold_signals(void)
{
    uint64_t all = UINT64_MAX, before = 0;
    ttp_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all), 0, 0);
    return before;
}

static void free_signals(uint64_t before)
{
    ttp_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

static bool begin_thread(uintptr_t sp)
{
    uint32_t frames;
    if (ttp_thread.page != &ttp_page_no_state) /* a handler was faster */
        return ttp_has_state();
    uint8_t *memory = map_thread(&frames);
    if (memory == NULL) {
        ttp_thread.page = &page_unusable;
        return false;
    }
    struct ttp_thread_page *page = (struct ttp_thread_page *)memory;
    struct ttp_stacks *stacks = (struct ttp_stacks *)(memory + PAGE);
    stacks->frame_count = frames;
    page->gate = TTP_GATE_NO_CLOCK; /* as if it recorded */
    page->thread_id = (uint32_t)ttp_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    ttp_thread.process_id = (uint32_t)ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    ttp_stacks_open(stacks, sp, (struct ttp_runtime_frame *)(memory + FRAMES_AT), frames);
    page->frames_end = stacks->list[0].end;
    page->hot_end = ttp_branch_settings.is_on ? NULL : page->frames_end;
    ttp_thread.stacks = stacks;
    ttp_thread.top = stacks->list[0].base;
    ttp_thread.page = page;
    if (ttp_process.has_thread_key)
        pthread_setspecific(ttp_process.thread_key, page);
    return true;
}

bool ttp_ready(uintptr_t sp)
{
    uint32_t gate = ttp_thread.page->gate;
    if (gate != TTP_GATE_NO_STATE)
        return gate != TTP_GATE_UNUSABLE;
    uint64_t signals = hold_signals();
    bool is_ready = begin_thread(sp);
    free_signals(signals);
    return is_ready;
}

/* What other destructors call begins it again. */
static void end_thread(void *unused)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    struct ttp_thread_page *page = ttp_thread.page;
    (void)unused;
    if (!ttp_has_state())
        return;
    uint64_t signals = hold_signals();
    ttp_context_end();
    ttp_branch_end();
    ttp_thread.page = &ttp_page_no_state;
    ttp_thread.top = &no_frames[1];
    ttp_stacks_close(stacks);
    ttp_room_unmap(page, FRAMES_AT + stacks->frame_count * sizeof(struct ttp_runtime_frame));
    free_signals(signals);
}

static void make_key(void)
{
    pthread_key_t key;
    if (pthread_key_create(&key, end_thread) != 0)
        return;
    if (key >= KEYS_INLINE) {
        pthread_key_delete(key);
        return;
    }
    ttp_process.thread_key = key;
    ttp_process.has_thread_key = true;
    if (ttp_has_state())
        pthread_setspecific(key, ttp_thread.page);
}

__attribute__((constructor(101))) static void begin(int count, char **arguments, char **environment)
{
    (void)count;
    (void)arguments;
#ifndef __GLIBC__ /* gives constructors no arguments */
    environment = environ;
#endif
#ifdef TTP_RUNTIME_JUMPS
    ttp_jumps_begin();
#endif
    make_key();
    ttp_libc_find();
    ttp_context_show(TTP_LAYOUT_ALONE);
    ttp_context_begin(environment);
    ttp_branch_begin(environment);
}
