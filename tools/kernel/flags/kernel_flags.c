/* Flags and codes in words, for each letter of kernel_calls.h. Numbers are those of Linux
 * on x86-64, whatever machine this is; words stand in the order that users of strace expect. */
#include "tools/kernel/flags/kernel_flags.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "tools/kernel/flags/kernel_flag_sets.h"
#include "tools/kernel/flags/kernel_modes.h"

/* clang-format off */
#define W(name, bits) {#name, bits}
#define WORDS(...)    (const struct tool_kernel_word[]){__VA_ARGS__, {NULL, 0}}

static const struct tool_kernel_word_set sets[128] = {
    ['o'] = {TOOL_KERNEL_CODED, 0x3, "O_???", WORDS(
     W(O_RDONLY, 0), W(O_WRONLY, 1), W(O_RDWR, 2), W(O_ACCMODE, 3),
     W(O_CREAT, 0x40), W(O_EXCL, 0x80),
     W(O_NOCTTY, 0x100), W(O_TRUNC, 0x200), W(O_APPEND, 0x400), W(O_NONBLOCK, 0x800),
     W(O_SYNC, 0x101000), W(O_DSYNC, 0x1000), W(FASYNC, 0x2000), W(O_DIRECT, 0x4000),
     W(O_LARGEFILE, 0x8000), W(O_NOFOLLOW, 0x20000), W(O_NOATIME, 0x40000),
     W(O_CLOEXEC, 0x80000), W(O_PATH, 0x200000), W(O_TMPFILE, 0x410000),
     W(O_DIRECTORY, 0x10000))},
    ['y'] = {TOOL_KERNEL_FLAGS, 0, "O_???", WORDS(
     W(O_CREAT, 0x40), W(O_EXCL, 0x80), W(O_NOCTTY, 0x100), W(O_TRUNC, 0x200),
     W(O_APPEND, 0x400), W(O_NONBLOCK, 0x800), W(O_SYNC, 0x101000), W(O_DSYNC, 0x1000),
     W(FASYNC, 0x2000), W(O_DIRECT, 0x4000), W(O_LARGEFILE, 0x8000), W(O_NOFOLLOW, 0x20000),
     W(O_NOATIME, 0x40000), W(O_CLOEXEC, 0x80000), W(O_PATH, 0x200000),
     W(O_TMPFILE, 0x410000), W(O_DIRECTORY, 0x10000))},
    ['P'] = {TOOL_KERNEL_FLAGS, 0, "PROT_???", WORDS(
     W(PROT_NONE, 0), W(PROT_READ, 1), W(PROT_WRITE, 2), W(PROT_EXEC, 4),
     W(PROT_GROWSDOWN, 0x1000000), W(PROT_GROWSUP, 0x2000000))},
    ['M'] = {TOOL_KERNEL_CODED, 0xf, "MAP_???", WORDS(
     W(MAP_SHARED, 1), W(MAP_PRIVATE, 2), W(MAP_SHARED_VALIDATE, 3), W(MAP_FIXED, 0x10),
     W(MAP_ANONYMOUS, 0x20), W(MAP_32BIT, 0x40), W(MAP_NORESERVE, 0x4000),
     W(MAP_POPULATE, 0x8000), W(MAP_NONBLOCK, 0x10000), W(MAP_GROWSDOWN, 0x100),
     W(MAP_DENYWRITE, 0x800), W(MAP_EXECUTABLE, 0x1000), W(MAP_LOCKED, 0x2000),
     W(MAP_STACK, 0x20000), W(MAP_HUGETLB, 0x40000), W(MAP_SYNC, 0x80000),
     W(MAP_FIXED_NOREPLACE, 0x100000))},
    ['z'] = {TOOL_KERNEL_FLAGS, 0, "MREMAP_???", WORDS(
     W(MREMAP_MAYMOVE, 1), W(MREMAP_FIXED, 2), W(MREMAP_DONTUNMAP, 4))},
    ['Z'] = {TOOL_KERNEL_FLAGS, 0, "MS_???", WORDS(
     W(MS_SYNC, 4), W(MS_ASYNC, 1), W(MS_INVALIDATE, 2))},
    ['D'] = {TOOL_KERNEL_CODES, 0, "MADV_???", WORDS(
     W(MADV_NORMAL, 0), W(MADV_RANDOM, 1), W(MADV_SEQUENTIAL, 2), W(MADV_WILLNEED, 3),
     W(MADV_DONTNEED, 4), W(MADV_FREE, 8), W(MADV_REMOVE, 9), W(MADV_DONTFORK, 0xa),
     W(MADV_DOFORK, 0xb), W(MADV_HUGEPAGE, 0xe), W(MADV_NOHUGEPAGE, 0xf),
     W(MADV_DONTDUMP, 0x10), W(MADV_DODUMP, 0x11), W(MADV_WIPEONFORK, 0x12),
     W(MADV_KEEPONFORK, 0x13), W(MADV_COLD, 0x14), W(MADV_PAGEOUT, 0x15),
     W(MADV_MERGEABLE, 0xc), W(MADV_UNMERGEABLE, 0xd), W(MADV_POPULATE_READ, 0x16),
     W(MADV_POPULATE_WRITE, 0x17), W(MADV_COLLAPSE, 0x19))},
    ['g'] = {TOOL_KERNEL_CODES, 0, NULL, WORDS(
     W(SIGHUP, 1), W(SIGINT, 2), W(SIGQUIT, 3), W(SIGILL, 4), W(SIGTRAP, 5), W(SIGABRT, 6),
     W(SIGBUS, 7), W(SIGFPE, 8), W(SIGKILL, 9), W(SIGUSR1, 0xa), W(SIGSEGV, 0xb),
     W(SIGUSR2, 0xc), W(SIGPIPE, 0xd), W(SIGALRM, 0xe), W(SIGTERM, 0xf),
     W(SIGSTKFLT, 0x10), W(SIGCHLD, 0x11), W(SIGCONT, 0x12), W(SIGSTOP, 0x13),
     W(SIGTSTP, 0x14), W(SIGTTIN, 0x15), W(SIGTTOU, 0x16), W(SIGURG, 0x17),
     W(SIGXCPU, 0x18), W(SIGXFSZ, 0x19), W(SIGVTALRM, 0x1a), W(SIGPROF, 0x1b),
     W(SIGWINCH, 0x1c), W(SIGIO, 0x1d), W(SIGPWR, 0x1e), W(SIGSYS, 0x1f))},
    ['H'] = {TOOL_KERNEL_CODES, 0, "SIG_???", WORDS(
     W(SIG_BLOCK, 0), W(SIG_UNBLOCK, 1), W(SIG_SETMASK, 2))},
    ['A'] = {TOOL_KERNEL_FLAGS, 0, "?_OK", WORDS(
     W(F_OK, 0), W(R_OK, 4), W(W_OK, 2), W(X_OK, 1))},
    ['w'] = {TOOL_KERNEL_FLAGS, 0, "W???", WORDS(
     W(WNOHANG, 1), W(WEXITED, 4), W(WSTOPPED, 2), W(WCONTINUED, 8), W(WNOWAIT, 0x1000000),
     W(__WCLONE, 0x80000000), W(__WALL, 0x40000000), W(__WNOTHREAD, 0x20000000))},
    ['J'] = {TOOL_KERNEL_CODES, 0, "P_???", WORDS(
     W(P_ALL, 0), W(P_PID, 1), W(P_PGID, 2))},
    ['c'] = {TOOL_KERNEL_CODES, 0, "CLOCK_???", WORDS(
     W(CLOCK_REALTIME, 0), W(CLOCK_MONOTONIC, 1), W(CLOCK_PROCESS_CPUTIME_ID, 2),
     W(CLOCK_THREAD_CPUTIME_ID, 3), W(CLOCK_MONOTONIC_RAW, 4), W(CLOCK_REALTIME_COARSE, 5),
     W(CLOCK_MONOTONIC_COARSE, 6), W(CLOCK_BOOTTIME, 7), W(CLOCK_REALTIME_ALARM, 8),
     W(CLOCK_BOOTTIME_ALARM, 9), W(CLOCK_TAI, 0xb))},
    ['t'] = {TOOL_KERNEL_FLAGS, 0, "TIMER_???", WORDS(
     W(TIMER_ABSTIME, 1))},
    ['i'] = {TOOL_KERNEL_CODES, 0, "ITIMER_???", WORDS(
     W(ITIMER_REAL, 0), W(ITIMER_VIRTUAL, 1), W(ITIMER_PROF, 2))},
    ['W'] = {TOOL_KERNEL_CODES, 0, "SEEK_???", WORDS(
     W(SEEK_SET, 0), W(SEEK_CUR, 1), W(SEEK_END, 2), W(SEEK_DATA, 3), W(SEEK_HOLE, 4))},
    ['N'] = {TOOL_KERNEL_CODES, 0, "AF_???", WORDS(
     W(AF_UNSPEC, 0), W(AF_UNIX, 1), W(AF_INET, 2), W(AF_INET6, 0xa), W(AF_NETLINK, 0x10),
     W(AF_PACKET, 0x11),
     W(AF_BLUETOOTH, 0x1f), W(AF_ALG, 0x26), W(AF_VSOCK, 0x28))},
    ['K'] = {TOOL_KERNEL_CODED, 0xf, "SOCK_???", WORDS(
     W(SOCK_STREAM, 1), W(SOCK_DGRAM, 2), W(SOCK_RAW, 3), W(SOCK_RDM, 4),
     W(SOCK_SEQPACKET, 5), W(SOCK_DCCP, 6), W(SOCK_PACKET, 0xa), W(SOCK_CLOEXEC, 0x80000),
     W(SOCK_NONBLOCK, 0x800))},
    ['V'] = {TOOL_KERNEL_CODES, 0, "IPPROTO_???", WORDS(
     W(IPPROTO_IP, 0), W(IPPROTO_ICMP, 1), W(IPPROTO_TCP, 6), W(IPPROTO_UDP, 0x11),
     W(IPPROTO_IPV6, 0x29), W(IPPROTO_RAW, 0xff))},
    ['G'] = {TOOL_KERNEL_FLAGS, 0, "MSG_???", WORDS(
     W(MSG_OOB, 1), W(MSG_PEEK, 2), W(MSG_DONTROUTE, 4), W(MSG_CTRUNC, 8),
     W(MSG_TRUNC, 0x20), W(MSG_DONTWAIT, 0x40), W(MSG_EOR, 0x80), W(MSG_WAITALL, 0x100),
     W(MSG_NOSIGNAL, 0x4000), W(MSG_MORE, 0x8000), W(MSG_WAITFORONE, 0x10000),
     W(MSG_ERRQUEUE, 0x2000), W(MSG_FASTOPEN, 0x20000000), W(MSG_CMSG_CLOEXEC, 0x40000000))},
    ['L'] = {TOOL_KERNEL_CODES, 0, "SOL_??", WORDS(
     W(SOL_IP, 0), W(SOL_SOCKET, 1), W(SOL_TCP, 6), W(SOL_IPV6, 0x29), W(SOL_RAW, 0xff),
     W(SOL_NETLINK, 0x10e))},
    ['O'] = {TOOL_KERNEL_CODES, 0, "SO_???", WORDS(
     W(SO_DEBUG, 1), W(SO_REUSEADDR, 2), W(SO_TYPE, 3), W(SO_ERROR, 4), W(SO_DONTROUTE, 5),
     W(SO_BROADCAST, 6), W(SO_SNDBUF, 7), W(SO_RCVBUF, 8), W(SO_KEEPALIVE, 9),
     W(SO_OOBINLINE, 0xa), W(SO_PRIORITY, 0xc), W(SO_LINGER, 0xd), W(SO_REUSEPORT, 0xf),
     W(SO_PASSCRED, 0x10), W(SO_PEERCRED, 0x11), W(SO_RCVLOWAT, 0x12),
     W(SO_SNDLOWAT, 0x13), W(SO_ACCEPTCONN, 0x1e), W(SO_PEERSEC, 0x1f),
     W(SO_SNDBUFFORCE, 0x20), W(SO_RCVBUFFORCE, 0x21), W(SO_PROTOCOL, 0x26),
     W(SO_DOMAIN, 0x27), W(SO_BINDTODEVICE, 0x19),
     W(SO_RCVTIMEO_OLD, 0x14), W(SO_SNDTIMEO_OLD, 0x15))},
    ['Y'] = {TOOL_KERNEL_CODES, 0, "TCP_???", WORDS(
     W(TCP_NODELAY, 1), W(TCP_MAXSEG, 2), W(TCP_CORK, 3), W(TCP_KEEPIDLE, 4),
     W(TCP_KEEPINTVL, 5), W(TCP_KEEPCNT, 6), W(TCP_SYNCNT, 7), W(TCP_LINGER2, 8),
     W(TCP_INFO, 0xb), W(TCP_DEFER_ACCEPT, 9), W(TCP_QUICKACK, 0xc),
     W(TCP_CONGESTION, 0xd), W(TCP_USER_TIMEOUT, 0x12), W(TCP_FASTOPEN, 0x17))},
    ['h'] = {TOOL_KERNEL_CODES, 0, "SHUT_???", WORDS(
     W(SHUT_RD, 0), W(SHUT_WR, 1), W(SHUT_RDWR, 2))},
    ['@'] = {TOOL_KERNEL_FLAGS, 0, "AT_???", WORDS(
     W(AT_SYMLINK_NOFOLLOW, 0x100), W(AT_SYMLINK_FOLLOW, 0x400), W(AT_NO_AUTOMOUNT, 0x800),
     W(AT_EMPTY_PATH, 0x1000))},
    ['Q'] = {TOOL_KERNEL_FLAGS, 0, "AT_???", WORDS(
     W(AT_SYMLINK_NOFOLLOW, 0x100), W(AT_EACCESS, 0x200), W(AT_EMPTY_PATH, 0x1000))},
    ['U'] = {TOOL_KERNEL_FLAGS, 0, "AT_???", WORDS(
     W(AT_SYMLINK_NOFOLLOW, 0x100), W(AT_REMOVEDIR, 0x200), W(AT_SYMLINK_FOLLOW, 0x400),
     W(AT_NO_AUTOMOUNT, 0x800), W(AT_EMPTY_PATH, 0x1000))},
    ['R'] = {TOOL_KERNEL_FLAGS, 0, "RENAME_??", WORDS(
     W(RENAME_NOREPLACE, 1), W(RENAME_EXCHANGE, 2), W(RENAME_WHITEOUT, 4))},
    ['T'] = {TOOL_KERNEL_CODED, 0x6000, "AT_???", WORDS(
     W(AT_STATX_SYNC_AS_STAT, 0), W(AT_STATX_FORCE_SYNC, 0x2000),
     W(AT_STATX_DONT_SYNC, 0x4000), W(AT_SYMLINK_NOFOLLOW, 0x100),
     W(AT_NO_AUTOMOUNT, 0x800), W(AT_EMPTY_PATH, 0x1000))},
    ['X'] = {TOOL_KERNEL_FLAGS, 0, "STATX_???", WORDS(
     W(STATX_ALL, 0xfff), W(STATX_BASIC_STATS, 0x7ff), W(STATX_TYPE, 1), W(STATX_MODE, 2),
     W(STATX_NLINK, 4), W(STATX_UID, 8), W(STATX_GID, 0x10), W(STATX_ATIME, 0x20),
     W(STATX_MTIME, 0x40), W(STATX_CTIME, 0x80), W(STATX_INO, 0x100), W(STATX_SIZE, 0x200),
     W(STATX_BLOCKS, 0x400), W(STATX_BTIME, 0x800), W(STATX_MNT_ID, 0x1000))},
    ['F'] = {TOOL_KERNEL_CODES, 0, "F_???", WORDS(
     W(F_DUPFD, 0), W(F_GETFD, 1), W(F_SETFD, 2), W(F_GETFL, 3), W(F_SETFL, 4),
     W(F_GETLK, 5), W(F_SETLK, 6), W(F_SETLKW, 7), W(F_SETOWN, 8), W(F_GETOWN, 9),
     W(F_SETSIG, 0xa), W(F_GETSIG, 0xb), W(F_SETOWN_EX, 0xf), W(F_GETOWN_EX, 0x10),
     W(F_OFD_GETLK, 0x24), W(F_OFD_SETLK, 0x25), W(F_OFD_SETLKW, 0x26),
     W(F_SETLEASE, 0x400), W(F_GETLEASE, 0x401), W(F_NOTIFY, 0x402),
     W(F_DUPFD_CLOEXEC, 0x406), W(F_SETPIPE_SZ, 0x407), W(F_GETPIPE_SZ, 0x408),
     W(F_ADD_SEALS, 0x409), W(F_GET_SEALS, 0x40a))},
    ['e'] = {TOOL_KERNEL_FLAGS, 0, "FD_???", WORDS(
     W(FD_CLOEXEC, 1))},
    ['k'] = {TOOL_KERNEL_FLAGS, 0, "LOCK_???", WORDS(
     W(LOCK_SH, 1), W(LOCK_EX, 2), W(LOCK_NB, 4), W(LOCK_UN, 8), W(LOCK_MAND, 0x20),
     W(LOCK_READ, 0x40), W(LOCK_WRITE, 0x80))},
    ['I'] = {TOOL_KERNEL_CODES, 0, NULL, WORDS(
     W(TCGETS, 0x5401), W(TCSETS, 0x5402), W(TCSETSW, 0x5403), W(TCSETSF, 0x5404),
     W(TCSBRK, 0x5409), W(TCXONC, 0x540a), W(TCFLSH, 0x540b), W(TIOCEXCL, 0x540c),
     W(TIOCNXCL, 0x540d), W(TIOCSCTTY, 0x540e), W(TIOCGPGRP, 0x540f), W(TIOCSPGRP, 0x5410),
     W(TIOCOUTQ, 0x5411), W(TIOCSTI, 0x5412), W(TIOCGWINSZ, 0x5413), W(TIOCSWINSZ, 0x5414),
     W(FIONREAD, 0x541b), W(TIOCNOTTY, 0x5422), W(TIOCGSID, 0x5429),
     W(TIOCGPTN, 0x80045430), W(TIOCSPTLCK, 0x40045431), W(TIOCGPTPEER, 0x5441),
     W(FIONBIO, 0x5421), W(FIOASYNC, 0x5452), W(FIOCLEX, 0x5451), W(FIONCLEX, 0x5450),
     W(SIOCGIFCONF, 0x8912), W(SIOCGIFFLAGS, 0x8913), W(SIOCGIFADDR, 0x8915),
     W(FICLONE, 0x40049409), W(FIGETBSZ, 2), W(FIOQSIZE, 0x5460))},
    ['j'] = {TOOL_KERNEL_CODED, 0xfffffeff, "FUTEX_???", WORDS(
     W(FUTEX_WAIT, 0), W(FUTEX_WAKE, 1), W(FUTEX_REQUEUE, 3), W(FUTEX_CMP_REQUEUE, 4),
     W(FUTEX_WAKE_OP, 5), W(FUTEX_LOCK_PI, 6), W(FUTEX_UNLOCK_PI, 7),
     W(FUTEX_TRYLOCK_PI, 8), W(FUTEX_WAIT_BITSET, 9), W(FUTEX_WAKE_BITSET, 0xa),
     W(FUTEX_WAIT_REQUEUE_PI, 0xb), W(FUTEX_CMP_REQUEUE_PI, 0xc), W(FUTEX_LOCK_PI2, 0xd),
     W(FUTEX_WAIT_PRIVATE, 0x80), W(FUTEX_WAKE_PRIVATE, 0x81),
     W(FUTEX_REQUEUE_PRIVATE, 0x83), W(FUTEX_CMP_REQUEUE_PRIVATE, 0x84),
     W(FUTEX_WAKE_OP_PRIVATE, 0x85), W(FUTEX_LOCK_PI_PRIVATE, 0x86),
     W(FUTEX_UNLOCK_PI_PRIVATE, 0x87), W(FUTEX_TRYLOCK_PI_PRIVATE, 0x88),
     W(FUTEX_WAIT_BITSET_PRIVATE, 0x89), W(FUTEX_WAKE_BITSET_PRIVATE, 0x8a),
     W(FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0x8b), W(FUTEX_CMP_REQUEUE_PI_PRIVATE, 0x8c),
     W(FUTEX_LOCK_PI2_PRIVATE, 0x8d), W(FUTEX_CLOCK_REALTIME, 0x100))},
    ['C'] = {TOOL_KERNEL_FLAGS, 0, "CLONE_???", WORDS(
     W(CLONE_VM, 0x100), W(CLONE_FS, 0x200), W(CLONE_FILES, 0x400),
     W(CLONE_SIGHAND, 0x800), W(CLONE_PIDFD, 0x1000), W(CLONE_PTRACE, 0x2000),
     W(CLONE_VFORK, 0x4000), W(CLONE_PARENT, 0x8000), W(CLONE_THREAD, 0x10000),
     W(CLONE_NEWNS, 0x20000), W(CLONE_SYSVSEM, 0x40000), W(CLONE_SETTLS, 0x80000),
     W(CLONE_PARENT_SETTID, 0x100000), W(CLONE_CHILD_CLEARTID, 0x200000),
     W(CLONE_DETACHED, 0x400000), W(CLONE_UNTRACED, 0x800000),
     W(CLONE_CHILD_SETTID, 0x1000000), W(CLONE_NEWCGROUP, 0x2000000),
     W(CLONE_NEWUTS, 0x4000000), W(CLONE_NEWIPC, 0x8000000), W(CLONE_NEWUSER, 0x10000000),
     W(CLONE_NEWPID, 0x20000000), W(CLONE_NEWNET, 0x40000000), W(CLONE_IO, 0x80000000))},
    ['q'] = {TOOL_KERNEL_CODES, 0, "ARCH_???", WORDS(
     W(ARCH_SET_GS, 0x1001), W(ARCH_SET_FS, 0x1002), W(ARCH_GET_FS, 0x1003),
     W(ARCH_GET_GS, 0x1004), W(ARCH_CET_STATUS, 0x3001))},
    ['r'] = {TOOL_KERNEL_CODES, 0, "PR_???", WORDS(
     W(PR_SET_PDEATHSIG, 1), W(PR_GET_PDEATHSIG, 2), W(PR_GET_DUMPABLE, 3),
     W(PR_SET_DUMPABLE, 4), W(PR_GET_KEEPCAPS, 7), W(PR_SET_KEEPCAPS, 8),
     W(PR_SET_NAME, 0xf), W(PR_GET_NAME, 0x10), W(PR_GET_SECCOMP, 0x15),
     W(PR_SET_SECCOMP, 0x16), W(PR_CAPBSET_READ, 0x17), W(PR_CAPBSET_DROP, 0x18),
     W(PR_GET_SECUREBITS, 0x1b),
     W(PR_SET_SECUREBITS, 0x1c),
     W(PR_SET_TIMERSLACK, 0x1d), W(PR_GET_TIMERSLACK, 0x1e), W(PR_SET_MM, 0x23),
     W(PR_SET_CHILD_SUBREAPER, 0x24), W(PR_GET_CHILD_SUBREAPER, 0x25),
     W(PR_SET_NO_NEW_PRIVS, 0x26), W(PR_GET_NO_NEW_PRIVS, 0x27), W(PR_CAP_AMBIENT, 0x2f),
     W(PR_SET_PTRACER, 0x59616d61), W(PR_SET_VMA, 0x53564d41))},
    ['l'] = {TOOL_KERNEL_CODES, 0, "RLIMIT_???", WORDS(
     W(RLIMIT_CPU, 0), W(RLIMIT_FSIZE, 1), W(RLIMIT_DATA, 2), W(RLIMIT_STACK, 3),
     W(RLIMIT_CORE, 4), W(RLIMIT_RSS, 5), W(RLIMIT_NPROC, 6), W(RLIMIT_NOFILE, 7),
     W(RLIMIT_MEMLOCK, 8), W(RLIMIT_AS, 9), W(RLIMIT_LOCKS, 0xa),
     W(RLIMIT_SIGPENDING, 0xb), W(RLIMIT_MSGQUEUE, 0xc), W(RLIMIT_NICE, 0xd),
     W(RLIMIT_RTPRIO, 0xe), W(RLIMIT_RTTIME, 0xf))},
    ['v'] = {TOOL_KERNEL_CODES, 0, "RUSAGE_???", WORDS(
     W(RUSAGE_SELF, 0), W(RUSAGE_CHILDREN, 0xffffffff), W(RUSAGE_THREAD, 1))},
    ['E'] = {TOOL_KERNEL_CODES, 0, "EPOLL_CTL_???", WORDS(
     W(EPOLL_CTL_ADD, 1), W(EPOLL_CTL_DEL, 2), W(EPOLL_CTL_MOD, 3))},
    ['B'] = {TOOL_KERNEL_FLAGS, 0, "EPOLL_???", WORDS(
     W(EPOLL_CLOEXEC, 0x80000))},
    ['%'] = {TOOL_KERNEL_FLAGS, 0, "EFD_???", WORDS(
     W(EFD_SEMAPHORE, 1), W(EFD_CLOEXEC, 0x80000), W(EFD_NONBLOCK, 0x800))},
    ['n'] = {TOOL_KERNEL_FLAGS, 0, "GRND_???", WORDS(
     W(GRND_NONBLOCK, 1), W(GRND_RANDOM, 2))},
    ['&'] = {TOOL_KERNEL_CODES, 0, "POSIX_FADV_???", WORDS(
     W(POSIX_FADV_NORMAL, 0), W(POSIX_FADV_RANDOM, 1), W(POSIX_FADV_SEQUENTIAL, 2),
     W(POSIX_FADV_WILLNEED, 3), W(POSIX_FADV_DONTNEED, 4), W(POSIX_FADV_NOREUSE, 5))},
    ['$'] = {TOOL_KERNEL_FLAGS, 0, "FALLOC_FL_???", WORDS(
     W(FALLOC_FL_KEEP_SIZE, 1), W(FALLOC_FL_PUNCH_HOLE, 2), W(FALLOC_FL_COLLAPSE_RANGE, 8),
     W(FALLOC_FL_ZERO_RANGE, 0x10), W(FALLOC_FL_INSERT_RANGE, 0x20))},
    ['!'] = {TOOL_KERNEL_CODES, 0, "PRIO_???", WORDS(
     W(PRIO_PROCESS, 0), W(PRIO_PGRP, 1), W(PRIO_USER, 2))},
    ['#'] = {TOOL_KERNEL_FLAGS, 0, "MFD_???", WORDS(
     W(MFD_CLOEXEC, 1), W(MFD_ALLOW_SEALING, 2), W(MFD_HUGETLB, 4))},
};
/* clang-format on */

