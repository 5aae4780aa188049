/* The eight-byte record: what a hook leaves behind, one aligned store that says by itself what it
 * is.
 *
 *      63                        17 16          2 1 0
 *     +----------------------------+-------------+---+
 *     | address                 47 | time     15 |tag|   1 enter, 2 exit, 0 a block of code
 *     +----------------------------+-------------+---+
 *      63                        21 20          6 5  2 1 0
 *     +----------------------------+-------------+----+---+
 *     | payload                 43 | time     15 |type| 3 |   extension
 *     +----------------------------+-------------+----+---+
 *
 * Zero is no record: what is not zero is committed. Of a block the time is 0, and then not known:
 * its hook reads no clock. Times are the low bits of the clock; the epoch
 * before them (in the block's head, or the last epoch record) holds the rest. Epoch and data
 * records have no time: an epoch has 58 bits from bit 6 on, data 56 from bit 8 on. See
 * spec/recording.md. */
#ifndef TTP_FORMAT_RECORD_H
#define TTP_FORMAT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define TTP_RECORD_TAG_BITS      2u
#define TTP_RECORD_TAG_MASK      3u
#define TTP_RECORD_TIME_BITS     15u
#define TTP_RECORD_TIME_MASK     0x7FFFu
#define TTP_RECORD_ADDRESS_BITS  47u
#define TTP_RECORD_ADDRESS_SHIFT (TTP_RECORD_TAG_BITS + TTP_RECORD_TIME_BITS)

#define TTP_EXTENSION_TYPE_BITS     4u
#define TTP_EXTENSION_TIME_SHIFT    6u
#define TTP_EXTENSION_PAYLOAD_SHIFT 21u
#define TTP_EXTENSION_PAYLOAD_BITS  43u
#define TTP_EPOCH_SHIFT             6u
#define TTP_DATA_SHIFT              8u
#define TTP_DATA_BYTES              7u /* of a message in a data record */

enum ttp_record_tag {
    TTP_TAG_BLOCK = 0, /* a basic block, if not all is zero */
    TTP_TAG_ENTER = 1,
    TTP_TAG_EXIT = 2,
    TTP_TAG_EXTENSION = 3
};

#define TTP_GAP_REASON_BITS 3u /* of a gap; above them is what it counts */

/* What an extension record says; payload in brackets. */
enum ttp_extension {
    TTP_EXT_EPOCH = 0,  /* high bits of the clock from here on */
    TTP_EXT_UNWIND = 1, /* [enum ttp_unwind_form, count] innermost frames were left by unwinding */
    TTP_EXT_SWITCH = 2, /* [stack] the stream goes on on another stack */
    TTP_EXT_SIGNAL_BEGIN = 3, /* [signal number, 0: unknown] */
    TTP_EXT_SIGNAL_END = 4,   /* happened at the time of the record before */
    TTP_EXT_GAP = 5,          /* [reason 3 bits, count 40 bits] events are missing here */
    TTP_EXT_OPEN = 6,         /* the enter record behind this one is of a frame opened before */
    TTP_EXT_UNSEEN = 7,       /* the exit record behind this one closes nothing that was recorded */
    TTP_EXT_MESSAGE = 8,      /* [kind 8 bits, size in bytes 24 bits] data records follow */
    TTP_EXT_DATA = 9,         /* seven bytes of the message before */
    TTP_EXT_NOTHING = 10,     /* a place that was reserved and not needed */
    TTP_EXT_END = 11,    /* [process 1 bit, how 7 bits, number 32 bits, said 1 bit] the thread, or
                       * process, ended; said: the process is about to, it says itself */
    TTP_EXT_JUMP = 12,   /* the innermost frame is left by a jump: see TTP_EXT_JUMPED */
    TTP_EXT_JUMPED = 13, /* [as of UNWIND] innermost frames ended with the last jump, as far as is
                          * seen */
    TTP_EXT_UNSEEN_END = 14, /* [as of UNWIND] innermost frames have ended by exits that cannot be
                              * seen */
    TTP_EXT_AGO = 15 /* [ticks, in TTP_AGO_TICKS] so long ago was what the gap behind it is about */
};

