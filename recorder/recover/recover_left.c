/* Arenas in shared memory whose recorders were killed. `recover` needs such an arena as long as
 * there is the recording's folder, and nobody needs it when that is gone; until then it takes
 * memory. */
#define _GNU_SOURCE /* asprintf, fallocate, F_SETLEASE */
#include <tracetape/recover.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/recover/recover_files.h"

#define SHARED    "/dev/shm"
#define SUFFIX    ".recording"
#define LOOKS_MAX 256u           /* folders beside the one that is not there any more */
#define KEPT_S    (24 * 60 * 60) /* how long an arena stays whose folder cannot be found */
#define MAKING_S  60             /* how long one may be in the making */

struct left {
    ttape_recover_callback found;
    void *context;
    const char *name; /* tracetape-XXXXXX */
    int shared_fd, directory_fd, fd;
    struct stat info;
    union {
        struct ttp_arena_head head;
        char bytes[TTP_ARENA_HEAD_BYTES];
    } page;
    uint32_t states[TTP_ARENA_BLOCKS_MAX];
};

/* Until closed: nobody else has the file open, and a mapping holds its file open. */
static bool take_lease(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static bool open_arena(struct left *l)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    l->directory_fd =
        openat(l->shared_fd, l->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (l->directory_fd < 0 || !ttp_is_private(l->directory_fd))
        return false;
    l->fd = openat(l->directory_fd, "arena", flags);
    return l->fd >= 0 && fstat(l->fd, &l->info) == 0 && S_ISREG(l->info.st_mode) &&
           l->info.st_uid == geteuid() && take_lease(l->fd);
}

static bool read_at(int fd, void *data, size_t size, uint64_t at)
{
    return pread(fd, data, size, (off_t)at) == (ssize_t)size;
}

/* One that never had a magic is none that a program has seen. */
static bool read_head(struct left *l)
{
    const struct ttp_arena_head *head = &l->page.head;
    if (!read_at(l->fd, l->page.bytes, sizeof l->page.bytes, 0) ||
        !read_at(l->fd, l->states, sizeof l->states, TTP_ARENA_HEAD_BYTES))
        return false;
    l->page.bytes[sizeof l->page.bytes - 1] = '\0';
    return head->magic == TTP_ARENA_MAGIC && head->version == TTP_ARENA_VERSION &&
           head->block_ready <= TTP_ARENA_BLOCKS_MAX && head->block_bytes == TTP_BLOCK_BYTES &&
           l->page.bytes[TTP_ARENA_FOLDER_AT] == '/';
}

/* Where process ids mean other processes, its recorder is not known. */
static bool recorder_lives(const struct left *l)
{
    struct stat own;
    if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino != l->page.head.pid_namespace)
        return false;
    return kill((pid_t)l->page.head.recorder_pid, 0) == 0 || errno == EPERM;
}

static bool is_used(const struct left *l, uint32_t block)
{
    return l->states[block] != TTP_BLOCK_FREE && l->states[block] != TTP_BLOCK_WITHDRAWN;
}

/* ---- whose it is ---- */

/* Does the journal of that folder name it? *is_known: there is none, or it was read. */
static bool is_needed_by(const struct left *l, const char *folder, bool *is_known)
{
    struct ttp_recovered_files files;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    bool is_needed = false, is_ours = fd >= 0 && ttp_is_private(fd);
    *is_known = is_ours && faccessat(fd, "journal", F_OK, 0) != 0 && errno == ENOENT;
    if (fd >= 0)
        (void)close(fd);
    if (!is_ours || *is_known)
        return false;
    if (ttp_recovered_start(&files, folder, NULL) == TTAPE_OK) {
        *is_known = true;
        is_needed = memcmp(files.trace_id, l->page.head.trace_id, sizeof files.trace_id) == 0 &&
                    files.arena_path != NULL && strstr(files.arena_path, l->name) != NULL;
    }
    ttp_recovered_close(&files);
    return is_needed;
}

