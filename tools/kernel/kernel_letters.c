/* Letters of a call's arguments, in their order, where its own arguments say which of them there
 * are and what they mean. */
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

#define SIX      "xxxxxx"
#define SUBCALL  8u /* bits that a command of quotas is above */
#define TYPES    0170000u
#define TYPE_CHR 0020000u
#define TYPE_BLK 0060000u

const char *tool_kernel_token(const char *at, struct tool_kernel_token *token)
{
    bool has_sign = (*at == '(' || *at == ')' || *at == ':' || *at == '\'') && at[1] != '\0';
    token->sign = has_sign ? *at++ : 0;
    token->letter = *at++;
    if (token->sign == '\'')
        token->letter = (char)((unsigned char)token->letter | 0x80);
    return at;
}

static const char *fcntl_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case KERNEL_F_GETFD:
    case KERNEL_F_GETFL:
    case KERNEL_F_GETOWN:
    case KERNEL_F_GETSIG:
    case KERNEL_F_GETLEASE:
    case KERNEL_F_GETPIPE_SZ:
    case KERNEL_F_GET_SEALS: return "fF";
    case KERNEL_F_SETFD: return "fFe";
    case KERNEL_F_SETFL: return "fFo";
    case KERNEL_F_SETSIG: return "fFg";
    case KERNEL_F_ADD_SEALS: return "fF'8";
    case KERNEL_F_SETLEASE: return "fF'1";
    case KERNEL_F_NOTIFY: return "fF'$";
    case KERNEL_F_DUPFD:
    case KERNEL_F_DUPFD_CLOEXEC:
    case KERNEL_F_SETOWN:
    case KERNEL_F_SETPIPE_SZ: return "fFd";
    case KERNEL_F_GETLK:
    case KERNEL_F_OFD_GETLK:
    case KERNEL_F_GETLK + 1:
    case KERNEL_F_GETLK + 2:
    case KERNEL_F_OFD_GETLK + 1:
    case KERNEL_F_OFD_GETLK + 2:
    case KERNEL_F_SETOWN_EX:
    case KERNEL_F_GETOWN_EX: return "fF:K";
    default: return "fFx";
    }
}

static const char *futex_letters(uint64_t what)
{
    switch (what & KERNEL_FUTEX_CMD_MASK) {
    case KERNEL_FUTEX_WAIT: return "pj4(5";
    case KERNEL_FUTEX_WAKE: return "pj4";
    case KERNEL_FUTEX_LOCK_PI:
    case KERNEL_FUTEX_LOCK_PI2: return "pj (5";
    case KERNEL_FUTEX_UNLOCK_PI:
    case KERNEL_FUTEX_TRYLOCK_PI: return "pj";
    case KERNEL_FUTEX_WAIT_BITSET: return "pj4(5 *";
    case KERNEL_FUTEX_WAKE_BITSET: return "pj4  *";
    case KERNEL_FUTEX_REQUEUE: return "pj44p";
    case KERNEL_FUTEX_CMP_REQUEUE: return "pj44p4";
    case KERNEL_FUTEX_WAKE_OP: return "pj44p'*";
    default: return "pj4pp4";
    }
}

static const char *prctl_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case KERNEL_PR_GET_DUMPABLE:
    case KERNEL_PR_GET_KEEPCAPS:
    case KERNEL_PR_GET_SECCOMP:
    case KERNEL_PR_GET_SECUREBITS:
    case KERNEL_PR_GET_TIMERSLACK: return "r";
    case KERNEL_PR_SET_NAME:
    case KERNEL_PR_GET_NAME:
    case KERNEL_PR_GET_CHILD_SUBREAPER:
    case KERNEL_PR_GET_PDEATHSIG: return "r:4";
    case KERNEL_PR_SET_PDEATHSIG: return "rg";
    case KERNEL_PR_SET_DUMPABLE: return "r'!";
    case KERNEL_PR_CAPBSET_DROP:
    case KERNEL_PR_CAPBSET_READ: return "r'W";
    case KERNEL_PR_SET_KEEPCAPS:
    case KERNEL_PR_SET_CHILD_SUBREAPER: return "ru";
    case KERNEL_PR_SET_NO_NEW_PRIVS:
    case KERNEL_PR_GET_NO_NEW_PRIVS: return "ruuuu";
    default: return "rxxxx";
    }
}

static const char *socket_option_letters(uint64_t level, bool is_set)
{
    switch ((uint32_t)level) {
    case KERNEL_SOL_SOCKET: return is_set ? "fLO(Zd" : "fLO)Y:l";
    case KERNEL_IPPROTO_TCP: return is_set ? "fLY(Zd" : "fLY)Y:l";
    case KERNEL_SOL_IP: return is_set ? "fL'@(Zd" : "fL'@)Y:l";
    case KERNEL_SOL_IPV6: return is_set ? "fL'#(Zd" : "fL'#)Y:l";
    default: return is_set ? "fLd(Zd" : "fLd)Y:l";
    }
}

