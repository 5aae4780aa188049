/* Flags and codes in words, for each letter of kernel_calls.h. Numbers are those of Linux
 * on x86-64, whatever machine this is; words stand in the order that users of strace expect. */
#include "tools/kernel/kernel_flags.h"

#include <inttypes.h>
#include <string.h>

enum kind {
    FLAGS, /* bits; what has no word is a number behind them */
    CODES, /* one word for the whole value */
    CODED  /* the first words are codes of `mask`, one of which is there; then flags */
};

struct words {
    char letter;
    enum kind kind;
    uint32_t mask;
    const char *unknown; /* "O_???" */
    const char *words;   /* "O_RDONLY=0 O_WRONLY=1 ...", in hexadecimal */
};

struct word {
    ttape_string name;
    uint64_t bits;
};

/* clang-format off */
static const struct words sets[] = {
    {'o', CODED, 0x3, "O_???",
     "O_RDONLY=0 O_WRONLY=1 O_RDWR=2 O_CREAT=40 O_EXCL=80 O_NOCTTY=100 O_TRUNC=200 "
     "O_APPEND=400 O_NONBLOCK=800 O_SYNC=101000 O_DSYNC=1000 FASYNC=2000 O_DIRECT=4000 "
     "O_LARGEFILE=8000 O_NOFOLLOW=20000 O_NOATIME=40000 O_CLOEXEC=80000 O_PATH=200000 "
     "O_TMPFILE=410000 O_DIRECTORY=10000"},
    {'y', FLAGS, 0, "O_???",
     "O_NONBLOCK=800 O_DIRECT=4000 O_CLOEXEC=80000"},
    {'P', FLAGS, 0, "PROT_???",
     "PROT_NONE=0 PROT_READ=1 PROT_WRITE=2 PROT_EXEC=4 PROT_GROWSDOWN=1000000 "
     "PROT_GROWSUP=2000000"},
    {'M', CODED, 0xf, "MAP_???",
     "MAP_SHARED=1 MAP_PRIVATE=2 MAP_SHARED_VALIDATE=3 MAP_FIXED=10 MAP_ANONYMOUS=20 "
     "MAP_32BIT=40 MAP_NORESERVE=4000 MAP_POPULATE=8000 MAP_NONBLOCK=10000 "
     "MAP_GROWSDOWN=100 MAP_DENYWRITE=800 MAP_EXECUTABLE=1000 MAP_LOCKED=2000 "
     "MAP_STACK=20000 MAP_HUGETLB=40000 MAP_SYNC=80000 MAP_FIXED_NOREPLACE=100000"},
    {'z', FLAGS, 0, "MREMAP_???",
     "MREMAP_MAYMOVE=1 MREMAP_FIXED=2 MREMAP_DONTUNMAP=4"},
    {'Z', FLAGS, 0, "MS_???",
     "MS_SYNC=4 MS_ASYNC=1 MS_INVALIDATE=2"},
    {'D', CODES, 0, "MADV_???",
     "MADV_NORMAL=0 MADV_RANDOM=1 MADV_SEQUENTIAL=2 MADV_WILLNEED=3 MADV_DONTNEED=4 "
     "MADV_FREE=8 MADV_REMOVE=9 MADV_DONTFORK=a MADV_DOFORK=b MADV_HUGEPAGE=e "
     "MADV_NOHUGEPAGE=f MADV_DONTDUMP=10 MADV_DODUMP=11 MADV_WIPEONFORK=12 "
     "MADV_KEEPONFORK=13 MADV_COLD=14 MADV_PAGEOUT=15 MADV_MERGEABLE=c MADV_UNMERGEABLE=d "
     "MADV_POPULATE_READ=16 MADV_POPULATE_WRITE=17"},
    {'g', CODES, 0, NULL,
     "SIGHUP=1 SIGINT=2 SIGQUIT=3 SIGILL=4 SIGTRAP=5 SIGABRT=6 SIGBUS=7 SIGFPE=8 SIGKILL=9 "
     "SIGUSR1=a SIGSEGV=b SIGUSR2=c SIGPIPE=d SIGALRM=e SIGTERM=f SIGSTKFLT=10 SIGCHLD=11 "
     "SIGCONT=12 SIGSTOP=13 SIGTSTP=14 SIGTTIN=15 SIGTTOU=16 SIGURG=17 SIGXCPU=18 "
     "SIGXFSZ=19 SIGVTALRM=1a SIGPROF=1b SIGWINCH=1c SIGIO=1d SIGPWR=1e SIGSYS=1f"},
    {'H', CODES, 0, "SIG_???",
     "SIG_BLOCK=0 SIG_UNBLOCK=1 SIG_SETMASK=2"},
    {'A', FLAGS, 0, "?_OK",
     "F_OK=0 R_OK=4 W_OK=2 X_OK=1"},
    {'w', FLAGS, 0, "W???",
     "WNOHANG=1 WUNTRACED=2 WEXITED=4 WCONTINUED=8 WNOWAIT=1000000"},
    {'J', CODES, 0, "P_???",
     "P_ALL=0 P_PID=1 P_PGID=2"},
    {'c', CODES, 0, "CLOCK_???",
     "CLOCK_REALTIME=0 CLOCK_MONOTONIC=1 CLOCK_PROCESS_CPUTIME_ID=2 "
     "CLOCK_THREAD_CPUTIME_ID=3 CLOCK_MONOTONIC_RAW=4 CLOCK_REALTIME_COARSE=5 "
     "CLOCK_MONOTONIC_COARSE=6 CLOCK_BOOTTIME=7 CLOCK_REALTIME_ALARM=8 "
     "CLOCK_BOOTTIME_ALARM=9 CLOCK_TAI=b"},
    {'t', FLAGS, 0, "TIMER_???",
     "TIMER_ABSTIME=1"},
    {'i', CODES, 0, "ITIMER_???",
     "ITIMER_REAL=0 ITIMER_VIRTUAL=1 ITIMER_PROF=2"},
    {'W', CODES, 0, "SEEK_???",
     "SEEK_SET=0 SEEK_CUR=1 SEEK_END=2 SEEK_DATA=3 SEEK_HOLE=4"},
    {'N', CODES, 0, "AF_???",
     "AF_UNSPEC=0 AF_UNIX=1 AF_INET=2 AF_INET6=a AF_NETLINK=10 AF_PACKET=11 AF_ALG=26 "
     "AF_VSOCK=28"},
    {'K', CODED, 0xf, "SOCK_???",
     "SOCK_STREAM=1 SOCK_DGRAM=2 SOCK_RAW=3 SOCK_RDM=4 SOCK_SEQPACKET=5 SOCK_DCCP=6 "
     "SOCK_PACKET=a SOCK_CLOEXEC=80000 SOCK_NONBLOCK=800"},
    {'V', CODES, 0, "IPPROTO_???",
     "IPPROTO_IP=0 IPPROTO_ICMP=1 IPPROTO_TCP=6 IPPROTO_UDP=11 IPPROTO_IPV6=29 "
     "IPPROTO_RAW=ff"},
    {'G', FLAGS, 0, "MSG_???",
     "MSG_OOB=1 MSG_PEEK=2 MSG_DONTROUTE=4 MSG_CTRUNC=8 MSG_TRUNC=20 MSG_DONTWAIT=40 "
     "MSG_EOR=80 MSG_WAITALL=100 MSG_NOSIGNAL=4000 MSG_MORE=8000 MSG_WAITFORONE=10000 "
     "MSG_ERRQUEUE=2000 MSG_FASTOPEN=20000000 MSG_CMSG_CLOEXEC=40000000"},
    {'L', CODES, 0, "SOL_???",
     "SOL_IP=0 SOL_SOCKET=1 SOL_TCP=6 SOL_IPV6=29 SOL_RAW=ff SOL_NETLINK=10e"},
    {'O', CODES, 0, "SO_???",
     "SO_DEBUG=1 SO_REUSEADDR=2 SO_TYPE=3 SO_ERROR=4 SO_DONTROUTE=5 SO_BROADCAST=6 "
     "SO_SNDBUF=7 SO_RCVBUF=8 SO_KEEPALIVE=9 SO_OOBINLINE=a SO_PRIORITY=c SO_LINGER=d "
     "SO_REUSEPORT=f SO_PASSCRED=10 SO_PEERCRED=11 SO_RCVLOWAT=12 SO_SNDLOWAT=13 "
     "SO_ACCEPTCONN=1e SO_PEERSEC=1f SO_SNDBUFFORCE=20 SO_RCVBUFFORCE=21 SO_PROTOCOL=26 "
     "SO_DOMAIN=27 SO_BINDTODEVICE=19"},
    {'Y', CODES, 0, "TCP_???",
     "TCP_NODELAY=1 TCP_MAXSEG=2 TCP_CORK=3 TCP_KEEPIDLE=4 TCP_KEEPINTVL=5 TCP_KEEPCNT=6 "
     "TCP_SYNCNT=7 TCP_LINGER2=8 TCP_INFO=b TCP_DEFER_ACCEPT=9 TCP_QUICKACK=c "
     "TCP_CONGESTION=d TCP_USER_TIMEOUT=12 TCP_FASTOPEN=17"},
    {'h', CODES, 0, "SHUT_???",
     "SHUT_RD=0 SHUT_WR=1 SHUT_RDWR=2"},
    {'@', FLAGS, 0, "AT_???",
     "AT_SYMLINK_NOFOLLOW=100 AT_SYMLINK_FOLLOW=400 AT_NO_AUTOMOUNT=800 AT_EMPTY_PATH=1000"},
    {'Q', FLAGS, 0, "AT_???",
     "AT_SYMLINK_NOFOLLOW=100 AT_EACCESS=200 AT_EMPTY_PATH=1000"},
    {'U', FLAGS, 0, "AT_???",
     "AT_REMOVEDIR=200"},
    {'R', FLAGS, 0, "RENAME_???",
     "RENAME_NOREPLACE=1 RENAME_EXCHANGE=2 RENAME_WHITEOUT=4"},
    {'T', CODED, 0x6000, "AT_???",
     "AT_STATX_SYNC_AS_STAT=0 AT_STATX_FORCE_SYNC=2000 AT_STATX_DONT_SYNC=4000 "
     "AT_SYMLINK_NOFOLLOW=100 AT_NO_AUTOMOUNT=800 AT_EMPTY_PATH=1000"},
    {'X', FLAGS, 0, "STATX_???",
     "STATX_ALL=fff STATX_BASIC_STATS=7ff STATX_TYPE=1 STATX_MODE=2 STATX_NLINK=4 "
     "STATX_UID=8 STATX_GID=10 STATX_ATIME=20 STATX_MTIME=40 STATX_CTIME=80 STATX_INO=100 "
     "STATX_SIZE=200 STATX_BLOCKS=400 STATX_BTIME=800 STATX_MNT_ID=1000"},
    {'F', CODES, 0, "F_???",
     "F_DUPFD=0 F_GETFD=1 F_SETFD=2 F_GETFL=3 F_SETFL=4 F_GETLK=5 F_SETLK=6 F_SETLKW=7 "
     "F_SETOWN=8 F_GETOWN=9 F_SETSIG=a F_GETSIG=b F_SETOWN_EX=f F_GETOWN_EX=10 "
     "F_OFD_GETLK=24 F_OFD_SETLK=25 F_OFD_SETLKW=26 F_SETLEASE=400 F_GETLEASE=401 "
     "F_NOTIFY=402 F_DUPFD_CLOEXEC=406 F_SETPIPE_SZ=407 F_GETPIPE_SZ=408 F_ADD_SEALS=409 "
     "F_GET_SEALS=40a"},
    {'e', FLAGS, 0, "FD_???",
     "FD_CLOEXEC=1"},
    {'k', FLAGS, 0, "LOCK_???",
     "LOCK_SH=1 LOCK_EX=2 LOCK_NB=4 LOCK_UN=8"},
    {'I', CODES, 0, NULL,
     "TCGETS=5401 TCSETS=5402 TCSETSW=5403 TCSETSF=5404 TCSBRK=5409 TCXONC=540a "
     "TCFLSH=540b TIOCEXCL=540c TIOCNXCL=540d TIOCSCTTY=540e TIOCGPGRP=540f TIOCSPGRP=5410 "
     "TIOCOUTQ=5411 TIOCSTI=5412 TIOCGWINSZ=5413 TIOCSWINSZ=5414 FIONREAD=541b "
     "TIOCNOTTY=5422 TIOCGSID=5429 TIOCGPTN=80045430 TIOCSPTLCK=40045431 TIOCGPTPEER=5441 "
     "FIONBIO=5421 FIOASYNC=5452 FIOCLEX=5451 FIONCLEX=5450 SIOCGIFCONF=8912 "
     "SIOCGIFFLAGS=8913 SIOCGIFADDR=8915 FICLONE=40049409 FIGETBSZ=2 FIOQSIZE=5460"},
    {'j', CODED, 0xfffffeff, "FUTEX_???",
     "FUTEX_WAIT=0 FUTEX_WAKE=1 FUTEX_REQUEUE=3 FUTEX_CMP_REQUEUE=4 FUTEX_WAKE_OP=5 "
     "FUTEX_LOCK_PI=6 FUTEX_UNLOCK_PI=7 FUTEX_TRYLOCK_PI=8 FUTEX_WAIT_BITSET=9 "
     "FUTEX_WAKE_BITSET=a FUTEX_WAIT_REQUEUE_PI=b FUTEX_CMP_REQUEUE_PI=c FUTEX_LOCK_PI2=d "
     "FUTEX_WAIT_PRIVATE=80 FUTEX_WAKE_PRIVATE=81 FUTEX_REQUEUE_PRIVATE=83 "
     "FUTEX_CMP_REQUEUE_PRIVATE=84 FUTEX_WAKE_OP_PRIVATE=85 FUTEX_LOCK_PI_PRIVATE=86 "
     "FUTEX_UNLOCK_PI_PRIVATE=87 FUTEX_TRYLOCK_PI_PRIVATE=88 FUTEX_WAIT_BITSET_PRIVATE=89 "
     "FUTEX_WAKE_BITSET_PRIVATE=8a FUTEX_WAIT_REQUEUE_PI_PRIVATE=8b "
     "FUTEX_CMP_REQUEUE_PI_PRIVATE=8c FUTEX_LOCK_PI2_PRIVATE=8d FUTEX_CLOCK_REALTIME=100"},
    {'C', FLAGS, 0, "CLONE_???",
     "CLONE_VM=100 CLONE_FS=200 CLONE_FILES=400 CLONE_SIGHAND=800 CLONE_PIDFD=1000 "
     "CLONE_PTRACE=2000 CLONE_VFORK=4000 CLONE_PARENT=8000 CLONE_THREAD=10000 "
     "CLONE_NEWNS=20000 CLONE_SYSVSEM=40000 CLONE_SETTLS=80000 CLONE_PARENT_SETTID=100000 "
     "CLONE_CHILD_CLEARTID=200000 CLONE_DETACHED=400000 CLONE_UNTRACED=800000 "
     "CLONE_CHILD_SETTID=1000000 CLONE_NEWCGROUP=2000000 CLONE_NEWUTS=4000000 "
     "CLONE_NEWIPC=8000000 CLONE_NEWUSER=10000000 CLONE_NEWPID=20000000 "
     "CLONE_NEWNET=40000000 CLONE_IO=80000000"},
    {'q', CODES, 0, "ARCH_???",
     "ARCH_SET_GS=1001 ARCH_SET_FS=1002 ARCH_GET_FS=1003 ARCH_GET_GS=1004 "
     "ARCH_CET_STATUS=3001"},
    {'r', CODES, 0, "PR_???",
     "PR_SET_PDEATHSIG=1 PR_GET_PDEATHSIG=2 PR_GET_DUMPABLE=3 PR_SET_DUMPABLE=4 "
     "PR_GET_KEEPCAPS=7 PR_SET_KEEPCAPS=8 PR_SET_NAME=f PR_GET_NAME=10 PR_GET_SECCOMP=15 "
     "PR_SET_SECCOMP=16 PR_CAPBSET_READ=17 PR_CAPBSET_DROP=18 PR_SET_TIMERSLACK=1d "
     "PR_GET_TIMERSLACK=1e PR_SET_MM=23 PR_SET_CHILD_SUBREAPER=24 "
     "PR_GET_CHILD_SUBREAPER=25 PR_SET_NO_NEW_PRIVS=26 PR_GET_NO_NEW_PRIVS=27 "
     "PR_CAP_AMBIENT=2f PR_SET_PTRACER=59616d61 PR_SET_VMA=53564d41"},
    {'l', CODES, 0, "RLIMIT_???",
     "RLIMIT_CPU=0 RLIMIT_FSIZE=1 RLIMIT_DATA=2 RLIMIT_STACK=3 RLIMIT_CORE=4 RLIMIT_RSS=5 "
     "RLIMIT_NPROC=6 RLIMIT_NOFILE=7 RLIMIT_MEMLOCK=8 RLIMIT_AS=9 RLIMIT_LOCKS=a "
     "RLIMIT_SIGPENDING=b RLIMIT_MSGQUEUE=c RLIMIT_NICE=d RLIMIT_RTPRIO=e RLIMIT_RTTIME=f"},
    {'v', CODES, 0, "RUSAGE_???",
     "RUSAGE_SELF=0 RUSAGE_CHILDREN=ffffffff RUSAGE_THREAD=1"},
    {'E', CODES, 0, "EPOLL_CTL_???",
     "EPOLL_CTL_ADD=1 EPOLL_CTL_DEL=2 EPOLL_CTL_MOD=3"},
    {'B', FLAGS, 0, "EPOLL_???",
     "EPOLL_CLOEXEC=80000"},
    {'%', FLAGS, 0, "EFD_???",
     "EFD_SEMAPHORE=1 EFD_CLOEXEC=80000 EFD_NONBLOCK=800"},
    {'n', FLAGS, 0, "GRND_???",
     "GRND_NONBLOCK=1 GRND_RANDOM=2"},
    {'&', CODES, 0, "POSIX_FADV_???",
     "POSIX_FADV_NORMAL=0 POSIX_FADV_RANDOM=1 POSIX_FADV_SEQUENTIAL=2 "
     "POSIX_FADV_WILLNEED=3 POSIX_FADV_DONTNEED=4 POSIX_FADV_NOREUSE=5"},
    {'$', FLAGS, 0, "FALLOC_FL_???",
     "FALLOC_FL_KEEP_SIZE=1 FALLOC_FL_PUNCH_HOLE=2 FALLOC_FL_COLLAPSE_RANGE=8 "
     "FALLOC_FL_ZERO_RANGE=10 FALLOC_FL_INSERT_RANGE=20"},
    {'!', CODES, 0, "PRIO_???",
     "PRIO_PROCESS=0 PRIO_PGRP=1 PRIO_USER=2"},
    {'#', FLAGS, 0, "MFD_???",
     "MFD_CLOEXEC=1 MFD_ALLOW_SEALING=2 MFD_HUGETLB=4"},
};
/* clang-format on */

