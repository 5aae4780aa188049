/* Which arguments of a system call point to what may be recorded with them: strings, lists of
 * strings, and buffers whose size is the next argument. A fact of the kernel's for x86-64, which
 * recorders need. */
#ifndef TTP_WRITER_CALL_CONTENTS_H
#define TTP_WRITER_CALL_CONTENTS_H

#include <stdint.h>

#include "recorder/arena/arena.h"

struct ttp_call_contents {
    uint8_t strings;       /* bits: argument 0 is the lowest */
    uint8_t given, filled; /* by the program, by the call: 1 + the buffer's argument; 0: none */
    uint8_t list;          /* of strings, a null behind the last: 1 + its argument; 0: none */
};

/* By number. */
static const struct ttp_call_contents ttp_call_contents[TTP_CALL_NUMBERS] = {
    [0] = {0, 0, 2, 0},    /* read */
    [1] = {0, 2, 0, 0},    /* write */
    [2] = {1, 0, 0, 0},    /* open */
    [4] = {1, 0, 0, 0},    /* stat */
    [6] = {1, 0, 0, 0},    /* lstat */
    [17] = {0, 0, 2, 0},   /* pread64 */
    [18] = {0, 2, 0, 0},   /* pwrite64 */
    [21] = {1, 0, 0, 0},   /* access */
    [44] = {0, 2, 0, 0},   /* sendto */
    [45] = {0, 0, 2, 0},   /* recvfrom */
    [59] = {1, 0, 0, 2},   /* execve */
    [76] = {1, 0, 0, 0},   /* truncate */
    [79] = {0, 0, 1, 0},   /* getcwd */
    [80] = {1, 0, 0, 0},   /* chdir */
    [82] = {3, 0, 0, 0},   /* rename */
    [83] = {1, 0, 0, 0},   /* mkdir */
    [84] = {1, 0, 0, 0},   /* rmdir */
    [85] = {1, 0, 0, 0},   /* creat */
    [86] = {3, 0, 0, 0},   /* link */
    [87] = {1, 0, 0, 0},   /* unlink */
    [88] = {3, 0, 0, 0},   /* symlink */
    [89] = {1, 0, 2, 0},   /* readlink */
    [90] = {1, 0, 0, 0},   /* chmod */
    [92] = {1, 0, 0, 0},   /* chown */
    [94] = {1, 0, 0, 0},   /* lchown */
    [132] = {1, 0, 0, 0},  /* utime */
    [133] = {1, 0, 0, 0},  /* mknod */
    [137] = {1, 0, 0, 0},  /* statfs */
    [161] = {1, 0, 0, 0},  /* chroot */
    [165] = {7, 0, 0, 0},  /* mount */
    [166] = {1, 0, 0, 0},  /* umount2 */
    [167] = {1, 0, 0, 0},  /* swapon */
    [168] = {1, 0, 0, 0},  /* swapoff */
    [188] = {3, 0, 0, 0},  /* setxattr */
    [190] = {2, 0, 0, 0},  /* fsetxattr */
    [191] = {3, 0, 0, 0},  /* getxattr */
    [192] = {3, 0, 0, 0},  /* lgetxattr */
    [193] = {2, 0, 0, 0},  /* fgetxattr */
    [194] = {1, 0, 0, 0},  /* listxattr */
    [195] = {1, 0, 0, 0},  /* llistxattr */
    [197] = {3, 0, 0, 0},  /* removexattr */
    [235] = {1, 0, 0, 0},  /* utimes */
    [254] = {2, 0, 0, 0},  /* inotify_add_watch */
    [257] = {2, 0, 0, 0},  /* openat */
    [258] = {2, 0, 0, 0},  /* mkdirat */
    [260] = {2, 0, 0, 0},  /* fchownat */
    [262] = {2, 0, 0, 0},  /* newfstatat */
    [263] = {2, 0, 0, 0},  /* unlinkat */
    [264] = {10, 0, 0, 0}, /* renameat */
    [265] = {10, 0, 0, 0}, /* linkat */
    [266] = {5, 0, 0, 0},  /* symlinkat */
    [267] = {2, 0, 3, 0},  /* readlinkat */
    [268] = {2, 0, 0, 0},  /* fchmodat */
    [269] = {2, 0, 0, 0},  /* faccessat */
    [280] = {2, 0, 0, 0},  /* utimensat */
    [316] = {10, 0, 0, 0}, /* renameat2 */
    [318] = {0, 0, 1, 0},  /* getrandom */
    [319] = {1, 0, 0, 0},  /* memfd_create */
    [322] = {2, 0, 0, 3},  /* execveat */
    [332] = {2, 0, 0, 0},  /* statx */
    [437] = {2, 0, 0, 0},  /* openat2 */
    [439] = {2, 0, 0, 0},  /* faccessat2 */
};

#endif
