/* What arguments of system calls point to, beside strings and buffers: structures, arrays of them,
 * vectors of buffers, messages. Their letters are those of call_contents.h.
 *
 *   structure or array     its bytes, as many as are known
 *   vector                 the iovecs, then of each buffer its size (u32) and that many bytes
 *   message                its msghdr, then the name, the vector and the control data, each behind
 *                          its size (u32)
 *   messages               of each its size (u32), a message and how many bytes were moved (u32)
 *
 * Nothing is read but by the caller's function, which fails where there is no memory; nothing is
 * longer than TTP_CALL_DATA_MAX. A fact of the kernel's for x86-64, as call_contents.h is. */
#ifndef TTP_WRITER_CALL_PARTS_H
#define TTP_WRITER_CALL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/arena/arena.h"

#define TTP_PART_NONE     UINT32_MAX /* there is nothing to say */
#define TTP_PART_ELEMENTS 33u        /* of an array, at most: one more than anybody is shown */
#define TTP_PART_NAME     128u       /* of a socket's address */
#define TTP_PART_CONTROL  512u
#define TTP_PART_MANY     65536u /* elements that no call takes more of */
#define TTP_PART_MOST     1024u  /* of an array */
#define TTP_IOVEC_BYTES   16u
#define TTP_MSGHDR_BYTES  56u
#define TTP_MMSGHDR_BYTES 64u
#define TTP_PART_COUNTED  4096u /* names of an environment that are counted, at most */
#define TTP_PART_LISTED   64u   /* pieces of a folder's entries that are counted, at most */

/* How many bytes of a part there are. */
enum ttp_part_how {
    TTP_PART_FIXED,     /* `bytes` */
    TTP_PART_CLONE,     /* the same of clone_args; filled: what its addresses of ids point to */
    TTP_PART_LEAST,     /* `bytes`, where the next argument says that there are as many */
    TTP_PART_NEXT,      /* times the next argument */
    TTP_PART_PREVIOUS,  /* times the argument before */
    TTP_PART_RESULT,    /* times what the call returns */
    TTP_PART_LENGTH_AT, /* what the next argument points to, an int */
    TTP_PART_SET,       /* of descriptors, as many as the first argument says */
    TTP_PART_TEXT,      /* a long, and as many bytes behind it as the next argument says */
    TTP_PART_VECTOR,
    TTP_PART_FILLED_VECTOR, /* without the buffers while they are not filled */
    TTP_PART_MESSAGE,
    TTP_PART_FILLED_MESSAGE, /* its msghdr alone while it is not filled */
    TTP_PART_MESSAGES,
    TTP_PART_MASK,        /* an address and a size of a mask, then the mask */
    TTP_PART_ENVIRONMENT, /* the number of its strings, and where it is, u64 */
    TTP_PART_ENTRIES,     /* of a folder: their number, u64; getdents64's, */
    TTP_PART_OLD_ENTRIES, /* and getdents's */
    TTP_PART_IOCTL,       /* by what is asked for, the argument before */
    TTP_PART_FCNTL,
    TTP_PART_PRCTL,
    TTP_PART_FUTEX,
    TTP_PART_CONTROL_IPC
};

/* Small: programs have it in their memory, and a call reads few words. */
#define TTP_PART_APART static __attribute__((noinline, cold, unused))

/* A shape: how, and bytes of one, or of all where that is fixed; 0: there is no such letter. */
#define TTP_PART_SHAPE(how, bytes) (uint16_t)((how) << 10 | (bytes))

