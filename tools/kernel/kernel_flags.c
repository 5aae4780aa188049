/* The kernel's fcntl.h instead of the C library's: that one has no O_LARGEFILE. */
#define _GNU_SOURCE
#include "tools/kernel/kernel_flags.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fadvise.h>
#include <linux/falloc.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/kernel/kernel_numbers.h"

struct word {
    uint64_t bits;
    const char *name;
};

enum kind {
    FLAGS, /* bits; what has no word is a number behind them */
    CODES, /* one word for the whole value */
    CODED  /* the first words are codes of `mask`, one of which is there; then flags */
};

struct words {
    char letter;
    enum kind kind;
    uint64_t mask;
    const char *unknown; /* "O_???" */
    const struct word *words;
    size_t count;
};

#define W(name)                                                                                    \
    {                                                                                              \
        (uint64_t)(uint32_t)(name), #name                                                          \
    }

static const struct word open_words[] = {
    W(O_RDONLY),  W(O_WRONLY),  W(O_RDWR),   W(O_CREAT),     W(O_EXCL),
    W(O_NOCTTY),  W(O_TRUNC),   W(O_APPEND), W(O_NONBLOCK),  W(O_SYNC),
    W(O_DSYNC),   W(FASYNC),    W(O_DIRECT), W(O_LARGEFILE), W(O_NOFOLLOW),
    W(O_NOATIME), W(O_CLOEXEC), W(O_PATH),   W(O_TMPFILE),   W(O_DIRECTORY)};
static const struct word descriptor_words[] = {W(O_NONBLOCK), W(O_DIRECT), W(O_CLOEXEC)};
static const struct word protection_words[] = {W(PROT_NONE), W(PROT_READ),      W(PROT_WRITE),
                                               W(PROT_EXEC), W(PROT_GROWSDOWN), W(PROT_GROWSUP)};
static const struct word mapping_words[] = {
    W(MAP_SHARED),         W(MAP_PRIVATE),      W(MAP_SHARED_VALIDATE), W(MAP_FIXED),
    W(MAP_ANONYMOUS),      {0x40, "MAP_32BIT"}, W(MAP_NORESERVE),       W(MAP_POPULATE),
    W(MAP_NONBLOCK),       W(MAP_GROWSDOWN),    W(MAP_DENYWRITE),       W(MAP_EXECUTABLE),
    W(MAP_LOCKED),         W(MAP_STACK),        W(MAP_HUGETLB),         W(MAP_SYNC),
    W(MAP_FIXED_NOREPLACE)};
static const struct word remap_words[] = {W(MREMAP_MAYMOVE), W(MREMAP_FIXED), W(MREMAP_DONTUNMAP)};
static const struct word sync_words[] = {W(MS_SYNC), W(MS_ASYNC), W(MS_INVALIDATE)};
static const struct word advice_words[] = {
    W(MADV_NORMAL),        W(MADV_RANDOM),     W(MADV_SEQUENTIAL),  W(MADV_WILLNEED),
    W(MADV_DONTNEED),      W(MADV_FREE),       W(MADV_REMOVE),      W(MADV_DONTFORK),
    W(MADV_DOFORK),        W(MADV_HUGEPAGE),   W(MADV_NOHUGEPAGE),  W(MADV_DONTDUMP),
    W(MADV_DODUMP),        W(MADV_WIPEONFORK), W(MADV_KEEPONFORK),  W(MADV_COLD),
    W(MADV_PAGEOUT),       W(MADV_MERGEABLE),  W(MADV_UNMERGEABLE), W(MADV_POPULATE_READ),
    W(MADV_POPULATE_WRITE)};