/* The word of a whole value; NULL: there is none. */
static const char *find_code(const struct tool_kernel_word_set *set, uint64_t value)
{
    for (const struct tool_kernel_word *word = set->words; word->name != NULL; word++)
        if (word->bits == value)
            return word->name;
    return NULL;
}

static void put_unknown(struct tool_output *out, const struct tool_kernel_word_set *set,
                        uint64_t value)
{
    tool_output_printf(out, "%#" PRIx64, value);
    if (set->unknown != NULL && value != 0)
        tool_output_printf(out, " /* %s */", set->unknown);
}

/* An ioctl is a number of parts; a signal is one of the kernel's, whose first real-time one the C
 * library keeps to itself. */
static void put_code(struct tool_output *out, const struct tool_kernel_word_set *set,
                     uint64_t value)
{
    static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
                                             "_IOC_READ|_IOC_WRITE"};
    const char *name = find_code(set, value);
    if (name != NULL)
        tool_output_text(out, name);
    else if (set == &sets['g'] && value == 32)
        tool_output_text(out, "SIGRTMIN");
    else if (set == &sets['g'] && value > 32 && value <= 64)
        tool_output_printf(out, "SIGRT_%" PRIu64, value - 32);
    else if (set == &sets['g'])
        tool_output_printf(out, "%" PRId64, (int64_t)(int32_t)value);
    else if (set == &sets['I'])
        tool_output_printf(out, "_IOC(%s, %#x, %#x, %#x)", directions[value >> 30 & 3],
                           (unsigned)(value >> 8 & 0xFF), (unsigned)(value & 0xFF),
                           (unsigned)(value >> 16 & 0x3FFF));
    else
        put_unknown(out, set, value);
}

