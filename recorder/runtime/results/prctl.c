/* prctl and the names of threads, in the shared library and the static one. What hooks have to know
 * of a call is learned when it has come back: what it was given may be anything, and the kernel may
 * refuse it. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define NAME_BYTES sizeof(ttp_thread.page->name)
/* of Linux 5.11, which the headers need not know */
#define SET_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */
#define DISPATCH_ON  1

static uint32_t cut(char *out, const char *name)
{
    uint32_t size = 0;
    for (; size < NAME_BYTES - 1 && name[size] != '\0'; size++)
        out[size] = name[size];
    for (uint32_t i = size; i < NAME_BYTES; i++)
        out[i] = '\0';
    return size;
}

/* Blocks that the thread takes from here on have the name in their heads. */
static void name_changes(const char *name)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    uint32_t size = cut(page->name, name);
    page->is_named = false;
    struct ttp_message_field field = {page->name, size};
    if (ttp_thread_ready(sp) && page == ttp_thread.page)
        ttp_message(TTP_MESSAGE_THREAD, &field, 1);
    ttp_fact_name(page->thread_id, page->name, size, sp);
}

void ttp_name_of(uint32_t thread_id, const char *name)
{
    char own[NAME_BYTES];
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (!ttp_has_state())
        return;
    uint32_t size = cut(own, name);
    struct ttp_message_field fields[2] = {{&thread_id, sizeof(thread_id)}, {own, size}};
    if (ttp_thread_ready(sp))
        ttp_message(TTP_MESSAGE_NAMED, fields, 2);
    ttp_fact_name(thread_id, own, size, sp);
}

void ttp_name_check(void)
{
    char now[NAME_BYTES];
    bool is_other = false;
    if (ttp_process.avoids_system_calls || ttp_is_dropping() || ttp_thread.page->is_named ||
        ttp_syscall(SYS_prctl, PR_GET_NAME, (long)now, 0, 0, 0, 0) != 0)
        return;
    for (uint32_t i = 0; i < NAME_BYTES && !is_other; i++) {
        is_other = now[i] != ttp_thread.page->name[i];
        if (now[i] == '\0')
            break;
    }
    if (is_other)
        name_changes(now);
}

/* The kernel is asked what the name is. Where it may not be asked, it has read these bytes, up to
 * the zero or as many as it keeps. */
void ttp_name_was_set(const char *name)
{
    char now[NAME_BYTES];
    if (!ttp_has_state())
        return;
    if (ttp_process.avoids_system_calls)
        name_changes(name);
    else if (ttp_syscall(SYS_prctl, PR_GET_NAME, (long)now, 0, 0, 0, 0) == 0)
        name_changes(now);
}

uint32_t ttp_prctl_restricts(int option, uintptr_t first, uintptr_t second)
{
    switch (option) {
    case PR_SET_SECCOMP:
        if (first == SECCOMP_MODE_STRICT)
            return TTP_RESTRICTS_CALLS | TTP_RESTRICTS_CLOCK;
        return first == SECCOMP_MODE_FILTER && second != 0 ? TTP_RESTRICTS_CALLS : 0;
    case PR_SET_TSC: return first == PR_TSC_SIGSEGV ? TTP_RESTRICTS_CLOCK : 0;
    case SET_DISPATCH: return first == DISPATCH_ON ? TTP_RESTRICTS_CALLS : 0;
    default: return 0;
    }
}

/* Its other operations are questions. */
uint32_t ttp_seccomp_restricts(uint32_t operation, uint32_t flags, uintptr_t arguments)
{
    if (operation == SECCOMP_SET_MODE_STRICT && flags == 0 && arguments == 0)
        return TTP_RESTRICTS_CALLS | TTP_RESTRICTS_CLOCK;
    return operation == SECCOMP_SET_MODE_FILTER && arguments != 0 ? TTP_RESTRICTS_CALLS : 0;
}

/* Else it may be the id of a thread that could not be given the filter: nobody has it. */
bool ttp_seccomp_is_done(long result, uint32_t flags)
{
    return result == 0 || (result > 0 && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
}

void ttp_prctl_done(int option, uintptr_t first)
{
    if (option == PR_SET_NAME)
        ttp_name_was_set((const char *)first);
    else if (option == PR_SET_TSC && first == PR_TSC_ENABLE)
        ttp_clock_is_back();
}

#ifdef TTP_RUNTIME_SHARED
static __typeof__(&prctl) real_prctl;

void ttp_prctl_begin(void) { *(void **)&real_prctl = ttp_next_function("prctl"); }
#endif

/* As which it is recorded. */
static const void *as_recorded(void)
{
#ifdef TTP_RUNTIME_SHARED
    return (const void *)real_prctl;
#else
    return NULL;
#endif
}

/* The C library's own, where system calls are recorded. */
static int call(int option, const long *arguments)
{
#ifdef TTP_RUNTIME_SHARED
    if (real_prctl != NULL)
        return real_prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
#endif
    long result =
        ttp_syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3], 0);
    if (!ttp_failed(result))
        return (int)result;
    errno = (int)-result;
    return -1;
}

TTP_EXPORT int prctl(int option, ...)
{
    va_list list;
    long arguments[4];
    struct ttp_restriction restriction;
    struct ttp_front front = TTP_FRONT_HERE(as_recorded());
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (ttp_is_aside)
        return call(option, arguments);
    uint32_t what = ttp_prctl_restricts(option, (uintptr_t)arguments[0], (uintptr_t)arguments[1]);
    if (what != 0)
        ttp_restriction_begin(&restriction, what);
    ttp_thread.told_depth++;
    int result = call(option, arguments);
    ttp_thread.told_depth--;
    if (what != 0)
        ttp_restriction_end(&restriction, result != -1);
    if (result != -1)
        ttp_prctl_done(option, (uintptr_t)arguments[0]);
    ttp_front_exit(&front);
    return result;
}