static const struct word signal_words[] = {
    W(SIGHUP),  W(SIGINT),    W(SIGQUIT), W(SIGILL),  W(SIGTRAP),   W(SIGABRT), W(SIGBUS),
    W(SIGFPE),  W(SIGKILL),   W(SIGUSR1), W(SIGSEGV), W(SIGUSR2),   W(SIGPIPE), W(SIGALRM),
    W(SIGTERM), W(SIGSTKFLT), W(SIGCHLD), W(SIGCONT), W(SIGSTOP),   W(SIGTSTP), W(SIGTTIN),
    W(SIGTTOU), W(SIGURG),    W(SIGXCPU), W(SIGXFSZ), W(SIGVTALRM), W(SIGPROF), W(SIGWINCH),
    W(SIGIO),   W(SIGPWR),    W(SIGSYS)};
static const struct word mask_words[] = {W(SIG_BLOCK), W(SIG_UNBLOCK), W(SIG_SETMASK)};
static const struct word access_words[] = {W(F_OK), W(R_OK), W(W_OK), W(X_OK)};
static const struct word wait_words[] = {W(WNOHANG), W(WUNTRACED), W(WEXITED), W(WCONTINUED),
                                         W(WNOWAIT)};
static const struct word wait_id_words[] = {W(P_ALL), W(P_PID), W(P_PGID)};
static const struct word clock_words[] = {W(CLOCK_REALTIME),
                                          W(CLOCK_MONOTONIC),
                                          W(CLOCK_PROCESS_CPUTIME_ID),
                                          W(CLOCK_THREAD_CPUTIME_ID),
                                          W(CLOCK_MONOTONIC_RAW),
                                          W(CLOCK_REALTIME_COARSE),
                                          W(CLOCK_MONOTONIC_COARSE),
                                          W(CLOCK_BOOTTIME),
                                          W(CLOCK_REALTIME_ALARM),
                                          W(CLOCK_BOOTTIME_ALARM),
                                          W(CLOCK_TAI)};
static const struct word timer_words[] = {W(TIMER_ABSTIME)};
static const struct word interval_words[] = {W(ITIMER_REAL), W(ITIMER_VIRTUAL), W(ITIMER_PROF)};
static const struct word seek_words[] = {W(SEEK_SET), W(SEEK_CUR), W(SEEK_END), W(SEEK_DATA),
                                         W(SEEK_HOLE)};
static const struct word family_words[] = {W(AF_UNSPEC),  W(AF_UNIX),   W(AF_INET), W(AF_INET6),
                                           W(AF_NETLINK), W(AF_PACKET), W(AF_ALG),  W(AF_VSOCK)};
#define SOCKET_TYPES 0xFu
static const struct word socket_words[] = {W(SOCK_STREAM), W(SOCK_DGRAM),     W(SOCK_RAW),
                                           W(SOCK_RDM),    W(SOCK_SEQPACKET), W(SOCK_DCCP),
                                           W(SOCK_PACKET), W(SOCK_CLOEXEC),   W(SOCK_NONBLOCK)};
static const struct word protocol_words[] = {W(IPPROTO_IP),  W(IPPROTO_ICMP), W(IPPROTO_TCP),
                                             W(IPPROTO_UDP), W(IPPROTO_IPV6), W(IPPROTO_RAW)};
static const struct word message_words[] = {
    W(MSG_OOB),        W(MSG_PEEK),     W(MSG_DONTROUTE), W(MSG_CTRUNC),      W(MSG_TRUNC),
    W(MSG_DONTWAIT),   W(MSG_EOR),      W(MSG_WAITALL),   W(MSG_NOSIGNAL),    W(MSG_MORE),
    W(MSG_WAITFORONE), W(MSG_ERRQUEUE), W(MSG_FASTOPEN),  W(MSG_CMSG_CLOEXEC)};
static const struct word level_words[] = {W(SOL_IP),   W(SOL_SOCKET), W(SOL_TCP),
                                          W(SOL_IPV6), W(SOL_RAW),    W(SOL_NETLINK)};
