/* How large the arena may become: a share of the memory that is free, of what the control groups of
 * this process leave, and of the room in the arena's file system. What cannot be read does not
 * bound. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "recorder/state/recording_internal.h"

#define MEMORY_SHARE 4u /* of free memory and of a control group's */
#define ROOM_SHARE   2u /* of the file system's */
#define GROUP_BYTES  4352u
#define PATH_BYTES   (GROUP_BYTES + 32u)
#define LEVELS_MAX   32u

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The number behind `key` in a file of lines "key number"; with an empty key, the first number. */
static bool read_number(const char *path, const char *key, uint64_t *number)
{
    char line[256];
    size_t key_length = strlen(key);
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, key, key_length) == 0 &&
                sscanf(line + key_length, "%" SCNu64, number) == 1;
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static uint64_t free_memory(void)
{
    uint64_t kibibytes;
    return read_number("/proc/meminfo", "MemAvailable:", &kibibytes) ? kibibytes * 1024u
                                                                     : UINT64_MAX;
}

/* What a group's limit leaves; pages of files that nobody uses do not count. */
static uint64_t left_in(const char group[GROUP_BYTES], const char *limit_name,
                        const char *used_name)
{
    char path[PATH_BYTES];
    uint64_t limit, used, unused = 0;
    (void)snprintf(path, sizeof path, "%s/%s", group, limit_name);
    if (!read_number(path, "", &limit)) /* "max", or no such group */
        return UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/%s", group, used_name);
    if (!read_number(path, "", &used))
        return limit;
    (void)snprintf(path, sizeof path, "%s/memory.stat", group);
    (void)read_number(path, "inactive_file ", &unused);
    used -= least(used, unused);
    return limit - least(limit, used);
}

/* The group and those around it, each of which may have a limit. */
static uint64_t left_around(char group[GROUP_BYTES], size_t root_length, const char *limit_name,
                            const char *used_name)
{
    uint64_t left = UINT64_MAX;
    for (uint32_t level = 0; level < LEVELS_MAX; level++) {
        left = least(left, left_in(group, limit_name, used_name));
        char *slash = strrchr(group, '/');
        if (slash == NULL || (size_t)(slash - group) < root_length)
            break;
        *slash = '\0';
    }
    return left;
}

/* Lines of /proc/self/cgroup: number:controllers:path, without controllers in the second version.
 * In a container the path may be that of the host: then the root is the container's own. */
static uint64_t free_in_groups(void)
{
    static const char second[] = "/sys/fs/cgroup", first[] = "/sys/fs/cgroup/memory";
    char line[4096], group[GROUP_BYTES];
    uint64_t left = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':');
        const char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL)
            continue;
        bool is_second = path == controllers + 1, is_memory = strstr(controllers, "memory") != NULL;
        const char *root = is_second ? second : first;
        if (!is_second && !is_memory)
            continue;
        (void)snprintf(group, sizeof group, "%s%s", root, path + 1);
        left = least(left, left_around(group, strlen(root),
                                       is_second ? "memory.max" : "memory.limit_in_bytes",
                                       is_second ? "memory.current" : "memory.usage_in_bytes"));
    }
    if (file != NULL)
        (void)fclose(file);
    return left;
}

static uint64_t free_room(int fd)
{
    struct statvfs room;
    return fstatvfs(fd, &room) == 0 ? (uint64_t)room.f_bavail * room.f_frsize : UINT64_MAX;
}

static uint64_t share_bytes(uint64_t free_bytes, uint64_t own_bytes, uint64_t parts)
{
    return free_bytes > UINT64_MAX - own_bytes ? UINT64_MAX : (free_bytes + own_bytes) / parts;
}

/* What the process may still map, where that is limited. */
uint64_t ttp_addresses_free(void)
{
    struct rlimit limit;
    uint64_t pages;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t used =
        read_number("/proc/self/statm", "", &pages) ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    return limit.rlim_cur - least(limit.rlim_cur, used);
}

uint64_t ttp_memory_free(void)
{
    return least(least(free_memory(), free_in_groups()), ttp_addresses_free());
}

/* The arena shares in what it has itself, too: else the bound would rise as the arena grows. */
uint64_t ttp_arena_bound(int fd, uint64_t own_bytes)
{
    return least(share_bytes(ttp_memory_free(), own_bytes, MEMORY_SHARE),
                 share_bytes(free_room(fd), own_bytes, ROOM_SHARE));
}
