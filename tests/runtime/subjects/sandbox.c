/* Forbids itself all system calls but those that it needs (KILL for the others), then calls
 * functions, also in a thread and in a handler that were not there before. Argument: `strict` for
 * seccomp's first mode. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile int sink;

NOINLINE void leaf(void) { sink++; }
NOINLINE void large(void)
{
    char room[300000];
    memset(room, 1, sizeof(room));
    sink += room[sink & 7];
    leaf();
}
NOINLINE void handler(int number)
{
    (void)number;
    leaf();
}
NOINLINE void *thread(void *unused)
{
    large();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = handler};
    /* What threads, a write and an end need. */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(futex),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(clone3),
        ALLOW(clone),
        ALLOW(set_robust_list),
        ALLOW(rseq),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW(rt_sigaction),
        ALLOW(kill),
        ALLOW(getrandom),
        ALLOW(brk),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    pid_t self = getpid();
    leaf();
    if (count > 1 && strcmp(arguments[1], "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (int i = 0; i < 10000; i++)
            leaf();
        large();
        write(1, "done\n", 5);
        syscall(SYS_exit, 0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return 1;
    for (int i = 0; i < 10000; i++)
        leaf();
    large();
    sigaction(SIGUSR1, &action, NULL);
    kill(self, SIGUSR1);
    if (pthread_create(&id, NULL, thread, NULL) != 0)
        return 2;
    pthread_join(id, NULL);
    write(1, "done\n", 5);
    return 0;
}
