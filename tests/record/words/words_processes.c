/* Families of calls of processes, their rights and what they are. */
#include "families.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <asm/prctl.h>

static char text[512];
static const char *own;

static void run_wait4(void)
{
    int status;
    struct rusage used;
    pid_t child = begin_child();
    if (child == 0)
        CALL(SYS_exit_group, 7);
    CALL(SYS_wait4, child, &status, 0, NULL);
    child = begin_child();
    if (child == 0) {
        CALL(SYS_kill, getpid(), SIGKILL);
        _exit(1);
    }
    CALL(SYS_wait4, child, &status, __WALL, &used);
    child = begin_child();
    if (child == 0)
        CALL(SYS_exit_group, 0);
    CALL(SYS_wait4, -1, &status, WUNTRACED, NULL);
    CALL(SYS_wait4, -1, &status, WNOHANG | WCONTINUED, NULL);
    CALL(SYS_wait4, 1, NULL, __WCLONE | __WNOTHREAD, NULL);
}

static void run_waitid(void)
{
    siginfo_t info;
    struct rusage used;
    pid_t child = begin_child();
    if (child == 0)
        CALL(SYS_exit_group, 3);
    CALL(SYS_waitid, P_PID, child, &info, WEXITED | WNOWAIT, NULL);
    CALL(SYS_waitid, P_PID, child, &info, WEXITED, &used);
    CALL(SYS_waitid, P_ALL, 0, &info, WEXITED | WSTOPPED, NULL);
    CALL(SYS_waitid, P_PGID, 5, NULL, WNOHANG, NULL);
}

static void run_fork(void)
{
    pid_t child = begin_child();
    if (child == 0)
        CALL(SYS_exit, 5);
    CALL(SYS_wait4, child, NULL, 0, NULL);
    child = CALL_FD(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);
    if (child == 0)
        CALL(SYS_exit_group, 6);
    CALL(SYS_wait4, child, NULL, 0, NULL);
}

