/* The sums of a rollup's row, and of a trace that it covers: as numbers, added up, and as bytes.
 *
 *   mask varint | the fields whose bits are set, in the order of the bits |
 *
 * Sums of times are signed numbers of 128 bits, squares are unsigned and have 192. */
#ifndef TTP_FORMAT_ROLLUP_SUMS_H
#define TTP_FORMAT_ROLLUP_SUMS_H

#include <stdbool.h>

#include <tracetape/types.h>

#include "format/base/bytes.h"

/* The sums of a row. Their numbers are on disk: they are the bits of the mask. */
enum ttp_rollup_field {
    TTP_ROLLUP_CALLS,
    TTP_ROLLUP_EXITS,
    TTP_ROLLUP_SELF,
    TTP_ROLLUP_TOTAL,
    TTP_ROLLUP_MIN,
    TTP_ROLLUP_MAX,
    TTP_ROLLUP_SQUARES,
    TTP_ROLLUP_OPEN,       /* of total: of frames that are open at their streams' ends, */
    TTP_ROLLUP_KNOWN_SELF, /* own time where switches are known; SELF is then the rest */
    TTP_ROLLUP_PREEMPTED,  /* of KNOWN_SELF */
    TTP_ROLLUP_BLOCKED,    /* the same */
    TTP_ROLLUP_UNKNOWN,    /* the same */
    TTP_ROLLUP_TOTAL_BLOCKED,
    TTP_ROLLUP_TOTAL_UNKNOWN,
    TTP_ROLLUP_IDLE,
    TTP_ROLLUP_UNKNOWN_ENDS,   /* calls whose ends, or begins, are not known, */
    TTP_ROLLUP_UNKNOWN_END_NS, /* and what they have of total */
    TTP_ROLLUP_UNSEEN_ENDS,    /* calls that ended at the earliest then, */
    TTP_ROLLUP_LATE_ENDS,      /* or at the latest */
    TTP_ROLLUP_DURATION,
    TTP_ROLLUP_RECURSIONS,
    TTP_ROLLUP_UNSEEN,
    TTP_ROLLUP_EVENTS,
    TTP_ROLLUP_SPAN,
    TTP_ROLLUP_BLOCKS, /* 1: it blocks, by its name */
    TTP_ROLLUP_FIELDS
};

/* The sums of a part of a trace. LARGEST ones are the same of all parts, or nearly so. */
enum ttp_rollup_trace_field {
    TTP_ROLLUP_T_EVENTS,
    TTP_ROLLUP_T_CALLS,
    TTP_ROLLUP_T_SPAN,
    TTP_ROLLUP_T_SELF,
    TTP_ROLLUP_T_STREAMS,    /* largest */
    TTP_ROLLUP_T_PARTITIONS, /* largest: that the trace had */
    TTP_ROLLUP_T_DECODED,
    TTP_ROLLUP_T_FLAGS, /* rollup_layout.h */
    TTP_ROLLUP_T_DAMAGED,
    TTP_ROLLUP_T_LOST, /* largest */
    TTP_ROLLUP_T_OPEN,
    TTP_ROLLUP_T_UNSEEN,
    TTP_ROLLUP_T_IDLE,
    TTP_ROLLUP_T_KNOWN,
    TTP_ROLLUP_T_PREEMPTED,
    TTP_ROLLUP_T_BLOCKED,
    TTP_ROLLUP_T_UNKNOWN,
    TTP_ROLLUP_T_LOOKED, /* partitions that the sums are of, without damaged ones */
    TTP_ROLLUP_T_FIELDS
};

/* A field (R-SUM-02, R-SUM-03, R-SUM-04), whatever it is: signed ones are two's complement over
 * all three words. */
struct ttp_rollup_number {
    uint64_t words[3];
};

