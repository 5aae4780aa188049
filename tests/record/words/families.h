/* Families of system calls, one function each: what it calls is compared, word for word, with what
 * strace says of it. A call that cannot work names the family that begins. */
#ifndef TTEST_WORDS_FAMILIES_H
#define TTEST_WORDS_FAMILIES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct family {
    const char *name;
    void (*run)(void);
};

#define CALL(...)    ((void)syscall(__VA_ARGS__))
#define CALL_FD(...) ((int)syscall(__VA_ARGS__))
#define NOWHERE      ((void *)0xfffffffffff000) /* no address of a program's */

static void begin_family(const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/family/%s", name);
    (void)!chdir(path);
}

/* In a child, which ends with that status, or by itself. */
static inline pid_t begin_child(void) { return (pid_t)syscall(SYS_fork); }

static int run_families(const struct family *families, size_t count, int argc, char **argv)
{
    for (size_t i = 0; i < count; i++)
        if (argc < 2 || strcmp(argv[1], families[i].name) == 0) {
            begin_family(families[i].name);
            families[i].run();
        }
    begin_family("end");
    return 0;
}

#define RUN(families) run_families(families, sizeof(families) / sizeof(*(families)), argc, argv)

#endif
