/* A rollup: the reports of many traces added up, exactly, in memory or as a file.
 *
 *   trace (or some of its partitions) --+
 *   trace ------------------------------+--> rollup --> rows of functions, of callers, of processes
 *   rollup file ------------------------+         \---> rollup file
 *
 * Adding is associative and commutative: rows and bytes do not depend on what was added first, nor
 * on which of it was added up before. Sums of times have 128 bits, those of squares 192; what does
 * not fit is TTAPE_E_LIMIT, never a wrong number. A rollup knows which partitions of which traces
 * are in it: what is there already is refused (TTAPE_E_EXISTS), and named.
 *
 * Functions are kept apart by build id (without one by the module's path), symbol, file, line and
 * place in the module. ttape_rollup_fold joins those of several builds.
 *
 * The format is in spec/rollup.md. Conventions of times and counts: tracetape/report.h.
 *
 * Threads: one at a time. After a failure of ttape_rollup_add_trace or _add_file other than
 * TTAPE_E_EXISTS the rollup is as it was where ttape_rollup_has_failed says false. */
#ifndef TRACETAPE_ROLLUP_H
#define TRACETAPE_ROLLUP_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/report.h>
#include <tracetape/types.h>
#include <tracetape/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_rollup ttape_rollup;

/* Zero means the default everywhere. */
typedef struct ttape_rollup_options {
    size_t size;        /* sizeof(ttape_rollup_options) */
    ttape_report_by by; /* what rows are of; not BY_GROUP. BY_SITE: not to be written */
    bool counts;        /* of durations by size, of at most 1/128 of it; every trace is decoded */
    bool histograms;    /* of durations in powers of two, as overviews have them */
    bool takes_any;     /* the first that is added is a rollup file, which says all of that */
    uint32_t longest;   /* calls kept of each function, at most 10; BY_FUNCTION */
    uint64_t memory_bytes; /* of the rollup; default 256 MiB */
} ttape_rollup_options;

/* What of a trace to add, and how to ask for that. */
typedef struct ttape_rollup_selection {
    size_t size;                               /* sizeof(ttape_rollup_selection) */
    uint32_t first_partition, partition_count; /* 0, 0: all */
    ttape_string name, host;     /* of the file, and of where it was recorded; or "" */
    bool is_growing;             /* the file is still written */
    ttape_report_options report; /* by, exact, percentiles and histograms are the rollup's; size may
                                  * be 0. Cuts of time or streams are not what the rollup says that
                                  * it covers: such a rollup cannot be written */
} ttape_rollup_selection;

/* Numbers that do not fit 64 bits. */
typedef struct ttape_wide_signed {
    uint64_t low;
    int64_t high;
} ttape_wide_signed;

typedef struct ttape_rollup_function {
    ttape_string symbol, module_path, build_id, file; /* "": not known */
    uint64_t offset; /* in the module; without one the address. Of several builds that of one */
    uint32_t line;   /* or 0 */
    ttape_site_kind kind;
    uint64_t reserved[2];
} ttape_rollup_function;

#define TTAPE_ROLLUP_SIGNAL (UINT32_MAX - 1) /* as a caller: a signal handler's frame */

/* A row as tracetape/report.h has it, and what does not fit it. In `report` a time that does not
 * fit 64 bits is the nearest one that does; `site` is the number of a function here, so is `caller`
 * (or TTAPE_NONE, or TTAPE_ROLLUP_SIGNAL), and module, stream, process and group say nothing. */
typedef struct ttape_rollup_row {
    ttape_report_row report;
    ttape_wide_signed self_ns, total_ns, span_ns;
    uint64_t squares[3]; /* the least 64 bits first */
    uint64_t reserved[2];
} ttape_rollup_row;

typedef struct ttape_rollup_range {
    uint32_t first, count;
} ttape_rollup_range;

/* A trace of which something is in it. */
typedef struct ttape_rollup_trace {
    uint8_t id[16];
    ttape_string name, host;
    const ttape_rollup_range *ranges; /* of partitions, ascending */
    uint32_t range_count;
    uint32_t partition_count; /* that the trace had */
    uint64_t event_count, call_count, lost_count, damaged_count, stream_count;
    ttape_wide_signed span_ns, self_ns;
    bool is_growing, is_truncated, has_times;
    uint64_t reserved[2];
} ttape_rollup_trace;

