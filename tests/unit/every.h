/* Sweeps take each case. Sanitizers make that many times slower: of a long sweep the short form
 * takes each nth case with them, and so does scripts/quick, with TTAPE_QUICK=1; the long form, with
 * TTAPE_THOROUGH=1 for ASan, takes each. */
#ifndef TTEST_EVERY_H
#define TTEST_EVERY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TTEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TTEST_SANITIZED 1
#endif
#endif
#ifndef TTEST_SANITIZED
#define TTEST_SANITIZED 0
#endif

static inline bool ttest_is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value == '1';
}

/* From one case to the next, for sweeps that are long without sanitizers, too: `plain` then,
 * `sanitized` with them or in haste, 1 in the long form. Primes, so that no bit of a byte is left
 * out. */
static inline uint32_t ttest_step(uint32_t plain, uint32_t sanitized)
{
    if (ttest_is_set("TTAPE_THOROUGH"))
        return 1;
    return TTEST_SANITIZED || ttest_is_set("TTAPE_QUICK") ? sanitized : plain;
}

/* From one case to the next: nth with sanitizers or in haste, else 1. */
static inline uint32_t ttest_every(uint32_t nth) { return ttest_step(1, nth); }

#endif
