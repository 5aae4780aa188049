/* The failure funnel: formats into the caller's struct, so failing needs no memory and no locks. */
#include "format/base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ttape_status ttp_fail(ttape_error *err, ttape_status status, const char *rule, uint64_t offset,
                      const char *message, ...)
{
    if (err != NULL) {
        va_list args;
        err->status = status;
        err->os_errno = 0;
        err->offset = offset;
        (void)snprintf(err->rule, sizeof err->rule, "%s", rule);
        va_start(args, message);
        (void)vsnprintf(err->message, sizeof err->message, message, args);
        va_end(args);
    }
    return status;
}