#define TTP_AGO_TICKS 256u /* so that a day fits */

/* Of a gap of TTAPE_GAP_REASON_STOPPED: 2 bits above the reason say what follows, 38 bits count. */
enum ttp_stop_what {
    TTP_STOP_FRAMES = 0, /* what was open may be another call by now */
    TTP_STOP_LAST = 1,   /* the thread's end */
    TTP_STOP_SEEN = 2    /* frames were followed meanwhile: they are what they were */
};
#define TTP_STOP_COUNT_SHIFT (TTP_GAP_REASON_BITS + 2u)

#define TTP_END_HOW_SHIFT    1u
#define TTP_END_HOW_MASK     0x7Fu
#define TTP_END_NUMBER_SHIFT 8u
#define TTP_END_SAID         (UINT64_C(1) << 40)

/* Which frames of the current stack ended. A handler may interrupt a hook between its frame and its
 * record: then the shadow stack and the records differ by one frame below the signal. */
enum ttp_unwind_form {
    TTP_UNWIND_COUNT = 0,   /* the n innermost */
    TTP_UNWIND_ALL_BUT = 1, /* all but the n outermost */
    TTP_UNWIND_SIGNALS = 2  /* [signals 17 bits, n 24 bits] so many signals with what is above them,
                           * then all but n of those above the innermost signal that stays */
};
#define TTP_UNWIND_FORM_BITS   2u
#define TTP_UNWIND_FRAMES_BITS 24u

/* Kinds of messages; their bytes are in spec/recording.md. */
enum ttp_message {
    TTP_MESSAGE_PROCESS = 1,     /* a process image begins */
    TTP_MESSAGE_MODULE = 2,      /* a mapped object */
    TTP_MESSAGE_MODULES_END = 3, /* the list of modules is complete: others are gone */
    TTP_MESSAGE_SITE = 4,        /* defines a site of the API by its address */
    TTP_MESSAGE_LEAF = 5,        /* a marker or counter with values */
    TTP_MESSAGE_THREAD = 6,      /* the thread's name */
    TTP_MESSAGE_VALUES = 7,      /* values of the event before */
    TTP_MESSAGE_NAMED = 8,       /* another thread's name */
    TTP_MESSAGE_PATH = 9,        /* the stack that led to a site of a system call */
    TTP_MESSAGE_WAITED = 10      /* the thread waited for the recorder meanwhile */
};

/* Beside the types of the file: a pointer, where the call was made, less 1 (recording.md, 9). */
#define TTP_VALUE_CALL_SITE 8u
#define TTP_VALUE_HOOK_SITE 9u /* the same, by a hook: not of all functions it is asked for */

#define TTP_PATH_CUT         1u /* flags of a PATH: frames further out are not known, */
#define TTP_PATH_APPLICATION 2u /* others than the application's are left out */

/* What stands for the address of a system call in its records: a key, where no code lies. Calls
 * without a path have that of their number; others get theirs by the arena's call_keys, one behind
 * the other, so that no two processes have the same. */
#define TTP_CALL_KEYS      0x200000000000ull
#define TTP_CALL_KEYS_PATH (TTP_CALL_KEYS + 4096u)
/* Numbers that no kernel had yet, those of x32, -1. */
#define TTP_CALL_KEYS_OTHER (TTP_CALL_KEYS_PATH + UINT32_MAX)
#define TTP_CALL_KEYS_END   (TTP_CALL_KEYS_OTHER + UINT32_MAX + 1)

static inline uint64_t ttp_call_key(uint32_t number)
{
    return number < TTP_CALL_KEYS_PATH - TTP_CALL_KEYS ? TTP_CALL_KEYS + number
                                                       : TTP_CALL_KEYS_OTHER + number;
}

static inline bool ttp_is_call_key(uint64_t address)
{
    return address - TTP_CALL_KEYS < TTP_CALL_KEYS_END - TTP_CALL_KEYS;
}

static inline uint64_t ttp_record_call(uint64_t tag, uint64_t clock, uint64_t address)
{
    return address << TTP_RECORD_ADDRESS_SHIFT |
           (clock & TTP_RECORD_TIME_MASK) << TTP_RECORD_TAG_BITS | tag;
}

