/* Which arguments of a system call point to what may be recorded with them: strings, lists of
 * strings, and buffers whose size is the next argument. A fact of the kernel's for x86-64, which
 * recorders need. */
#ifndef TTP_WRITER_CALL_CONTENTS_H
#define TTP_WRITER_CALL_CONTENTS_H

#include <stdint.h>

#include "recorder/arena/call_parts.h"

#define TTP_CALL_PARTS 6u

/* By argument, a letter of call_parts.h; 0: none. */
struct ttp_call_letters {
    char given[TTP_CALL_PARTS], filled[TTP_CALL_PARTS];
};

struct ttp_call_contents {
    uint8_t strings;       /* bits: argument 0 is the lowest */
    uint8_t given, filled; /* by the program, by the call: 1 + the buffer's argument; 0: none */
    uint8_t list;          /* of strings, a null behind the last: 1 + its argument; 0: none */
    uint8_t parts;         /* its row of letters; 0: it has none */
};

/* Rows of letters: of what is given, and of what is filled. */
static const struct ttp_call_letters ttp_call_letters[] = {
    {"", ""},
    {"", "\0s"},
    {"p", "p"},
    {"\0a", "\0\0a"},
    {"\0S", "\0\0S"},
    {"\0\0=", "\0\0="},
    {"\0007", "\0007"},
    {"\0O", ""},
    {"", "P"},
    {"\0fffv", "\0fffv"},
    {"", "\0\0W"},
    {"t", "\09"},
    {"", "\0I"},
    {"\0I", "\0\0I"},
    {"\0\0L", "\0\0L"},
    {"\0n", ""},
    {"\0\0l", "\0Nl"},
    {"\0\0\0\0n", ""},
    {"\0\0\0\0\0l", "\0\0\0\0Nl"},
    {"\0m", ""},
    {"\08", "\08"},
    {"", "\0\0\0P"},
    {"\0\0\0Z", ""},
    {"\0\0\0\0l", "\0\0\0Yl"},
    {"\0\0!", ""},
    {"", "\0w\0R"},
    {"", "U"},
    {"\0j", ""},
    {"", "\0\0\0W"},
    {"\0B", ""},
    {"", "\0B"},
    {"\0\0K", "\0\0K"},
    {"", "\0&"},
    {"", "vz"},
    {"", "\0r"},
    {"", "\0R"},
    {"", "y"},
    {"", "T"},
    {"", "\0G"},
    {"\0g", ""},
    {"", "333"},
    {"H", "\0C"},
    {"HC", ""},
    {"", "S"},
    {"S\0t", "\0i"},
    {"\0\0i", ""},
    {"S", ""},
    {"k", "\0k"},
    {"\0u", ""},
    {"", "\0F"},
    {"\0d", ""},
    {"", "\0d"},
    {"\0\0d", ""},
    {"", "\0t"},
    {"\0004", "\0004"},
    {"", "\0000"},
    {"", "x"},
    {"\0r", ""},
    {"vz", ""},
    {"", "L"},
    {"\0\0\0005", ""},
    {"\0\0b", ""},
    {"", "\0\0Q"},
    {"\0\0\0\0t", ""},
    {"", "\0%"},
    {"\0j\0t", ""},
    {"\0$", "\0\0d"},
    {"\0\0J", "\0\0\0J"},
    {"", "\0J"},
    {"\0t", ""},
    {"\0\0t", "\0\0\09"},
    {"", "\0E"},
    {"\0\0\0e", ""},
    {"\0V", ""},
    {"", "d"},
    {"\0\0\0h", ""},
    {"\0\0\0\0t", "\0\0\0d"},
    {"\0$", ""},
    {"\0h", "\0\0h"},
    {"", "\0\0i\0R"},
    {"\0\0V", ""},
    {"", "\0\0s"},
    {"\0ffftq", "\0ffft"},
    {"p\0tS", "p\0t"},
    {"\0L\0L", ""},
    {"\0\0002", ""},
    {"\0\0\0\0S", "\0E"},
    {"\0S", ""},
    {"\0\0\0i", ""},
    {"\0\0\0\0t", "\0M"},
    {"\0\0r", "\0\0\0r"},
    {"", "\0\0\0d"},
    {"", "\0x"},
    {"\0M", "\0M"},
    {"", "dd"},
    {"\0007\0006", "\0007"},
    {"\0O\0006", ""},
    {"\0A", ""},
    {"", "\0A"},
    {"\0\0\0!", ""},
    {"", "\0\0\0\0X"},
    {"c", "c"},
    {"\0\0o", ""},
    {"\0\0\0tS", "\0E"},
};

