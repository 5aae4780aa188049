/* Functions that start threads and processes, in the shared library only: who started whom, and
 * where, is told by the starter (spec/facts.md).
 *
 *   starter --calls--> ours --calls--> the next one: the C library's, or a sanitizer's
 *   started:  begin --takes its number, jumps--> the program's routine
 *
 * The caller that a fact names (F-FCT-06) is where the call of ours returns to.
 *
 * What begin needs lies in memory of ours: the program's malloc hears nothing of it. Each place is
 * free again as soon as its thread runs. A thread for which there is no place starts as if we were
 * not there. */
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "recorder/runtime/exec/exec.h"
#include "recorder/runtime/hot.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define FIRST_STARTS 64u
#define CHUNK_BYTES  16384u /* of further places, which stay */

struct start {
    void *(*routine)(void *);
    int (*c11_routine)(void *);
    void *argument;
    uint64_t number;
    uint32_t starter_id;
    uint32_t is_taken;
};

struct chunk {
    struct chunk *next;
    struct start starts[];
};
#define CHUNK_STARTS ((CHUNK_BYTES - sizeof(struct chunk)) / sizeof(struct start))

static struct start first_starts[FIRST_STARTS];
static struct chunk *chunks;
static uint64_t last_number;

static __typeof__(&pthread_create) real_pthread_create;
static __typeof__(&thrd_create) real_thrd_create;
static __typeof__(&fork) real_fork, real__Fork;
static __typeof__(&posix_spawn) real_spawn, real_spawnp;

/* Where the program's own constructors come before ours, nobody has looked for it yet. */
#define FIND(place, name)                                                                          \
    do {                                                                                           \
        if ((place) == NULL)                                                                       \
            *(void **)&(place) = ttp_next_function(name);                                          \
    } while (0)

void ttp_starts_begin(void)
{
    FIND(real_pthread_create, "pthread_create");
    FIND(real_thrd_create, "thrd_create");
    FIND(real_fork, "fork");
    FIND(real__Fork, "_Fork");
    ttp_process.vfork_function = (uintptr_t)ttp_next_function("vfork");
    FIND(real_spawn, "posix_spawn");
    FIND(real_spawnp, "posix_spawnp");
}

/* -- threads -- */

