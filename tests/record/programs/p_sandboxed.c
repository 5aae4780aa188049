/* Started under a filter that ends it for each system call but those that start programs and end
 * them: `p_sandboxed sandbox PROGRAM ARGUMENT...` sets it and executes the program; `p_sandboxed
 * COUNT` calls so often; `p_sandboxed later|strict COUNT` sets a filter itself that leaves nothing
 * but write and its end, and calls then. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)

static volatile long sink;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

/* What it is given lies in memory: it is read only where the kernel may be asked. */
__attribute__((noinline)) static void wide(long double n) { sink += (long)n; }

__attribute__((noinline)) static void calls(long count)
{
    wide(count);
    for (long i = 0; i < count; i++)
        leaf(i);
}

__attribute__((no_instrument_function)) static int confine(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        /* what the kernel, the loader and the C library start a program with */
        ALLOW(execve),
        ALLOW(brk),
        ALLOW(arch_prctl),
        ALLOW(set_tid_address),
        ALLOW(set_robust_list),
        ALLOW(rseq),
        ALLOW(prlimit64),
        ALLOW(getrandom),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(openat),
        ALLOW(read),
        ALLOW(pread64),
        ALLOW(close),
        ALLOW(newfstatat),
        ALLOW(access),
        ALLOW(write),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

__attribute__((no_instrument_function)) static int confine_all(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(exit),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "sandbox") == 0) {
        if (confine() != 0)
            return 77;
        execv(argv[2], argv + 2);
        return 3;
    }
    if (argc > 2) {
        calls(1000);
        int is_strict = strcmp(argv[1], "strict") == 0;
        if ((is_strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : confine_all()) != 0)
            return 77;
        calls(atol(argv[2]));
        syscall(SYS_exit, write(1, "called\n", 7) == 7 ? 17 : 4);
    }
    calls(argc > 1 ? atol(argv[1]) : 1000);
    return write(1, "called\n", 7) == 7 ? 17 : 4;
}
