#include "recorder/state/proc_maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PROCESSOR_FIELD 39 /* of /proc/TID/stat, whose second one ends with ')' */

/* The kernel writes a line feed in a name as \012, and nothing else differently. */
static void unescape(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0';) {
        bool is_feed = strncmp(from, "\\012", 4) == 0;
        *to++ = is_feed ? '\n' : *from;
        from += is_feed ? 4 : 1;
    }
    *to = '\0';
}

bool ttp_mapping_parse(char *line, struct ttp_mapping *m)
{
    char rights[5] = "";
    int at = 0;
    *m = (struct ttp_mapping){0};
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
               &m->end, rights, &m->offset, &m->major, &m->minor, &m->inode, &at) < 7 ||
        at == 0)
        return false;
    m->is_shared = rights[3] == 's';
    m->path = line + at;
    unescape(m->path);
    return true;
}

bool ttp_mapping_is_of(const struct ttp_mapping *m, dev_t device, ino_t inode)
{
    return inode == m->inode && major(device) == m->major && minor(device) == m->minor;
}

char ttp_task_state(pid_t tid)
{
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        (void)close(file);
    const char *behind = got <= 0 ? NULL : strrchr(text, ')');
    return behind == NULL || behind[1] == '\0' ? 'X' : behind[2];
}

int ttp_task_processor(pid_t tid)
{
    char path[64], text[1024];
    int processor = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", tid);
    FILE *file = fopen(path, "re");
    const char *at =
        file != NULL && fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    for (int field = 2; at != NULL && field < PROCESSOR_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (file != NULL)
        (void)fclose(file);
    return at != NULL && sscanf(at, "%d", &processor) == 1 ? processor : -1;
}

bool ttp_task_is_ended(pid_t tid)
{
    char state = ttp_task_state(tid);
    return state == 'Z' || state == 'X';
}

uint32_t ttp_living_task(uint32_t pid)
{
    char path[64];
    uint32_t found = pid;
    (void)snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = ttp_task_is_ended((pid_t)pid) ? opendir(path) : NULL;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (found == pid && tid > 0 && !ttp_task_is_ended(tid))
            found = (uint32_t)tid;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return found;
}

int ttp_process_maps(const char *process, dev_t device, ino_t inode)
{
    char path[sizeof "/proc//maps" + NAME_MAX], *line = NULL;
    size_t capacity = 0;
    bool found = false;
    struct ttp_mapping m;
    (void)snprintf(path, sizeof path, "/proc/%s/maps", process);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return -1;
    while (!found && getline(&line, &capacity, maps) > 0)
        found = ttp_mapping_parse(line, &m) && ttp_mapping_is_of(&m, device, inode);
    int code = errno;
    bool is_known = found || feof(maps);
    free(line);
    (void)fclose(maps);
    errno = code;
    return is_known ? found : -1;
}
