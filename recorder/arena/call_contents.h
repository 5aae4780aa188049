/* Which arguments of a system call point to what may be recorded with them: strings, lists of
 * strings, and buffers whose size is the next argument. A fact of the kernel's for x86-64, which
 * recorders need. */
#ifndef TTP_WRITER_CALL_CONTENTS_H
#define TTP_WRITER_CALL_CONTENTS_H

#include <stdint.h>

#include "recorder/arena/call_parts.h"

#define TTP_CALL_PARTS 6u

struct ttp_call_contents {
    uint32_t strings : 6;           /* bits: argument 0 is the lowest */
    uint32_t given : 3, filled : 3; /* by the program, by the call: 1 + the buffer's argument */
    uint32_t list : 3;              /* of strings, a null behind the last: 1 + its argument */
    uint32_t given_row : 7, filled_row : 7; /* of letters; 0: it has none */
};

/* Rows of letters, by argument a letter of call_parts.h; 0: none. */
static const char ttp_call_given[][TTP_CALL_PARTS + 1] = {
    "",          "p",         "\0a",         "\0S",        "\0\0=",    "\0007",
    "\0O",       "\0fffv",    "t",           "\0I",        "\0\0L",    "\0n",
    "\0\0l",     "\0\0\0\0n", "\0\0\0\0\0l", "\0m",        "\08",      "\0\0\0Z",
    "\0\0\0\0l", "\0\0!",     "\0j",         "\0B",        "\0\0K",    "\0g",
    "H",         "HC",        "S\0t",        "\0\0i",      "S",        "k",
    "\0u",       "\0d",       "\0\0d",       "\0004",      "\0r",      "vz",
    "\0\0\0005", "\0\0b",     "\0\0\0\0t",   "\0j\0t",     "\0$",      "\0\0J",
    "\0t",       "\0\0t",     "\0\0\0e",     "\0V",        "\0\0\0h",  "\0h",
    "\0\0V",     "\0ffftq",   "p\0tS",       "\0L\0L",     "\0\0002",  "\0\0\0\0S",
    "\0\0\0i",   "\0\0r",     "\0M",         "\0007\0006", "\0O\0006", "\0A",
    "\0\0\0!",   "c",         "\0\0o",       "\0\0\0tS",
};
static const char ttp_call_filled[][TTP_CALL_PARTS + 1] = {
    "",        "\0s",     "p",        "\0\0a",   "\0\0S", "\0\0=",    "\0007",     "P",
    "\0fffv",  "\0\0W",   "\09",      "\0I",     "\0\0I", "\0\0L",    "\0Nl",      "\0\0\0\0Nl",
    "\08",     "\0\0\0P", "\0\0\0Yl", "\0w\0R",  "U",     "\0\0\0W",  "\0B",       "\0\0K",
    "\0&",     "vz",      "\0r",      "\0R",     "y",     "T",        "\0G",       "333",
    "\0C",     "S",       "\0i",      "\0k",     "\0F",   "\0d",      "\0t",       "\0004",
    "\0000",   "x",       "L",        "\0\0Q",   "\0%",   "\0\0d",    "\0\0\0J",   "\0J",
    "\0\0\09", "\0E",     "d",        "\0\0\0d", "\0\0h", "\0\0i\0R", "\0\0s",     "\0ffft",
    "p\0t",    "\0M",     "\0\0\0r",  "\0x",     "dd",    "\0A",      "\0\0\0\0X", "c",
};