static const struct word socket_option_words[] = {
    W(SO_DEBUG),       W(SO_REUSEADDR), W(SO_TYPE),       W(SO_ERROR),       W(SO_DONTROUTE),
    W(SO_BROADCAST),   W(SO_SNDBUF),    W(SO_RCVBUF),     W(SO_KEEPALIVE),   W(SO_OOBINLINE),
    W(SO_PRIORITY),    W(SO_LINGER),    W(SO_REUSEPORT),  W(SO_PASSCRED),    W(SO_PEERCRED),
    W(SO_RCVLOWAT),    W(SO_SNDLOWAT),  W(SO_ACCEPTCONN), W(SO_PEERSEC),     W(SO_SNDBUFFORCE),
    W(SO_RCVBUFFORCE), W(SO_PROTOCOL),  W(SO_DOMAIN),     W(SO_BINDTODEVICE)};
static const struct word tcp_option_words[] = {
    W(TCP_NODELAY),  W(TCP_MAXSEG),     W(TCP_CORK),         W(TCP_KEEPIDLE), W(TCP_KEEPINTVL),
    W(TCP_KEEPCNT),  W(TCP_SYNCNT),     W(TCP_LINGER2),      W(TCP_INFO),     W(TCP_DEFER_ACCEPT),
    W(TCP_QUICKACK), W(TCP_CONGESTION), W(TCP_USER_TIMEOUT), W(TCP_FASTOPEN)};
static const struct word shut_words[] = {W(SHUT_RD), W(SHUT_WR), W(SHUT_RDWR)};
static const struct word at_words[] = {W(AT_SYMLINK_NOFOLLOW), W(AT_SYMLINK_FOLLOW),
                                       W(AT_NO_AUTOMOUNT), W(AT_EMPTY_PATH)};
static const struct word access_at_words[] = {W(AT_SYMLINK_NOFOLLOW), W(AT_EACCESS),
                                              W(AT_EMPTY_PATH)};
static const struct word unlink_words[] = {W(AT_REMOVEDIR)};
static const struct word rename_words[] = {
    {1, "RENAME_NOREPLACE"}, {2, "RENAME_EXCHANGE"}, {4, "RENAME_WHITEOUT"}};
static const struct word statx_words[] = {W(AT_STATX_SYNC_AS_STAT), W(AT_STATX_FORCE_SYNC),
                                          W(AT_STATX_DONT_SYNC),    W(AT_SYMLINK_NOFOLLOW),
                                          W(AT_NO_AUTOMOUNT),       W(AT_EMPTY_PATH)};
static const struct word statx_mask_words[] = {
    W(STATX_ALL), W(STATX_BASIC_STATS), W(STATX_TYPE),   W(STATX_MODE),  W(STATX_NLINK),
    W(STATX_UID), W(STATX_GID),         W(STATX_ATIME),  W(STATX_MTIME), W(STATX_CTIME),
    W(STATX_INO), W(STATX_SIZE),        W(STATX_BLOCKS), W(STATX_BTIME), W(STATX_MNT_ID)};
static const struct word fcntl_words[] = {
    W(F_DUPFD),         W(F_GETFD),      W(F_SETFD),      W(F_GETFL),     W(F_SETFL),
    W(F_GETLK),         W(F_SETLK),      W(F_SETLKW),     W(F_SETOWN),    W(F_GETOWN),
    W(F_SETSIG),        W(F_GETSIG),     W(F_SETOWN_EX),  W(F_GETOWN_EX), W(F_OFD_GETLK),
    W(F_OFD_SETLK),     W(F_OFD_SETLKW), W(F_SETLEASE),   W(F_GETLEASE),  W(F_NOTIFY),
    W(F_DUPFD_CLOEXEC), W(F_SETPIPE_SZ), W(F_GETPIPE_SZ), W(F_ADD_SEALS), W(F_GET_SEALS)};