static void run_clone3(void)
{
    int pidfd = -1;
    struct clone_args how = {
        .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
    pid_t child = CALL_FD(SYS_clone3, &how, sizeof how);
    if (child == 0)
        CALL(SYS_exit_group, 6);
    CALL(SYS_wait4, child, NULL, 0, NULL);
    how = (struct clone_args){.flags = CLONE_THREAD};
    CALL(SYS_clone3, &how, sizeof how);
    CALL(SYS_clone3, NULL, 64L);
}

static void run_execve(void)
{
    char *const arguments[] = {"own", "nothing", "a longer argument, which strace cuts at 32",
                               NULL};
    char *const environment[] = {"A=1", "B=2", NULL};
    CALL(SYS_execve, "absent", arguments, environment);
    CALL(SYS_execve, "absent", NULL, NULL);
    CALL(SYS_execveat, AT_FDCWD, "absent", arguments, environment, AT_SYMLINK_NOFOLLOW);
    CALL(SYS_execveat, -1, "", arguments, &environment[1], AT_EMPTY_PATH);
    pid_t child = begin_child();
    if (child == 0) {
        CALL(SYS_execve, own, arguments, environment);
        _exit(1);
    }
    CALL(SYS_wait4, child, NULL, 0, NULL);
}

static void run_ids(void)
{
    CALL(SYS_getpid);
    CALL(SYS_gettid);
    CALL(SYS_getppid);
    CALL(SYS_getpgrp);
    CALL(SYS_getpgid, 0);
    CALL(SYS_getsid, 0);
    CALL(SYS_setpgid, -5, 0);
    CALL(SYS_getpgid, -1);
    CALL(SYS_set_tid_address, NULL);
}

static void run_users(void)
{
    uint32_t one, two, three;
    CALL(SYS_getuid);
    CALL(SYS_geteuid);
    CALL(SYS_getgid);
    CALL(SYS_getegid);
    CALL(SYS_getresuid, &one, &two, &three);
    CALL(SYS_getresgid, &one, &two, &three);
    CALL(SYS_setresuid, -1, -1, -1);
    CALL(SYS_setresgid, -1, -1, -1);
    CALL(SYS_setreuid, -1, geteuid());
    CALL(SYS_setregid, getegid(), -1);
    CALL(SYS_setuid, geteuid());
    CALL(SYS_setgid, getegid());
    CALL(SYS_setfsuid, -1);
    CALL(SYS_setfsgid, -1);
    CALL(SYS_getresuid, NULL, &two, &three);
}

static void run_groups(void)
{
    gid_t groups[64];
    CALL(SYS_getgroups, 0, NULL);
    CALL(SYS_getgroups, 64, groups);
    CALL(SYS_getgroups, -1, groups);
    CALL(SYS_setgroups, 70000, groups);
}

static void run_prctl(void)
{
    int number;
    CALL(SYS_prctl, PR_SET_NAME, "words");
    CALL(SYS_prctl, PR_GET_NAME, text);
    CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM);
    CALL(SYS_prctl, PR_GET_PDEATHSIG, &number);
    CALL(SYS_prctl, PR_SET_PDEATHSIG, 0);
    CALL(SYS_prctl, PR_GET_DUMPABLE);
    CALL(SYS_prctl, PR_SET_DUMPABLE, 1L);
    CALL(SYS_prctl, PR_GET_KEEPCAPS);
    CALL(SYS_prctl, PR_GET_SECCOMP);
    CALL(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1L);
    CALL(SYS_prctl, PR_GET_CHILD_SUBREAPER, &number);
    CALL(SYS_prctl, PR_CAPBSET_READ, CAP_KILL);
    CALL(SYS_prctl, PR_GET_TIMERSLACK);
    CALL(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
    CALL(SYS_prctl, PR_GET_SECUREBITS);
    CALL(SYS_prctl, 0x1234, 1L, 2L, 3L, 4L);
}

static void run_arch_prctl(void)
{
    unsigned long at;
    CALL(SYS_arch_prctl, ARCH_GET_FS, &at);
    CALL(SYS_arch_prctl, 0x9999, 5L);
}

static void run_rlimit(void)
{
    struct rlimit limit = {100, RLIM_INFINITY};
    CALL(SYS_getrlimit, RLIMIT_NOFILE, &limit);
    CALL(SYS_setrlimit, RLIMIT_NOFILE, &limit);
    CALL(SYS_getrlimit, RLIMIT_STACK, &limit);
    limit = (struct rlimit){1 << 20, 1 << 20};
    CALL(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL);
    CALL(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit);
    CALL(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit);
    CALL(SYS_getrlimit, 99, &limit);
    CALL(SYS_setrlimit, RLIMIT_AS, NULL);
}

static void run_rusage(void)
{
    struct rusage used;
    struct tms times;
    CALL(SYS_getrusage, RUSAGE_CHILDREN, &used);
    CALL(SYS_getrusage, RUSAGE_SELF, &used);
    CALL(SYS_getrusage, 55, &used);
    CALL(SYS_times, &times);
    CALL(SYS_times, NULL);
}

static void run_machine(void)
{
    struct sysinfo info;
    struct utsname names;
    unsigned processor, node;
    CALL(SYS_sysinfo, &info);
    CALL(SYS_sysinfo, NULL);
    CALL(SYS_uname, &names);
    CALL(SYS_uname, NULL);
    CALL(SYS_getcpu, &processor, &node, NULL);
    CALL(SYS_sethostname, "name", -1L);
    CALL(SYS_setdomainname, "domain", -1L);
    CALL(SYS_syslog, 99, NULL, 0);
}

static void run_priority(void)
{
    CALL(SYS_getpriority, PRIO_PROCESS, 0);
    CALL(SYS_setpriority, PRIO_PROCESS, 0, 0);
    CALL(SYS_getpriority, PRIO_USER, 99999);
    CALL(SYS_getpriority, 7, 0);
    CALL(SYS_ioprio_get, 1, 0);
    CALL(SYS_ioprio_set, 1, 0, 2 << 13 | 4);
    CALL(SYS_ioprio_set, 9, 0, 3 << 13);
}

static void run_affinity(void)
{
    unsigned long mask[16];
    CALL(SYS_sched_getaffinity, 0, sizeof mask, mask);
    CALL(SYS_sched_setaffinity, 0, 8L, mask);
    CALL(SYS_sched_getaffinity, -1, 8L, mask);
    CALL(SYS_sched_setaffinity, 0, 0L, NULL);
}

static void run_scheduling(void)
{
    struct sched_param param = {0};
    struct timespec slice;
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
        uint32_t low, high;
    } how = {.size = sizeof how};
    CALL(SYS_sched_yield);
    CALL(SYS_sched_getscheduler, 0);
    CALL(SYS_sched_setscheduler, 0, SCHED_OTHER, &param);
    CALL(SYS_sched_setscheduler, -1, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
    CALL(SYS_sched_getparam, 0, &param);
    CALL(SYS_sched_setparam, -1, &param);
    CALL(SYS_sched_get_priority_max, SCHED_RR);
    CALL(SYS_sched_get_priority_min, SCHED_IDLE);
    CALL(SYS_sched_rr_get_interval, -1, &slice);
    CALL(SYS_sched_getattr, 0, &how, sizeof how, 0);
    CALL(SYS_sched_setattr, -1, &how, 0);
}

static void run_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CALL(SYS_capget, &head, data);
    head.version = 5;
    CALL(SYS_capget, &head, data);
    head = (struct __user_cap_header_struct){_LINUX_CAPABILITY_VERSION_3, -1};
    CALL(SYS_capset, &head, data);
    CALL(SYS_capget, NULL, NULL);
}