/* By number. */
static const struct ttp_call_contents ttp_call_contents[TTP_CALL_NUMBERS] = {
    [0] = {0, 0, 2, 0, 0, 0},     /* read */
    [1] = {0, 2, 0, 0, 0, 0},     /* write */
    [2] = {1, 0, 0, 0, 0, 0},     /* open */
    [4] = {1, 0, 0, 0, 0, 1},     /* stat */
    [5] = {0, 0, 0, 0, 0, 1},     /* fstat */
    [6] = {1, 0, 0, 0, 0, 1},     /* lstat */
    [7] = {0, 0, 0, 0, 1, 2},     /* poll */
    [13] = {0, 0, 0, 0, 2, 3},    /* rt_sigaction */
    [14] = {0, 0, 0, 0, 3, 4},    /* rt_sigprocmask */
    [16] = {0, 0, 0, 0, 4, 5},    /* ioctl */
    [17] = {0, 0, 2, 0, 0, 0},    /* pread64 */
    [18] = {0, 2, 0, 0, 0, 0},    /* pwrite64 */
    [19] = {0, 0, 0, 0, 5, 6},    /* readv */
    [20] = {0, 0, 0, 0, 6, 0},    /* writev */
    [21] = {1, 0, 0, 0, 0, 0},    /* access */
    [22] = {0, 0, 0, 0, 0, 7},    /* pipe */
    [23] = {0, 0, 0, 0, 7, 8},    /* select */
    [31] = {0, 0, 0, 0, 0, 9},    /* shmctl */
    [35] = {0, 0, 0, 0, 8, 10},   /* nanosleep */
    [36] = {0, 0, 0, 0, 0, 11},   /* getitimer */
    [38] = {0, 0, 0, 0, 9, 12},   /* setitimer */
    [40] = {0, 0, 0, 0, 10, 13},  /* sendfile */
    [42] = {0, 0, 0, 0, 11, 0},   /* connect */
    [43] = {0, 0, 0, 0, 12, 14},  /* accept */
    [44] = {0, 2, 0, 0, 13, 0},   /* sendto */
    [45] = {0, 0, 2, 0, 14, 15},  /* recvfrom */
    [46] = {0, 0, 0, 0, 15, 0},   /* sendmsg */
    [47] = {0, 0, 0, 0, 16, 16},  /* recvmsg */
    [49] = {0, 0, 0, 0, 11, 0},   /* bind */
    [51] = {0, 0, 0, 0, 12, 14},  /* getsockname */
    [52] = {0, 0, 0, 0, 12, 14},  /* getpeername */
    [53] = {0, 0, 0, 0, 0, 17},   /* socketpair */
    [54] = {0, 0, 0, 0, 17, 0},   /* setsockopt */
    [55] = {0, 0, 0, 0, 18, 18},  /* getsockopt */
    [59] = {1, 0, 0, 2, 19, 0},   /* execve */
    [61] = {0, 0, 0, 0, 0, 19},   /* wait4 */
    [63] = {0, 0, 0, 0, 0, 20},   /* uname */
    [65] = {0, 0, 0, 0, 20, 0},   /* semop */
    [66] = {0, 0, 0, 0, 0, 21},   /* semctl */
    [69] = {0, 0, 0, 0, 21, 0},   /* msgsnd */
    [70] = {0, 0, 0, 0, 0, 22},   /* msgrcv */
    [71] = {0, 0, 0, 0, 0, 9},    /* msgctl */
    [72] = {0, 0, 0, 0, 22, 23},  /* fcntl */
    [76] = {1, 0, 0, 0, 0, 0},    /* truncate */
    [78] = {0, 0, 0, 0, 0, 24},   /* getdents */
    [79] = {0, 0, 1, 0, 0, 0},    /* getcwd */
    [80] = {1, 0, 0, 0, 0, 0},    /* chdir */
    [82] = {3, 0, 0, 0, 0, 0},    /* rename */
    [83] = {1, 0, 0, 0, 0, 0},    /* mkdir */
    [84] = {1, 0, 0, 0, 0, 0},    /* rmdir */
    [85] = {1, 0, 0, 0, 0, 0},    /* creat */
    [86] = {3, 0, 0, 0, 0, 0},    /* link */
    [87] = {1, 0, 0, 0, 0, 0},    /* unlink */
    [88] = {3, 0, 0, 0, 0, 0},    /* symlink */
    [89] = {1, 0, 2, 0, 0, 0},    /* readlink */
    [90] = {1, 0, 0, 0, 0, 0},    /* chmod */
    [92] = {1, 0, 0, 0, 0, 0},    /* chown */
    [94] = {1, 0, 0, 0, 0, 0},    /* lchown */
    [96] = {0, 0, 0, 0, 0, 25},   /* gettimeofday */
    [97] = {0, 0, 0, 0, 0, 26},   /* getrlimit */
    [98] = {0, 0, 0, 0, 0, 27},   /* getrusage */
    [99] = {0, 0, 0, 0, 0, 28},   /* sysinfo */
    [100] = {0, 0, 0, 0, 0, 29},  /* times */
    [115] = {0, 0, 0, 0, 0, 30},  /* getgroups */
    [116] = {0, 0, 0, 0, 23, 0},  /* setgroups */
    [118] = {0, 0, 0, 0, 0, 31},  /* getresuid */
    [120] = {0, 0, 0, 0, 0, 31},  /* getresgid */
    [125] = {0, 0, 0, 0, 24, 32}, /* capget */
    [126] = {0, 0, 0, 0, 25, 0},  /* capset */
    [127] = {0, 0, 0, 0, 0, 33},  /* rt_sigpending */
    [128] = {0, 0, 0, 0, 26, 34}, /* rt_sigtimedwait */
    [129] = {0, 0, 0, 0, 27, 0},  /* rt_sigqueueinfo */
    [130] = {0, 0, 0, 0, 28, 0},  /* rt_sigsuspend */
    [131] = {0, 0, 0, 0, 29, 35}, /* sigaltstack */
    [132] = {1, 0, 0, 0, 30, 0},  /* utime */
    [133] = {1, 0, 0, 0, 0, 0},   /* mknod */
    [134] = {1, 0, 0, 0, 0, 0},   /* uselib */
    [137] = {1, 0, 0, 0, 0, 36},  /* statfs */
    [138] = {0, 0, 0, 0, 0, 36},  /* fstatfs */
    [142] = {0, 0, 0, 0, 31, 0},  /* sched_setparam */
    [143] = {0, 0, 0, 0, 0, 37},  /* sched_getparam */
    [144] = {0, 0, 0, 0, 32, 0},  /* sched_setscheduler */
    [148] = {0, 0, 0, 0, 0, 38},  /* sched_rr_get_interval */
    [155] = {3, 0, 0, 0, 0, 0},   /* pivot_root */
    [157] = {0, 0, 0, 0, 33, 39}, /* prctl */
    [158] = {0, 0, 0, 0, 0, 40},  /* arch_prctl */
    [159] = {0, 0, 0, 0, 0, 41},  /* adjtimex */
    [160] = {0, 0, 0, 0, 34, 0},  /* setrlimit */
    [161] = {1, 0, 0, 0, 0, 0},   /* chroot */
    [163] = {1, 0, 0, 0, 0, 0},   /* acct */
    [164] = {0, 0, 0, 0, 35, 0},  /* settimeofday */
    [165] = {23, 0, 0, 0, 0, 0},  /* mount */
    [166] = {1, 0, 0, 0, 0, 0},   /* umount2 */
    [167] = {1, 0, 0, 0, 0, 0},   /* swapon */
    [168] = {1, 0, 0, 0, 0, 0},   /* swapoff */
    [170] = {1, 0, 0, 0, 0, 0},   /* sethostname */
    [171] = {1, 0, 0, 0, 0, 0},   /* setdomainname */
    [176] = {1, 0, 0, 0, 0, 0},   /* delete_module */
    [179] = {2, 0, 0, 0, 0, 0},   /* quotactl */
    [188] = {3, 3, 0, 0, 0, 0},   /* setxattr */
    [189] = {3, 3, 0, 0, 0, 0},   /* lsetxattr */
    [190] = {2, 3, 0, 0, 0, 0},   /* fsetxattr */
    [191] = {3, 0, 3, 0, 0, 0},   /* getxattr */
    [192] = {3, 0, 3, 0, 0, 0},   /* lgetxattr */
    [193] = {2, 0, 3, 0, 0, 0},   /* fgetxattr */
    [194] = {1, 0, 2, 0, 0, 0},   /* listxattr */
    [195] = {1, 0, 2, 0, 0, 0},   /* llistxattr */
    [196] = {0, 0, 2, 0, 0, 0},   /* flistxattr */
    [197] = {3, 0, 0, 0, 0, 0},   /* removexattr */
    [198] = {3, 0, 0, 0, 0, 0},   /* lremovexattr */
    [199] = {2, 0, 0, 0, 0, 0},   /* fremovexattr */
    [201] = {0, 0, 0, 0, 0, 42},  /* time */
    [202] = {0, 0, 0, 0, 36, 0},  /* futex */
    [203] = {0, 0, 0, 0, 37, 0},  /* sched_setaffinity */
    [204] = {0, 0, 0, 0, 0, 43},  /* sched_getaffinity */
    [206] = {0, 0, 0, 0, 0, 40},  /* io_setup */
    [208] = {0, 0, 0, 0, 38, 0},  /* io_getevents */
    [217] = {0, 0, 0, 0, 0, 44},  /* getdents64 */
    [220] = {0, 0, 0, 0, 39, 0},  /* semtimedop */
    [222] = {0, 0, 0, 0, 40, 45}, /* timer_create */
    [223] = {0, 0, 0, 0, 41, 46}, /* timer_settime */
    [224] = {0, 0, 0, 0, 0, 47},  /* timer_gettime */
    [227] = {0, 0, 0, 0, 42, 0},  /* clock_settime */
    [228] = {0, 0, 0, 0, 0, 38},  /* clock_gettime */
    [229] = {0, 0, 0, 0, 0, 38},  /* clock_getres */
    [230] = {0, 0, 0, 0, 43, 48}, /* clock_nanosleep */
    [232] = {0, 0, 0, 0, 0, 49},  /* epoll_wait */
    [233] = {0, 0, 0, 0, 44, 0},  /* epoll_ctl */
    [235] = {1, 0, 0, 0, 45, 0},  /* utimes */
    [239] = {0, 0, 0, 0, 0, 50},  /* get_mempolicy */
    [240] = {1, 0, 0, 0, 46, 0},  /* mq_open */
    [241] = {1, 0, 0, 0, 0, 0},   /* mq_unlink */
    [242] = {0, 2, 0, 0, 38, 0},  /* mq_timedsend */
    [243] = {0, 0, 2, 0, 38, 51}, /* mq_timedreceive */
    [244] = {0, 0, 0, 0, 40, 0},  /* mq_notify */
    [245] = {0, 0, 0, 0, 47, 52}, /* mq_getsetattr */
    [247] = {0, 0, 0, 0, 0, 53},  /* waitid */
    [248] = {3, 3, 0, 0, 0, 0},   /* add_key */
    [249] = {7, 0, 0, 0, 0, 0},   /* request_key */
    [254] = {2, 0, 0, 0, 0, 0},   /* inotify_add_watch */
    [257] = {2, 0, 0, 0, 0, 0},   /* openat */
    [258] = {2, 0, 0, 0, 0, 0},   /* mkdirat */
    [259] = {2, 0, 0, 0, 0, 0},   /* mknodat */
    [260] = {2, 0, 0, 0, 0, 0},   /* fchownat */
    [261] = {2, 0, 0, 0, 48, 0},  /* futimesat */
    [262] = {2, 0, 0, 0, 0, 54},  /* newfstatat */
    [263] = {2, 0, 0, 0, 0, 0},   /* unlinkat */
    [264] = {10, 0, 0, 0, 0, 0},  /* renameat */
    [265] = {10, 0, 0, 0, 0, 0},  /* linkat */
    [266] = {5, 0, 0, 0, 0, 0},   /* symlinkat */
    [267] = {2, 0, 3, 0, 0, 0},   /* readlinkat */
    [268] = {2, 0, 0, 0, 0, 0},   /* fchmodat */
    [269] = {2, 0, 0, 0, 0, 0},   /* faccessat */
    [270] = {0, 0, 0, 0, 49, 55}, /* pselect6 */
    [271] = {0, 0, 0, 0, 50, 56}, /* ppoll */
    [275] = {0, 0, 0, 0, 51, 0},  /* splice */
    [278] = {0, 0, 0, 0, 6, 0},   /* vmsplice */
    [280] = {2, 0, 0, 0, 52, 0},  /* utimensat */
    [281] = {0, 0, 0, 0, 53, 49}, /* epoll_pwait */
    [282] = {0, 0, 0, 0, 3, 0},   /* signalfd */
    [286] = {0, 0, 0, 0, 41, 46}, /* timerfd_settime */
    [287] = {0, 0, 0, 0, 0, 47},  /* timerfd_gettime */
    [288] = {0, 0, 0, 0, 12, 14}, /* accept4 */
    [289] = {0, 0, 0, 0, 3, 0},   /* signalfd4 */
    [293] = {0, 0, 0, 0, 0, 7},   /* pipe2 */
    [295] = {0, 0, 0, 0, 5, 6},   /* preadv */
    [296] = {0, 0, 0, 0, 6, 0},   /* pwritev */
    [297] = {0, 0, 0, 0, 54, 0},  /* rt_tgsigqueueinfo */
    [299] = {0, 0, 0, 0, 38, 57}, /* recvmmsg */
    [301] = {16, 0, 0, 0, 0, 0},  /* fanotify_mark */
    [302] = {0, 0, 0, 0, 55, 58}, /* prlimit64 */
    [303] = {2, 0, 0, 0, 0, 51},  /* name_to_handle_at */
    [305] = {0, 0, 0, 0, 0, 59},  /* clock_adjtime */
    [307] = {0, 0, 0, 0, 56, 57}, /* sendmmsg */
    [309] = {0, 0, 0, 0, 0, 60},  /* getcpu */
    [310] = {0, 0, 0, 0, 57, 6},  /* process_vm_readv */
    [311] = {0, 0, 0, 0, 58, 0},  /* process_vm_writev */
    [313] = {2, 0, 0, 0, 0, 0},   /* finit_module */
    [314] = {0, 0, 0, 0, 59, 0},  /* sched_setattr */
    [315] = {0, 0, 0, 0, 0, 61},  /* sched_getattr */
    [316] = {10, 0, 0, 0, 0, 0},  /* renameat2 */
    [318] = {0, 0, 1, 0, 0, 0},   /* getrandom */
    [319] = {1, 0, 0, 0, 0, 0},   /* memfd_create */
    [322] = {2, 0, 0, 3, 60, 0},  /* execveat */
    [326] = {0, 0, 0, 0, 51, 0},  /* copy_file_range */
    [327] = {0, 0, 0, 0, 5, 6},   /* preadv2 */
    [328] = {0, 0, 0, 0, 6, 0},   /* pwritev2 */
    [332] = {2, 0, 0, 0, 0, 62},  /* statx */
    [424] = {0, 0, 0, 0, 27, 0},  /* pidfd_send_signal */
    [435] = {0, 0, 0, 0, 61, 63}, /* clone3 */
    [437] = {2, 0, 0, 0, 62, 0},  /* openat2 */
    [439] = {2, 0, 0, 0, 0, 0},   /* faccessat2 */
    [441] = {0, 0, 0, 0, 63, 49}, /* epoll_pwait2 */
};

/* Whether argument i is the buffer that the call fills. */
static inline bool ttp_call_contents_fills(uint32_t number, uint32_t i)
{
    return number < TTP_CALL_NUMBERS && ttp_call_contents[number].filled == i + 1;
}

#endif