static const struct word close_exec_words[] = {W(FD_CLOEXEC)};
static const struct word lock_words[] = {W(LOCK_SH), W(LOCK_EX), W(LOCK_NB), W(LOCK_UN)};
static const struct word ioctl_words[] = {
    W(TCGETS),           W(TCSETS),      W(TCSETSW),      W(TCSETSF),     W(TCSBRK),
    W(TCXONC),           W(TCFLSH),      W(TIOCEXCL),     W(TIOCNXCL),    W(TIOCSCTTY),
    W(TIOCGPGRP),        W(TIOCSPGRP),   W(TIOCOUTQ),     W(TIOCSTI),     W(TIOCGWINSZ),
    W(TIOCSWINSZ),       W(FIONREAD),    W(TIOCNOTTY),    W(TIOCGSID),    W(TIOCGPTN),
    W(TIOCSPTLCK),       W(TIOCGPTPEER), W(FIONBIO),      W(FIOASYNC),    W(FIOCLEX),
    W(FIONCLEX),         W(SIOCGIFCONF), W(SIOCGIFFLAGS), W(SIOCGIFADDR), {0x40049409, "FICLONE"},
    {0x5460, "FIGETBSZ"}};
static const struct word futex_words[] = {W(FUTEX_WAIT),
                                          W(FUTEX_WAKE),
                                          W(FUTEX_REQUEUE),
                                          W(FUTEX_CMP_REQUEUE),
                                          W(FUTEX_WAKE_OP),
                                          W(FUTEX_LOCK_PI),
                                          W(FUTEX_UNLOCK_PI),
                                          W(FUTEX_TRYLOCK_PI),
                                          W(FUTEX_WAIT_BITSET),
                                          W(FUTEX_WAKE_BITSET),
                                          W(FUTEX_WAIT_REQUEUE_PI),
                                          W(FUTEX_CMP_REQUEUE_PI),
                                          W(FUTEX_LOCK_PI2),
                                          W(FUTEX_WAIT_PRIVATE),
                                          W(FUTEX_WAKE_PRIVATE),
                                          W(FUTEX_REQUEUE_PRIVATE),
                                          W(FUTEX_CMP_REQUEUE_PRIVATE),
                                          W(FUTEX_WAKE_OP_PRIVATE),
                                          W(FUTEX_LOCK_PI_PRIVATE),
                                          W(FUTEX_UNLOCK_PI_PRIVATE),
                                          W(FUTEX_TRYLOCK_PI_PRIVATE),
                                          W(FUTEX_WAIT_BITSET_PRIVATE),
                                          W(FUTEX_WAKE_BITSET_PRIVATE),
                                          W(FUTEX_WAIT_REQUEUE_PI_PRIVATE),
                                          W(FUTEX_CMP_REQUEUE_PI_PRIVATE),
                                          W(FUTEX_LOCK_PI2_PRIVATE),
                                          W(FUTEX_CLOCK_REALTIME)};
static const struct word clone_words[] = {W(CLONE_VM),
                                          W(CLONE_FS),
                                          W(CLONE_FILES),
                                          W(CLONE_SIGHAND),
                                          W(CLONE_PIDFD),
                                          W(CLONE_PTRACE),
                                          W(CLONE_VFORK),
                                          W(CLONE_PARENT),
                                          W(CLONE_THREAD),
                                          W(CLONE_NEWNS),
                                          W(CLONE_SYSVSEM),
                                          W(CLONE_SETTLS),
                                          W(CLONE_PARENT_SETTID),
                                          W(CLONE_CHILD_CLEARTID),
                                          W(CLONE_DETACHED),
                                          W(CLONE_UNTRACED),
                                          W(CLONE_CHILD_SETTID),
                                          W(CLONE_NEWCGROUP),
                                          W(CLONE_NEWUTS),
                                          W(CLONE_NEWIPC),
                                          W(CLONE_NEWUSER),
                                          W(CLONE_NEWPID),
                                          W(CLONE_NEWNET),
                                          W(CLONE_IO)};
static const struct word arch_words[] = {{0x1001, "ARCH_SET_GS"},
                                         {0x1002, "ARCH_SET_FS"},
                                         {0x1003, "ARCH_GET_FS"},
                                         {0x1004, "ARCH_GET_GS"},
                                         {0x3001, "ARCH_CET_STATUS"}};