/* Words of the bits; "0", or the word for none, where there are none. */
static void put_bits(struct tool_output *out, const struct tool_kernel_word_set *set,
                     uint64_t value, bool is_more)
{
    const char *none = value == 0 ? find_code(set, 0) : NULL;
    for (const struct tool_kernel_word *word = set->words; value != 0 && word->name != NULL;
         word++) {
        uint64_t bits = word->bits;
        if (bits == 0 || (bits & set->mask) != 0 || (value & bits) != bits)
            continue;
        tool_output_text(out, is_more ? "|" : "");
        tool_output_text(out, word->name);
        value &= ~bits;
        is_more = true;
    }
    if (value != 0 && is_more)
        tool_output_printf(out, "|%#" PRIx64, value);
    else if (value != 0)
        put_unknown(out, set, value);
    else if (!is_more)
        tool_output_text(out, none != NULL ? none : "0");
}

/* Of calls of System V, whose low bits are a mode. */
static void put_shared_flags(struct tool_output *out, uint64_t value)
{
    uint64_t flags = value & UINT32_MAX & ~UINT64_C(0777);
    if (flags != 0) {
        put_bits(out, &tool_kernel_more_sets['s'], flags, false);
        tool_output_text(out, "|");
    }
    tool_output_printf(out, "%#03" PRIo64, value & 0777);
}