static inline uint64_t ttp_record_block(uint64_t address)
{
    return address << TTP_RECORD_ADDRESS_SHIFT | TTP_TAG_BLOCK;
}

static inline uint64_t ttp_record_extension(uint64_t type, uint64_t clock, uint64_t payload)
{
    return payload << TTP_EXTENSION_PAYLOAD_SHIFT |
           (clock & TTP_RECORD_TIME_MASK) << TTP_EXTENSION_TIME_SHIFT |
           type << TTP_RECORD_TAG_BITS | TTP_TAG_EXTENSION;
}

static inline uint64_t ttp_unwind_payload(enum ttp_unwind_form which, uint64_t count)
{
    return count << TTP_UNWIND_FORM_BITS | which;
}

static inline uint64_t ttp_unwind_signals(uint64_t signals, uint64_t frames)
{
    return ttp_unwind_payload(TTP_UNWIND_SIGNALS, signals << TTP_UNWIND_FRAMES_BITS | frames);
}

/* The address of the fact about signals: no program has anything there (TTP_WAIT_SITE). */
#define TTP_SIGNAL_SITE 5u

static inline uint64_t ttp_end_payload(bool is_process, uint32_t how, uint32_t number)
{
    return (uint64_t)number << TTP_END_NUMBER_SHIFT | (uint64_t)how << TTP_END_HOW_SHIFT |
           is_process;
}

static inline uint64_t ttp_stop_payload(uint32_t reason, enum ttp_stop_what what, uint64_t count)
{
    return count << TTP_STOP_COUNT_SHIFT | (uint64_t)what << TTP_GAP_REASON_BITS | reason;
}

static inline uint32_t ttp_end_how(uint64_t payload)
{
    return (uint32_t)(payload >> TTP_END_HOW_SHIFT) & TTP_END_HOW_MASK;
}

static inline uint32_t ttp_end_number(uint64_t payload)
{
    return (uint32_t)(payload >> TTP_END_NUMBER_SHIFT);
}

static inline uint64_t ttp_record_epoch(uint64_t epoch)
{
    return epoch << TTP_EPOCH_SHIFT | (uint64_t)TTP_EXT_EPOCH << TTP_RECORD_TAG_BITS |
           TTP_TAG_EXTENSION;
}

static inline uint64_t ttp_record_data(uint64_t seven_bytes)
{
    return seven_bytes << TTP_DATA_SHIFT | (uint64_t)TTP_EXT_DATA << TTP_RECORD_TAG_BITS |
           TTP_TAG_EXTENSION;
}

static inline uint32_t ttp_record_tag(uint64_t record)
{
    return (uint32_t)(record & TTP_RECORD_TAG_MASK);
}

/* A call, its end, or a block. */
static inline bool ttp_record_is_event(uint64_t record)
{
    return record != 0 && ttp_record_tag(record) != TTP_TAG_EXTENSION;
}

static inline uint32_t ttp_record_type(uint64_t record)
{
    return (uint32_t)(record >> TTP_RECORD_TAG_BITS & 15u);
}

static inline uint64_t ttp_record_address(uint64_t record)
{
    return record >> TTP_RECORD_ADDRESS_SHIFT;
}

/* Low bits of the clock of an enter or exit, or of an extension that has a time. */
static inline uint64_t ttp_record_time(uint64_t record)
{
    uint32_t shift = (record & TTP_RECORD_TAG_MASK) == TTP_TAG_EXTENSION ? TTP_EXTENSION_TIME_SHIFT
                                                                         : TTP_RECORD_TAG_BITS;
    return record >> shift & TTP_RECORD_TIME_MASK;
}

static inline uint64_t ttp_record_payload(uint64_t record)
{
    return record >> TTP_EXTENSION_PAYLOAD_SHIFT;
}

/* Whether it ends the thread, or process: not that it says so itself, before more comes. */
static inline bool ttp_record_is_end(uint64_t record)
{
    return ttp_record_tag(record) == TTP_TAG_EXTENSION && ttp_record_type(record) == TTP_EXT_END &&
           (ttp_record_payload(record) & TTP_END_SAID) == 0;
}

#endif
