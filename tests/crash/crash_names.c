/* The calls by which files are made, filled, synced and named, each logged before it returns. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* the names with and without 64 are both defined here */
#include "crash_names.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash_disk.h"
#include "tests/asserts.h"

#define NAME_BYTES 48
#define FILES_MOST 64
#define FDS_MOST   1024

enum kind { CREATE, WRITE, SYNC, LINK, RENAME, UNLINK, SYNC_FOLDER };

struct step {
    enum kind kind;
    int file; /* number of what was created */
    char name[NAME_BYTES], to[NAME_BYTES];
    uint8_t *data;
    size_t offset, size_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct step *steps;
static size_t step_count, step_capacity;
static int file_count, file_of[FDS_MOST]; /* by descriptor; -1: not ours */
static bool is_on;
static struct stat watched;

void ttest_names_watch(const char *folder)
{
    ck_assert_int_eq(stat(folder, &watched), 0);
    memset(file_of, -1, sizeof file_of);
    file_count = 0;
    is_on = true;
}

size_t ttest_names_count(void) { return step_count; }

size_t ttest_names_end(void)
{
    is_on = false;
    return step_count;
}

void ttest_names_forget(void)
{
    for (size_t i = 0; i < step_count; i++)
        free(steps[i].data);
    free(steps);
    steps = NULL;
    step_count = step_capacity = 0;
}

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static struct step *add(enum kind kind, int file, const char *name, const char *to)
{
    if (step_count == step_capacity) {
        step_capacity = step_capacity == 0 ? 256 : step_capacity * 2;
        steps = realloc(steps, step_capacity * sizeof *steps);
        ck_assert_ptr_nonnull(steps);
    }
    struct step *step = &steps[step_count++];
    *step = (struct step){.kind = kind, .file = file};
    strncpy(step->name, name == NULL ? "" : base(name), NAME_BYTES - 1);
    strncpy(step->to, to == NULL ? "" : base(to), NAME_BYTES - 1);
    return step;
}

static int file_at(int fd) { return is_on && fd >= 0 && fd < FDS_MOST ? file_of[fd] : -1; }

static void note(enum kind kind, int file, const char *name, const char *to)
{
    if (!is_on)
        return;
    (void)pthread_mutex_lock(&lock);
    (void)add(kind, file, name, to);
    (void)pthread_mutex_unlock(&lock);
}

static void note_write(int fd, const void *data, size_t size_bytes, off_t offset)
{
    int file = file_at(fd);
    if (file < 0)
        return;
    (void)pthread_mutex_lock(&lock);
    struct step *step = add(WRITE, file, NULL, NULL);
    step->data = malloc(size_bytes);
    ck_assert_ptr_nonnull(step->data);
    memcpy(step->data, data, size_bytes);
    step->offset = (size_t)offset;
    step->size_bytes = size_bytes;
    (void)pthread_mutex_unlock(&lock);
}

/* ---- calls ---- */

static int open_at(int folder, const char *path, int flags, va_list list)
{
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (!is_on || fd < 0 || fd >= FDS_MOST)
        return fd;
    file_of[fd] = -1;
    if ((flags & O_CREAT) != 0 && file_count < FILES_MOST) {
        file_of[fd] = file_count++;
        note(CREATE, file_of[fd], path, NULL);
    }
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int fd = open_at(AT_FDCWD, path, flags, list);
    va_end(list);
    return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int fd = open_at(folder, path, flags, list);
    va_end(list);
    return fd;
}

ssize_t write(int fd, const void *data, size_t size)
{
    off_t offset = file_at(fd) < 0 ? 0 : (off_t)syscall(SYS_lseek, fd, 0l, SEEK_CUR);
    ssize_t done = (ssize_t)syscall(SYS_write, fd, data, size);
    if (done > 0)
        note_write(fd, data, (size_t)done, offset);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t done = (ssize_t)syscall(SYS_pwrite64, fd, data, size, offset);
    if (done > 0)
        note_write(fd, data, (size_t)done, offset);
    return done;
}

int fsync(int fd)
{
    struct stat info;
    int failed = (int)syscall(SYS_fsync, fd);
    if (failed == 0 && is_on && file_at(fd) >= 0)
        note(SYNC, file_at(fd), NULL, NULL);
    else if (failed == 0 && is_on && fstat(fd, &info) == 0 && info.st_ino == watched.st_ino &&
             info.st_dev == watched.st_dev)
        note(SYNC_FOLDER, -1, NULL, NULL);
    return failed;
}

#define NAMING(function, kind, number, from, to, parameters, ...)                                  \
    int function parameters                                                                        \
    {                                                                                              \
        int failed = (int)syscall(number, __VA_ARGS__);                                            \
        if (failed == 0)                                                                           \
            note(kind, -1, from, to);                                                              \
        return failed;                                                                             \
    }

NAMING(link, LINK, SYS_link, a, b, (const char *a, const char *b), a, b)
NAMING(rename, RENAME, SYS_rename, a, b, (const char *a, const char *b), a, b)
NAMING(unlink, UNLINK, SYS_unlink, a, NULL, (const char *a), a)
NAMING(linkat, LINK, SYS_linkat, a, b, (int f, const char *a, int g, const char *b, int flags), f,
       a, g, b, flags)
NAMING(renameat, RENAME, SYS_renameat, a, b, (int f, const char *a, int g, const char *b), f, a, g,
       b)
NAMING(unlinkat, UNLINK, SYS_unlinkat, a, NULL, (int f, const char *a, int flags), f, a, flags)

#define ALSO(name) __attribute__((alias(#name)))
int open64(const char *path, int flags, ...) ALSO(open);
int openat64(int folder, const char *path, int flags, ...) ALSO(openat);
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) ALSO(pwrite);