static const char *socket_letters(uint64_t family, bool is_pair)
{
    switch ((uint32_t)family) {
    case KERNEL_AF_INET:
    case KERNEL_AF_INET6: return is_pair ? "NKd)P" : "NKV";
    case KERNEL_AF_NETLINK: return is_pair ? "NK'%)P" : "NK'%";
    case KERNEL_AF_BLUETOOTH: return is_pair ? "NK'~)P" : "NK'~";
    default: return is_pair ? "NKd)P" : "NKd";
    }
}

static bool creates(uint64_t flags)
{
    return (flags & KERNEL_O_CREAT) != 0 || (flags & KERNEL_O_TMPFILE) != 0;
}

static bool has_device(uint64_t mode)
{
    return (mode & TYPES) == TYPE_CHR || (mode & TYPES) == TYPE_BLK;
}

/* Q_GETFMT and others have no id, Q_SYNC has no address as well. */
static const char *quota_letters(uint64_t command)
{
    switch ((uint32_t)command >> SUBCALL) {
    case 0x800001: return "',S";   /* Q_SYNC */
    case 0x800003: return "',S";   /* Q_QUOTAOFF */
    case 0x800004: return "',S p"; /* Q_GETFMT */
    case 0x800005: return "',S p"; /* Q_GETINFO */
    default: return "',S4p";
    }
}

static const char *ioctl_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case 0x5450:
    case 0x5451: return "fI"; /* FIONCLEX, FIOCLEX */
    case 0x540b: return "fI'?";
    case 0x5409:
    case 0x540a: return "fId";
    case 0x5401:
    case 0x5402:
    case 0x5403:
    case 0x5404:
    case 0x540f:
    case 0x5410:
    case 0x5411:
    case 0x5413:
    case 0x5414:
    case 0x5415:
    case 0x541b:
    case 0x5421:
    case 0x5424:
    case 0x5429:
    case 0x5452:
    case 0x80045430:
    case 0x40045431: return "fI:=";
    default: return "fIx";
    }
}

static const char *arch_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case 0x1001:
    case 0x1002: return "qp"; /* ARCH_SET_GS, ARCH_SET_FS */
    case 0x1003:
    case 0x1004: return "q)0"; /* ARCH_GET_FS, ARCH_GET_GS */
    default: return "qx";
    }
}

/* NULL: as for all calls of that number. */
static const char *own_letters(const struct tool_call_values *call)
{
    uint64_t first = tool_call_number_at(call, 0), second = tool_call_number_at(call, 1);
    uint64_t third = tool_call_number_at(call, 2), fourth = tool_call_number_at(call, 3);
    switch (call->number) {
    case KERNEL_CALL_OPEN: return creates(second) ? "som" : "so";
    case KERNEL_CALL_OPENAT: return creates(third) ? "asom" : "aso";
    case KERNEL_CALL_MQ_OPEN: return creates(second) ? "Som(h" : "So";
    case KERNEL_CALL_FCNTL: return fcntl_letters(second);
    case KERNEL_CALL_IOCTL: return ioctl_letters(second);
    case KERNEL_CALL_FUTEX: return futex_letters(second);
    case KERNEL_CALL_PRCTL: return prctl_letters(first);
    case KERNEL_CALL_SETSOCKOPT: return socket_option_letters(second, true);
    case KERNEL_CALL_GETSOCKOPT: return socket_option_letters(second, false);
    case KERNEL_CALL_SOCKET: return socket_letters(first, false);
    case KERNEL_CALL_SOCKETPAIR: return socket_letters(first, true);
    case KERNEL_CALL_MREMAP: /* its fifth is there with MREMAP_FIXED only */
        return (fourth & 2) == 0 ? "puuz" : NULL;
    case KERNEL_CALL_MKNOD: return has_device(second) ? "s'n'+" : "s'n";
    case KERNEL_CALL_MKNODAT: return has_device(third) ? "as'n'+" : "as'n";
    case KERNEL_CALL_QUOTACTL: return quota_letters(first);
    case KERNEL_CALL_MEMBARRIER: return third == 0 ? "'z=" : NULL;
    case KERNEL_CALL_ARCH_PRCTL: return arch_letters(first);
    case KERNEL_CALL_KCMP: /* descriptors are compared, or all of something */
        return third == 0 ? "dd'-dd" : third < 7 ? "dd'-" : NULL;
    default: return NULL;
    }
}

const char *tool_kernel_letters(const struct tool_call_values *call)
{
    const struct tool_kernel_call *known =
        call->number <= UINT32_MAX ? tool_kernel_call_numbered((uint32_t)call->number) : NULL;
    const char *own = own_letters(call);
    if (own != NULL)
        return own;
    return known != NULL && known->arguments != NULL ? known->arguments : SIX;
}