/* Their low bits are a priority. */
static void put_swap(struct tool_output *out, uint64_t value)
{
    uint64_t flags = value & UINT32_MAX & ~UINT64_C(0x7fff), priority = value & 0x7fff;
    if (flags != 0)
        put_bits(out, &tool_kernel_more_sets['e'], flags, false);
    if (flags == 0 || priority != 0)
        tool_output_printf(out, "%s%" PRIu64, flags != 0 ? "|" : "", priority);
}

/* Of memfd_create: the size of pages is in the bits at the top. */
static void put_memory_flags(struct tool_output *out, uint64_t value)
{
    uint64_t flags = value & 0x3ffffff, size = value >> 26 & 63;
    if (flags != 0 || size == 0)
        put_bits(out, &sets['#'], flags, false);
    if (size != 0)
        tool_output_printf(out, "%s%" PRIu64 "<<MFD_HUGE_SHIFT", flags != 0 ? "|" : "", size);
}

static void put_priority(struct tool_output *out, uint64_t value)
{
    static const char *const classes[] = {"IOPRIO_CLASS_NONE", "IOPRIO_CLASS_RT", "IOPRIO_CLASS_BE",
                                          "IOPRIO_CLASS_IDLE"};
    uint64_t class = value >> 13 & 7;
    tool_output_text(out, "IOPRIO_PRIO_VALUE(");
    if (class < sizeof(classes) / sizeof(*classes))
        tool_output_text(out, classes[class]);
    else
        tool_output_printf(out, "%#" PRIx64 " /* IOPRIO_CLASS_??? */", class);
    tool_output_printf(out, ", %" PRIu64 ")", value & 0x1fff);
}