/* ---- what a power cut leaves ---- */

static bool is_naming(enum kind kind)
{
    return kind != WRITE && kind != SYNC && kind != SYNC_FOLDER;
}

/* Steps of names that are there: all up to the folder's last sync, some behind it. */
static size_t draw_names(size_t count, uint64_t *seed)
{
    size_t sync = count, free_steps = 0;
    while (sync > 0 && steps[sync - 1].kind != SYNC_FOLDER)
        free_steps += is_naming(steps[--sync].kind);
    size_t kept = free_steps == 0 ? 0 : ttest_crash_random(seed, (uint32_t)free_steps + 1);
    while (sync < count && (kept > 0 || !is_naming(steps[sync].kind)))
        kept -= is_naming(steps[sync++].kind);
    return sync;
}

/* The file behind a name after some steps; -1: none. Names at the start are not known. */
static int find_name(size_t count, const char *name)
{
    int file = -1;
    for (size_t i = 0; i < count; i++) {
        const struct step *s = &steps[i];
        if (s->kind == CREATE && strcmp(s->name, name) == 0)
            file = s->file;
        else if ((s->kind == LINK || s->kind == RENAME) && strcmp(s->to, name) == 0)
            file = find_name(i, s->name);
        else if ((s->kind == UNLINK || s->kind == RENAME) && strcmp(s->name, name) == 0)
            file = -1;
    }
    return file;
}

static size_t last_sync(size_t count, int file)
{
    while (count > 0 && (steps[count - 1].kind != SYNC || steps[count - 1].file != file))
        count--;
    return count;
}

uint8_t *ttest_names_crash(size_t count, const char *name, uint64_t *seed, size_t *size_bytes)
{
    int file = find_name(draw_names(count, seed), name);
    size_t durable = last_sync(count, file), size = 0;
    if (file < 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (steps[i].kind == WRITE && steps[i].file == file &&
            steps[i].offset + steps[i].size_bytes > size)
            size = steps[i].offset + steps[i].size_bytes;
    uint8_t *data = calloc(1, size + 1);
    ck_assert_ptr_nonnull(data);
    *size_bytes = size;
    for (size_t i = 0; i < count; i++)
        if (steps[i].kind == WRITE && steps[i].file == file &&
            (i < durable || ttest_crash_random(seed, 2) == 0))
            memcpy(data + steps[i].offset, steps[i].data, steps[i].size_bytes);
    return data;
}
