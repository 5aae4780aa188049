/* Finding the arena of a killed recorder: by the name that recorders give, in a directory that is
 * ours alone, and by the recording's trace id, which only a reader of its files can know. */
#define _GNU_SOURCE /* asprintf */
#include "recorder/recover/recover_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "recorder/arena/arena.h"
#include "writer/os_status.h"

#define SHARED "/dev/shm/"
#define NAME   "arena"

ttape_status ttp_recovered_fail(ttape_error *err, const char *what, const char *path)
{
    int code = errno;
    ttape_status status = ttp_status_of(code);
    (void)ttp_fail(err, status, "", TTAPE_ERROR_NO_OFFSET, "%s '%s' failed: %s", what, path,
                   strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return status;
}

static void refuse_arena(struct ttp_recovered_arena *arena, const char *why)
{
    (void)snprintf(arena->why_not, sizeof arena->why_not, "%s", why);
}

/* "tracetape-XXXXXX/arena", at the path's end: as mkdtemp makes it. NULL: something else. */
static const char *made_name(const char *path)
{
    static const char shape[] = "tracetape-XXXXXX/" NAME;
    size_t size = strlen(path), length = sizeof shape - 1;
    if (size <= length || path[size - length - 1] != '/')
        return NULL;
    const char *name = path + size - length;
    for (size_t i = 0; i < length; i++)
        if (shape[i] == 'X' ? name[i] == '/' || name[i] == '.' : name[i] != shape[i])
            return NULL;
    return name;
}

/* In shared memory, or in the recording's folder, wherever that is by now: recorders make arenas
 * nowhere else. False: no memory. */
static bool name_directory(struct ttp_recovered_arena *arena, const char *path, const char *folder)
{
    const char *name = made_name(path);
    if (name == NULL)
        return true;
    arena->is_in_folder = strncmp(path, SHARED, strlen(SHARED)) != 0;
    if (!arena->is_in_folder && name != path + strlen(SHARED))
        return true;
    int length = (int)(strlen(name) - strlen("/" NAME));
    if (asprintf(&arena->directory, "%s/%.*s", arena->is_in_folder ? folder : "/dev/shm", length,
                 name) >= 0)
        return true;
    arena->directory = NULL;
    return false;
}

bool ttp_is_private(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return false;
    errno = EACCES;
    return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int open_in(struct ttp_recovered_arena *arena)
{
    if (arena->directory_fd >= 0)
        (void)close(arena->directory_fd);
    arena->directory_fd = open(arena->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (arena->directory_fd < 0 || !ttp_is_private(arena->directory_fd))
        return -1;
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    int fd = openat(arena->directory_fd, NAME, flags | O_NONBLOCK);
    /* Somebody's record looks at it, and may move it (recover_left.c): a moment. */
    if (fd < 0 && errno == EAGAIN)
        fd = openat(arena->directory_fd, NAME, flags);
    /* Moved between the look at its name and its opening. */
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_nlink == 0) {
        (void)close(fd);
        errno = ENOENT;
        fd = -1;
    }
    return fd;
}

/* It may have been moved from shared memory into the folder: recover_left.c. */
static int open_file(struct ttp_recovered_arena *arena, const char *folder)
{
    int fd = open_in(arena);
    if (fd >= 0 || errno != ENOENT || arena->is_in_folder)
        return fd;
    struct ttp_recovered_arena moved = {.directory_fd = -1, .is_in_folder = true};
    if (asprintf(&moved.directory, "%s/%s", folder, arena->directory + strlen(SHARED)) < 0)
        return -1;
    fd = open_in(&moved);
    if (fd < 0 && errno == ENOENT) {
        ttp_recovered_arena_close(&moved);
        errno = ENOENT;
        return -1;
    }
    ttp_recovered_arena_close(arena);
    *arena = moved;
    return fd;
}

/* Looked at once. */
static bool has_right_sizes(struct ttp_recovered_arena *arena)
{
    const struct ttp_arena_head *head = (const void *)arena->memory;
    uint64_t offset = __atomic_load_n(&head->blocks_offset, __ATOMIC_RELAXED);
    uint32_t ready = __atomic_load_n(&head->block_ready, __ATOMIC_ACQUIRE);
    arena->blocks_offset = offset;
    arena->block_ready = ready;
    return head->block_bytes == TTP_BLOCK_BYTES && ready <= TTP_ARENA_BLOCKS_MAX &&
           offset >= TTP_ARENA_HEAD_BYTES + TTP_ARENA_BLOCKS_MAX * sizeof(uint32_t) &&
           offset % TTP_BLOCK_BYTES == 0 && offset <= arena->bytes &&
           (uint64_t)ready * TTP_BLOCK_BYTES <= arena->bytes - offset;
}

static void check_arena(struct ttp_recovered_arena *arena, const uint8_t *trace_id)
{
    const struct ttp_arena_head *head = (const void *)arena->memory;
    if (head->magic != TTP_ARENA_MAGIC)
        refuse_arena(arena, "is no arena");
    else if (head->version != TTP_ARENA_VERSION)
        (void)snprintf(arena->why_not, sizeof arena->why_not, "is of version %u, not %u",
                       head->version, TTP_ARENA_VERSION);
    else if (memcmp(head->trace_id, trace_id, sizeof head->trace_id) != 0)
        refuse_arena(arena, "is another recording's");
    else if (!has_right_sizes(arena))
        refuse_arena(arena, "is broken");
}

static ttape_status map(struct ttp_recovered_arena *arena, int fd, const char *path,
                        ttape_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return ttp_recovered_fail(err, "reading the state of the arena", path);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        info.st_size < (off_t)TTP_ARENA_HEAD_BYTES) {
        refuse_arena(arena, "is no arena of this user");
        return TTAPE_OK;
    }
    if ((uint64_t)info.st_size > SIZE_MAX) {
        refuse_arena(arena, "is larger than this machine's memory");
        return TTAPE_OK;
    }
    arena->bytes = (size_t)info.st_size;
    void *memory = mmap(NULL, arena->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return ttp_recovered_fail(err, "mapping the arena", path);
    arena->memory = memory;
    return TTAPE_OK;
}

static void unmap(struct ttp_recovered_arena *arena)
{
    if (arena->memory != NULL)
        (void)munmap((void *)arena->memory, arena->bytes);
    arena->memory = NULL;
}

ttape_status ttp_recovered_arena_open(struct ttp_recovered_arena *arena, const char *path,
                                      const char *folder, const uint8_t *trace_id, ttape_error *err)
{
    *arena = (struct ttp_recovered_arena){.directory_fd = -1};
    if (path == NULL)
        return TTAPE_OK;
    if (!name_directory(arena, path, folder))
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    if (arena->directory == NULL) {
        refuse_arena(arena, "is no name that a recorder gives");
        return TTAPE_OK;
    }
    int fd = open_file(arena, folder);
    if (fd < 0 && errno == ENOENT)
        return TTAPE_OK;
    if (fd < 0 && (errno == ENOTDIR || errno == EACCES || errno == ELOOP)) { /* links, too */
        refuse_arena(arena, "is no arena of this user");
        return TTAPE_OK;
    }
    if (fd < 0)
        return ttp_recovered_fail(err, "opening the arena", path);
    ttape_status status = map(arena, fd, path, err);
    (void)close(fd);
    if (arena->memory != NULL)
        check_arena(arena, trace_id);
    if (arena->why_not[0] != '\0')
        unmap(arena);
    return status;
}

/* Where the arena is gone already its directory may have stayed: that goes when it is empty. */
ttape_status ttp_recovered_arena_remove(const struct ttp_recovered_arena *arena, ttape_error *err)
{
    bool has_arena = arena->memory != NULL;
    if (has_arena && unlinkat(arena->directory_fd, NAME, 0) != 0 && errno != ENOENT)
        return ttp_recovered_fail(err, "removing the arena in", arena->directory);
    if (arena->directory == NULL || arena->why_not[0] != '\0' || rmdir(arena->directory) == 0 ||
        errno == ENOENT)
        return TTAPE_OK;
    if (!has_arena && !arena->is_in_folder && (errno == ENOTEMPTY || errno == EEXIST))
        return TTAPE_OK; /* another user's by now */
    return ttp_recovered_fail(err, "removing", arena->directory);
}

void ttp_recovered_arena_close(struct ttp_recovered_arena *arena)
{
    unmap(arena);
    if (arena->directory_fd >= 0)
        (void)close(arena->directory_fd);
    free(arena->directory);
}
