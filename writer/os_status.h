/* Failures that are not about bytes of a trace: of the system, of memory, of arguments. */
#ifndef TTP_WRITER_OS_STATUS_H
#define TTP_WRITER_OS_STATUS_H

#include <errno.h>

#include "format/base/fail.h"

#define ttp_fail_plain(err, status, ...)                                                           \
    ttp_fail(err, status, "", TTAPE_ERROR_NO_OFFSET, __VA_ARGS__)
#define ttp_fail_memory(err) ttp_fail_plain(err, TTAPE_E_MEMORY, "out of memory")

/* What a failed call of the system is to a caller of ours. */
static inline ttape_status ttp_status_of(int os_errno)
{
    return os_errno == ENOMEM ? TTAPE_E_MEMORY : TTAPE_E_IO;
}

#endif