static void put_quota(struct tool_output *out, uint32_t value)
{
    static const char *const kinds[] = {"USRQUOTA", "GRPQUOTA", "PRJQUOTA"};
    static const char *const commands[] = {"Q_SYNC",     "Q_QUOTAON",  "Q_QUOTAOFF",
                                           "Q_GETFMT",   "Q_GETINFO",  "Q_SETINFO",
                                           "Q_GETQUOTA", "Q_SETQUOTA", "Q_GETNEXTQUOTA"};
    uint32_t command = (value >> 8) - 0x800001, kind = value & 0xff;
    tool_output_text(out, "QCMD(");
    if (command < sizeof(commands) / sizeof(*commands))
        tool_output_text(out, commands[command]);
    else
        tool_output_printf(out, "%#x /* Q_??? */", value >> 8);
    if (kind < sizeof(kinds) / sizeof(*kinds))
        tool_output_printf(out, ", %s)", kinds[kind]);
    else
        tool_output_printf(out, ", %#x /* ???QUOTA */)", kind);
}

/* What FUTEX_WAKE_OP does to the second word, and compares it with. */
static void put_operation(struct tool_output *out, uint64_t value)
{
    static const char *const names[] = {"FUTEX_OP_SET", "FUTEX_OP_ADD", "FUTEX_OP_OR",
                                        "FUTEX_OP_ANDN", "FUTEX_OP_XOR"};
    static const char *const compares[] = {"FUTEX_OP_CMP_EQ", "FUTEX_OP_CMP_NE", "FUTEX_OP_CMP_LT",
                                           "FUTEX_OP_CMP_LE", "FUTEX_OP_CMP_GT", "FUTEX_OP_CMP_GE"};
    unsigned how = value >> 28 & 7, compare = value >> 24 & 15;
    if ((value >> 31 & 1) != 0)
        tool_output_text(out, "FUTEX_OP_OPARG_SHIFT<<28|");
    if (how < sizeof(names) / sizeof(*names))
        tool_output_text(out, names[how]);
    else
        tool_output_printf(out, "%#x /* FUTEX_OP_??? */", how);
    tool_output_printf(out, "<<28|%#x<<12|", (unsigned)(value >> 12 & 0xfff));
    if (compare < sizeof(compares) / sizeof(*compares))
        tool_output_text(out, compares[compare]);
    else
        tool_output_printf(out, "%#x /* FUTEX_OP_CMP_??? */", compare);
    tool_output_printf(out, "<<24|%#x", (unsigned)(value & 0xfff));
}