typedef struct ttape_rollup_info {
    ttape_report_by by;
    bool has_counts, has_histograms;
    uint32_t longest; /* calls kept of each function */
    uint32_t function_count, row_count, trace_count;
    ttape_report_info report; /* of all traces; sums that do not fit are the nearest that do */
    ttape_wide_signed span_ns;
    uint64_t reserved[4];
} ttape_rollup_info;

typedef struct ttape_rollup_call {
    uint32_t trace, stream;
    uint64_t enter_number;
    int64_t duration_ns;
} ttape_rollup_call;

/* Which functions are one. */
typedef enum ttape_rollup_across {
    TTAPE_ROLLUP_ACROSS_BUILDS = 0, /* of one name, in modules and files of one name */
    TTAPE_ROLLUP_ACROSS_NONE = 1,   /* of one build */
    TTAPE_ROLLUP_ACROSS_MODULES = 2 /* all of a build: only calls and own time are sums then */
} ttape_rollup_across;

/* *out is NULL on failure. */
TTAPE_API ttape_status ttape_rollup_open(ttape_rollup **out, const ttape_rollup_options *options,
                                         ttape_error *err);
TTAPE_API void ttape_rollup_close(ttape_rollup *rollup);
/* Something was added in part: nothing more can be done with it. */
TTAPE_API bool ttape_rollup_has_failed(const ttape_rollup *rollup);

/* selection may be NULL: all of the trace. */
TTAPE_API ttape_status ttape_rollup_add_trace(ttape_rollup *rollup, ttape_reader *reader,
                                              const ttape_rollup_selection *selection,
                                              ttape_error *err);
/* Whether these first bytes of a file, 8 at least, begin a rollup. */
TTAPE_API bool ttape_rollup_begins(const void *data, size_t size_bytes);
/* Adds what a rollup file says. TTAPE_E_ARGUMENT where its rows are of something else, or lack what
 * this rollup has. */
TTAPE_API ttape_status ttape_rollup_add_file(ttape_rollup *rollup, const ttape_source *source,
                                             ttape_error *err);
/* Writes all of it: the same bytes for the same content. */
TTAPE_API ttape_status ttape_rollup_write(ttape_rollup *rollup, const ttape_sink *sink,
                                          ttape_error *err);

/* Another rollup, with functions joined; it cannot be written. */
TTAPE_API ttape_status ttape_rollup_fold(ttape_rollup **out, ttape_rollup *rollup,
                                         ttape_rollup_across across, ttape_error *err);

/* What follows lives until something is added, or the close. */
TTAPE_API void ttape_rollup_get_info(const ttape_rollup *rollup, ttape_rollup_info *info);
TTAPE_API const ttape_rollup_trace *ttape_rollup_get_traces(ttape_rollup *rollup, uint32_t *count);
/* Functions have an order of their own, always the same one. NULL: there is no memory for it. */
TTAPE_API const ttape_rollup_function *ttape_rollup_get_functions(ttape_rollup *rollup,
                                                                  uint32_t *count);
/* Rows come by functions, then by callers. */
TTAPE_API const ttape_rollup_row *ttape_rollup_get_rows(ttape_rollup *rollup, uint32_t *count);
/* A percentile is that of a report, by a row's number: of `counts` at most 1/128 too low, of
 * `histograms` an estimate. TTAPE_E_NOT_FOUND, and 0: no such row, no ended frames, or there are no
 * counts. */
TTAPE_API ttape_status ttape_rollup_get_percentile(const ttape_rollup *rollup, uint32_t row,
                                                   double share, int64_t *duration_ns);
/* The longest calls of a row, the longest first; traces are numbers of ttape_rollup_get_traces. */
TTAPE_API const ttape_rollup_call *ttape_rollup_get_longest(const ttape_rollup *rollup,
                                                            uint32_t row, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