static const struct words *words_of(char letter)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        if (sets[i].letter == letter)
            return &sets[i];
    return NULL;
}

static unsigned digit_of(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

/* Goes through them; false: there are no more. */
static bool next_word(const char **at, struct word *word)
{
    if (**at == '\0')
        return false;
    word->name = (ttape_string){*at, strcspn(*at, "=")};
    *at += word->name.size_bytes + 1;
    for (word->bits = 0; **at != ' ' && **at != '\0'; ++*at)
        word->bits = word->bits << 4 | digit_of(**at);
    *at += **at == ' ';
    return true;
}

static bool find_code(const struct words *set, uint64_t value, ttape_string *name)
{
    struct word word;
    for (const char *at = set->words; next_word(&at, &word);)
        if (word.bits == value) {
            *name = word.name;
            return true;
        }
    return false;
}

static void put_name(struct tool_output *out, ttape_string name)
{
    tool_output_bytes(out, name.data, name.size_bytes);
}

static void put_unknown(struct tool_output *out, const struct words *set, uint64_t value)
{
    tool_output_printf(out, "%#" PRIx64, value);
    if (set->unknown != NULL && value != 0)
        tool_output_printf(out, " /* %s */", set->unknown);
}

/* An ioctl is a number of parts; a signal is one of the kernel's, whose first real-time one the C
 * library keeps to itself. */
static void put_code(struct tool_output *out, const struct words *set, uint64_t value)
{
    static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
                                             "_IOC_READ|_IOC_WRITE"};
    ttape_string name;
    if (find_code(set, value, &name))
        put_name(out, name);
    else if (set->letter == 'g' && value == 32)
        tool_output_text(out, "SIGRTMIN");
    else if (set->letter == 'g' && value > 32 && value <= 64)
        tool_output_printf(out, "SIGRT_%" PRIu64, value - 32);
    else if (set->letter == 'g')
        tool_output_printf(out, "%" PRId64, (int64_t)(int32_t)value);
    else if (set->letter == 'I')
        tool_output_printf(out, "_IOC(%s, %#x, %#x, %#x)", directions[value >> 30 & 3],
                           (unsigned)(value >> 8 & 0xFF), (unsigned)(value & 0xFF),
                           (unsigned)(value >> 16 & 0x3FFF));
    else
        put_unknown(out, set, value);
}

