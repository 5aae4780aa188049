/* When the runtime is called by the loader and by thread ends: before everything else of the
 * process, after everything that is orderly, and at each thread's end. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/context_layout.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define KEYS_INLINE 32u /* glibc keeps the first ones in the thread's own memory */
#define TID_BITS    32u
#define TID_AT_MOST 4096u /* its offset in the thread's control block */

extern void __cyg_profile_func_enter(void *function, void *call_site);

/* A thread's destructors run in rounds; ours ends the thread in the last, so that what the others
 * call is still recorded. What comes after that begins it again (late.c). */
static void end_round(void *page)
{
    (void)page;
    if (++ttp_thread.destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        ttp_thread_watch();
    else
        ttp_thread_end();
}

void ttp_thread_watch(void)
{
    if (ttp_process.has_thread_key)
        pthread_setspecific(ttp_process.thread_key, &ttp_page_no_state);
}

static void make_key(void)
{
    pthread_key_t key;
    if (!TTP_IS_THERE(pthread_key_create) || /* there are no threads */
        pthread_key_create(&key, end_round) != 0)
        return;
    if (key >= KEYS_INLINE) {
        pthread_key_delete(key);
        return;
    }
    ttp_process.thread_key = key;
    ttp_process.has_thread_key = true;
}

/* Where the C library's threads have their ids, which it says for debuggers; believed when it is
 * right here. Saves the system call, which a sandboxed program may not be allowed. */
static void find_thread_ids(void)
{
#ifdef TTP_RUNTIME_SHARED
    const uint32_t *field = ttp_first_symbol("_thread_db_pthread_tid");
    if (field == NULL || field[0] != TID_BITS || field[2] == 0 || field[2] > TID_AT_MOST)
        return;
    uint32_t own = ttp_process.avoids_system_calls /* and this is the first thread */
                       ? ttp_process.page->process_id
                       : (uint32_t)ttp_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (*(const uint32_t *)(ttp_thread_block() + field[2]) == own)
        ttp_process.tid_offset = field[2];
#endif
}

/* Of two copies in one process, the one whose hooks are called is the one that records. */
bool ttp_hooks_are_ours(void)
{
    void (*volatile called)(void *, void *) = __cyg_profile_func_enter;
    if (called == ttp_own_enter)
        return true;
    /* what is linked for fixed addresses may have a jump of its own that stands for the hook */
    return ttp_defined_function("__cyg_profile_func_enter") == (void *)ttp_own_enter;
}

/* Of exit and of a return from main. Where we are preloaded it is called last of all, behind the
 * destructors of all libraries. */
#ifdef __GLIBC__
static void take_exit(int status, void *unused)
{
    (void)unused;
    ttp_process.is_exiting = true;
    ttp_fact_end(TTAPE_PROCESS_END_EXIT, status);
    if (ttp_process.has_ended)
        ttp_helper_end(false);
}
#endif

/* A sanitizer in the program has an on_exit of its own, which is not ready before we are. */
static void follow_exit(void)
{
#ifdef __GLIBC__
#ifdef TTP_RUNTIME_SHARED
    __typeof__(&on_exit) follow;
    *(void **)&follow = ttp_next_function("on_exit");
    ttp_lookup_quiet();
#else
    __typeof__(&on_exit) follow = on_exit;
#endif
    ttp_process.follows_exit = follow != NULL && follow(take_exit, NULL) == 0;
#endif
}

void ttp_process_follow(void)
{
    make_key();
    follow_exit();
    ttp_libc_find();
    find_thread_ids();
    ttp_modules_write();
    if (ttp_thread.page != &ttp_page_no_state)
        ttp_thread_watch();
    ttp_calls_begin();
}

/* By instructions that nothing will notice, where they have no stubs: so from now on. */
static void mind(uint32_t what)
{
    struct ttp_restriction now;
    if ((what & TTP_PROGRAM_FOREIGN) != 0) {
        ttp_stand_aside();
    } else if ((what & TTP_PROGRAM_CONFINES) != 0) {
        ttp_restriction_begin(&now, TTP_RESTRICTS_CALLS);
        ttp_restriction_end(&now, true);
    }
}

/* What this program executes writes into the same arena: its environment is given the name. Only
 * after the C library's own constructor: what is loaded here would run that without its arguments.
 */
void ttp_record_itself(char **environment)
{
    static char entry[sizeof(TTP_ENV_ARENA) + PATH_MAX];
    const char *path;
    char **place = ttp_environment_find(environment, TTP_ENV_OUTPUT, &path);
    if (place == NULL || getauxval(AT_SECURE) != 0 || !ttp_libc_is_ours())
        return;
    const char *arena = ttp_helper_begin(path);
    if (arena != NULL && strlen(arena) < PATH_MAX) {
        memcpy(entry, TTP_ENV_ARENA "=", sizeof(TTP_ENV_ARENA));
        memcpy(entry + sizeof(TTP_ENV_ARENA), arena, strlen(arena) + 1);
        *place = entry;
    }
    if (ttp_process.state == TTP_PROCESS_ON)
        mind(ttp_program_look());
}

__attribute__((constructor(101))) static void begin(int count, char **arguments, char **environment)
{
    const char *path;
    (void)count;
    (void)arguments;
#ifdef TTP_RUNTIME_SHARED
    ttp_interpose_begin();
#endif
#ifdef __GLIBC__
    if (!ttp_libc_is_ours()) { /* preloaded for others: it stands aside */
        ttp_process_refuse();
        return;
    }
#else /* gives constructors no arguments, but has its environment by now */
    environment = environ;
#endif
    if (!ttp_hooks_are_ours()) {
        ttp_process_refuse();
        return;
    }
    ttp_context_show(TTP_LAYOUT_RECORDING);
    ttp_context_begin(environment);
    ttp_branch_begin(environment);
    ttp_process_start(environment);
    uint32_t what = ttp_process.state == TTP_PROCESS_ON ? ttp_program_look() : 0;
    if (ttp_process.state == TTP_PROCESS_ON) {
        ttp_exec_begin(environment);
        ttp_process_follow();
        if (!ttp_process.program_has_stubs)
            mind(what);
    } else if (!ttp_is_aside && environ != NULL &&
               ttp_environment_find(environment, TTP_ENV_ARENA, &path) == NULL) {
        ttp_record_itself(environment);
    }
}

__attribute__((destructor(101))) static void end(void)
{
    if (ttp_process.state == TTP_PROCESS_ON && ttp_process.module_changes != 0) {
        ttp_modules_write();
        ttp_calls_modules_changed();
    }
    if (!ttp_is_aside && ttp_has_state())
        ttp_drop_try_last();
    ttp_process.has_ended = true;
    if (!ttp_process.follows_exit || ttp_process.is_exiting)
        ttp_helper_end(false);
}
