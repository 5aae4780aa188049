/* Functions of the C and C++ libraries that we stand in front of, in the shared library only,
 * because they leave frames, move stacks or change what is mapped in ways that no hook sees.
 *
 *   caller --call--> ours: saves the arguments, tells the runtime, restores them
 *                    ours --jump--> the real one
 *
 * The real function finds registers, stack and return address as if it had been called: it returns
 * to the caller, jumps away, or looks at its caller. What cannot be resolved or does not fit
 * what we know changes nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/runtime/faults/faults.h"
#include "recorder/runtime/in_front_of.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

enum real_name {
    REAL_DLOPEN,
    REAL_DLMOPEN,
    REAL_DLCLOSE,
    REAL_SIGNAL,
    REAL_BSD_SIGNAL,
    REAL_SSIGNAL,
    REAL_SYSV_SIGNAL,
    REAL___SYSV_SIGNAL,
    REAL_SIGSET,
    REAL_SIGACTION,
    REAL_ARCH_PRCTL,
    REAL_SETNAME,
    REAL__EXIT,
    REAL_EXIT,
    REAL_QUICK_EXIT,
    REAL_MAIN,
    REAL_COUNT
};

static const char *const real_names[REAL_COUNT] = {
    "dlopen",     "dlmopen",   "dlclose",     "signal",
    "bsd_signal", "ssignal",   "sysv_signal", "__sysv_signal",
    "sigset",     "sigaction", "arch_prctl",  "pthread_setname_np",
    "_exit",      "_Exit",     "quick_exit",  "__libc_start_main"};
static void *real_functions[REAL_COUNT];

/* Without us the caller's own link would have failed where this does. */
static void *real(enum real_name name)
{
    if (real_functions[name] == NULL)
        real_functions[name] = ttp_next_function(real_names[name]);
    if (real_functions[name] == NULL)
        abort();
    return real_functions[name];
}

void ttp_interpose_begin(void)
{
    for (uint32_t i = 0; i < REAL_COUNT; i++)
        real_functions[i] = ttp_next_function(real_names[i]);
    ttp_told_begin();
    ttp_jumps_begin();
    ttp_contexts_begin();
    ttp_starts_begin();
    ttp_execs_begin();
    ttp_unwind_begin();
    ttp_lookup_quiet();
}

/* -- what is mapped -- */

static void modules_change(void)
{
    __atomic_add_fetch(&ttp_process.module_changes, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ttp_arena.head.module_changes, 1, __ATOMIC_RELAXED);
}

/* The loader finds the search path by the return address: the one of its caller. */
void *ttp_before_dlopen(void);
BEFORE void *ttp_before_dlopen(void)
{
    modules_change();
    return real(REAL_DLOPEN);
}
IN_FRONT_OF(dlopen, ttp_before_dlopen);

void *ttp_before_dlmopen(void);
BEFORE void *ttp_before_dlmopen(void)
{
    modules_change();
    return real(REAL_DLMOPEN);
}
IN_FRONT_OF(dlmopen, ttp_before_dlmopen);

/* Addresses of what is closed may mean other functions from now on. What was refused has closed
 * nothing; but another thread's may have. */
static int close_module(int (*close_it)(void *), void *handle)
{
    const uint64_t *verdicts = ttp_process.enter_verdicts;
    uint32_t changes = __atomic_load_n(&ttp_process.module_changes, __ATOMIC_SEQ_CST);
    bool is_alone = __atomic_add_fetch(&ttp_process.closings, 1, __ATOMIC_SEQ_CST) == 1;
    ttp_process.enter_verdicts = NULL;
    int result = close_it(handle);
    if (result == 0)
        modules_change();
    is_alone &= __atomic_sub_fetch(&ttp_process.closings, 1, __ATOMIC_SEQ_CST) == 0;
    if (is_alone && changes == __atomic_load_n(&ttp_process.module_changes, __ATOMIC_SEQ_CST))
        ttp_process.enter_verdicts = verdicts;
    return result;
}

TTP_EXPORT int dlclose(void *handle)
{
    int (*close_it)(void *) = (int (*)(void *))real(REAL_DLCLOSE);
    if (ttp_process.state != TTP_PROCESS_ON)
        return close_it(handle);
    struct ttp_front front = TTP_FRONT_HERE(close_it);
    ttp_modules_write();
    ttp_calls_modules_changed();
    int result = close_module(close_it, handle);
    if (result == 0)
        ttp_modules_write();
    ttp_front_exit(&front);
    return result;
}

/* -- handlers and names -- */