/* Words of the bits; "0", or the word for none, where there are none. */
static void put_bits(struct tool_output *out, const struct words *set, uint64_t value, bool is_more)
{
    ttape_string none = {"0", 1};
    struct word word;
    if (value == 0)
        (void)find_code(set, 0, &none);
    for (const char *at = set->words; value != 0 && next_word(&at, &word);) {
        if (word.bits == 0 || (word.bits & set->mask) != 0 || (value & word.bits) != word.bits)
            continue;
        tool_output_text(out, is_more ? "|" : "");
        put_name(out, word.name);
        value &= ~word.bits;
        is_more = true;
    }
    if (value != 0 && is_more)
        tool_output_printf(out, "|%#" PRIx64, value);
    else if (value != 0)
        put_unknown(out, set, value);
    else if (!is_more)
        put_name(out, none);
}

bool tool_kernel_put_flags(struct tool_output *out, char letter, uint64_t value)
{
    const struct words *set = words_of(letter);
    ttape_string name;
    if (set == NULL)
        return false;
    value &= UINT32_MAX; /* all of these are int */
    if (set->kind == FLAGS) {
        put_bits(out, set, value, false);
        return true;
    }
    uint64_t code = set->kind == CODED ? value & set->mask : value;
    bool has_code = value == code || find_code(set, code, &name);
    if (has_code)
        put_code(out, set, code);
    if (value != code)
        put_bits(out, set, has_code ? value & ~code : value, has_code);
    return true;
}
