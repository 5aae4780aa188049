/* A recorder that was killed, and what it leaves: for the tests of recovery from a folder. Needs
 * _GNU_SOURCE (asprintf). */
#ifndef TTEST_RECOVER_LEFT_H
#define TTEST_RECOVER_LEFT_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_player.h"

/* What is left, shared with the process that is killed. */
struct remains {
    char folder[64], directory[128], arena[128];
};

static struct remains *left;

/* A recorder that is killed: `left` says where its things are. */
static inline void kill_with(const ttape_recording_options *options,
                             void (*play)(struct ttest_player *))
{
    left = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(left, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        struct ttest_player p;
        ttest_player_open(&p, options);
        p.head->recorder_pid = (uint32_t)getppid(); /* other tests' recorders leave it here */
        (void)snprintf(left->folder, sizeof left->folder, "%s", p.folder);
        (void)snprintf(left->directory, sizeof left->directory, "%s.recording", p.output);
        play(&p);
        (void)snprintf(left->arena, sizeof left->arena, "%s", ttape_recording_arena(p.recording));
        (void)kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_str_ne(left->arena, "");
}

static inline char *path_of(const char *folder, const char *name)
{
    char *path = NULL;
    ck_assert_int_ge(asprintf(&path, "%s/%s", folder, name), 0);
    return path;
}

/* With two of our own paths. */
static inline void command(const char *what, const char *a, const char *b)
{
    char *words = NULL;
    ck_assert_int_ge(asprintf(&words, "%s '%s' '%s'", what, a, b), 0);
    ck_assert_int_eq(system(words), 0);
    free(words);
}

static inline char *folder_of(const char *arena)
{
    return strndup(arena, strlen(arena) - strlen("/arena"));
}

static inline bool exists(const char *path) { return access(path, F_OK) == 0; }

static inline void remove_arena(const char *arena)
{
    char *directory = folder_of(arena);
    (void)unlink(arena);
    (void)rmdir(directory);
    free(directory);
}

static inline void tear_down(void)
{
    command("rm -rf", left->folder, left->directory);
    remove_arena(left->arena);
    (void)munmap(left, sizeof *left);
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    (void)close(fd);
}

static inline size_t read_file(const char *path, uint8_t *bytes, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ssize_t size = read(fd, bytes, room);
    ck_assert_int_ge(size, 0);
    (void)close(fd);
    return (size_t)size;
}

#endif