static struct start *take_of(struct start *starts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t none = 0;
        if (__atomic_load_n(&starts[i].is_taken, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&starts[i].is_taken, &none, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &starts[i];
    }
    return NULL;
}

static struct start *take_start(void)
{
    struct start *found = take_of(first_starts, FIRST_STARTS);
    struct chunk *first = __atomic_load_n(&chunks, __ATOMIC_ACQUIRE);
    for (struct chunk *at = first; found == NULL && at != NULL; at = at->next)
        found = take_of(at->starts, CHUNK_STARTS);
    if (found != NULL || ttp_process.avoids_system_calls)
        return found;
    long memory = ttp_syscall(SYS_mmap, 0, CHUNK_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ttp_failed(memory))
        return NULL;
    struct chunk *new = (struct chunk *)memory;
    new->starts[0].is_taken = 1;
    new->next = first;
    while (!__atomic_compare_exchange_n(&chunks, &new->next, new, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return &new->starts[0];
}

static void give_back(struct start *start)
{
    __atomic_store_n(&start->is_taken, 0, __ATOMIC_RELEASE);
}

static struct start start_of(struct start *place)
{
    struct start copy = *place;
    give_back(place);
    ttp_thread.start_number = copy.number;
    ttp_thread.starter_id = copy.starter_id;
    return copy;
}

/* The last call is a jump: what the routine sees of its stack is what it always sees. */
static void *begin_child(void *place)
{
    struct start own = start_of(place);
    return own.routine(own.argument);
}

static int begin_c11(void *place)
{
    struct start own = start_of(place);
    return own.c11_routine(own.argument);
}

static uint32_t own_id(void)
{
    if (ttp_has_state())
        return ttp_thread.page->thread_id;
    return ttp_process.avoids_system_calls ? 0 : ttp_thread_number();
}

/* NULL: nothing is to be told. The recorder's own threads are not the program's. */
static struct start *prepare_start(void *argument, uintptr_t caller, uintptr_t sp)
{
    if (__atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) != TTP_PROCESS_ON)
        return NULL;
    uint32_t gate = ttp_thread.page->gate;
    if (gate == TTP_GATE_RECORDER_THREAD || gate == TTP_GATE_VFORK_CHILD)
        return NULL;
    struct start *start = take_start();
    if (start == NULL)
        return NULL;
    start->argument = argument;
    start->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    start->starter_id = own_id();
    ttp_fact_pass(TTP_FACT_THREAD_CREATE, start->number, caller, sp);
    return start;
}

static void undo_start(struct start *start, uint64_t number, uint64_t error, uintptr_t sp)
{
    give_back(start);
    ttp_fact_pass(TTP_FACT_THREAD_CREATE_FAILED, number, error, sp);
}

TTP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*routine)(void *), void *argument)
{
    uintptr_t sp = TTP_CALLER_SP(), caller = (uintptr_t)__builtin_return_address(0);
    FIND(real_pthread_create, "pthread_create");
    if (real_pthread_create == NULL) /* there are no threads here */
        return EAGAIN;
    struct ttp_front front = ttp_front_enter((const void *)real_pthread_create, caller, sp);
    struct start *start = prepare_start(argument, caller, sp);
    uint64_t number = start != NULL ? start->number : 0;
    if (start != NULL)
        start->routine = routine;
    int result = start != NULL ? real_pthread_create(thread, attributes, begin_child, start)
                               : real_pthread_create(thread, attributes, routine, argument);
    if (result != 0 && start != NULL)
        undo_start(start, number, (uint64_t)result, sp);
    ttp_front_exit(&front);
    return result;
}

TTP_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    uintptr_t sp = TTP_CALLER_SP(), caller = (uintptr_t)__builtin_return_address(0);
    FIND(real_thrd_create, "thrd_create");
    if (real_thrd_create == NULL)
        return thrd_error;
    struct ttp_front front = ttp_front_enter((const void *)real_thrd_create, caller, sp);
    struct start *start = prepare_start(argument, caller, sp);
    uint64_t number = start != NULL ? start->number : 0;
    if (start != NULL)
        start->c11_routine = routine;
    int result = start != NULL ? real_thrd_create(thread, begin_c11, start)
                               : real_thrd_create(thread, routine, argument);
    if (result != thrd_success && start != NULL)
        undo_start(start, number, result == thrd_nomem ? ENOMEM : EAGAIN, sp);
    ttp_front_exit(&front);
    return result;
}

/* -- processes: the parent tells of its child when it knows the child's id -- */

/* Where the kernel clears nothing of the child's memory, neither of the two records before that is
 * done, or the other one is there. */
static pid_t fork_by(__typeof__(&fork) real, uintptr_t sp)
{
    if (ttp_is_aside)
        return real();
    bool is_by_hand = ttp_process.forks_by_hand && ttp_thread.page != &ttp_page_vfork_child;
    ttp_hooks_before_fork();
    if (is_by_hand)
        ttp_sharing_begin();
    pid_t child = real();
    if (is_by_hand && child == 0)
        ttp_forked_by_hand();
    else if (is_by_hand)
        ttp_sharing_is_with(0);
    if (child == 0)
        ttp_hooks_forked(sp);
    return child;
}

static pid_t fork_from(__typeof__(&fork) real, uintptr_t caller, uintptr_t sp)
{
    struct ttp_front front = ttp_front_enter((const void *)real, caller, sp);
    pid_t child = fork_by(real, sp);
    if (child > 0 && !ttp_process.is_elsewhere) /* elsewhere the recorder has other numbers */
        ttp_fact_pass(TTP_FACT_PROCESS_CREATE, (uint64_t)child, caller, sp);
    ttp_front_exit(&front);
    return child;
}

