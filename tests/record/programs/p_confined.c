/* Gives up rights in the middle of its calls: `p_confined chroot DIRECTORY`, or `p_confined
 * seccomp|seccomp_kill|seccomp_threads`, a filter that denies all but write, futex, exit (by EPERM
 * or by death). Then it calls often enough to need new room for records. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sink;
static volatile int go, late_begun, late_done;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static long calls(long count)
{
    for (long i = 0; i < count; i++)
        leaf(i);
    return sink;
}

__attribute__((no_instrument_function)) static void say(const char *text)
{
    if (syscall(SYS_write, 1, text, strlen(text)) < 0)
        syscall(SYS_exit_group, 9);
}

__attribute__((no_instrument_function)) static int confine(unsigned int denied, unsigned int flags)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, denied),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Has called nothing instrumented before the filter is there. */
__attribute__((no_instrument_function)) static void *late_thread(void *unused)
{
    late_begun = 1;
    while (!go)
        ;
    calls(10000);
    late_done = 1;
    for (;;) /* its end would need more system calls than are allowed */
        ;
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "seccomp";
    pthread_t thread;
    calls(1000);
    if (strcmp(way, "chroot") == 0) {
        if (argc < 3 || chroot(argv[2]) != 0 || chdir("/") != 0)
            return 3;
        say(access("/etc/passwd", F_OK) != 0 ? "inside\n" : "outside\n");
        calls(100000);
        return 0;
    }
    int threads = strcmp(way, "seccomp_threads") == 0;
    unsigned int denied =
        strcmp(way, "seccomp_kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    if (threads)
        pthread_create(&thread, NULL, late_thread, NULL);
    while (threads && !late_begun)
        ;
    if (confine(denied, threads ? SECCOMP_FILTER_FLAG_TSYNC : 0) != 0)
        return 4;
    say("confined\n");
    go = 1;
    calls(100000);
    while (threads && !late_done)
        ;
    say("called\n");
    syscall(SYS_exit_group, 17);
    return 0;
}
