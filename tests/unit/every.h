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

/* From one case to the next: 1 or nth. A prime, so that no bit of a byte is left out. */
static inline uint32_t ttest_every(uint32_t nth)
{
    const char *thorough = getenv("TTAPE_THOROUGH");
    return TTEST_SANITIZED && (thorough == NULL || *thorough != '1') ? nth : 1;
}

#endif
