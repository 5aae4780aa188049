/* Executes a program: HOW PROGRAM. A child does (fork, vfork), another thread than the first, this
 * process itself, by the C library or by an instruction of its own (raw), or a child after a
 * program that is not there (fails). With -u it prints what rights it has. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *words[3] = {NULL, "-u", NULL};

static void *execute(void *unused)
{
    (void)execv(words[0], words);
    return unused;
}

static void execute_raw(void)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_execve), "D"(words[0]), "S"(words), "d"(environ)
                     : "rcx", "r11", "memory");
    (void)result;
}

static int show(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, data) != 0)
        return 1;
    (void)printf("%u %u %x\n", geteuid(), getegid(), data[0].effective);
    return 0;
}

int main(int count, char **given)
{
    if (count >= 2 && strcmp(given[1], "-u") == 0)
        return show();
    if (count < 3)
        return 2;
    const char *how = given[1];
    pthread_t thread;
    int status = 1;
    words[0] = "/nowhere";
    if (strcmp(how, "fails") == 0)
        (void)execute(NULL);
    words[0] = given[2];
    if (strcmp(how, "itself") == 0)
        (void)execute(NULL);
    if (strcmp(how, "raw") == 0)
        execute_raw();
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, execute, NULL) == 0)
        for (;;)
            (void)pause();
    pid_t child = strcmp(how, "vfork") == 0 ? vfork() : fork();
    if (child == 0) {
        (void)execv(words[0], words);
        _exit(9);
    }
    (void)waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