static void run_personality(void)
{
    CALL(SYS_personality, 0xffffffff);
    CALL(SYS_personality, PER_LINUX);
}

static void run_namespaces(void)
{
    CALL(SYS_unshare, CLONE_FILES | CLONE_FS);
    CALL(SYS_unshare, 0x1);
    CALL(SYS_setns, -1, CLONE_NEWNET);
    CALL(SYS_kcmp, getpid(), getpid(), KCMP_FILE, 0L, 1L);
    CALL(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0L, 0L);
}

static void run_process_vm(void)
{
    char into[16];
    struct iovec here = {into, 5}, there = {"other", 5};
    CALL(SYS_process_vm_readv, getpid(), &here, 1L, &there, 1L, 0L);
    CALL(SYS_process_vm_writev, getpid(), &there, 1L, &here, 1L, 0L);
    CALL(SYS_process_vm_readv, -1, &here, 1L, &there, 1L, 0L);
}

static void run_random(void)
{
    CALL(SYS_getrandom, NULL, 5L, 3);
    CALL(SYS_getrandom, text, 0L, 0);
    CALL(SYS_getrandom, text, 1L, 0x80);
}

static void run_session(void)
{
    pid_t child = begin_child();
    if (child == 0) {
        CALL(SYS_setsid);
        CALL(SYS_setsid);
        CALL(SYS_setpgid, 0, 0);
        CALL(SYS_vhangup + 1000);
        CALL(SYS_exit_group, 0);
    }
    CALL(SYS_wait4, child, NULL, 0, NULL);
}

static void run_others(void)
{
    CALL(SYS_bpf, 99, NULL, 0);
    CALL(SYS_perf_event_open, NULL, 0, -1, -1, 0L);
    CALL(SYS_membarrier, 0, 0, 0);
    CALL(SYS_seccomp, 2, 0, text);
    CALL(SYS_ptrace, 0x4200, -1, 0L, 0L);
    CALL(SYS_add_key, "user", "name", "load", 4L, 99);
    CALL(SYS_request_key, "user", "name", NULL, 0);
    CALL(SYS_keyctl, 99, 1L, 2L, 3L, 4L);
    CALL(SYS_finit_module, -1, "options", 1);
    CALL(SYS_delete_module, "absent", O_NONBLOCK);
    CALL(SYS_landlock_create_ruleset, NULL, 0L, 1);
    CALL(SYS_rseq, NULL, 32, 0, 5);
    CALL(SYS_get_robust_list, -1, text, text + 8);
    CALL(SYS_set_robust_list, NULL, 3L);
    CALL(SYS_restart_syscall);
    CALL(SYS_clone, CLONE_SIGHAND, NULL, NULL, NULL, 0L);
}

static void run_unknown(void)
{
    CALL(500L, 1L, 2L, 3L, 0x123456L, 5L, 6L);
    CALL(600L, 1L, 2L, 3L, 4L, 5L, -1L);
    CALL(0x7fffffffL, 1L, 2L, 3L, 4L, 5L, -1L);
    CALL(SYS_afs_syscall, 1L, 2L, 3L, 4L, 5L, 6L);
    CALL(SYS_vserver, 1L, 2L, 3L, 4L, 5L, 6L);
    CALL(SYS_tuxcall, 1L, 2L, 3L, 4L, 5L, 6L);
}

static const struct family families[] = {
    {"wait4", run_wait4},
    {"waitid", run_waitid},
    {"fork", run_fork},
    {"clone3", run_clone3},
    {"execve", run_execve},
    {"ids", run_ids},
    {"users", run_users},
    {"groups", run_groups},
    {"prctl", run_prctl},
    {"arch_prctl", run_arch_prctl},
    {"rlimit", run_rlimit},
    {"rusage", run_rusage},
    {"machine", run_machine},
    {"priority", run_priority},
    {"affinity", run_affinity},
    {"scheduling", run_scheduling},
    {"capabilities", run_capabilities},
    {"personality", run_personality},
    {"namespaces", run_namespaces},
    {"process_vm", run_process_vm},
    {"random", run_random},
    {"session", run_session},
    {"others", run_others},
    {"unknown", run_unknown},
};

int main(int argc, char **argv)
{
    own = argv[0];
    return RUN(families);
}
