/* Context values: the whole calling context of a thread as one number, for a line of a log.
 *
 * Of the open calls, outermost first, each function has an id. The value begins at a number and
 * takes in one id a call (spec/context.md). By default the same context has the same value in each
 * run, on each machine, of the same build. `tracetape context VALUE/DEPTH` says what it stands for.
 *
 *     ttape_context_value where = ttape_context();
 *     printf("[" TTAPE_CONTEXT_FORMAT "] no route\n", TTAPE_CONTEXT_ARGUMENTS(where));
 *
 * For programs that are compiled with -finstrument-functions, or say TTAPE_CONTEXT_CALL in some of
 * their functions. Where nothing knows of calls, the
 * value is not known, and its text is "-". No call here allocates, locks, touches errno or knows a
 * locale; all but ttape_context_start may be made in signal handlers. */
#ifndef TRACETAPE_CONTEXT_H
#define TRACETAPE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call's id is taken in. */
typedef enum ttape_context_operation {
    TTAPE_CONTEXT_AFFINE = 0, /* value * factor + id: the one to choose */
    TTAPE_CONTEXT_XOR = 1,
    TTAPE_CONTEXT_ADD = 2,
    TTAPE_CONTEXT_MULTIPLY = 3 /* begins at 1; by the id with its lowest bit set */
} ttape_context_operation;

/* What a function's id is made of. */
typedef enum ttape_context_ids {
    TTAPE_CONTEXT_IDS_STABLE = 0, /* its module's build id and where it lies in the module */
    TTAPE_CONTEXT_IDS_ADDRESS = 1 /* its address in this process */
} ttape_context_ids;

/* Flags of a value. */
#define TTAPE_CONTEXT_UNKNOWN  1u /* nothing knows the calls that are open now */
#define TTAPE_CONTEXT_OVERFLOW 2u /* an addition went past 64 bits */
#define TTAPE_CONTEXT_PARTIAL  4u /* some functions' calls are left out, and are not in it */

typedef struct ttape_context_value {
    uint64_t value;
    uint32_t depth; /* functions that are in it */
    uint32_t flags;
} ttape_context_value;

/* Of the calling thread, here. */
TTAPE_API ttape_context_value ttape_context(void);

#define TTAPE_CONTEXT_TEXT_BYTES 28u
/* The same as text, VALUE/DEPTH: sixteen hexadecimal digits, a slash and a number; "-" where it is
 * not known. Returns its length without the zero; 0 where there is no room, which
 * TTAPE_CONTEXT_TEXT_BYTES always are. */
TTAPE_API size_t ttape_context_text(char *text, size_t room);

#define TTAPE_CONTEXT_FORMAT "%016llx/%u"
#define TTAPE_CONTEXT_ARGUMENTS(context)                                                           \
    (unsigned long long)(context).value, (unsigned)(context).depth

/* What is 0 is the default. */
typedef struct ttape_context_options {
    size_t size; /* sizeof(ttape_context_options) */
    ttape_context_operation operation;
    ttape_context_ids ids;
    const char *dictionary;    /* a file; NULL: none */
    uint64_t dictionary_bytes; /* of a new one; default 8 MiB */
} ttape_context_options;

/* Of the whole process, from here on; call it before threads are started. The dictionary is a file
 * that every context which is asked for is written into once; one that is there already is gone on
 * with. 0, or -1: there is no dictionary, and a line on stderr says why. A program that is started
 * with TRACETAPE_CONTEXT=FILE need not call it. */
TTAPE_API int ttape_context_start(const ttape_context_options *options);

#if defined(__GNUC__)
/* What compilers call with -finstrument-functions. */
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);
#endif

#ifdef __cplusplus
}
#endif

/* -- chosen functions, of a program that is compiled without -finstrument-functions -- */

#if defined(__GNUC__)
/* First in a function, with its name: its calls are open calls, and no others are.
 *
 *     int serve(int request)
 *     {
 *         TTAPE_CONTEXT_CALL(serve);
 */
#define TTAPE_CONTEXT_CALL(function) TTAPE_CONTEXT_CALL_AT((void *)(function))
/* The same, by an address within it, as `&&here` with a label. */
#define TTAPE_CONTEXT_CALL_AT(address)                                                             \
    __attribute__((cleanup(ttape_context_call_end_), unused))                                      \
    ttape_context_call_ ttape_context_open_ = {(address), __builtin_return_address(0)};            \
    __cyg_profile_func_enter(ttape_context_open_.function, ttape_context_open_.call_site)

typedef struct ttape_context_call_ {
    void *function, *call_site;
} ttape_context_call_;

/* In the function itself: where its stack is says which call ends. */
static inline __attribute__((always_inline, no_instrument_function, unused)) void
ttape_context_call_end_(ttape_context_call_ *open)
{
    __cyg_profile_func_exit(open->function, open->call_site);
}
#endif

/* -- the arithmetic: pure, modulo 2^64 -- */

#if defined(__GNUC__)
#define TTAPE_CONTEXT_INLINE_ static __attribute__((no_instrument_function, unused)) inline
#else
#define TTAPE_CONTEXT_INLINE_ static inline
#endif

#define TTAPE_CONTEXT_FACTOR  UINT64_C(0x9E3779B97F4A7C15)
#define TTAPE_CONTEXT_INVERSE UINT64_C(0xF1DE83E19937733D) /* FACTOR * INVERSE == 1 */

TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_first(ttape_context_operation operation)
{
    return operation == TTAPE_CONTEXT_MULTIPLY ? 1 : 0;
}

/* The value in a call of the function with that id, of the value around it. */
TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_enter(ttape_context_operation operation,
                                                   uint64_t value, uint64_t id)
{
    switch (operation) {
    case TTAPE_CONTEXT_XOR: return value ^ id;
    case TTAPE_CONTEXT_ADD: return value + id;
    case TTAPE_CONTEXT_MULTIPLY: return value * (id | 1);
    default: return value * TTAPE_CONTEXT_FACTOR + id;
    }
}

/* Of an odd number, modulo 2^64. Each step doubles how many bits are right; 3 are at the start. */
TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_inverse(uint64_t odd)
{
    uint64_t inverse = odd;
    for (int right = 3; right < 64; right *= 2)
        inverse *= 2 - odd * inverse;
    return inverse;
}

/* And back, when the call ends. */
TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_leave(ttape_context_operation operation,
                                                   uint64_t value, uint64_t id)
{
    switch (operation) {
    case TTAPE_CONTEXT_XOR: return value ^ id;
    case TTAPE_CONTEXT_ADD: return value - id;
    case TTAPE_CONTEXT_MULTIPLY: return value * ttape_context_inverse(id | 1);
    default: return (value - id) * TTAPE_CONTEXT_INVERSE;
    }
}

TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_mix(uint64_t word)
{
    word = (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    word = (word ^ word >> 29) * UINT64_C(0xA0761D6478BD642F);
    return word ^ word >> 32;
}

/* Of a module, by its build id; of one without, by "file:" and the last part of its path. */
TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_seed(const void *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return ttape_context_mix(hash);
}

/* Of a function: `offset` is its address without that of the module's first byte in memory. */
TTAPE_CONTEXT_INLINE_ uint64_t ttape_context_id(uint64_t seed, uint64_t offset)
{
    return ttape_context_mix(seed + offset * TTAPE_CONTEXT_FACTOR);
}

#endif