/* Where faults are shown, the C library is given the handler's front, and gives fronts back. */
#define SETS_HANDLER(name, number)                                                                 \
    static sighandler_t show_##name(int signal_number, sighandler_t handler)                       \
    {                                                                                              \
        sighandler_t (*set)(int, sighandler_t) = (sighandler_t(*)(int, sighandler_t))real(number); \
        return (sighandler_t)ttp_fault_handler(                                                    \
            (uintptr_t)set(signal_number, (sighandler_t)ttp_fault_front((uintptr_t)handler)));     \
    }                                                                                              \
    void *ttp_before_##name(uintptr_t signal_number);                                              \
    BEFORE void *ttp_before_##name(uintptr_t signal_number)                                        \
    {                                                                                              \
        __atomic_add_fetch(&ttp_process.signal_changes, 1, __ATOMIC_RELAXED);                      \
        return ttp_fault_is_shown((int)signal_number) ? (void *)show_##name : real(number);        \
    }                                                                                              \
    IN_FRONT_OF(name, ttp_before_##name)

SETS_HANDLER(signal, REAL_SIGNAL);
SETS_HANDLER(bsd_signal, REAL_BSD_SIGNAL);
SETS_HANDLER(ssignal, REAL_SSIGNAL);
SETS_HANDLER(sysv_signal, REAL_SYSV_SIGNAL);
SETS_HANDLER(__sysv_signal, REAL___SYSV_SIGNAL);
SETS_HANDLER(sigset, REAL_SIGSET);

static int show_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    int (*set)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))real(REAL_SIGACTION);
    struct sigaction fronted;
    if (action != NULL) {
        fronted = *action;
        fronted.sa_handler = (sighandler_t)ttp_fault_front((uintptr_t)action->sa_handler);
    }
    int result = set(number, action != NULL ? &fronted : NULL, before);
    if (result == 0 && before != NULL)
        before->sa_handler = (sighandler_t)ttp_fault_handler((uintptr_t)before->sa_handler);
    return result;
}

void *ttp_before_sigaction(uintptr_t number);
BEFORE void *ttp_before_sigaction(uintptr_t number)
{
    __atomic_add_fetch(&ttp_process.signal_changes, 1, __ATOMIC_RELAXED);
    return ttp_fault_is_shown((int)number) ? (void *)show_sigaction : real(REAL_SIGACTION);
}
IN_FRONT_OF(sigaction, ttp_before_sigaction);

void *ttp_before_arch_prctl(uintptr_t code, uintptr_t address, uintptr_t sp);
BEFORE void *ttp_before_arch_prctl(uintptr_t code, uintptr_t address, uintptr_t sp)
{
    ttp_thread_call_seen(SYS_arch_prctl, (uint32_t)code, address, sp);
    return real(REAL_ARCH_PRCTL);
}
IN_FRONT_OF(arch_prctl, ttp_before_arch_prctl);

/* Where the C library has the id of a thread of its own is where it has that of another one. */
TTP_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int (*set_name)(pthread_t, const char *) = (int (*)(pthread_t, const char *))real(REAL_SETNAME);
    struct ttp_front front = TTP_FRONT_HERE(set_name);
    int result = set_name(thread, name);
    ttp_front_exit(&front);
    if (result != 0 || ttp_is_aside)
        return result;
    if (pthread_equal(thread, pthread_self()))
        ttp_name_was_set(name);
    else if (ttp_process.tid_offset != 0)
        ttp_name_of(*(const uint32_t *)((uintptr_t)thread + ttp_process.tid_offset), name);
    return 0;
}

/* -- ends without destructors: what a drop period lost has not been counted yet, and the recorder
 * may be a thread of this process -- */

static void end_at_once(int status)
{
    if (ttp_is_aside)
        return;
    ttp_fact_end(TTAPE_PROCESS_END_QUICK_EXIT, status);
    if (ttp_has_state())
        ttp_drop_try_last();
    ttp_helper_end(true);
}

void *ttp_before__exit(int status);
BEFORE void *ttp_before__exit(int status)
{
    end_at_once(status);
    return real(REAL__EXIT);
}
IN_FRONT_OF(_exit, ttp_before__exit);

void *ttp_before_exit(int status);
BEFORE void *ttp_before_exit(int status)
{
    end_at_once(status);
    return real(REAL_EXIT);
}
IN_FRONT_OF(_Exit, ttp_before_exit);

/* Its own handlers come now, and their calls are recorded. */
void *ttp_before_quick_exit(int status);
BEFORE void *ttp_before_quick_exit(int status)
{
    if (!ttp_is_aside)
        ttp_fact_end(TTAPE_PROCESS_END_QUICK_EXIT, status);
    return real(REAL_QUICK_EXIT);
}
IN_FRONT_OF(quick_exit, ttp_before_quick_exit);

/* -- between the libraries' constructors and the program -- */

/* The caller's version of it: programs that were linked with glibc before 2.34 bring a function
 * that runs their constructors. */
void *ttp_before_main(uintptr_t main_function, uintptr_t count, uintptr_t sp,
                      uintptr_t return_address, char **arguments, uintptr_t constructors);
BEFORE void *ttp_before_main(uintptr_t main_function, uintptr_t count, uintptr_t sp,
                             uintptr_t return_address, char **arguments, uintptr_t constructors)
{
    const char *path;
    (void)main_function;
    (void)sp;
    (void)return_address;
    (void)arguments;
    (void)count;
    if (environ != NULL && ttp_process.state == TTP_PROCESS_NEVER && ttp_hooks_are_ours() &&
        ttp_environment_find(environ, TTP_ENV_ARENA, &path) == NULL)
        ttp_record_itself(environ);
#ifdef __GLIBC__
    void *old = constructors == 0 ? NULL : ttp_next_version("__libc_start_main", "GLIBC_2.2.5");
    if (old != NULL)
        return old;
#else
    (void)constructors;
#endif
    return real(REAL_MAIN);
}
IN_FRONT_OF(__libc_start_main, ttp_before_main);