TTP_EXPORT pid_t fork(void)
{
    uintptr_t sp = TTP_CALLER_SP(), caller = (uintptr_t)__builtin_return_address(0);
    FIND(real_fork, "fork");
    return fork_from(real_fork, caller, sp);
}

pid_t _Fork(void);
TTP_EXPORT pid_t _Fork(void)
{
    uintptr_t sp = TTP_CALLER_SP(), caller = (uintptr_t)__builtin_return_address(0);
    FIND(real__Fork, "_Fork");
    return fork_from(real__Fork, caller, sp);
}

typedef __typeof__(&posix_spawn) spawn_function;

static int spawn(spawn_function real, pid_t *child, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const *arguments, char *const *environment, uintptr_t *caller)
{
    pid_t own;
    pid_t *place = child != NULL ? child : &own;
    uint32_t turn = ttp_note_turn(), flags = real == real_spawnp ? TTP_NOTE_SEARCHED : 0;
    struct ttp_exec exec;
    int result;
    ttp_exec_look(&exec, path, TTP_EXEC_NO_FILE, flags, environment);
    do {
        void *memory = exec.bytes == 0                      ? NULL
                       : exec.bytes <= TTP_EXEC_STACK_BYTES ? alloca(exec.bytes)
                                                            : ttp_exec_map(&exec);
        ttp_exec_make(&exec, memory);
        result = real(place, path, actions, attributes, arguments, exec.handed);
        ttp_exec_end(&exec);
    } while (result == E2BIG && ttp_exec_less(&exec));
    if (result == 0) {
        ttp_note_spawned((uint32_t)*place, turn, path, &exec);
        ttp_fact_pass(TTP_FACT_PROCESS_CREATE, (uint64_t)*place, caller[0], caller[1]);
    }
    return result;
}

#define SPAWN(name, real)                                                                          \
    TTP_EXPORT int name(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, \
                        const posix_spawnattr_t *attributes, char *const *arguments,               \
                        char *const *environment)                                                  \
    {                                                                                              \
        uintptr_t caller[2] = {(uintptr_t)__builtin_return_address(0), TTP_CALLER_SP()};           \
        FIND(real, #name);                                                                         \
        struct ttp_front front = ttp_front_enter((const void *)(real), caller[0], caller[1]);      \
        int result =                                                                               \
            spawn(real, child, path, actions, attributes, arguments, environment, caller);         \
        ttp_front_exit(&front);                                                                    \
        return result;                                                                             \
    }
SPAWN(posix_spawn, real_spawn)
SPAWN(posix_spawnp, real_spawnp)

TTP_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    static __typeof__(&clone) real_clone;
    va_list more;
    va_start(more, argument);
    void *parent_id = va_arg(more, void *), *tls = va_arg(more, void *);
    void *child_id = va_arg(more, void *);
    va_end(more);
    if (real_clone == NULL)
        *(void **)&real_clone = ttp_next_function("clone");
    if (real_clone == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (ttp_is_aside)
        return real_clone(function, stack, flags, argument, parent_id, tls, child_id);
    if (ttp_clone_is_foreign((uint32_t)flags)) {
        uintptr_t place = ttp_step_aside((uint32_t)flags);
        int other = real_clone(function, stack, flags, argument, parent_id, tls, child_id);
        ttp_step_back(place);
        return other;
    }
    struct ttp_front front = TTP_FRONT_HERE(real_clone);
    bool is_beside = (flags & (CLONE_VM | CLONE_SETTLS | CLONE_THREAD)) == CLONE_VM;
    bool shares = is_beside || (ttp_process.forks_by_hand && (flags & CLONE_VM) == 0);
    if (shares)
        ttp_sharing_begin();
    int child = real_clone(function, stack, flags, argument, parent_id, tls, child_id);
    if (shares)
        ttp_sharing_is_with(is_beside && child > 0 && (flags & CLONE_VFORK) == 0 ? child : 0);
    ttp_front_exit(&front);
    return child;
}