static const struct word prctl_words[] = {W(PR_SET_PDEATHSIG),
                                          W(PR_GET_PDEATHSIG),
                                          W(PR_GET_DUMPABLE),
                                          W(PR_SET_DUMPABLE),
                                          W(PR_GET_KEEPCAPS),
                                          W(PR_SET_KEEPCAPS),
                                          W(PR_SET_NAME),
                                          W(PR_GET_NAME),
                                          W(PR_GET_SECCOMP),
                                          W(PR_SET_SECCOMP),
                                          W(PR_CAPBSET_READ),
                                          W(PR_CAPBSET_DROP),
                                          W(PR_SET_TIMERSLACK),
                                          W(PR_GET_TIMERSLACK),
                                          W(PR_SET_MM),
                                          W(PR_SET_CHILD_SUBREAPER),
                                          W(PR_GET_CHILD_SUBREAPER),
                                          W(PR_SET_NO_NEW_PRIVS),
                                          W(PR_GET_NO_NEW_PRIVS),
                                          W(PR_CAP_AMBIENT),
                                          W(PR_SET_PTRACER),
                                          W(PR_SET_VMA)};
static const struct word limit_words[] = {
    W(RLIMIT_CPU),      W(RLIMIT_FSIZE), W(RLIMIT_DATA),   W(RLIMIT_STACK),
    W(RLIMIT_CORE),     W(RLIMIT_RSS),   W(RLIMIT_NPROC),  W(RLIMIT_NOFILE),
    W(RLIMIT_MEMLOCK),  W(RLIMIT_AS),    W(RLIMIT_LOCKS),  W(RLIMIT_SIGPENDING),
    W(RLIMIT_MSGQUEUE), W(RLIMIT_NICE),  W(RLIMIT_RTPRIO), W(RLIMIT_RTTIME)};
static const struct word usage_words[] = {W(RUSAGE_SELF), W(RUSAGE_CHILDREN), W(RUSAGE_THREAD)};
static const struct word epoll_words[] = {W(EPOLL_CTL_ADD), W(EPOLL_CTL_DEL), W(EPOLL_CTL_MOD)};
static const struct word epoll_flag_words[] = {W(EPOLL_CLOEXEC)};
static const struct word eventfd_words[] = {W(EFD_SEMAPHORE), W(EFD_CLOEXEC), W(EFD_NONBLOCK)};
static const struct word random_words[] = {W(GRND_NONBLOCK), W(GRND_RANDOM)};
static const struct word fadvise_words[] = {W(POSIX_FADV_NORMAL),     W(POSIX_FADV_RANDOM),
                                            W(POSIX_FADV_SEQUENTIAL), W(POSIX_FADV_WILLNEED),
                                            W(POSIX_FADV_DONTNEED),   W(POSIX_FADV_NOREUSE)};
static const struct word allocate_words[] = {W(FALLOC_FL_KEEP_SIZE), W(FALLOC_FL_PUNCH_HOLE),
                                             W(FALLOC_FL_COLLAPSE_RANGE), W(FALLOC_FL_ZERO_RANGE),
                                             W(FALLOC_FL_INSERT_RANGE)};
static const struct word priority_words[] = {W(PRIO_PROCESS), W(PRIO_PGRP), W(PRIO_USER)};
static const struct word memfd_words[] = {W(MFD_CLOEXEC), W(MFD_ALLOW_SEALING), W(MFD_HUGETLB)};

#define SET(letter, kind, mask, unknown, words)                                                    \
    {                                                                                              \
        letter, kind, mask, unknown, words, sizeof(words) / sizeof(*(words))                       \
    }

