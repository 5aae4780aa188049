/* prctl, a plain system call in each C library, and so ours where the program calls it: what it
 * says of the thread's name, of system calls and of the time stamp counter is what hooks have to
 * know. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "writer/arena/record.h"
#include "writer/runtime/slow.h"

static void name_changes(const char *name)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint32_t size = 0;
    if (name == NULL || !ttp_has_state())
        return;
    for (; size < sizeof(page->name) - 1 && name[size] != '\0'; size++)
        page->name[size] = name[size];
    page->name[size] = '\0';
    struct ttp_message_field field = {page->name, size};
    if (ttp_thread_ready((uintptr_t)__builtin_frame_address(0)) && page == ttp_thread.page)
        ttp_message(TTP_MESSAGE_THREAD, &field, 1);
}

/* A thread that may not read the counter any more, and threads that it makes. In its first mode
 * seccomp forbids that too, and every other clock. */
static void counter_goes(void)
{
    uint32_t clock = ttp_arena.head.clock;
    if (clock == TTP_CLOCK_NONE || ttp_process.state != TTP_PROCESS_ON)
        return;
    ttp_process.has_no_tsc = true;
    if (ttp_has_state()) {
        ttp_drop_try_last();
        ttp_thread.page = &ttp_page_unusable;
    }
}

void ttp_prctl_seen(int option, uintptr_t argument)
{
    if (option == PR_SET_NAME) {
        name_changes((const char *)argument);
    } else if (option == PR_SET_SECCOMP) {
        if (!ttp_process.avoids_system_calls)
            ttp_arena_map_ahead();
        ttp_process.avoids_system_calls = true;
        if (argument == SECCOMP_MODE_STRICT)
            counter_goes();
    } else if (option == PR_SET_TSC) {
        if (argument == PR_TSC_SIGSEGV)
            counter_goes();
        else
            ttp_process.has_no_tsc = false;
    }
}

TTP_EXPORT int prctl(int option, ...)
{
    va_list list;
    long arguments[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    ttp_prctl_seen(option, (uintptr_t)arguments[0]);
    long result =
        ttp_syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3], 0);
    if (!ttp_failed(result))
        return (int)result;
    errno = (int)-result;
    return -1;
}
