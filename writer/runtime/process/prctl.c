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

#define NAME_BYTES sizeof(ttp_thread.page->name)

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
    if (name == NULL || !ttp_has_state())
        return;
    uint32_t size = cut(page->name, name);
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
    if (ttp_process.avoids_system_calls || ttp_is_dropping() ||
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