static const struct words sets[] = {
    SET('o', CODED, O_ACCMODE, "O_???", open_words),
    SET('y', FLAGS, 0, "O_???", descriptor_words),
    SET('P', FLAGS, 0, "PROT_???", protection_words),
    SET('M', CODED, MAP_TYPE, "MAP_???", mapping_words),
    SET('z', FLAGS, 0, "MREMAP_???", remap_words),
    SET('Z', FLAGS, 0, "MS_???", sync_words),
    SET('D', CODES, 0, "MADV_???", advice_words),
    SET('g', CODES, 0, NULL, signal_words),
    SET('H', CODES, 0, "SIG_???", mask_words),
    SET('A', FLAGS, 0, "?_OK", access_words),
    SET('w', FLAGS, 0, "W???", wait_words),
    SET('J', CODES, 0, "P_???", wait_id_words),
    SET('c', CODES, 0, "CLOCK_???", clock_words),
    SET('t', FLAGS, 0, "TIMER_???", timer_words),
    SET('i', CODES, 0, "ITIMER_???", interval_words),
    SET('W', CODES, 0, "SEEK_???", seek_words),
    SET('N', CODES, 0, "AF_???", family_words),
    SET('K', CODED, SOCKET_TYPES, "SOCK_???", socket_words),
    SET('V', CODES, 0, "IPPROTO_???", protocol_words),
    SET('G', FLAGS, 0, "MSG_???", message_words),
    SET('L', CODES, 0, "SOL_???", level_words),
    SET('O', CODES, 0, "SO_???", socket_option_words),
    SET('Y', CODES, 0, "TCP_???", tcp_option_words),
    SET('h', CODES, 0, "SHUT_???", shut_words),
    SET('@', FLAGS, 0, "AT_???", at_words),
    SET('Q', FLAGS, 0, "AT_???", access_at_words),
    SET('U', FLAGS, 0, "AT_???", unlink_words),
    SET('R', FLAGS, 0, "RENAME_???", rename_words),
    SET('T', CODED, AT_STATX_SYNC_TYPE, "AT_???", statx_words),
    SET('X', FLAGS, 0, "STATX_???", statx_mask_words),
    SET('F', CODES, 0, "F_???", fcntl_words),
    SET('e', FLAGS, 0, "FD_???", close_exec_words),
    SET('k', FLAGS, 0, "LOCK_???", lock_words),
    SET('I', CODES, 0, NULL, ioctl_words),
    SET('j', CODED, ~(uint64_t)FUTEX_CLOCK_REALTIME, "FUTEX_???", futex_words),
    SET('C', FLAGS, 0, "CLONE_???", clone_words),
    SET('q', CODES, 0, "ARCH_???", arch_words),
    SET('r', CODES, 0, "PR_???", prctl_words),
    SET('l', CODES, 0, "RLIMIT_???", limit_words),
    SET('v', CODES, 0, "RUSAGE_???", usage_words),
    SET('E', CODES, 0, "EPOLL_CTL_???", epoll_words),
    SET('B', FLAGS, 0, "EPOLL_???", epoll_flag_words),
    SET('%', FLAGS, 0, "EFD_???", eventfd_words),
    SET('n', FLAGS, 0, "GRND_???", random_words),
    SET('&', CODES, 0, "POSIX_FADV_???", fadvise_words),
    SET('$', FLAGS, 0, "FALLOC_FL_???", allocate_words),
    SET('!', CODES, 0, "PRIO_???", priority_words),
    SET('#', FLAGS, 0, "MFD_???", memfd_words),
};

static const struct words *words_of(char letter)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        if (sets[i].letter == letter)
            return &sets[i];
    return NULL;
}

