/* Numbers are the kernel's (asm/unistd_64.h), classes are strace's where it has them. */
#include "tools/kernel/kernel_calls.h"

#include <string.h>

#include <tracetape/syscalls.h>

#include "tools/io/input.h"

const struct tool_kernel_class tool_kernel_classes[] = {
    {"file", 'F'},   {"desc", 'D'},  {"network", 'N'}, {"process", 'P'},
    {"signal", 'S'}, {"ipc", 'I'},   {"memory", 'M'},  {"wait", 'W'},
    {"creds", 'C'},  {"clock", 'T'}, {NULL, 0}};

/* Ascending numbers. */
static const struct tool_kernel_call table[] = {
    {0, "DW", "f<u"},      /* read */
    {1, "D", "fbu"},       /* write */
    {2, "FD", "som"},      /* open */
    {3, "D", "f"},         /* close */
    {4, "F", "sp"},        /* stat */
    {5, "D", "fp"},        /* fstat */
    {6, "F", "sp"},        /* lstat */
    {7, "DW", "p4d"},      /* poll */
    {8, "D", "f+W"},       /* lseek */
    {9, "DM", "puPMfx"},   /* mmap */
    {10, "M", "puP"},      /* mprotect */
    {11, "M", "pu"},       /* munmap */
    {12, "M", "p"},        /* brk */
    {13, "S", "gppu"},     /* rt_sigaction */
    {14, "S", "Hppu"},     /* rt_sigprocmask */
    {15, "S", ""},         /* rt_sigreturn */
    {16, "D", "fIp"},      /* ioctl */
    {17, "DW", "f<u+"},    /* pread64 */
    {18, "D", "fbu+"},     /* pwrite64 */
    {19, "DW", "fpd"},     /* readv */
    {20, "D", "fpd"},      /* writev */
    {21, "F", "sA"},       /* access */
    {22, "D", "p"},        /* pipe */
    {23, "DW", "dpppp"},   /* select */
    {24, "", ""},          /* sched_yield */
    {25, "M", "puuzp"},    /* mremap */
    {26, "M", "puZ"},      /* msync */
    {27, "M", "pup"},      /* mincore */
    {28, "M", "puD"},      /* madvise */
    {29, "I", NULL},       /* shmget */
    {30, "IM", NULL},      /* shmat */
    {31, "I", NULL},       /* shmctl */
    {32, "D", "f"},        /* dup */
    {33, "D", "fd"},       /* dup2 */
    {34, "SW", ""},        /* pause */
    {35, "W", "pp"},       /* nanosleep */
    {36, "", "ip"},        /* getitimer */
    {37, "", "4"},         /* alarm */
    {38, "", "ipp"},       /* setitimer */
    {39, "", ""},          /* getpid */
    {40, "D", "ffpu"},     /* sendfile */
    {41, "DN", "NKd"},     /* socket */
    {42, "DNW", "fp4"},    /* connect */
    {43, "DNW", "fpp"},    /* accept */
    {44, "DN", "fbuGp4"},  /* sendto */
    {45, "DNW", "f<uGpp"}, /* recvfrom */
    {46, "DN", "fpG"},     /* sendmsg */
    {47, "DNW", "fpG"},    /* recvmsg */
    {48, "DN", "fh"},      /* shutdown */
    {49, "DN", "fp4"},     /* bind */
    {50, "DN", "fd"},      /* listen */
    {51, "DN", "fpp"},     /* getsockname */
    {52, "DN", "fpp"},     /* getpeername */
    {53, "DN", "NKdp"},    /* socketpair */
    {54, "DN", "fdddu"},   /* setsockopt */
    {55, "DN", "fdddp"},   /* getsockopt */
    {56, "P", "xpppp"},    /* clone */
    {57, "P", ""},         /* fork */
    {58, "P", ""},         /* vfork */
    {59, "FP", "s|p"},     /* execve */
    {60, "P", "d"},        /* exit */
    {61, "PW", "dpwp"},    /* wait4 */
    {62, "PS", "dg"},      /* kill */
    {63, "", "p"},         /* uname */
    {64, "I", NULL},       /* semget */
    {65, "IW", NULL},      /* semop */
    {66, "I", NULL},       /* semctl */
    {67, "IM", NULL},      /* shmdt */
    {68, "I", NULL},       /* msgget */
    {69, "IW", NULL},      /* msgsnd */
    {70, "IW", NULL},      /* msgrcv */
    {71, "I", NULL},       /* msgctl */
    {72, "D", "fFx"},      /* fcntl */
    {73, "DW", "fk"},      /* flock */
    {74, "D", "f"},        /* fsync */
    {75, "D", "f"},        /* fdatasync */
    {76, "F", "s+"},       /* truncate */
    {77, "D", "f+"},       /* ftruncate */
    {78, "D", "fp4"},      /* getdents */
    {79, "F", ">u"},       /* getcwd */
    {80, "F", "s"},        /* chdir */
    {81, "D", "f"},        /* fchdir */
    {82, "F", "ss"},       /* rename */
    {83, "F", "sm"},       /* mkdir */
    {84, "F", "s"},        /* rmdir */
    {85, "FD", "sm"},      /* creat */
    {86, "F", "ss"},       /* link */
    {87, "F", "s"},        /* unlink */
    {88, "F", "ss"},       /* symlink */
    {89, "F", "s<u"},      /* readlink */
    {90, "F", "sm"},       /* chmod */
    {91, "D", "fm"},       /* fchmod */
    {92, "F", "s--"},      /* chown */
    {93, "D", "f--"},      /* fchown */
    {94, "F", "s--"},      /* lchown */
    {95, "", "m"},         /* umask */
    {96, "T", "pp"},       /* gettimeofday */
    {97, "", "lp"},        /* getrlimit */
    {98, "", "vp"},        /* getrusage */
    {99, "", "p"},         /* sysinfo */
    {100, "", "p"},        /* times */
    {102, "C", ""},        /* getuid */
    {104, "C", ""},        /* getgid */
    {105, "C", "-"},       /* setuid */
    {106, "C", "-"},       /* setgid */
    {107, "C", ""},        /* geteuid */
    {108, "C", ""},        /* getegid */
    {109, "", "dd"},       /* setpgid */
    {110, "", ""},         /* getppid */
    {111, "", ""},         /* getpgrp */
    {112, "", ""},         /* setsid */
    {113, "C", "--"},      /* setreuid */
    {114, "C", "--"},      /* setregid */
    {115, "C", "dp"},      /* getgroups */
    {116, "C", "dp"},      /* setgroups */
    {117, "C", "---"},     /* setresuid */
    {118, "C", "ppp"},     /* getresuid */
    {119, "C", "---"},     /* setresgid */
    {120, "C", "ppp"},     /* getresgid */
    {121, "", "d"},        /* getpgid */
    {122, "C", NULL},      /* setfsuid */
    {123, "C", NULL},      /* setfsgid */
    {125, "C", NULL},      /* capget */
    {126, "C", NULL},      /* capset */
    {127, "S", "pu"},      /* rt_sigpending */
    {128, "SW", "pppu"},   /* rt_sigtimedwait */
    {129, "PS", NULL},     /* rt_sigqueueinfo */
    {130, "SW", "pu"},     /* rt_sigsuspend */
    {131, "S", "pp"},      /* sigaltstack */
    {132, "F", "sp"},      /* utime */
    {133, "F", "sm="},     /* mknod */
    {134, "F", NULL},      /* uselib */
    {137, "F", "sp"},      /* statfs */
    {138, "D", "fp"},      /* fstatfs */
    {140, "", "!d"},       /* getpriority */
    {141, "", "!dd"},      /* setpriority */
    {149, "M", "pu"},      /* mlock */
    {150, "M", "pu"},      /* munlock */
    {151, "M", "="},       /* mlockall */
    {152, "M", ""},        /* munlockall */
    {155, "F", NULL},      /* pivot_root */
    {157, "C", "rxxxx"},   /* prctl */
    {158, "", "qp"},       /* arch_prctl */
    {159, "T", NULL},      /* adjtimex */
    {161, "F", "s"},       /* chroot */
    {162, "", ""},         /* sync */
    {163, "F", NULL},      /* acct */
    {164, "T", NULL},      /* settimeofday */
    {165, "F", "sssxp"},   /* mount */
    {166, "F", "s="},      /* umount2 */
    {167, "F", "s="},      /* swapon */
    {168, "F", "s"},       /* swapoff */
    {179, "F", NULL},      /* quotactl */
    {181, "N", NULL},      /* getpmsg */
    {182, "N", NULL},      /* putpmsg */
    {186, "", ""},         /* gettid */
    {187, "D", "f+u"},     /* readahead */
    {188, "F", "sSpu="},   /* setxattr */
    {189, "F", NULL},      /* lsetxattr */
    {190, "D", "fSpu="},   /* fsetxattr */
    {191, "F", "sSpu"},    /* getxattr */
    {192, "F", "sSpu"},    /* lgetxattr */
    {193, "D", "fSpu"},    /* fgetxattr */
    {194, "F", "spu"},     /* listxattr */
    {195, "F", "spu"},     /* llistxattr */
    {196, "D", "fpu"},     /* flistxattr */
    {197, "F", "sS"},      /* removexattr */
    {198, "F", NULL},      /* lremovexattr */
    {199, "D", NULL},      /* fremovexattr */
    {200, "PS", "dg"},     /* tkill */
    {201, "T", "p"},       /* time */
    {202, "W", "pj4pp="},  /* futex */
    {203, "", "d4p"},      /* sched_setaffinity */
    {204, "", "d4p"},      /* sched_getaffinity */
    {208, "W", NULL},      /* io_getevents */
    {213, "D", "d"},       /* epoll_create */
    {216, "M", NULL},      /* remap_file_pages */
    {217, "D", "fp4"},     /* getdents64 */
    {218, "", "p"},        /* set_tid_address */
    {219, "", ""},         /* restart_syscall */
    {220, "IW", NULL},     /* semtimedop */
    {221, "D", "f++&"},    /* fadvise64 */
    {227, "T", NULL},      /* clock_settime */
    {228, "T", "cp"},      /* clock_gettime */
    {229, "T", "cp"},      /* clock_getres */
    {230, "W", "ctpp"},    /* clock_nanosleep */
    {231, "P", "d"},       /* exit_group */
    {232, "DW", "fpdd"},   /* epoll_wait */
    {233, "D", "fEfp"},    /* epoll_ctl */
    {234, "PS", "ddg"},    /* tgkill */
    {235, "F", "sp"},      /* utimes */
    {237, "M", NULL},      /* mbind */
    {238, "M", NULL},      /* set_mempolicy */
    {239, "M", NULL},      /* get_mempolicy */
    {247, "PW", "Jdpwp"},  /* waitid */
    {253, "D", ""},        /* inotify_init */
    {254, "FD", "fs="},    /* inotify_add_watch */
    {255, "D", "fd"},      /* inotify_rm_watch */
    {256, "M", NULL},      /* migrate_pages */
    {257, "FD", "asom"},   /* openat */
    {258, "FD", "asm"},    /* mkdirat */
    {259, "FD", NULL},     /* mknodat */
    {260, "FD", "as--@"},  /* fchownat */
    {261, "FD", NULL},     /* futimesat */
    {262, "FD", "asp@"},   /* newfstatat */
    {263, "FD", "asU"},    /* unlinkat */
    {264, "FD", "asas"},   /* renameat */
    {265, "FD", "asas@"},  /* linkat */
    {266, "FD", "sas"},    /* symlinkat */
    {267, "FD", "as<u"},   /* readlinkat */
    {268, "FD", "asm"},    /* fchmodat */
    {269, "FD", "asA"},    /* faccessat */
    {270, "DW", "dppppp"}, /* pselect6 */
    {271, "DW", "p4pp"},   /* ppoll */
    {272, "P", NULL},      /* unshare */
    {273, "", "pu"},       /* set_robust_list */
    {275, "D", "fpfpu="},  /* splice */
    {276, "D", NULL},      /* tee */
    {277, "D", NULL},      /* sync_file_range */
    {278, "D", NULL},      /* vmsplice */
    {279, "M", NULL},      /* move_pages */
    {280, "FD", "asp@"},   /* utimensat */
    {281, "DW", "fpddp"},  /* epoll_pwait */
    {282, "DS", NULL},     /* signalfd */
    {283, "D", "c="},      /* timerfd_create */
    {284, "D", "4"},       /* eventfd */
    {285, "D", "f$++"},    /* fallocate */
    {286, "D", "f=pp"},    /* timerfd_settime */
    {287, "D", "fp"},      /* timerfd_gettime */
    {288, "DNW", "fppK"},  /* accept4 */
    {289, "DS", "fpu="},   /* signalfd4 */
    {290, "D", "4%"},      /* eventfd2 */
    {291, "D", "B"},       /* epoll_create1 */
    {292, "D", "fdy"},     /* dup3 */
    {293, "D", "py"},      /* pipe2 */
    {294, "D", "="},       /* inotify_init1 */
    {295, "DW", "fpdd"},   /* preadv */
    {296, "D", "fpdd"},    /* pwritev */
    {297, "PS", NULL},     /* rt_tgsigqueueinfo */
    {299, "DNW", "fp4Gp"}, /* recvmmsg */
    {300, "D", NULL},      /* fanotify_init */
    {301, "FD", NULL},     /* fanotify_mark */
    {302, "", "dlpp"},     /* prlimit64 */
    {303, "FD", NULL},     /* name_to_handle_at */
    {304, "D", NULL},      /* open_by_handle_at */
    {305, "T", NULL},      /* clock_adjtime */
    {306, "D", "f"},       /* syncfs */
    {307, "DN", "fp4G"},   /* sendmmsg */
    {308, "D", NULL},      /* setns */
    {313, "D", NULL},      /* finit_module */
    {316, "FD", "asasR"},  /* renameat2 */
    {318, "", "<un"},      /* getrandom */
    {319, "D", "S#"},      /* memfd_create */
    {322, "FDP", "as|p@"}, /* execveat */
    {325, "M", NULL},      /* mlock2 */
    {326, "D", "fpfpu="},  /* copy_file_range */
    {327, "DW", "fpd+="},  /* preadv2 */
    {328, "D", NULL},      /* pwritev2 */
    {329, "M", NULL},      /* pkey_mprotect */
    {332, "FD", "asTXp"},  /* statx */
    {333, "W", NULL},      /* io_pgetevents */
    {334, "", "p==="},     /* rseq */
    {424, "DPS", NULL},    /* pidfd_send_signal */
    {428, "F", NULL},      /* open_tree */
    {429, "F", NULL},      /* move_mount */
    {433, "F", NULL},      /* fspick */
    {434, "D", "d="},      /* pidfd_open */
    {435, "P", "pu"},      /* clone3 */
    {436, "D", "44="},     /* close_range */
    {437, "FD", "aspu"},   /* openat2 */
    {438, "D", "fd="},     /* pidfd_getfd */
    {439, "FD", "asAQ"},   /* faccessat2 */
    {440, "M", NULL},      /* process_madvise */
    {441, "DW", "fpdppu"}, /* epoll_pwait2 */
    {442, "F", NULL},      /* mount_setattr */
    {448, "M", NULL},      /* process_mrelease */
    {449, "W", NULL},      /* futex_waitv */
};

#define COUNT (sizeof(table) / sizeof(*table))

const struct tool_kernel_call *tool_kernel_call_numbered(uint32_t number)
{
    size_t low = 0, high = COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT && table[low].number == number ? &table[low] : NULL;
}

static bool is_named(uint32_t number, ttape_string name)
{
    const char *known = ttape_system_call_name(number);
    return known != NULL && tool_text_is(name, known);
}

static uint32_t number_named(ttape_string name)
{
    for (uint32_t i = 0; i < TTAPE_CALL_NUMBERS; i++)
        if (is_named(i, name))
            return i;
    return TOOL_KERNEL_NONE;
}

uint32_t tool_kernel_number(const char *name)
{
    return number_named((ttape_string){name, strlen(name)});
}

uint32_t tool_kernel_number_of(const ttape_site *site)
{
    return site->address < TTAPE_CALL_NUMBERS && is_named((uint32_t)site->address, site->symbol)
               ? (uint32_t)site->address
               : number_named(site->symbol);
}