/* Words that are made of parts. False: the letter has none of them. */
static bool put_made(struct tool_output *out, unsigned char letter, uint64_t value)
{
    switch (letter) {
    case 'n' | 0x80: tool_kernel_put_mode(out, value & 0xffff); break;
    case '+' | 0x80: tool_kernel_put_device(out, value); break;
    case '4' | 0x80: tool_kernel_put_output_modes(out, value); break;
    case '5' | 0x80: tool_kernel_put_line_modes(out, value); break;
    case 'e' | 0x80: put_swap(out, value); break;
    case '#': put_memory_flags(out, value); break;
    case 's' | 0x80: put_shared_flags(out, value); break;
    case '_' | 0x80: put_priority(out, value); break;
    case ',' | 0x80: put_quota(out, (uint32_t)value); break;
    case '*' | 0x80: put_operation(out, value); break;
    default: return false;
    }
    return true;
}

/* Of the other sets: flags of mlockall, umount2, swapon, setxattr, inotify, timerfd, signalfd4,
 * splice, sync_file_range, preadv2, pidfd_open, close_range. */
#define MORE_INTS "bcefghijklmpru"

bool tool_kernel_put_flags(struct tool_output *out, char letter, uint64_t value)
{
    bool is_more = ((unsigned char)letter & 0x80) != 0;
    const struct tool_kernel_word_set *set =
        is_more ? &tool_kernel_more_sets[letter & 127] : &sets[letter & 127];
    if (put_made(out, (unsigned char)letter, value))
        return true;
    if (set->words == NULL)
        return false;
    if (!is_more || set->kind == TOOL_KERNEL_CODES || strchr(MORE_INTS, letter & 127) != NULL)
        value &= UINT32_MAX; /* these are int */
    if (set->kind == TOOL_KERNEL_FLAGS) {
        put_bits(out, set, value, false);
        return true;
    }
    uint64_t code = set->kind == TOOL_KERNEL_CODED ? value & set->mask : value;
    bool has_code = value == code || find_code(set, code) != NULL;
    if (has_code)
        put_code(out, set, code);
    if (value != code)
        put_bits(out, set, has_code ? value & ~code : value, has_code);
    return true;
}

static bool find_word(const struct tool_kernel_word_set *from, ttape_string name, int64_t *value)
{
    for (size_t i = 0; i < 128; i++)
        for (const struct tool_kernel_word *word = from[i].words;
             word != NULL && word->name != NULL; word++)
            if (ttp_text_is(name, word->name)) {
                *value = word->bits;
                return true;
            }
    return false;
}

bool tool_kernel_find_constant(ttape_string name, int64_t *value)
{
    return tool_kernel_error_number(name, value) || find_word(sets, name, value) ||
           find_word(tool_kernel_more_sets, name, value);
}