static const char *code_name(const struct words *set, uint64_t value)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->words[i].bits == value)
            return set->words[i].name;
    return NULL;
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
    const char *name = code_name(set, value);
    if (name != NULL)
        tool_output_text(out, name);
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
    const char *none = value == 0 ? code_name(set, 0) : NULL;
    for (size_t i = 0; i < set->count && value != 0; i++) {
        uint64_t bits = set->words[i].bits;
        if (bits == 0 || (bits & set->mask) != 0 || (value & bits) != bits)
            continue;
        tool_output_text(out, is_more ? "|" : "");
        tool_output_text(out, set->words[i].name);
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

bool tool_kernel_put_flags(struct tool_output *out, char letter, uint64_t value)
{
    const struct words *set = words_of(letter);
    if (set == NULL)
        return false;
    value &= UINT32_MAX; /* all of these are int */
    if (set->kind == FLAGS) {
        put_bits(out, set, value, false);
        return true;
    }
    uint64_t code = set->kind == CODED ? value & set->mask : value;
    bool has_code = value == code || code_name(set, code) != NULL;
    if (has_code)
        put_code(out, set, code);
    if (value != code)
        put_bits(out, set, has_code ? value & ~code : value, has_code);
    return true;
}

static const struct word error_words[] = {
    W(EPERM),         W(ENOENT),          W(ESRCH),           W(EINTR),
    W(EIO),           W(ENXIO),           W(E2BIG),           W(ENOEXEC),
    W(EBADF),         W(ECHILD),          W(EAGAIN),          W(ENOMEM),
    W(EACCES),        W(EFAULT),          W(ENOTBLK),         W(EBUSY),
    W(EEXIST),        W(EXDEV),           W(ENODEV),          W(ENOTDIR),
    W(EISDIR),        W(EINVAL),          W(ENFILE),          W(EMFILE),
    W(ENOTTY),        W(ETXTBSY),         W(EFBIG),           W(ENOSPC),
    W(ESPIPE),        W(EROFS),           W(EMLINK),          W(EPIPE),
    W(EDOM),          W(ERANGE),          W(EDEADLK),         W(ENAMETOOLONG),
    W(ENOLCK),        W(ENOSYS),          W(ENOTEMPTY),       W(ELOOP),
    W(ENOMSG),        W(EIDRM),           W(ENOSTR),          W(ENODATA),
    W(ETIME),         W(ENOSR),           W(ENONET),          W(ENOPKG),
    W(EREMOTE),       W(ENOLINK),         W(ECOMM),           W(EPROTO),
    W(EMULTIHOP),     W(EBADMSG),         W(EOVERFLOW),       W(ENOTUNIQ),
    W(EBADFD),        W(EREMCHG),         W(EILSEQ),          W(ERESTART),
    W(EUSERS),        W(ENOTSOCK),        W(EDESTADDRREQ),    W(EMSGSIZE),
    W(EPROTOTYPE),    W(ENOPROTOOPT),     W(EPROTONOSUPPORT), W(ESOCKTNOSUPPORT),
    W(EOPNOTSUPP),    W(EPFNOSUPPORT),    W(EAFNOSUPPORT),    W(EADDRINUSE),
    W(EADDRNOTAVAIL), W(ENETDOWN),        W(ENETUNREACH),     W(ENETRESET),
    W(ECONNABORTED),  W(ECONNRESET),      W(ENOBUFS),         W(EISCONN),
    W(ENOTCONN),      W(ESHUTDOWN),       W(ETOOMANYREFS),    W(ETIMEDOUT),
    W(ECONNREFUSED),  W(EHOSTDOWN),       W(EHOSTUNREACH),    W(EALREADY),
    W(EINPROGRESS),   W(ESTALE),          W(EUCLEAN),         W(EREMOTEIO),
    W(EDQUOT),        W(ENOMEDIUM),       W(EMEDIUMTYPE),     W(ECANCELED),
    W(ENOKEY),        W(EKEYEXPIRED),     W(EKEYREVOKED),     W(EKEYREJECTED),
    W(EOWNERDEAD),    W(ENOTRECOVERABLE), W(ERFKILL),         W(EHWPOISON)};

const char *tool_kernel_error_name(uint64_t number)
{
    for (size_t i = 0; i < sizeof(error_words) / sizeof(*error_words); i++)
        if (error_words[i].bits == number)
            return error_words[i].name;
    return NULL;
}
