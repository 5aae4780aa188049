/* Which processes still use the arena. Between a fork and its first event, only its mapping shows
 * such a process; between an exec and the runtime's constructor, only its environment does. */
#define _GNU_SOURCE /* asprintf, F_SETLEASE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/state/proc_maps.h"
#include "recorder/state/recording_internal.h"

#define LISTS_MAX 20 /* after so many the next round goes on */

static bool is_named(const char *process, const char *entry)
{
    bool found = false;
    char *word = NULL;
    size_t capacity = 0;
    char path[sizeof "/proc//environ" + NAME_MAX];
    (void)snprintf(path, sizeof path, "/proc/%s/environ", process);
    FILE *environment = fopen(path, "re");
    while (environment != NULL && !found && getdelim(&word, &capacity, '\0', environment) > 0)
        found = strcmp(word, entry) == 0;
    free(word);
    if (environment != NULL)
        (void)fclose(environment);
    return found;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* All processes by number, ascending; false: they cannot be read. */
static bool list(const ttape_allocator *a, struct ttp_growing *l)
{
    const struct dirent *entry;
    bool is_whole = true;
    DIR *all = opendir("/proc");
    l->count = 0;
    while (all != NULL && is_whole && (entry = readdir(all)) != NULL)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
            uint32_t *place = ttp_push(a, l, sizeof *place, NULL);
            is_whole = place != NULL;
            if (is_whole)
                *place = (uint32_t)strtoul(entry->d_name, NULL, 10);
        }
    if (all != NULL)
        (void)closedir(all);
    if (is_whole && l->count != 0)
        qsort(l->data, l->count, sizeof(uint32_t), by_number);
    return all != NULL && is_whole;
}

static bool holds_process(const struct ttp_growing *l, uint32_t process)
{
    return l->count != 0 && bsearch(&process, l->data, l->count, sizeof process, by_number) != NULL;
}

/* Whether only we use the arena. The kernel grants a write lease only while no other process has
 * the file open, and a mapping holds its file open through forks. Looking at one process after the
 * other is not enough: each may have forked and be gone before its turn. A process that opens the
 * arena while we have the lease waits for the next line; programs ignore the signal that we would
 * get then (SIGURG). EINVAL and others: the file system has no leases. */
static enum { ALONE, IN_USE, UNKNOWN } ask_lease(int fd)
{
    if (fcntl(fd, F_SETSIG, SIGURG) != 0)
        return UNKNOWN;
    if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
        return errno == EAGAIN ? IN_USE : UNKNOWN;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return ALONE;
}

struct search {
    struct stat arena;
    char *entry;
    uint32_t own; /* as /proc numbers us, which may be another namespace's */
    uint32_t users, starting;
    bool is_alone; /* nobody but us had the arena when the search began */
};

/* Looks at those that were not there before; false: there are none. */
static bool look_for_users(struct search *s, const struct ttp_growing *now,
                           const struct ttp_growing *before)
{
    const uint32_t *processes = now->data;
    bool is_any = false;
    char name[16];
    for (size_t i = 0; i < now->count; i++) {
        if (processes[i] == s->own || holds_process(before, processes[i]))
            continue;
        is_any = true;
        (void)snprintf(name, sizeof name, "%u", processes[i]);
        if (!s->is_alone && ttp_process_maps(name, s->arena.st_dev, s->arena.st_ino) > 0)
            s->users++;
        else if (is_named(name, s->entry))
            s->starting++;
    }
    return is_any;
}

/* A process that is listed may be gone when it is looked at, and have forked between the two. Its
 * child is in the next list: so lists are read until one has no new process. */
static bool search(struct search *s)
{
    struct ttp_growing lists[2] = {{0}};
    ttape_allocator plain = ttp_allocator_or_default(NULL);
    bool is_done = false, is_known = true;
    for (int i = 0; i < LISTS_MAX && is_known && !is_done && s->users == 0; i++) {
        is_known = list(&plain, &lists[i % 2]);
        is_done = is_known && !look_for_users(s, &lists[i % 2], &lists[1 - i % 2]);
    }
    ttp_grown_free(&plain, &lists[0]);
    ttp_grown_free(&plain, &lists[1]);
    return is_done || s->users != 0;
}

void ttape_recording_find_users(const ttape_recording *r, uint32_t *users, uint32_t *starting)
{
    struct search s = {.entry = NULL};
    char own[32] = "";
    *users = *starting = 0;
    if (readlink("/proc/self", own, sizeof own - 1) <= 0 ||
        fstat(r->drain.arena.fd, &s.arena) != 0 ||
        asprintf(&s.entry, TTP_ENV_ARENA "=%s", r->drain.arena.path) < 0)
        return; /* no /proc: processes cannot be found */
    s.own = (uint32_t)strtoul(own, NULL, 10);
    /* Mappings of all processes are long to read: the kernel is asked first. Who takes the arena
     * after that has it in its environment, or forks from one that has. */
    int asked = ask_lease(r->drain.arena.fd);
    *users = asked == IN_USE;
    if (*users != 0) {
        free(s.entry);
        return;
    }
    s.is_alone = asked == ALONE;
    bool is_sure = search(&s);
    switch (ask_lease(r->drain.arena.fd)) { /* last: one that was starting may use it by now */
    case ALONE: s.users = 0; break;
    case IN_USE: s.users += s.users == 0; break;
    case UNKNOWN: s.users += s.users == 0 && !is_sure; break; /* for now: they come and go */
    }
    *users = s.users;
    *starting = s.starting;
    free(s.entry);
}
