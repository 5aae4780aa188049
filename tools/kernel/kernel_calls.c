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
    {0, "DW", "f<u"},           /* read */
    {1, "D", "fbu"},            /* write */
    {2, "FD", "som"},           /* open */
    {3, "D", "f"},              /* close */
    {4, "F", "s)s"},            /* stat */
    {5, "D", "f)s"},            /* fstat */
    {6, "F", "s)s"},            /* lstat */
    {7, "DW", ":p4d"},          /* poll */
    {8, "D", "f+W"},            /* lseek */
    {9, "DM", "puPMfx"},        /* mmap */
    {10, "M", "puP"},           /* mprotect */
    {11, "M", "pu"},            /* munmap */
    {12, "M", "p"},             /* brk */
    {13, "S", "g(a)au"},        /* rt_sigaction */
    {14, "S", "H(S)Su"},        /* rt_sigprocmask */
    {15, "S", ""},              /* rt_sigreturn */
    {16, "D", "fI:="},          /* ioctl */
    {17, "DW", "f<u+"},         /* pread64 */
    {18, "D", "fbu+"},          /* pwrite64 */
    {19, "DW", "f:7d"},         /* readv */
    {20, "D", "f(Od"},          /* writev */
    {21, "F", "sA"},            /* access */
    {22, "D", ")P"},            /* pipe */
    {23, "DW", "d:f:f:f:v"},    /* select */
    {24, "", ""},               /* sched_yield */
    {25, "M", "puuzp"},         /* mremap */
    {26, "M", "puZ"},           /* msync */
    {27, "M", "pup"},           /* mincore */
    {28, "M", "puD"},           /* madvise */
    {29, "I", "^u's"},          /* shmget */
    {30, "IM", "dp'x"},         /* shmat */
    {31, "I", "d'v)W"},         /* shmctl */
    {32, "D", "f"},             /* dup */
    {33, "D", "ff"},            /* dup2 */
    {34, "SW", ""},             /* pause */
    {35, "W", "(t)9"},          /* nanosleep */
    {36, "", "i)I"},            /* getitimer */
    {37, "", "4"},              /* alarm */
    {38, "", "i(I)I"},          /* setitimer */
    {39, "", ""},               /* getpid */
    {40, "D", "ff:Lu"},         /* sendfile */
    {41, "DN", "NKd"},          /* socket */
    {42, "DNW", "f(n4"},        /* connect */
    {43, "DNW", "f)N:l"},       /* accept */
    {44, "DN", "fbuG(n4"},      /* sendto */
    {45, "DNW", "f<uG)N:l"},    /* recvfrom */
    {46, "DN", "f(mG"},         /* sendmsg */
    {47, "DNW", "f:8G"},        /* recvmsg */
    {48, "DN", "fh"},           /* shutdown */
    {49, "DN", "f(n4"},         /* bind */
    {50, "DN", "fd"},           /* listen */
    {51, "DN", "f)N:l"},        /* getsockname */
    {52, "DN", "f)N:l"},        /* getpeername */
    {53, "DN", "NKd)P"},        /* socketpair */
    {54, "DN", "fdd(Z4"},       /* setsockopt */
    {55, "DN", "fdd)Y:l"},      /* getsockopt */
    {56, "P", "xpppp"},         /* clone */
    {57, "P", ""},              /* fork */
    {58, "P", ""},              /* vfork */
    {59, "FP", "s|(!"},         /* execve */
    {60, "P", "d"},             /* exit */
    {61, "PW", "d)ww)R"},       /* wait4 */
    {62, "PS", "dg"},           /* kill */
    {63, "", ")U"},             /* uname */
    {64, "I", "^d's"},          /* semget */
    {65, "IW", "d(j4"},         /* semop */
    {66, "I", "dd'w)W"},        /* semctl */
    {67, "IM", "p"},            /* shmdt */
    {68, "I", "^'s"},           /* msgget */
    {69, "IW", "d(Bu'y"},       /* msgsnd */
    {70, "IW", "d)Bu+'y"},      /* msgrcv */
    {71, "I", "d'v)W"},         /* msgctl */
    {72, "D", "fF:K"},          /* fcntl */
    {73, "DW", "fk"},           /* flock */
    {74, "D", "f"},             /* fsync */
    {75, "D", "f"},             /* fdatasync */
    {76, "F", "s+"},            /* truncate */
    {77, "D", "f+"},            /* ftruncate */
    {78, "D", "f)&4"},          /* getdents */
    {79, "F", ">u"},            /* getcwd */
    {80, "F", "s"},             /* chdir */
    {81, "D", "f"},             /* fchdir */
    {82, "F", "ss"},            /* rename */
    {83, "F", "sm"},            /* mkdir */
    {84, "F", "s"},             /* rmdir */
    {85, "FD", "sm"},           /* creat */
    {86, "F", "ss"},            /* link */
    {87, "F", "s"},             /* unlink */
    {88, "F", "ss"},            /* symlink */
    {89, "F", "s<u"},           /* readlink */
    {90, "F", "sm"},            /* chmod */
    {91, "D", "fm"},            /* fchmod */
    {92, "F", "s--"},           /* chown */
    {93, "D", "f--"},           /* fchown */
    {94, "F", "s--"},           /* lchown */
    {95, "", "m"},              /* umask */
    {96, "T", ")v)z"},          /* gettimeofday */
    {97, "", "l)r"},            /* getrlimit */
    {98, "", "v)R"},            /* getrusage */
    {99, "", ")y"},             /* sysinfo */
    {100, "", ")T"},            /* times */
    {101, "", "';dpx"},         /* ptrace */
    {102, "C", ""},             /* getuid */
    {103, "", "'&pd"},          /* syslog */
    {104, "C", ""},             /* getgid */
    {105, "C", "-"},            /* setuid */
    {106, "C", "-"},            /* setgid */
    {107, "C", ""},             /* geteuid */
    {108, "C", ""},             /* getegid */
    {109, "", "dd"},            /* setpgid */
    {110, "", ""},              /* getppid */
    {111, "", ""},              /* getpgrp */
    {112, "", ""},              /* setsid */
    {113, "C", "--"},           /* setreuid */
    {114, "C", "--"},           /* setregid */
    {115, "C", "d)G"},          /* getgroups */
    {116, "C", "d(g"},          /* setgroups */
    {117, "C", "---"},          /* setresuid */
    {118, "C", ")3)3)3"},       /* getresuid */
    {119, "C", "---"},          /* setresgid */
    {120, "C", ")3)3)3"},       /* getresgid */
    {121, "", "d"},             /* getpgid */
    {122, "C", "-"},            /* setfsuid */
    {123, "C", "-"},            /* setfsgid */
    {124, "", "d"},             /* getsid */
    {125, "C", "(H)C"},         /* capget */
    {126, "C", "(H(C"},         /* capset */
    {127, "S", ")Su"},          /* rt_sigpending */
    {128, "SW", "(S)i(tu"},     /* rt_sigtimedwait */
    {129, "PS", "dg(i"},        /* rt_sigqueueinfo */
    {130, "SW", "(Su"},         /* rt_sigsuspend */
    {131, "S", "(k)k"},         /* sigaltstack */
    {132, "F", "s(u"},          /* utime */
    {133, "F", "s'n"},          /* mknod */
    {134, "F", "s"},            /* uselib */
    {135, "", "'t"},            /* personality */
    {137, "F", "s)F"},          /* statfs */
    {138, "D", "f)F"},          /* fstatfs */
    {140, "", "!d"},            /* getpriority */
    {141, "", "!dd"},           /* setpriority */
    {142, "", "d(d"},           /* sched_setparam */
    {143, "", "d)d"},           /* sched_getparam */
    {144, "", "d'q(d"},         /* sched_setscheduler */
    {145, "", "d"},             /* sched_getscheduler */
    {146, "", "'q"},            /* sched_get_priority_max */
    {147, "", "'q"},            /* sched_get_priority_min */
    {148, "", "d)t"},           /* sched_rr_get_interval */
    {149, "M", "pu"},           /* mlock */
    {150, "M", "pu"},           /* munlock */
    {151, "M", "'b"},           /* mlockall */
    {152, "M", ""},             /* munlockall */
    {153, "", ""},              /* vhangup */
    {155, "F", "ss"},           /* pivot_root */
    {157, "C", "r:4xxx"},       /* prctl */
    {158, "", "q)0"},           /* arch_prctl */
    {159, "T", ")x"},           /* adjtimex */
    {160, "", "l(r"},           /* setrlimit */
    {161, "F", "s"},            /* chroot */
    {162, "", ""},              /* sync */
    {163, "F", "s"},            /* acct */
    {164, "T", "(v(z"},         /* settimeofday */
    {165, "F", "SsS'dS"},       /* mount */
    {166, "F", "s'c"},          /* umount2 */
    {167, "F", "s'e"},          /* swapon */
    {168, "F", "s"},            /* swapoff */
    {170, "", "S4"},            /* sethostname */
    {171, "", "S4"},            /* setdomainname */
    {176, "", "Sy"},            /* delete_module */
    {179, "F", "',Sup"},        /* quotactl */
    {181, "N", NULL},           /* getpmsg */
    {182, "N", NULL},           /* putpmsg */
    {183, "", "xxxxx"},         /* afs_syscall */
    {184, "", "xxx"},           /* tuxcall */
    {186, "", ""},              /* gettid */
    {187, "D", "f+u"},          /* readahead */
    {188, "F", "sSbu'f"},       /* setxattr */
    {189, "F", "sSbu'f"},       /* lsetxattr */
    {190, "D", "fSbu'f"},       /* fsetxattr */
    {191, "F", "sS<u"},         /* getxattr */
    {192, "F", "sS<u"},         /* lgetxattr */
    {193, "D", "fS<u"},         /* fgetxattr */
    {194, "F", "s<u"},          /* listxattr */
    {195, "F", "s<u"},          /* llistxattr */
    {196, "D", "f<u"},          /* flistxattr */
    {197, "F", "sS"},           /* removexattr */
    {198, "F", "sS"},           /* lremovexattr */
    {199, "D", "fS"},           /* fremovexattr */
    {200, "PS", "dg"},          /* tkill */
    {201, "T", ")L"},           /* time */
    {202, "W", "pj4(5p="},      /* futex */
    {203, "", "d4(b"},          /* sched_setaffinity */
    {204, "", "d4)Q"},          /* sched_getaffinity */
    {206, "", "4)0"},           /* io_setup */
    {207, "", "p"},             /* io_destroy */
    {208, "W", "p++p(t"},       /* io_getevents */
    {213, "D", "d"},            /* epoll_create */
    {216, "M", "puPuM"},        /* remap_file_pages */
    {217, "D", "f)%4"},         /* getdents64 */
    {218, "", "x"},             /* set_tid_address */
    {219, "", ""},              /* restart_syscall */
    {220, "IW", "d(j4(t"},      /* semtimedop */
    {221, "D", "f++&"},         /* fadvise64 */
    {222, "", "c($)d"},         /* timer_create */
    {223, "", "dt(J)J"},        /* timer_settime */
    {224, "", "d)J"},           /* timer_gettime */
    {225, "", "d"},             /* timer_getoverrun */
    {226, "", "d"},             /* timer_delete */
    {227, "T", "c(t"},          /* clock_settime */
    {228, "T", "c)t"},          /* clock_gettime */
    {229, "T", "c)t"},          /* clock_getres */
    {230, "W", "ct(t)9"},       /* clock_nanosleep */
    {231, "P", "d"},            /* exit_group */
    {232, "DW", "f)Edd"},       /* epoll_wait */
    {233, "D", "fEf(e"},        /* epoll_ctl */
    {234, "PS", "ddg"},         /* tgkill */
    {235, "F", "s(V"},          /* utimes */
    {236, "", "xxxxx"},         /* vserver */
    {237, "M", "pu'<pu="},      /* mbind */
    {238, "M", "'<pu"},         /* set_mempolicy */
    {239, "M", ")dpupx"},       /* get_mempolicy */
    {240, "", "Som(h"},         /* mq_open */
    {241, "", "S"},             /* mq_unlink */
    {242, "", "fbu4(t"},        /* mq_timedsend */
    {243, "", "f<u)d(t"},       /* mq_timedreceive */
    {244, "", "f($"},           /* mq_notify */
    {245, "", "f(h)h"},         /* mq_getsetattr */
    {247, "PW", "Jd)iw)R"},     /* waitid */
    {248, "", "SSbud"},         /* add_key */
    {249, "", "SSSd"},          /* request_key */
    {250, "", "'{xxxx"},        /* keyctl */
    {251, "", "'>d'_"},         /* ioprio_set */
    {252, "", "'>d"},           /* ioprio_get */
    {253, "D", ""},             /* inotify_init */
    {254, "FD", "fs'g"},        /* inotify_add_watch */
    {255, "D", "fd"},           /* inotify_rm_watch */
    {256, "M", "dupp"},         /* migrate_pages */
    {257, "FD", "asom"},        /* openat */
    {258, "FD", "asm"},         /* mkdirat */
    {259, "FD", "as'n"},        /* mknodat */
    {260, "FD", "as--@"},       /* fchownat */
    {261, "FD", "as(V"},        /* futimesat */
    {262, "FD", "as)s@"},       /* newfstatat */
    {263, "FD", "asU"},         /* unlinkat */
    {264, "FD", "asas"},        /* renameat */
    {265, "FD", "asas@"},       /* linkat */
    {266, "FD", "sas"},         /* symlinkat */
    {267, "FD", "as<u"},        /* readlinkat */
    {268, "FD", "asm"},         /* fchmodat */
    {269, "FD", "asA"},         /* faccessat */
    {270, "DW", "d:f:f:f:t(q"}, /* pselect6 */
    {271, "DW", ":p4:t(Su"},    /* ppoll */
    {272, "P", "C"},            /* unshare */
    {273, "", "pu"},            /* set_robust_list */
    {274, "", "dpp"},           /* get_robust_list */
    {275, "D", "f(Lf(Lu'l"},    /* splice */
    {276, "D", "ffu'l"},        /* tee */
    {277, "D", "f++'m"},        /* sync_file_range */
    {278, "D", "f(Ou'l"},       /* vmsplice */
    {279, "M", "duppp'^"},      /* move_pages */
    {280, "FD", "as(2@"},       /* utimensat */
    {281, "DW", "f)Edd(Su"},    /* epoll_pwait */
    {282, "DS", "f(Su"},        /* signalfd */
    {283, "D", "c'i"},          /* timerfd_create */
    {284, "D", "4"},            /* eventfd */
    {285, "D", "f$++"},         /* fallocate */
    {286, "D", "f'j(J)J"},      /* timerfd_settime */
    {287, "D", "f)J"},          /* timerfd_gettime */
    {288, "DNW", "f)N:lK"},     /* accept4 */
    {289, "DS", "f(Su'k"},      /* signalfd4 */
    {290, "D", "4%"},           /* eventfd2 */
    {291, "D", "B"},            /* epoll_create1 */
    {292, "D", "ffy"},          /* dup3 */
    {293, "D", ")Py"},          /* pipe2 */
    {294, "D", "'h"},           /* inotify_init1 */
    {295, "DW", "f:7d+"},       /* preadv */
    {296, "D", "f(Od+"},        /* pwritev */
    {297, "PS", "ddg(i"},       /* rt_tgsigqueueinfo */
    {298, "", "pddf="},         /* perf_event_open */
    {299, "DNW", "f)M4G(t"},    /* recvmmsg */
    {300, "D", "'Zo"},          /* fanotify_init */
    {301, "FD", "f'Y'aas"},     /* fanotify_mark */
    {302, "", "dl(r)r"},        /* prlimit64 */
    {303, "FD", "asp)d@"},      /* name_to_handle_at */
    {304, "D", "fpo"},          /* open_by_handle_at */
    {305, "T", "c)x"},          /* clock_adjtime */
    {306, "D", "f"},            /* syncfs */
    {307, "DN", "f:M4G"},       /* sendmmsg */
    {308, "D", "fC"},           /* setns */
    {309, "", ")d)dp"},         /* getcpu */
    {310, "", "d:7u(6u="},      /* process_vm_readv */
    {311, "", "d(Ou(6u="},      /* process_vm_writev */
    {312, "", "dd'-xx"},        /* kcmp */
    {313, "D", "fS'}"},         /* finit_module */
    {314, "", "d(Ax"},          /* sched_setattr */
    {315, "", "d)A4x"},         /* sched_getattr */
    {316, "FD", "asasR"},       /* renameat2 */
    {317, "", "'/=p"},          /* seccomp */
    {318, "", "<un"},           /* getrandom */
    {319, "D", "S#"},           /* memfd_create */
    {321, "", "'.p4"},          /* bpf */
    {322, "FDP", "as|(!@"},     /* execveat */
    {323, "", "o"},             /* userfaultfd */
    {324, "", "'z=d"},          /* membarrier */
    {325, "M", "pu'o"},         /* mlock2 */
    {326, "D", "f(Lf(Lu="},     /* copy_file_range */
    {327, "DW", "f:7d+ 'p"},    /* preadv2 */
    {328, "D", "f(Od+ 'p"},     /* pwritev2 */
    {329, "M", "puPd"},         /* pkey_mprotect */
    {330, "", "x']"},           /* pkey_alloc */
    {331, "", "d"},             /* pkey_free */
    {332, "FD", "asTX)X"},      /* statx */
    {333, "W", NULL},           /* io_pgetevents */
    {334, "", "x==="},          /* rseq */
    {424, "DPS", "fg(i="},      /* pidfd_send_signal */
    {425, "", "4p"},            /* io_uring_setup */
    {426, "", "f44'`pu"},       /* io_uring_enter */
    {427, "", "f'\"p4"},        /* io_uring_register */
    {428, "F", NULL},           /* open_tree */
    {429, "F", NULL},           /* move_mount */
    {433, "F", NULL},           /* fspick */
    {434, "D", "d'r"},          /* pidfd_open */
    {435, "P", ":cu"},          /* clone3 */
    {436, "D", "44'u"},         /* close_range */
    {437, "FD", "as(ou"},       /* openat2 */
    {438, "D", "ffx"},          /* pidfd_getfd */
    {439, "FD", "asAQ"},        /* faccessat2 */
    {440, "M", "fpuD="},        /* process_madvise */
    {441, "DW", "f)Ed(t(Su"},   /* epoll_pwait2 */
    {442, "F", NULL},           /* mount_setattr */
    {444, "", "pu'["},          /* landlock_create_ruleset */
    {447, "", "="},             /* memfd_secret */
    {448, "M", NULL},           /* process_mrelease */
    {449, "W", "p4=pc"},        /* futex_waitv */
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
