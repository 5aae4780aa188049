/* The one funnel through which every failure inside the library passes. */
#ifndef TTP_FORMAT_FAIL_H
#define TTP_FORMAT_FAIL_H

#include <tracetape/error.h>

/* Fills *err (may be NULL) and returns `status`, so that a caller can `return ttp_fail(...)`.
 * rule: spec id or ""; offset: byte position or TTAPE_ERROR_NO_OFFSET. printf-like message. */
ttape_status ttp_fail(ttape_error *err, ttape_status status, const char *rule, uint64_t offset,
                      const char *message, ...) __attribute__((format(printf, 5, 6), cold));

/* Forwards a failure; the only macro that hides a return. */
#define TTP_TRY(call)                                                                              \
    do {                                                                                           \
        ttape_status ttp_try_status = (call);                                                      \
        if (__builtin_expect(ttp_try_status != TTAPE_OK, 0))                                       \
            return ttp_try_status;                                                                 \
    } while (0)

#endif