/* By number. */
static const struct ttp_call_contents ttp_call_contents[TTP_CALL_NUMBERS] = {
    [0] = {0, 0, 2, 0, 0},     /* read */
    [1] = {0, 2, 0, 0, 0},     /* write */
    [2] = {1, 0, 0, 0, 0},     /* open */
    [4] = {1, 0, 0, 0, 1},     /* stat */
    [5] = {0, 0, 0, 0, 1},     /* fstat */
    [6] = {1, 0, 0, 0, 1},     /* lstat */
    [7] = {0, 0, 0, 0, 2},     /* poll */
    [13] = {0, 0, 0, 0, 3},    /* rt_sigaction */
    [14] = {0, 0, 0, 0, 4},    /* rt_sigprocmask */
    [16] = {0, 0, 0, 0, 5},    /* ioctl */
    [17] = {0, 0, 2, 0, 0},    /* pread64 */
    [18] = {0, 2, 0, 0, 0},    /* pwrite64 */
    [19] = {0, 0, 0, 0, 6},    /* readv */
    [20] = {0, 0, 0, 0, 7},    /* writev */
    [21] = {1, 0, 0, 0, 0},    /* access */
    [22] = {0, 0, 0, 0, 8},    /* pipe */
    [23] = {0, 0, 0, 0, 9},    /* select */
    [31] = {0, 0, 0, 0, 10},   /* shmctl */
    [35] = {0, 0, 0, 0, 11},   /* nanosleep */
    [36] = {0, 0, 0, 0, 12},   /* getitimer */
    [38] = {0, 0, 0, 0, 13},   /* setitimer */
    [40] = {0, 0, 0, 0, 14},   /* sendfile */
    [42] = {0, 0, 0, 0, 15},   /* connect */
    [43] = {0, 0, 0, 0, 16},   /* accept */
    [44] = {0, 2, 0, 0, 17},   /* sendto */
    [45] = {0, 0, 2, 0, 18},   /* recvfrom */
    [46] = {0, 0, 0, 0, 19},   /* sendmsg */
    [47] = {0, 0, 0, 0, 20},   /* recvmsg */
    [49] = {0, 0, 0, 0, 15},   /* bind */
    [51] = {0, 0, 0, 0, 16},   /* getsockname */
    [52] = {0, 0, 0, 0, 16},   /* getpeername */
    [53] = {0, 0, 0, 0, 21},   /* socketpair */
    [54] = {0, 0, 0, 0, 22},   /* setsockopt */
    [55] = {0, 0, 0, 0, 23},   /* getsockopt */
    [59] = {1, 0, 0, 2, 24},   /* execve */
    [61] = {0, 0, 0, 0, 25},   /* wait4 */
    [63] = {0, 0, 0, 0, 26},   /* uname */
    [65] = {0, 0, 0, 0, 27},   /* semop */
    [66] = {0, 0, 0, 0, 28},   /* semctl */
    [69] = {0, 0, 0, 0, 29},   /* msgsnd */
    [70] = {0, 0, 0, 0, 30},   /* msgrcv */
    [71] = {0, 0, 0, 0, 10},   /* msgctl */
    [72] = {0, 0, 0, 0, 31},   /* fcntl */
    [76] = {1, 0, 0, 0, 0},    /* truncate */
    [78] = {0, 0, 0, 0, 32},   /* getdents */
    [79] = {0, 0, 1, 0, 0},    /* getcwd */
    [80] = {1, 0, 0, 0, 0},    /* chdir */
    [82] = {3, 0, 0, 0, 0},    /* rename */
    [83] = {1, 0, 0, 0, 0},    /* mkdir */
    [84] = {1, 0, 0, 0, 0},    /* rmdir */
    [85] = {1, 0, 0, 0, 0},    /* creat */
    [86] = {3, 0, 0, 0, 0},    /* link */
    [87] = {1, 0, 0, 0, 0},    /* unlink */
    [88] = {3, 0, 0, 0, 0},    /* symlink */
    [89] = {1, 0, 2, 0, 0},    /* readlink */
    [90] = {1, 0, 0, 0, 0},    /* chmod */
    [92] = {1, 0, 0, 0, 0},    /* chown */
    [94] = {1, 0, 0, 0, 0},    /* lchown */
    [96] = {0, 0, 0, 0, 33},   /* gettimeofday */
    [97] = {0, 0, 0, 0, 34},   /* getrlimit */
    [98] = {0, 0, 0, 0, 35},   /* getrusage */
    [99] = {0, 0, 0, 0, 36},   /* sysinfo */
    [100] = {0, 0, 0, 0, 37},  /* times */
    [115] = {0, 0, 0, 0, 38},  /* getgroups */
    [116] = {0, 0, 0, 0, 39},  /* setgroups */
    [118] = {0, 0, 0, 0, 40},  /* getresuid */
    [120] = {0, 0, 0, 0, 40},  /* getresgid */
    [125] = {0, 0, 0, 0, 41},  /* capget */
    [126] = {0, 0, 0, 0, 42},  /* capset */
    [127] = {0, 0, 0, 0, 43},  /* rt_sigpending */
    [128] = {0, 0, 0, 0, 44},  /* rt_sigtimedwait */
    [129] = {0, 0, 0, 0, 45},  /* rt_sigqueueinfo */
    [130] = {0, 0, 0, 0, 46},  /* rt_sigsuspend */
    [131] = {0, 0, 0, 0, 47},  /* sigaltstack */
    [132] = {1, 0, 0, 0, 48},  /* utime */
    [133] = {1, 0, 0, 0, 0},   /* mknod */
    [134] = {1, 0, 0, 0, 0},   /* uselib */
    [137] = {1, 0, 0, 0, 49},  /* statfs */
    [138] = {0, 0, 0, 0, 49},  /* fstatfs */
    [142] = {0, 0, 0, 0, 50},  /* sched_setparam */
    [143] = {0, 0, 0, 0, 51},  /* sched_getparam */
    [144] = {0, 0, 0, 0, 52},  /* sched_setscheduler */
    [148] = {0, 0, 0, 0, 53},  /* sched_rr_get_interval */
    [155] = {3, 0, 0, 0, 0},   /* pivot_root */
    [157] = {0, 0, 0, 0, 54},  /* prctl */
    [158] = {0, 0, 0, 0, 55},  /* arch_prctl */
    [159] = {0, 0, 0, 0, 56},  /* adjtimex */
    [160] = {0, 0, 0, 0, 57},  /* setrlimit */
    [161] = {1, 0, 0, 0, 0},   /* chroot */
    [163] = {1, 0, 0, 0, 0},   /* acct */
    [164] = {0, 0, 0, 0, 58},  /* settimeofday */
    [165] = {23, 0, 0, 0, 0},  /* mount */
    [166] = {1, 0, 0, 0, 0},   /* umount2 */
    [167] = {1, 0, 0, 0, 0},   /* swapon */
    [168] = {1, 0, 0, 0, 0},   /* swapoff */
    [170] = {1, 0, 0, 0, 0},   /* sethostname */
    [171] = {1, 0, 0, 0, 0},   /* setdomainname */
    [176] = {1, 0, 0, 0, 0},   /* delete_module */
    [179] = {2, 0, 0, 0, 0},   /* quotactl */
    [188] = {3, 3, 0, 0, 0},   /* setxattr */
    [189] = {3, 3, 0, 0, 0},   /* lsetxattr */
    [190] = {2, 3, 0, 0, 0},   /* fsetxattr */
    [191] = {3, 0, 3, 0, 0},   /* getxattr */
    [192] = {3, 0, 3, 0, 0},   /* lgetxattr */
    [193] = {2, 0, 3, 0, 0},   /* fgetxattr */
    [194] = {1, 0, 2, 0, 0},   /* listxattr */
    [195] = {1, 0, 2, 0, 0},   /* llistxattr */
    [196] = {0, 0, 2, 0, 0},   /* flistxattr */
    [197] = {3, 0, 0, 0, 0},   /* removexattr */
    [198] = {3, 0, 0, 0, 0},   /* lremovexattr */
    [199] = {2, 0, 0, 0, 0},   /* fremovexattr */
    [201] = {0, 0, 0, 0, 59},  /* time */
    [202] = {0, 0, 0, 0, 60},  /* futex */
    [203] = {0, 0, 0, 0, 61},  /* sched_setaffinity */
    [204] = {0, 0, 0, 0, 62},  /* sched_getaffinity */
    [206] = {0, 0, 0, 0, 55},  /* io_setup */
    [208] = {0, 0, 0, 0, 63},  /* io_getevents */
    [217] = {0, 0, 0, 0, 64},  /* getdents64 */
    [220] = {0, 0, 0, 0, 65},  /* semtimedop */
    [222] = {0, 0, 0, 0, 66},  /* timer_create */
    [223] = {0, 0, 0, 0, 67},  /* timer_settime */
    [224] = {0, 0, 0, 0, 68},  /* timer_gettime */
    [227] = {0, 0, 0, 0, 69},  /* clock_settime */
    [228] = {0, 0, 0, 0, 53},  /* clock_gettime */
    [229] = {0, 0, 0, 0, 53},  /* clock_getres */
    [230] = {0, 0, 0, 0, 70},  /* clock_nanosleep */
    [232] = {0, 0, 0, 0, 71},  /* epoll_wait */
    [233] = {0, 0, 0, 0, 72},  /* epoll_ctl */
    [235] = {1, 0, 0, 0, 73},  /* utimes */
    [239] = {0, 0, 0, 0, 74},  /* get_mempolicy */
    [240] = {1, 0, 0, 0, 75},  /* mq_open */
    [241] = {1, 0, 0, 0, 0},   /* mq_unlink */
    [242] = {0, 2, 0, 0, 63},  /* mq_timedsend */
    [243] = {0, 0, 2, 0, 76},  /* mq_timedreceive */
    [244] = {0, 0, 0, 0, 77},  /* mq_notify */
    [245] = {0, 0, 0, 0, 78},  /* mq_getsetattr */
    [247] = {0, 0, 0, 0, 79},  /* waitid */
    [248] = {3, 3, 0, 0, 0},   /* add_key */
    [249] = {7, 0, 0, 0, 0},   /* request_key */
    [254] = {2, 0, 0, 0, 0},   /* inotify_add_watch */
    [257] = {2, 0, 0, 0, 0},   /* openat */
    [258] = {2, 0, 0, 0, 0},   /* mkdirat */
    [259] = {2, 0, 0, 0, 0},   /* mknodat */
    [260] = {2, 0, 0, 0, 0},   /* fchownat */
    [261] = {2, 0, 0, 0, 80},  /* futimesat */
    [262] = {2, 0, 0, 0, 81},  /* newfstatat */
    [263] = {2, 0, 0, 0, 0},   /* unlinkat */
    [264] = {10, 0, 0, 0, 0},  /* renameat */
    [265] = {10, 0, 0, 0, 0},  /* linkat */
    [266] = {5, 0, 0, 0, 0},   /* symlinkat */
    [267] = {2, 0, 3, 0, 0},   /* readlinkat */
    [268] = {2, 0, 0, 0, 0},   /* fchmodat */
    [269] = {2, 0, 0, 0, 0},   /* faccessat */
    [270] = {0, 0, 0, 0, 82},  /* pselect6 */
    [271] = {0, 0, 0, 0, 83},  /* ppoll */
    [275] = {0, 0, 0, 0, 84},  /* splice */
    [278] = {0, 0, 0, 0, 7},   /* vmsplice */
    [280] = {2, 0, 0, 0, 85},  /* utimensat */
    [281] = {0, 0, 0, 0, 86},  /* epoll_pwait */
    [282] = {0, 0, 0, 0, 87},  /* signalfd */
    [286] = {0, 0, 0, 0, 67},  /* timerfd_settime */
    [287] = {0, 0, 0, 0, 68},  /* timerfd_gettime */
    [288] = {0, 0, 0, 0, 16},  /* accept4 */
    [289] = {0, 0, 0, 0, 87},  /* signalfd4 */
    [293] = {0, 0, 0, 0, 8},   /* pipe2 */
    [295] = {0, 0, 0, 0, 6},   /* preadv */
    [296] = {0, 0, 0, 0, 7},   /* pwritev */
    [297] = {0, 0, 0, 0, 88},  /* rt_tgsigqueueinfo */
    [299] = {0, 0, 0, 0, 89},  /* recvmmsg */
    [301] = {16, 0, 0, 0, 0},  /* fanotify_mark */
    [302] = {0, 0, 0, 0, 90},  /* prlimit64 */
    [303] = {2, 0, 0, 0, 91},  /* name_to_handle_at */
    [305] = {0, 0, 0, 0, 92},  /* clock_adjtime */
    [307] = {0, 0, 0, 0, 93},  /* sendmmsg */
    [309] = {0, 0, 0, 0, 94},  /* getcpu */
    [310] = {0, 0, 0, 0, 95},  /* process_vm_readv */
    [311] = {0, 0, 0, 0, 96},  /* process_vm_writev */
    [313] = {2, 0, 0, 0, 0},   /* finit_module */
    [314] = {0, 0, 0, 0, 97},  /* sched_setattr */
    [315] = {0, 0, 0, 0, 98},  /* sched_getattr */
    [316] = {10, 0, 0, 0, 0},  /* renameat2 */
    [318] = {0, 0, 1, 0, 0},   /* getrandom */
    [319] = {1, 0, 0, 0, 0},   /* memfd_create */
    [322] = {2, 0, 0, 3, 99},  /* execveat */
    [326] = {0, 0, 0, 0, 84},  /* copy_file_range */
    [327] = {0, 0, 0, 0, 6},   /* preadv2 */
    [328] = {0, 0, 0, 0, 7},   /* pwritev2 */
    [332] = {2, 0, 0, 0, 100}, /* statx */
    [424] = {0, 0, 0, 0, 45},  /* pidfd_send_signal */
    [435] = {0, 0, 0, 0, 101}, /* clone3 */
    [437] = {2, 0, 0, 0, 102}, /* openat2 */
    [439] = {2, 0, 0, 0, 0},   /* faccessat2 */
    [441] = {0, 0, 0, 0, 103}, /* epoll_pwait2 */
};

/* Whether argument i is the buffer that the call fills. */
static inline bool ttp_call_contents_fills(uint32_t number, uint32_t i)
{
    return number < TTP_CALL_NUMBERS && ttp_call_contents[number].filled == i + 1;
}

#endif