/* It may have another name now, or the same elsewhere: then nobody finds it. */
static char *find_renamed(const struct left *l, const char *parent, bool *is_there)
{
    const struct dirent *entry;
    char *path = NULL;
    unsigned looks = 0;
    bool is_known;
    DIR *all = opendir(parent);
    *is_there = all != NULL;
    while (all != NULL && looks < LOOKS_MAX && (entry = readdir(all)) != NULL) {
        size_t size = strlen(entry->d_name);
        if (size <= strlen(SUFFIX) || strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        looks++;
        if (asprintf(&path, "%s/%s", parent, entry->d_name) < 0)
            path = NULL;
        if (path != NULL && is_needed_by(l, path, &is_known))
            break;
        free(path);
        path = NULL;
    }
    if (all != NULL)
        (void)closedir(all);
    return path;
}

/* The folder that needs it, or NULL; *may_go: nobody can need it. */
static char *find_folder(const struct left *l, bool *may_go)
{
    const char *folder = l->page.bytes + TTP_ARENA_FOLDER_AT;
    bool is_there, is_known;
    if (is_needed_by(l, folder, &is_known))
        return strdup(folder);
    char *parent = strndup(folder, (size_t)(strrchr(folder, '/') + 1 - folder));
    char *found = parent != NULL ? find_renamed(l, parent, &is_there) : NULL;
    *may_go = found == NULL && parent != NULL && is_there &&
              (is_known || time(NULL) - l->info.st_mtime > KEPT_S);
    free(parent);
    return found;
}

/* ---- moving ---- */

static bool copy_bytes(const struct left *l, int to, uint64_t at, uint64_t size)
{
    static const size_t piece = TTP_BLOCK_BYTES;
    char *data = malloc(piece);
    bool is_done = data != NULL;
    for (uint64_t end = at + size; at < end && is_done; at += piece) {
        size_t count = end - at < piece ? (size_t)(end - at) : piece;
        is_done =
            read_at(l->fd, data, count, at) && pwrite(to, data, count, (off_t)at) == (ssize_t)count;
    }
    free(data);
    return is_done;
}

/* Free blocks are zero, and stay holes. Places of blocks that never were need no file. */
static bool copy_arena(const struct left *l, int to)
{
    const struct ttp_arena_head *head = &l->page.head;
    uint64_t bytes = head->blocks_offset + (uint64_t)head->block_ready * TTP_BLOCK_BYTES;
    bool is_done = ftruncate(to, (off_t)bytes) == 0 && copy_bytes(l, to, 0, head->blocks_offset);
    for (uint32_t i = 0; i < head->block_ready && is_done; i++)
        if (is_used(l, i))
            is_done = copy_bytes(l, to, head->blocks_offset + (uint64_t)i * TTP_BLOCK_BYTES,
                                 TTP_BLOCK_BYTES);
    return is_done && fsync(to) == 0;
}

static bool move(const struct left *l, const char *folder)
{
    int in = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), sub = -1, to = -1;
    if (in >= 0 && ttp_is_private(in) && (mkdirat(in, l->name, 0700) == 0 || errno == EEXIST))
        sub = openat(in, l->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (sub >= 0 && ttp_is_private(sub))
        to = openat(sub, "arena", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_moved = to >= 0 && copy_arena(l, to) && fsync(sub) == 0 && fsync(in) == 0;
    if (to >= 0)
        (void)close(to);
    if (!is_moved && to >= 0)
        (void)unlinkat(sub, "arena", 0);
    if (sub >= 0)
        (void)close(sub);
    if (!is_moved && in >= 0)
        (void)unlinkat(in, l->name, AT_REMOVEDIR);
    if (in >= 0)
        (void)close(in);
    return is_moved;
}

/* An arena that stays keeps what is in its blocks, and its age. */
static void give_memory_back(const struct left *l)
{
    const struct timespec times[2] = {l->info.st_atim, l->info.st_mtim};
    uint64_t bytes = l->page.head.blocks_offset;
    for (uint32_t i = 0; i < l->page.head.block_ready; i++)
        bytes += is_used(l, i) ? TTP_BLOCK_BYTES : 0;
    if ((uint64_t)l->info.st_blocks * 512 <= bytes) /* it has none too many: as each time but one */
        return;
    for (uint32_t i = 0; i < l->page.head.block_ready; i++)
        if (!is_used(l, i))
            (void)fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)(l->page.head.blocks_offset + (uint64_t)i * TTP_BLOCK_BYTES),
                            TTP_BLOCK_BYTES);
    (void)futimens(l->fd, times);
}

static void tell_folder(const struct left *l, const char *folder, const char *what)
{
    char *line = NULL;
    if (l->found == NULL ||
        asprintf(&line, "'" SHARED "/%s/arena' %s '%s', which was never finished: see recover",
                 l->name, what, folder) < 0)
        return;
    l->found(l->context, false, line);
    free(line);
}

static void clear(const struct left *l)
{
    bool may_go = false;
    char *folder = find_folder(l, &may_go);
    if (folder != NULL) {
        may_go = move(l, folder);
        tell_folder(l, folder, may_go ? "is moved into the folder of" : "cannot be moved into");
    }
    if (!may_go)
        give_memory_back(l);
    else if (unlinkat(l->directory_fd, "arena", 0) == 0)
        (void)unlinkat(l->shared_fd, l->name, AT_REMOVEDIR);
    free(folder);
}

/* Its recorder was killed while it made it: no program has seen it, or there is no file yet. */
static void clear_begun(const struct left *l)
{
    struct stat info;
    bool has_file = l->fd >= 0;
    if (strlen(l->name) != strlen("tracetape-XXXXXX") || l->directory_fd < 0 ||
        !ttp_is_private(l->directory_fd) || fstat(has_file ? l->fd : l->directory_fd, &info) != 0 ||
        time(NULL) - info.st_mtime <= MAKING_S)
        return;
    if (!has_file || unlinkat(l->directory_fd, "arena", 0) == 0)
        (void)unlinkat(l->shared_fd, l->name, AT_REMOVEDIR); /* where nothing else is in it */
}

static void look_at(struct left *l)
{
    bool is_free = open_arena(l);
    if (is_free && read_head(l)) {
        if (!recorder_lives(l))
            clear(l);
    } else if (is_free ? l->page.head.magic == 0 : l->fd < 0 && errno == ENOENT)
        clear_begun(l);
}

void ttape_recover_left(ttape_recover_callback found, void *context)
{
    static const char prefix[] = "tracetape-";
    const struct dirent *entry;
    struct left *l = malloc(sizeof *l);
    DIR *all = opendir(SHARED);
    while (l != NULL && all != NULL && (entry = readdir(all)) != NULL) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        memset(l, 0, sizeof *l);
        l->found = found;
        l->context = context;
        l->name = entry->d_name;
        l->shared_fd = dirfd(all);
        l->directory_fd = l->fd = -1;
        look_at(l);
        if (l->fd >= 0)
            (void)close(l->fd);
        if (l->directory_fd >= 0)
            (void)close(l->directory_fd);
    }
    if (all != NULL)
        (void)closedir(all);
    free(l);
}
