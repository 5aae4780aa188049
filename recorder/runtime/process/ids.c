/* Process and thread ids as the recorder knows them. In another namespace of process ids the kernel
 * tells others: there, /proc is asked, if it is the one that the recorder looks into. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/runtime/slow.h"

#define LINK_BYTES 64

static long stat_of(const char *path, struct stat *info)
{
    return ttp_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)info, 0, 0, 0);
}

/* The last number in what a link of /proc names ("12", "12/task/13"); 0: none. */
static uint32_t linked_number(const char *link)
{
    char text[LINK_BYTES];
    uint32_t number = 0;
    long size = ttp_syscall(SYS_readlink, (long)link, (long)text, sizeof(text), 0, 0, 0);
    for (long i = 0; i < size; i++)
        number = text[i] >= '0' && text[i] <= '9' ? number * 10 + (uint32_t)(text[i] - '0') : 0;
    return number;
}

/* A place without /proc does not say where it is. The first process of a namespace is told by its
 * id, as it cannot have been forked elsewhere; what it forks inherits what is known of it. */
static bool look_where(const struct ttp_arena_head *head, uint32_t own_id, bool is_forked,
                       bool *is_elsewhere)
{
    struct stat here;
    *is_elsewhere = ttp_process.is_elsewhere;
    if (head->pid_namespace == 0)
        return true;
    if ((is_forked && ttp_process.avoids_system_calls) || stat_of("/proc/self/ns/pid", &here) != 0)
        return !*is_elsewhere && !(is_forked && own_id == 1);
    *is_elsewhere = here.st_ino != head->pid_namespace;
    return !*is_elsewhere || (head->proc_device != 0 && stat_of("/proc", &here) == 0 &&
                              here.st_dev == head->proc_device);
}

/* Under a filter: as the C library knows it of a child that it forked; at the start, of /proc. */
static long ask_own_id(bool is_forked)
{
    struct ttp_status status;
    if (!ttp_process.avoids_system_calls)
        return ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    if (!is_forked)
        return ttp_status_read(&status) ? (long)status.process_id : -1;
    if (ttp_process.tid_offset == 0)
        return -1;
    uint32_t id = *(const uint32_t *)(ttp_thread_block() + ttp_process.tid_offset);
    return id == ttp_thread.process_id ? -1 : (long)id; /* not forked by the C library */
}

bool ttp_ids_find(const struct ttp_arena_head *head, bool is_forked)
{
    long own_id = ask_own_id(is_forked);
    bool is_elsewhere = false;
    if (ttp_failed(own_id) || !look_where(head, (uint32_t)own_id, is_forked, &is_elsewhere))
        return false;
    ttp_process.is_elsewhere = is_elsewhere;
    ttp_process.page->process_id = is_elsewhere ? linked_number("/proc/self") : (uint32_t)own_id;
    return ttp_process.page->process_id != 0;
}

bool ttp_ids_ask(uint32_t *process_id)
{
    uint32_t own_id = (uint32_t)ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    bool is_elsewhere = false, is_known = look_where(&ttp_arena.head, own_id, true, &is_elsewhere);
    *process_id = is_known && is_elsewhere ? linked_number("/proc/self") : own_id;
    return is_known && *process_id != 0;
}

uint32_t ttp_process_number(void)
{
    if (ttp_process.avoids_system_calls)
        return ttp_process.page->process_id;
    return ttp_process.is_elsewhere ? linked_number("/proc/self")
                                    : (uint32_t)ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

uint32_t ttp_thread_number(void)
{
    return ttp_process.is_elsewhere ? linked_number("/proc/thread-self")
                                    : (uint32_t)ttp_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}
