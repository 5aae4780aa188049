/* Processes that record: whether they live, and how they ended.
 *
 *   pidfd readable --> it has died --> waitid       of our own child, which stays to be waited for
 *                                      /proc/PID    of a zombie
 *                                      the pidfd    of one that is gone (Linux 6.15)
 *                                      else nobody knows */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/arena/record.h"
#include "recorder/state/recording_internal.h"

#define STAT_BYTES 1024u

/* The first 64 bytes of the kernel's struct pidfd_info. */
struct pidfd_facts {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t wait_status;
};
#define PIDFD_HAS_EXIT (UINT64_C(1) << 3)
#define PIDFD_ASK      _IOWR(0xFF, 11, struct pidfd_facts)

struct ttp_pid_seen *ttp_pid_find(struct ttp_drain *d, uint32_t pid)
{
    struct ttp_pid_seen *pids = d->pids.data;
    for (size_t i = 0; i < d->pids.count; i++)
        if (pids[i].pid == pid)
            return &pids[i];
    struct ttp_pid_seen *added = ttp_push(&d->allocator, &d->pids, sizeof *added, NULL);
    if (added == NULL)
        return NULL;
    *added = (struct ttp_pid_seen){.pid = pid};
    added->fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    added->is_dead = added->fd < 0 && errno == ESRCH;
    added->end.ticks = added->is_dead ? ttp_clock_now(d->clock) : 0;
    return added;
}

/* A zombie counts as dead: it records nothing any more. */
static bool has_died(const struct ttp_pid_seen *seen)
{
    if (seen->fd < 0)
        return kill((pid_t)seen->pid, 0) != 0 && errno == ESRCH;
    struct pollfd ended = {.fd = seen->fd, .events = POLLIN};
    return poll(&ended, 1, 0) > 0;
}

static void set_status(struct ttp_end *end, int status)
{
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        end->how = WIFEXITED(status) ? TTAPE_PROCESS_END_EXIT : TTAPE_PROCESS_END_SIGNAL;
        end->number =
            (uint32_t)(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)); /* 8 bits */
    }
}

static bool ask_child(uint32_t pid, struct ttp_end *end)
{
    siginfo_t info = {0};
    if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != (pid_t)pid)
        return false;
    end->how = info.si_code == CLD_EXITED ? TTAPE_PROCESS_END_EXIT : TTAPE_PROCESS_END_SIGNAL;
    end->number = (uint32_t)info.si_status;
    return true;
}

/* The kernel writes 0 as the status for those who may not know it. */
static bool may_know(uint32_t pid)
{
    char path[32];
    struct stat owner;
    (void)snprintf(path, sizeof path, "/proc/%u", pid);
    return geteuid() == 0 ||
           (stat(path, &owner) == 0 && owner.st_uid == geteuid() && owner.st_gid == getegid());
}

/* proc(5): the state stands behind the name, which may hold anything; the status is the last. */
static bool ask_zombie(uint32_t pid, struct ttp_end *end)
{
    char path[32], line[STAT_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    size_t size = file == NULL ? 0 : fread(line, 1, sizeof line - 1, file);
    if (file != NULL)
        (void)fclose(file);
    line[size] = '\0';
    const char *state = strrchr(line, ')'), *last = strrchr(line, ' ');
    if (state == NULL || last == NULL || last < state || strncmp(state, ") Z", 3) != 0 ||
        !may_know(pid))
        return false;
    set_status(end, atoi(last));
    return true;
}

static bool ask_pidfd(int fd, struct ttp_end *end)
{
    struct pidfd_facts facts = {.mask = PIDFD_HAS_EXIT};
    if (fd < 0 || ioctl(fd, PIDFD_ASK, &facts) != 0 || (facts.mask & PIDFD_HAS_EXIT) == 0)
        return false;
    set_status(end, facts.wait_status);
    return true;
}

void ttp_pid_check(const struct ttp_drain *d, struct ttp_pid_seen *seen)
{
    if (seen->is_dead || !has_died(seen))
        return;
    seen->is_dead = true;
    seen->end =
        (struct ttp_end){.ticks = ttp_clock_now(d->clock), .how = TTAPE_PROCESS_END_UNKNOWN};
    if (!ask_child(seen->pid, &seen->end) && !ask_zombie(seen->pid, &seen->end))
        (void)ask_pidfd(seen->fd, &seen->end);
}

void ttp_pid_ended(struct ttp_drain *d, uint32_t pid, int wait_status)
{
    struct ttp_pid_seen *seen = ttp_pid_find(d, pid);
    if (seen == NULL)
        return;
    seen->is_dead = seen->is_used = true;
    if (seen->end.ticks == 0)
        seen->end.ticks = ttp_clock_now(d->clock);
    set_status(&seen->end, wait_status);
}

void ttp_pids_check(struct ttp_drain *d)
{
    struct ttp_pid_seen *pids = d->pids.data;
    size_t kept = 0;
    uint32_t live = 0, pid = 0;
    for (size_t i = 0; i < d->pids.count; i++) {
        if (!pids[i].is_used && !pids[i].is_followed) {
            if (pids[i].fd >= 0)
                (void)close(pids[i].fd);
            continue;
        }
        ttp_pid_check(d, &pids[i]);
        bool is_live = pids[i].is_used && !pids[i].is_dead;
        live += is_live;
        pid = is_live ? pids[i].pid : pid;
        pids[i].is_used = pids[i].is_followed = false;
        pids[kept++] = pids[i];
    }
    d->pids.count = kept;
    d->live_count = live;
    d->live_pid = pid;
}
