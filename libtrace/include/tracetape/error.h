/* Status codes and error details: the one vocabulary in which every call of libtracetape fails.
 *
 * Every fallible function returns a ttape_status and takes an optional, caller-owned ttape_error
 * that it fills on failure (and leaves alone on success). No thread-locals, no allocation. */
#ifndef TRACETAPE_ERROR_H
#define TRACETAPE_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values are pinned: they never change and never get reused. Ranges: 1..9 the caller's
 * fault, 10..19 the machine's, 20..39 the bytes'. TTAPE_END is no failure: there is no further
 * item. It is not 0, so a loop asks for TTAPE_OK. */
typedef enum ttape_status {
    TTAPE_OK = 0,
    TTAPE_END = -1,
    TTAPE_E_ARGUMENT = 1,     /* an argument that the call's contract forbids */
    TTAPE_E_STATE = 2,        /* the handle cannot do this now (closed, failed, wrong order) */
    TTAPE_E_NOT_FOUND = 3,    /* the named stream, site or partition does not exist */
    TTAPE_E_MEMORY = 10,      /* the allocator returned NULL */
    TTAPE_E_IO = 11,          /* source or sink failed; os_errno says how */
    TTAPE_E_EXISTS = 12,      /* the output exists and force was not asked for */
    TTAPE_E_TRUNCATED = 20,   /* the bytes end before the format says they do */
    TTAPE_E_CORRUPT = 21,     /* the bytes break a rule of the specification */
    TTAPE_E_CHECKSUM = 22,    /* a checksum does not match */
    TTAPE_E_LIMIT = 23,       /* valid, but over a limit of this reader's options */
    TTAPE_E_VERSION = 24,     /* needs a newer reader */
    TTAPE_E_UNSUPPORTED = 25, /* a critical chunk or codec that this build does not know */
    TTAPE_E_NOT_TRACE = 26    /* not a trace file at all */
} ttape_status;

/* TTAPE_ERROR_NO_OFFSET in `offset` means that no byte position belongs to the error. */
#define TTAPE_ERROR_NO_OFFSET UINT64_MAX

typedef struct ttape_error {
    ttape_status status;
    int os_errno;      /* 0 where the operating system has no part in it */
    uint64_t offset;   /* bytes from the start of the input, or TTAPE_ERROR_NO_OFFSET */
    char rule[16];     /* id of the broken sentence of spec/, "" where none applies */
    char message[232]; /* lower case, failure first, subject in single quotes; NUL-terminated */
} ttape_error;

#ifdef __cplusplus
}
#endif
#endif