enum ttp_rollup_kind {
    TTP_ROLLUP_COUNT,    /* below 2^64 */
    TTP_ROLLUP_TIME,     /* signed, 128 bits */
    TTP_ROLLUP_SQUARE,   /* below 2^192 */
    TTP_ROLLUP_LEAST,    /* signed, 64 bits; of rows with exits */
    TTP_ROLLUP_GREATEST, /* the same */
    TTP_ROLLUP_LARGEST,  /* below 2^64: the larger one stands */
    TTP_ROLLUP_BITS,     /* below 2^64: bits of either */
    TTP_ROLLUP_NO_KIND
};

/* How fields are added and written: of rows, of traces. */
extern const uint8_t ttp_rollup_row_kinds[TTP_ROLLUP_FIELDS + 1]; /* the last: no further one */
extern const uint8_t ttp_rollup_trace_kinds[TTP_ROLLUP_T_FIELDS + 1];

/* Fields whose bit is not set are 0, whatever is in them. */
struct ttp_rollup_sums {
    uint64_t mask;
    struct ttp_rollup_number fields[TTP_ROLLUP_FIELDS]; /* traces have fewer */
};

static inline struct ttp_rollup_number ttp_rollup_signed(int64_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    return (struct ttp_rollup_number){{(uint64_t)value, sign, sign}};
}

static inline struct ttp_rollup_number ttp_rollup_count(uint64_t value)
{
    return (struct ttp_rollup_number){{value, 0, 0}};
}

static inline void ttp_rollup_set(struct ttp_rollup_sums *sums, unsigned field,
                                  struct ttp_rollup_number value)
{
    sums->fields[field] = value;
    sums->mask |= UINT64_C(1) << field;
}

static inline struct ttp_rollup_number ttp_rollup_get(const struct ttp_rollup_sums *sums,
                                                      unsigned field)
{
    static const struct ttp_rollup_number zero = {{0, 0, 0}};
    return sums->mask >> field & 1 ? sums->fields[field] : zero;
}

/* A count; a sum of counts that does not fit is the largest one that does. */
static inline uint64_t ttp_rollup_get_count(const struct ttp_rollup_sums *sums, unsigned field)
{
    struct ttp_rollup_number n = ttp_rollup_get(sums, field);
    return (n.words[1] | n.words[2]) == 0 ? n.words[0] : UINT64_MAX;
}

/* Adds the numbers of a mask, which stand one behind the other. False: a sum does not fit its kind,
 * and `to` is of no use. */
bool ttp_rollup_add_numbers(struct ttp_rollup_sums *to, const uint8_t *kinds, uint64_t mask,
                            const struct ttp_rollup_number *numbers);
bool ttp_rollup_add_sums(struct ttp_rollup_sums *to, const uint8_t *kinds,
                         const struct ttp_rollup_sums *from);

/* Writes bytes: fields that are 0 are left out, but for extremes where there are exits. */
void ttp_rollup_write_sums(struct ttp_writer_cursor *c, const struct ttp_rollup_sums *sums,
                           const uint8_t *kinds);
/* Reads a mask and its numbers, at most TTP_ROLLUP_FIELDS. The cursor is bad where they are not as
 * ttp_rollup_write_sums would write them. Returns the mask. */
uint64_t ttp_rollup_read_numbers(struct ttp_reader_cursor *c, struct ttp_rollup_number *numbers,
                                 const uint8_t *kinds);

#define TTP_ROLLUP_SUMS_BYTES_MAX (5u + TTP_ROLLUP_FIELDS * 28u) /* of a mask and fields */

/* The nearest number of 64 bits. */
static inline int64_t ttp_rollup_narrow(const struct ttp_rollup_number *n)
{
    int64_t low = (int64_t)n->words[0];
    uint64_t sign = low < 0 ? UINT64_MAX : 0;
    if (n->words[1] == sign)
        return low;
    return (int64_t)n->words[1] < 0 ? INT64_MIN : INT64_MAX;
}

#endif
