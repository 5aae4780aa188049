/* Files in the folder of plans: written under names that nobody else has, read where they are ours,
 * and removed where they are too many. */
#define _GNU_SOURCE /* st_atim, renameat2, openat and the like */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "program/binary/plans/plan_cache.h"
#include "program/elf/elf_head.h"

#define NAME_BYTES    256u
#define KEY_NAME      "key"
#define BLOCK_BYTES   512u /* of st_blocks */
#define UNFINISHED_S  3600 /* after so long a file under a passing name is nobody's */
#define KEPT_OF_BOUND 3 / 4

/* -- reading -- */

/* One that somebody has linked here has another name elsewhere. */
static int open_own(const struct tool_plan_cache *cache, const char *name, struct stat *status)
{
    int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
        status->st_nlink == 1 && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return fd;
    close(fd);
    return -1;
}

bool tool_plan_head_read(const struct tool_plan_cache *cache, const char *name, void *head,
                         size_t head_bytes)
{
    struct stat status;
    int fd = open_own(cache, name, &status);
    bool is_read = fd >= 0 && tool_elf_read_exactly(fd, 0, head, head_bytes);
    if (fd >= 0)
        close(fd);
    return is_read;
}

uint8_t *tool_plan_read(const struct tool_plan_cache *cache, const char *name, uint64_t most,
                        size_t *size_bytes)
{
    struct stat status;
    uint8_t *bytes = NULL;
    int fd = open_own(cache, name, &status);
    if (fd < 0)
        return NULL;
    if (status.st_size > 0 && (uint64_t)status.st_size <= most) {
        *size_bytes = (size_t)status.st_size;
        bytes = malloc(*size_bytes);
        if (bytes != NULL && !tool_elf_read_exactly(fd, 0, bytes, *size_bytes)) {
            free(bytes);
            bytes = NULL;
        }
    }
    close(fd);
    return bytes;
}

/* -- writing -- */