static const uint16_t ttp_part_shapes[128] = {
    ['t'] = TTP_PART_SHAPE(TTP_PART_FIXED, 16),          /* timespec */
    ['9'] = TTP_PART_SHAPE(TTP_PART_FIXED, 16),          /* timespec: what is left of a sleep */
    ['v'] = TTP_PART_SHAPE(TTP_PART_FIXED, 16),          /* timeval */
    ['2'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* timespec[2] */
    ['V'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* timeval[2] */
    ['u'] = TTP_PART_SHAPE(TTP_PART_FIXED, 16),          /* utimbuf */
    ['z'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* timezone */
    ['I'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* itimerval */
    ['J'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* itimerspec */
    ['s'] = TTP_PART_SHAPE(TTP_PART_FIXED, 144),         /* stat */
    ['X'] = TTP_PART_SHAPE(TTP_PART_FIXED, 256),         /* statx */
    ['F'] = TTP_PART_SHAPE(TTP_PART_FIXED, 120),         /* statfs */
    ['r'] = TTP_PART_SHAPE(TTP_PART_FIXED, 16),          /* rlimit */
    ['R'] = TTP_PART_SHAPE(TTP_PART_FIXED, 144),         /* rusage */
    ['S'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* sigset_t */
    ['a'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* sigaction, the kernel's */
    ['i'] = TTP_PART_SHAPE(TTP_PART_FIXED, 128),         /* siginfo_t */
    ['k'] = TTP_PART_SHAPE(TTP_PART_FIXED, 24),          /* stack_t */
    ['$'] = TTP_PART_SHAPE(TTP_PART_FIXED, 64),          /* sigevent */
    ['p'] = TTP_PART_SHAPE(TTP_PART_NEXT, 8),            /* pollfd */
    ['e'] = TTP_PART_SHAPE(TTP_PART_FIXED, 12),          /* epoll_event */
    ['E'] = TTP_PART_SHAPE(TTP_PART_RESULT, 12),         /* several */
    ['f'] = TTP_PART_SHAPE(TTP_PART_SET, 1),             /* fd_set */
    ['n'] = TTP_PART_SHAPE(TTP_PART_NEXT, 1),            /* sockaddr that is given */
    ['N'] = TTP_PART_SHAPE(TTP_PART_LENGTH_AT, 1),       /* that is filled */
    ['d'] = TTP_PART_SHAPE(TTP_PART_FIXED, 4),           /* int, */
    ['l'] = TTP_PART_SHAPE(TTP_PART_FIXED, 4),           /* a length, */
    ['w'] = TTP_PART_SHAPE(TTP_PART_FIXED, 4),           /* the status of a child, */
    ['3'] = TTP_PART_SHAPE(TTP_PART_FIXED, 4),           /* an id */
    ['P'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* int[2] */
    ['L'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* long */
    ['0'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* an address */
    ['U'] = TTP_PART_SHAPE(TTP_PART_FIXED, 390),         /* utsname */
    ['y'] = TTP_PART_SHAPE(TTP_PART_FIXED, 112),         /* sysinfo */
    ['T'] = TTP_PART_SHAPE(TTP_PART_FIXED, 32),          /* tms */
    ['x'] = TTP_PART_SHAPE(TTP_PART_FIXED, 208),         /* timex */
    ['o'] = TTP_PART_SHAPE(TTP_PART_LEAST, 24),          /* open_how */
    ['c'] = TTP_PART_SHAPE(TTP_PART_CLONE, 64),          /* clone_args */
    ['h'] = TTP_PART_SHAPE(TTP_PART_FIXED, 64),          /* mq_attr */
    ['A'] = TTP_PART_SHAPE(TTP_PART_FIXED, 56),          /* sched_attr */
    ['H'] = TTP_PART_SHAPE(TTP_PART_FIXED, 8),           /* __user_cap_header_struct */
    ['C'] = TTP_PART_SHAPE(TTP_PART_FIXED, 24),          /* __user_cap_data_struct[2] */
    ['b'] = TTP_PART_SHAPE(TTP_PART_PREVIOUS, 1),        /* cpu_set_t that is given, */
    ['Q'] = TTP_PART_SHAPE(TTP_PART_RESULT, 1),          /* or filled */
    ['g'] = TTP_PART_SHAPE(TTP_PART_PREVIOUS, 4),        /* gid_t that are given, */
    ['G'] = TTP_PART_SHAPE(TTP_PART_RESULT, 4),          /* or filled */
    ['j'] = TTP_PART_SHAPE(TTP_PART_NEXT, 6),            /* sembuf */
    ['B'] = TTP_PART_SHAPE(TTP_PART_TEXT, 8),            /* msgbuf that is given, */
    ['O'] = TTP_PART_SHAPE(TTP_PART_VECTOR, 16),         /* iovec */
    ['7'] = TTP_PART_SHAPE(TTP_PART_FILLED_VECTOR, 16),  /* iovec of what is filled */
    ['8'] = TTP_PART_SHAPE(TTP_PART_FILLED_MESSAGE, 56), /* msghdr of what is filled */
    ['6'] = TTP_PART_SHAPE(TTP_PART_NEXT, 16),           /* iovec of another process */
    ['m'] = TTP_PART_SHAPE(TTP_PART_MESSAGE, 56),        /* msghdr */
    ['M'] = TTP_PART_SHAPE(TTP_PART_MESSAGES, 64),       /* mmsghdr */
    ['q'] = TTP_PART_SHAPE(TTP_PART_MASK, 24),           /* of pselect6 */
    ['!'] = TTP_PART_SHAPE(TTP_PART_ENVIRONMENT, 8),     /* environment */
    ['%'] = TTP_PART_SHAPE(TTP_PART_ENTRIES, 8),         /* linux_dirent64 */
    ['&'] = TTP_PART_SHAPE(TTP_PART_OLD_ENTRIES, 8),     /* linux_dirent */
    ['Z'] = TTP_PART_SHAPE(TTP_PART_NEXT, 1),            /* socket option that is given, */
    ['Y'] = TTP_PART_SHAPE(TTP_PART_LENGTH_AT, 1),       /* or filled */
    ['='] = TTP_PART_SHAPE(TTP_PART_IOCTL, 1),           /* ioctl's, */
    ['K'] = TTP_PART_SHAPE(TTP_PART_FCNTL, 1),           /* fcntl's, */
    ['4'] = TTP_PART_SHAPE(TTP_PART_PRCTL, 1),           /* prctl's */
    ['5'] = TTP_PART_SHAPE(TTP_PART_FUTEX, 16), /* timespec of those calls of futex that have one */
    ['W'] = TTP_PART_SHAPE(TTP_PART_CONTROL_IPC, 1), /* shmid_ds, semid_ds, msqid_ds */
};

struct ttp_part_reading {
    /* Reads up to `count` bytes; how many there were. */
    uint32_t (*read)(const void *context, uint8_t *into, uint64_t from, uint32_t count);
    const void *context;
    const uint64_t *arguments; /* all six */
    int64_t result;            /* of the call; with what is given 0 */
    uint32_t number, data_bytes;
    bool is_filled;
};

TTP_PART_APART uint64_t ttp_part_word(const uint8_t *bytes, uint32_t count)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

TTP_PART_APART void ttp_part_put(uint8_t *bytes, uint64_t word, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static inline uint32_t ttp_part_least(uint64_t one, uint64_t other)
{
    return (uint32_t)(one < other ? one : other);
}

/* All of it, or nothing. */
TTP_PART_APART uint32_t ttp_part_whole(const struct ttp_part_reading *r, uint8_t *into,
                                       uint64_t from, uint32_t count)
{
    if (from == 0 || count == 0 || r->read(r->context, into, from, count) != count)
        return TTP_PART_NONE;
    return count;
}

/* Behind its size; without it where it cannot be read. Returns what is used then. */
TTP_PART_APART uint32_t ttp_part_sized(const struct ttp_part_reading *r, uint8_t *into,
                                       uint32_t used, uint64_t from, uint64_t size, uint32_t most)
{
    if (used + 4 > TTP_CALL_DATA_MAX)
        return used;
    most = ttp_part_least(most, TTP_CALL_DATA_MAX - used - 4);
    uint32_t got = ttp_part_whole(r, into + used + 4, from, ttp_part_least(size, most));
    got = got == TTP_PART_NONE ? 0 : got;
    ttp_part_put(into + used, got, 4);
    return used + 4 + got;
}

/* `moved`: bytes that the call moved, or as many as there are. */
TTP_PART_APART uint32_t ttp_part_vector(const struct ttp_part_reading *r, uint8_t *into,
                                        uint32_t used, uint64_t from, uint64_t count,
                                        uint64_t moved)
{
    uint32_t known = ttp_part_least(count, TTP_PART_ELEMENTS), bytes = known * TTP_IOVEC_BYTES;
    uint8_t *vector = into + used;
    if (used + bytes > TTP_CALL_DATA_MAX || ttp_part_whole(r, vector, from, bytes) == TTP_PART_NONE)
        return TTP_PART_NONE;
    used += bytes;
    for (uint32_t i = 0; i < known && r->data_bytes != 0; i++) {
        uint64_t at = ttp_part_word(vector + i * TTP_IOVEC_BYTES, 8);
        uint64_t size = ttp_part_word(vector + i * TTP_IOVEC_BYTES + 8, 8);
        size = size < moved ? size : moved;
        moved -= size;
        used = ttp_part_sized(r, into, used, at, size, r->data_bytes);
    }
    return used;
}

/* Behind `used` bytes; `head` is where its msghdr is. */
TTP_PART_APART uint32_t ttp_part_message(const struct ttp_part_reading *r, uint8_t *into,
                                         uint32_t used, const uint8_t *head, uint64_t moved)
{
    used = ttp_part_sized(r, into, used, ttp_part_word(head, 8), ttp_part_word(head + 8, 4),
                          TTP_PART_NAME);
    uint32_t begin = used + 4;
    if (begin > TTP_CALL_DATA_MAX)
        return used;
    uint32_t end = ttp_part_vector(r, into, begin, ttp_part_word(head + 16, 8),
                                   ttp_part_word(head + 24, 8), moved);
    end = end == TTP_PART_NONE ? begin : end;
    ttp_part_put(into + used, end - begin, 4);
    return ttp_part_sized(r, into, end, ttp_part_word(head + 32, 8), ttp_part_word(head + 40, 8),
                          TTP_PART_CONTROL);
}

TTP_PART_APART uint32_t ttp_part_one_message(const struct ttp_part_reading *r, uint8_t *into,
                                             uint64_t from)
{
    if (ttp_part_whole(r, into, from, TTP_MSGHDR_BYTES) == TTP_PART_NONE)
        return TTP_PART_NONE;
    return ttp_part_message(r, into, TTP_MSGHDR_BYTES, into,
                            r->is_filled ? (uint64_t)r->result : UINT64_MAX);
}

TTP_PART_APART uint32_t ttp_part_messages(const struct ttp_part_reading *r, uint8_t *into,
                                          uint64_t from, uint64_t count)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count && i < TTP_PART_ELEMENTS; i++) {
        uint32_t head = used + 4, at = head + TTP_MSGHDR_BYTES;
        uint8_t whole[TTP_MMSGHDR_BYTES];
        if (at + 4 > TTP_CALL_DATA_MAX || ttp_part_whole(r, whole, from + i * TTP_MMSGHDR_BYTES,
                                                         TTP_MMSGHDR_BYTES) == TTP_PART_NONE)
            break;
        for (uint32_t k = 0; k < TTP_MSGHDR_BYTES; k++)
            into[head + k] = whole[k];
        uint64_t moved = ttp_part_word(whole + TTP_MSGHDR_BYTES, 4);
        uint32_t end = ttp_part_message(r, into, at, whole, r->is_filled ? moved : UINT64_MAX);
        if (end + 4 > TTP_CALL_DATA_MAX)
            break;
        ttp_part_put(into + end, moved, 4);
        ttp_part_put(into + used, end + 4 - head, 4);
        used = end + 4;
    }
    return used > 0 || count == 0 ? used : TTP_PART_NONE;
}

TTP_PART_APART uint32_t ttp_part_environment(const struct ttp_part_reading *r, uint8_t *into,
                                             uint64_t from)
{
    uint64_t words[16], count = 0, begin = from;
    for (; from != 0 && count < TTP_PART_COUNTED; from += sizeof(words)) {
        uint32_t got = r->read(r->context, (uint8_t *)words, from, sizeof(words)) / 8;
        for (uint32_t i = 0; i < got; i++, count++)
            if (words[i] == 0) {
                ttp_part_put(into, count, 8);
                ttp_part_put(into + 8, begin, 8);
                return 16;
            }
        if (got < sizeof(words) / sizeof(*words))
            break;
    }
    return TTP_PART_NONE;
}

/* Each entry says how long it is, behind 16 bytes. */
TTP_PART_APART uint32_t ttp_part_entries(const struct ttp_part_reading *r, uint8_t *into,
                                         uint64_t from, uint64_t size)
{
    uint64_t count = 0, at = 0;
    for (uint32_t piece = 0; at < size && piece < TTP_PART_LISTED; piece++) {
        uint32_t wanted = ttp_part_least(size - at, TTP_CALL_DATA_MAX), used = 0;
        if (ttp_part_whole(r, into, from + at, wanted) == TTP_PART_NONE)
            return TTP_PART_NONE;
        while (used + 18 <= wanted && ttp_part_word(into + used + 16, 2) != 0) {
            used += (uint32_t)ttp_part_word(into + used + 16, 2);
            count++;
        }
        if (used == 0)
            break;
        at += used;
    }
    ttp_part_put(into, count, 8);
    return 8;
}

TTP_PART_APART uint32_t ttp_part_mask(const struct ttp_part_reading *r, uint8_t *into,
                                      uint64_t from)
{
    if (ttp_part_whole(r, into, from, 16) == TTP_PART_NONE)
        return TTP_PART_NONE;
    return ttp_part_whole(r, into + 16, ttp_part_word(into, 8), 8) == TTP_PART_NONE ? 16 : 24;
}

/* The descriptor and the id that clone3 wrote, where it was asked to; else 0. */
TTP_PART_APART uint32_t ttp_part_clone(const struct ttp_part_reading *r, uint8_t *into,
                                       uint64_t from)
{
    uint8_t head[32];
    if (ttp_part_whole(r, head, from, sizeof(head)) == TTP_PART_NONE)
        return TTP_PART_NONE;
    ttp_part_put(into, 0, 8);
    (void)ttp_part_whole(r, into, ttp_part_word(head + 8, 8), 4);
    (void)ttp_part_whole(r, into + 4, ttp_part_word(head + 24, 8), 4);
    return 8;
}

/* What an ioctl is given or fills: numbers that are older than the rule that has its size in
 * them. */
TTP_PART_APART uint32_t ttp_part_ioctl_bytes(uint32_t what, bool is_filled)
{
    switch (what) {
    case 0x5401: return is_filled ? 36 : 0; /* TCGETS: termios, the kernel's */
    case 0x5402:
    case 0x5403:
    case 0x5404: return is_filled ? 0 : 36; /* TCSETS, TCSETSW, TCSETSF */
    case 0x5413: return is_filled ? 8 : 0;  /* TIOCGWINSZ */
    case 0x5414: return is_filled ? 0 : 8;  /* TIOCSWINSZ */
    case 0x540f:
    case 0x5411:
    case 0x5415:
    case 0x541b:
    case 0x5424:
    case 0x5429: return is_filled ? 4 : 0; /* TIOCGPGRP, OUTQ, MGET, FIONREAD ... */
    case 0x5410:
    case 0x5421:
    case 0x5452: return is_filled ? 0 : 4;     /* TIOCSPGRP, FIONBIO, FIOASYNC */
    case 0x80045430: return is_filled ? 4 : 0; /* TIOCGPTN */
    case 0x40045431: return is_filled ? 0 : 4; /* TIOCSPTLCK */
    default: return 0;
    }
}

TTP_PART_APART uint32_t ttp_part_fcntl_bytes(uint32_t what, bool is_filled)
{
    switch (what) {
    case 5:
    case 0x24: return 32; /* F_GETLK, F_OFD_GETLK: given and filled */
    case 6:
    case 7:
    case 0x25:
    case 0x26: return is_filled ? 0 : 32; /* F_SETLK, F_SETLKW, and of open files */
    case 15: return is_filled ? 0 : 8;    /* F_SETOWN_EX */
    case 16: return is_filled ? 8 : 0;    /* F_GETOWN_EX */
    default: return 0;
    }
}

TTP_PART_APART uint32_t ttp_part_prctl_bytes(uint32_t what, bool is_filled)
{
    switch (what) {
    case 15: return is_filled ? 0 : 16; /* PR_SET_NAME */
    case 16: return is_filled ? 16 : 0; /* PR_GET_NAME */
    case 2:
    case 37: return is_filled ? 4 : 0; /* PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER */
    default: return 0;
    }
}

/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2 */
static inline uint32_t ttp_part_futex_bytes(uint32_t what)
{
    uint32_t plain = what & 0x7f & ~0x80u;
    return plain < 14 && (0x2a41u >> plain & 1) != 0 ? 16 : 0;
}

/* Those of shared memory, semaphores and messages, where their state is asked for. */
TTP_PART_APART uint32_t ttp_part_ipc_bytes(const struct ttp_part_reading *r)
{
    uint32_t what = (uint32_t)r->arguments[r->number == 66 ? 2 : 1] & 0xff;
    if (what != 2 || !r->is_filled) /* IPC_STAT */
        return 0;
    return r->number == 31 ? 112 : r->number == 66 ? 104 : 120;
}

TTP_PART_APART uint32_t ttp_part_asked(const struct ttp_part_reading *r, uint32_t how)
{
    uint32_t second = (uint32_t)r->arguments[1];
    switch (how) {
    case TTP_PART_IOCTL: return ttp_part_ioctl_bytes(second, r->is_filled);
    case TTP_PART_FCNTL: return ttp_part_fcntl_bytes(second, r->is_filled);
    case TTP_PART_PRCTL: return ttp_part_prctl_bytes((uint32_t)r->arguments[0], r->is_filled);
    case TTP_PART_FUTEX: return ttp_part_futex_bytes(second);
    default: return ttp_part_ipc_bytes(r);
    }
}

static inline uint64_t ttp_part_times(uint64_t bytes, uint64_t count)
{
    return count > TTP_PART_ELEMENTS && bytes > 1 ? bytes * TTP_PART_ELEMENTS : bytes * count;
}

/* How many bytes there are of what has a size that arguments say. */
TTP_PART_APART uint32_t ttp_part_bytes(const struct ttp_part_reading *r, uint32_t shape, uint32_t i)
{
    const uint64_t *given = r->arguments;
    uint32_t how = shape >> 10, bytes = shape & 1023;
    uint8_t word[4];
    uint64_t size = 0;
    switch (how) {
    case TTP_PART_FIXED: return bytes;
    case TTP_PART_CLONE:
    case TTP_PART_LEAST: return i < 5 && given[i + 1] >= bytes ? bytes : 0;
    case TTP_PART_NEXT: size = i < 5 ? ttp_part_times(bytes, (uint32_t)given[i + 1]) : 0; break;
    case TTP_PART_PREVIOUS:
        size = i > 0 && given[i - 1] <= TTP_PART_MANY ? ttp_part_times(bytes, given[i - 1]) : 0;
        break;
    case TTP_PART_RESULT: size = ttp_part_times(bytes, (uint64_t)r->result); break;
    case TTP_PART_LENGTH_AT:
        if (i < 5 && ttp_part_whole(r, word, given[i + 1], 4) != TTP_PART_NONE)
            size = ttp_part_word(word, 4);
        break;
    case TTP_PART_SET:
        size = (int32_t)given[0] < 0 ? 0 : ((uint32_t)given[0] + UINT64_C(63)) / 64 * 8;
        break;
    case TTP_PART_TEXT:
        size = 8 + (i < 5 ? ttp_part_least(given[i + 1], r->data_bytes) : UINT64_C(0));
        break;
    default: size = ttp_part_asked(r, how); break;
    }
    uint64_t most = how == TTP_PART_TEXT ? TTP_CALL_DATA_MAX : TTP_PART_MOST;
    return ttp_part_least(size, most);
}

/* Whether a call with that result has filled its parts; a sleep that a signal ended has one. */
static inline bool ttp_part_is_filled(char letter, int64_t result)
{
    return letter == '9' ? result == -4 : result >= 0; /* -EINTR */
}

/* What argument i points to, whose letter that is; `into` has room for TTP_CALL_DATA_MAX. */
TTP_PART_APART uint32_t ttp_part_read(const struct ttp_part_reading *r, uint8_t letter, uint32_t i,
                                      uint8_t *into)
{
    uint32_t shape = ttp_part_shapes[letter & 127], how = shape >> 10;
    uint64_t from = r->arguments[i], next = i < 5 ? r->arguments[i + 1] : 0;
    uint64_t moved = r->is_filled ? (uint64_t)r->result : UINT64_MAX;
    if (shape == 0 || from == 0)
        return TTP_PART_NONE;
    switch (how) {
    case TTP_PART_VECTOR: return ttp_part_vector(r, into, 0, from, next, moved);
    case TTP_PART_FILLED_VECTOR:
        if (!r->is_filled)
            return ttp_part_whole(r, into, from,
                                  ttp_part_least(next, TTP_PART_ELEMENTS) * TTP_IOVEC_BYTES);
        return ttp_part_vector(r, into, 0, from, next, moved);
    case TTP_PART_FILLED_MESSAGE:
        if (!r->is_filled)
            return ttp_part_whole(r, into, from, TTP_MSGHDR_BYTES);
        return ttp_part_one_message(r, into, from);
    case TTP_PART_MESSAGE: return ttp_part_one_message(r, into, from);
    case TTP_PART_MESSAGES:
        return ttp_part_messages(r, into, from, r->is_filled ? moved : (uint32_t)next);
    case TTP_PART_CLONE:
        if (r->is_filled)
            return ttp_part_clone(r, into, from);
        return ttp_part_whole(r, into, from, ttp_part_bytes(r, shape, i));
    case TTP_PART_MASK: return ttp_part_mask(r, into, from);
    case TTP_PART_ENVIRONMENT: return ttp_part_environment(r, into, from);
    case TTP_PART_ENTRIES:
    case TTP_PART_OLD_ENTRIES: return ttp_part_entries(r, into, from, moved);
    default: return ttp_part_whole(r, into, from, ttp_part_bytes(r, shape, i));
    }
}

#endif
