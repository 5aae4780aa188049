/* What of a trace is asked about: threads, processes, streams, and a range of time. The options of
 * the other answers take what comes out.
 *
 *   streams    those that are named, and those whose thread is
 *   processes  of these, or of all, only streams of the named processes
 *   range      times of the trace's clock, or from its first event on
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read
 * it. */
#ifndef TRACETAPE_SELECTION_H
#define TRACETAPE_SELECTION_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_selection ttape_selection;

/* One end of a range. */
typedef struct ttape_selection_time {
    bool is_given;    /* otherwise the range is open there */
    bool is_relative; /* from the trace's first event on */
    bool is_span;     /* 1s rather than a number of the clock: relative where it is before the first
                       * event */
    uint64_t time_ns;
} ttape_selection_time;

/* Zero means the default everywhere: all of the trace. Arrays are borrowed for the call. */
typedef struct ttape_selection_options {
    size_t size; /* sizeof(ttape_selection_options) */
    const uint64_t *tids, *pids, *streams;
    uint32_t tid_count, pid_count, named_stream_count;
    ttape_selection_time from, to; /* half-open */
    uint64_t memory_bytes;         /* of the answer; default 256 MiB */
} ttape_selection_options;

typedef struct ttape_selection_info {
    bool has_streams;        /* some are named: the others are left out */
    bool has_range;          /* only [from_ns, to_ns) */
    bool is_outside;         /* nothing of the trace is in that range */
    uint64_t from_ns, to_ns; /* of the trace's clock; without a range 0 and UINT64_MAX */
    uint64_t reserved[2];
} ttape_selection_info;

/* *out is NULL on failure: TTAPE_E_NOT_FOUND where no stream is what was named, TTAPE_E_ARGUMENT
 * where the range ends before it starts, TTAPE_E_UNSUPPORTED where the trace has no times and a
 * range was asked for. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_selection_make(ttape_selection **out, const ttape_reader *reader,
                                            const ttape_selection_options *options,
                                            ttape_error *err);
TTAPE_API void ttape_selection_close(ttape_selection *selection);

TTAPE_API void ttape_selection_get_info(const ttape_selection *selection,
                                        ttape_selection_info *info);
/* The streams, ascending, as options of answers take them; NULL: all of them. They live as long as
 * the answer. */
TTAPE_API const uint32_t *ttape_selection_get_rows(const ttape_selection *selection,
                                                   uint32_t *row_count);
TTAPE_API bool ttape_selection_has(const ttape_selection *selection, uint32_t stream);
/* The time of the trace's clock that is meant; UINT64_MAX past its end. */
TTAPE_API uint64_t ttape_selection_time_ns(const ttape_selection_time *time,
                                           const ttape_info *info);

#ifdef __cplusplus
}
#endif
#endif