static bool write_all(int fd, const uint8_t *bytes, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t put = write(fd, bytes + done, size_bytes - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Process ids are no names: recorders of two containers may have one, and one folder. */
static bool write_aside(const struct tool_plan_cache *cache, const char *name, const void *bytes,
                        size_t size_bytes, char aside[NAME_BYTES])
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return false;
    (void)snprintf(aside, NAME_BYTES, ".%.200s.%016" PRIx64, name, number);
    int fd = openat(cache->fd, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool done = write_all(fd, bytes, size_bytes);
    int code = errno;
    if (close(fd) != 0 && done) {
        done = false;
        code = errno;
    }
    if (!done)
        (void)unlinkat(cache->fd, aside, 0);
    errno = code;
    return done;
}

bool tool_plan_write(struct tool_plan_cache *cache, const char *name, const void *bytes,
                     size_t size_bytes)
{
    char aside[NAME_BYTES];
    cache->has_written = true;
    if (!write_aside(cache, name, bytes, size_bytes, aside) &&
        !(tool_plan_cache_remake(cache) && write_aside(cache, name, bytes, size_bytes, aside)))
        return false;
    if (renameat(cache->fd, aside, cache->fd, name) == 0)
        return true;
    int code = errno;
    (void)unlinkat(cache->fd, aside, 0);
    errno = code;
    return false;
}

bool tool_plan_can_write(const struct tool_plan_cache *cache)
{
    char aside[NAME_BYTES];
    return write_aside(cache, "probe", "probe", sizeof "probe", aside) &&
           unlinkat(cache->fd, aside, 0) == 0;
}

/* -- the secret -- */

static bool read_key(struct tool_plan_cache *cache)
{
    struct stat status;
    int fd = open_own(cache, KEY_NAME, &status);
    cache->has_key = fd >= 0 && status.st_size == sizeof cache->key &&
                     tool_elf_read_exactly(fd, 0, cache->key, sizeof cache->key);
    if (fd >= 0)
        close(fd);
    return cache->has_key;
}

/* Of two recorders that make one the first has made it. One that is no secret, as somebody else may
 * have put it there, makes way. */
static bool make_key(struct tool_plan_cache *cache)
{
    char aside[NAME_BYTES];
    uint8_t key[TOOL_PLAN_KEY_BYTES];
    struct stat status;
    if (getrandom(key, sizeof key, 0) != sizeof key)
        return false;
    if (fstatat(cache->fd, KEY_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        unlinkat(cache->fd, KEY_NAME, 0) != 0)
        return false;
    if (!write_aside(cache, KEY_NAME, key, sizeof key, aside))
        return false;
    if (renameat2(cache->fd, aside, cache->fd, KEY_NAME, RENAME_NOREPLACE) != 0 &&
        (errno == EEXIST || renameat(cache->fd, aside, cache->fd, KEY_NAME) != 0))
        (void)unlinkat(cache->fd, aside, 0);
    return read_key(cache);
}

bool tool_plan_cache_key(struct tool_plan_cache *cache)
{
    return cache->has_key || (cache->fd >= 0 && (read_key(cache) || make_key(cache)));
}

/* -- removing -- */

struct kept {
    char name[NAME_BYTES];
    int64_t used_s; /* when it was read or written last, as far as the file system says */
    uint64_t bytes;
};

struct kept_list {
    struct kept *list;
    size_t count, capacity;
    uint64_t bytes;
};

static bool add_file(struct kept_list *kept, const char *name, const struct stat *status)
{
    if (kept->count == kept->capacity) {
        size_t capacity = kept->capacity == 0 ? 256 : 2 * kept->capacity;
        void *list = realloc(kept->list, capacity * sizeof *kept->list);
        if (list == NULL)
            return false;
        kept->list = list;
        kept->capacity = capacity;
    }
    struct kept *one = &kept->list[kept->count++];
    (void)snprintf(one->name, sizeof one->name, "%s", name);
    one->used_s = status->st_atim.tv_sec > status->st_mtim.tv_sec ? status->st_atim.tv_sec
                                                                  : status->st_mtim.tv_sec;
    one->bytes = (uint64_t)status->st_blocks * BLOCK_BYTES;
    kept->bytes += one->bytes;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct kept *one = a, *other = b;
    return one->used_s != other->used_s ? (one->used_s > other->used_s ? 1 : -1)
                                        : strcmp(one->name, other->name);
}

/* What a killed recorder was writing goes, too. */
static void list_kept(const struct tool_plan_cache *cache, DIR *folder, struct kept_list *kept)
{
    time_t now = time(NULL);
    struct stat status;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, KEY_NAME) == 0 || strlen(name) >= NAME_BYTES ||
            fstatat(cache->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode))
            continue;
        if (name[0] == '.' && now - status.st_mtim.tv_sec > UNFINISHED_S)
            (void)unlinkat(cache->fd, name, 0);
        else if (name[0] != '.' && !add_file(kept, name, &status))
            break;
    }
}

void tool_plan_cache_tidy(const struct tool_plan_cache *cache, const struct tool_plan_bound *bound)
{
    struct kept_list kept = {0};
    DIR *folder = opendir(cache->path);
    if (folder == NULL)
        return;
    list_kept(cache, folder, &kept);
    closedir(folder);
    if (kept.bytes > bound->bytes || kept.count > bound->files) {
        uint64_t bytes = bound->bytes * KEPT_OF_BOUND, left = kept.bytes;
        size_t files = bound->files * KEPT_OF_BOUND;
        qsort(kept.list, kept.count, sizeof *kept.list, by_use);
        for (size_t i = 0; i < kept.count && (left > bytes || kept.count - i > files); i++) {
            (void)unlinkat(cache->fd, kept.list[i].name, 0);
            left -= kept.list[i].bytes;
        }
    }
    free(kept.list);
}
