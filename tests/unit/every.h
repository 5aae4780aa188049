/* Sweeps take each case. Sanitizers make that many times slower: of a long sweep the short form
 * takes each nth case with them; the long form, with TTAPE_THOROUGH=1 for ASan, takes each. */
#ifndef TTEST_EVERY_H
#define TTEST_EVERY_H

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

/* From one case to the next, for sweeps that are long without sanitizers, too: `plain` then,
 * `sanitized` with them, 1 in the long form. Primes, so that no bit of a byte is left out. */
static inline uint32_t ttest_step(uint32_t plain, uint32_t sanitized)
{
    const char *thorough = getenv("TTAPE_THOROUGH");
    if (thorough != NULL && *thorough == '1')
        return 1;
    return TTEST_SANITIZED ? sanitized : plain;
}

/* From one case to the next: nth with sanitizers, else 1. */
static inline uint32_t ttest_every(uint32_t nth) { return ttest_step(1, nth); }

#endif
