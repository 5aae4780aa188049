/* Who still uses the arena: between a fork and its first event a process holds no block, and is
 * known by its mapping alone; between an exec and the runtime's constructor, by its environment. */
#define _GNU_SOURCE /* asprintf */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/recording/proc_maps.h"
#include "writer/recording/recording_internal.h"

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

void ttape_recording_find_users(const ttape_recording *r, uint32_t *users, uint32_t *starting)
{
    struct stat arena;
    char *entry = NULL, own[32] = ""; /* as /proc numbers us, which may be another namespace's */
    const struct dirent *process;
    *users = *starting = 0;
    DIR *all = opendir("/proc");
    if (all == NULL || readlink("/proc/self", own, sizeof own - 1) <= 0 ||
        fstat(r->arena.fd, &arena) != 0 ||
        asprintf(&entry, TTP_ENV_ARENA "=%s", r->arena.path) < 0) {
        if (all != NULL)
            (void)closedir(all);
        return;
    }
    while ((process = readdir(all)) != NULL) {
        const char *name = process->d_name;
        if (name[0] < '0' || name[0] > '9' || strcmp(name, own) == 0)
            continue;
        if (ttp_process_maps(name, arena.st_dev, arena.st_ino) > 0)
            ++*users;
        else if (is_named(name, entry))
            ++*starting;
    }
    (void)closedir(all);
    free(entry);
}
