/* Branch values: which blocks of a function a call has run so far, as one number.
 *
 * For programs that are compiled with -finstrument-functions and -fsanitize-coverage=trace-pc (or
 * trace-pc-guard), and linked with libtracetape-blocks and with libtracetape-context or
 * libtracetape-rt. Each call of a function begins a value of its own; it takes in the id of each
 * block that the call runs, rests while other functions run, and is gone when the call ends; where
 * the program is recorded, it is a value of the call's end. `tracetape context --branches-of
 * FUNCTION VALUE/COUNT` says which blocks these were (spec/context.md).
 *
 *     TRACETAPE_BRANCH=affine ./program          or ttape_branch_start
 *     char text[TTAPE_BRANCH_TEXT_BYTES];
 *     ttape_branch_text(text, sizeof text);      0000a2c15e0b7d31/12
 *
 * No call here allocates, locks, touches errno or knows a locale; all but ttape_branch_start may be
 * made in signal handlers. */
#ifndef TRACETAPE_BRANCH_H
#define TRACETAPE_BRANCH_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a block is taken in. The first three take its id, the last two its number in the function. */
typedef enum ttape_branch_operation {
    TTAPE_BRANCH_AFFINE = 0, /* value * factor + id: knows order and counts; the one to choose */
    TTAPE_BRANCH_XOR = 1,
    TTAPE_BRANCH_ADD = 2,
    TTAPE_BRANCH_PRIMES = 3, /* begins at 1; by the prime of the block's number */
    TTAPE_BRANCH_COUNTS = 4  /* how often each of the first blocks ran, to 255 */
} ttape_branch_operation;

/* What shares one value. */
typedef enum ttape_branch_scope {
    TTAPE_BRANCH_CALL = 0,  /* a call of a function */
    TTAPE_BRANCH_THREAD = 1 /* all that a thread runs, from ttape_branch_reset on */
} ttape_branch_scope;

/* Flags of a value. */
#define TTAPE_BRANCH_UNKNOWN  1u /* nothing keeps one here */
#define TTAPE_BRANCH_OVERFLOW 2u /* it went past 64 bits: a product stays what it was before */
#define TTAPE_BRANCH_PARTIAL  4u /* blocks that have no number or no place are not in it */

#define TTAPE_BRANCH_COUNTERS 32u  /* of TTAPE_BRANCH_COUNTS; other blocks are not in it */
#define TTAPE_BRANCH_NUMBERS  256u /* blocks of a function that have primes */

typedef struct ttape_branch {
    uint64_t value;  /* 0 with TTAPE_BRANCH_COUNTS */
    uint32_t blocks; /* that are in it */
    uint32_t flags;
    uint8_t counts[TTAPE_BRANCH_COUNTERS]; /* TTAPE_BRANCH_COUNTS only */
} ttape_branch;

/* Of the call that this is in: that of the innermost function with hooks. */
TTAPE_API ttape_branch ttape_branch_value(void);
/* It begins anew. */
TTAPE_API void ttape_branch_reset(void);

#define TTAPE_BRANCH_TEXT_BYTES 80u
/* The same as text, VALUE/BLOCKS: sixteen hexadecimal digits (two for each counter), a slash and a
 * number, and + where it overflowed; "-" where it is not known. Returns its length without the
 * zero; 0 where there is no room, which TTAPE_BRANCH_TEXT_BYTES always are. */
TTAPE_API size_t ttape_branch_text(char *text, size_t room);

/* What is 0 is the default. */
typedef struct ttape_branch_options {
    size_t size; /* sizeof(ttape_branch_options) */
    ttape_branch_operation operation;
    ttape_branch_scope scope; /* TTAPE_BRANCH_THREAD: of the first three operations */
} ttape_branch_options;

/* Of the whole process, from here on; call it before threads are started. 0, or -1: there is no
 * such operation, or not of this scope. A program that is started with TRACETAPE_BRANCH=affine,
 * xor, add, primes or counts, or with ":thread" behind it, need not call it. */
TTAPE_API int ttape_branch_start(const ttape_branch_options *options);

#ifdef __cplusplus
}
#endif

/* -- the arithmetic: pure -- */

#if defined(__GNUC__)
#define TTAPE_BRANCH_INLINE_ static __attribute__((no_instrument_function, unused)) inline
#else
#define TTAPE_BRANCH_INLINE_ static inline
#endif

#define TTAPE_BRANCH_FACTOR UINT64_C(0x9E3779B97F4A7C15)

/* A value that no block is in. */
TTAPE_BRANCH_INLINE_ ttape_branch ttape_branch_first(ttape_branch_operation operation)
{
    ttape_branch first;
    first.value = operation == TTAPE_BRANCH_PRIMES ? 1 : 0;
    first.blocks = first.flags = 0;
    for (unsigned i = 0; i < TTAPE_BRANCH_COUNTERS; i++)
        first.counts[i] = 0;
    return first;
}

/* Takes in a block: its id, or its counter's number, or its prime. Counters stop at 255, a product
 * at the last one that 64 bits can hold. */
TTAPE_BRANCH_INLINE_ void ttape_branch_take(ttape_branch_operation operation, ttape_branch *branch,
                                            uint64_t id)
{
    uint64_t value = branch->value;
    if (operation == TTAPE_BRANCH_PRIMES &&
        ((branch->flags & TTAPE_BRANCH_OVERFLOW) != 0 || id == 0 || value > UINT64_MAX / id)) {
        branch->flags |= TTAPE_BRANCH_OVERFLOW;
        return;
    }
    if (operation == TTAPE_BRANCH_COUNTS && id >= TTAPE_BRANCH_COUNTERS) {
        branch->flags |= TTAPE_BRANCH_PARTIAL;
        return;
    }
    switch (operation) {
    case TTAPE_BRANCH_XOR: branch->value = value ^ id; break;
    case TTAPE_BRANCH_ADD:
        branch->value = value + id;
        if (branch->value < value)
            branch->flags |= TTAPE_BRANCH_OVERFLOW;
        break;
    case TTAPE_BRANCH_PRIMES: branch->value = value * id; break;
    case TTAPE_BRANCH_COUNTS:
        branch->counts[id] = (uint8_t)(branch->counts[id] + (branch->counts[id] != UINT8_MAX));
        break;
    default: branch->value = value * TTAPE_BRANCH_FACTOR + id; break;
    }
    if (branch->blocks != UINT32_MAX)
        branch->blocks++;
}

#endif
