/* What a failed call of the system is to a caller of ours. */
#ifndef TTP_WRITER_OS_STATUS_H
#define TTP_WRITER_OS_STATUS_H

#include <errno.h>

#include <tracetape/error.h>

static inline ttape_status ttp_status_of(int os_errno)
{
    return os_errno == ENOMEM ? TTAPE_E_MEMORY : TTAPE_E_IO;
}

#endif
