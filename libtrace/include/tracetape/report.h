/* Where the time went: calls, self and total time, durations and idle time per function, module,
 * file, thread, process, call or group of functions.
 *
 *   self    time in which a frame of the row's is the top of its thread's current stack
 *   total   time in which a frame of the row's is anywhere on it: recursion counts once, so that no
 *           total exceeds the time of the threads
 *   calls   enters. A frame that was open when its thread's recording began is no call, but has
 *           time
 *   min, max, squares, percentiles
 *           over whole durations (from enter to end) of the frames that ended, by return or by
 *           unwinding. A frame that is still open has self and total only
 *   idle    the part of total in which the thread was blocked, as its switches say. Where a trace
 *           has no switches: in which a blocking system call (a wait, a sleep, I/O) is on the
 *           stack; where it has none of these: a blocking function, by its name. Never two of
 *           them added up
 *
 * A frame's time ends with its thread's last event. Time between two events of a thread belongs to
 * what was on the stack before the later one. All are sums over intervals and events, so reports of
 * adjoining time ranges add up to that of the whole, to the nanosecond.
 *
 * Rows by place decode events and their values, all from the file's start to the range's end, one
 * partition after another: a call that is open where one begins was entered before. Calls that came
 * while one from the same place was open count once in its total, those from other places in
 * theirs: rows of one function add up to its own but for recursion. What its calls waited for the
 * recorder stays in their idle time.
 *
 * A report by function over whole partitions is added up from their summaries and reads no events.
 * Everything else decodes: other rows (times of several functions overlap), a part of a partition's
 * threads, the partitions that a time range cuts.
 *
 * Threads: a report is made by one thread (with `jobs`, helped by others of its own) and does not
 * change afterwards: any thread may read it. Others may use the reader while it is made; the reader
 * must outlive it. */
#ifndef TRACETAPE_REPORT_H
#define TRACETAPE_REPORT_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_report ttape_report;

/* What a row is about. */
typedef enum ttape_report_by {
    TTAPE_REPORT_BY_FUNCTION = 0, /* sites that are the same in several scopes are one function, and
                                     so is a system call over several paths */
    TTAPE_REPORT_BY_NAME = 1,     /* all functions of one name */
    TTAPE_REPORT_BY_MODULE = 2,   /* executable or library */
    TTAPE_REPORT_BY_FILE = 3,     /* source file */
    TTAPE_REPORT_BY_THREAD = 4,
    TTAPE_REPORT_BY_PROCESS = 5,
    TTAPE_REPORT_BY_CALL = 6, /* caller and function: the caller is the finest call site recorded */
    TTAPE_REPORT_BY_GROUP = 7, /* sets of functions that the caller names */
    TTAPE_REPORT_BY_SITE = 8,  /* function, and the place where it was called (F-SIT-14) */
    TTAPE_REPORT_BY_COUNT = 9
} ttape_report_by;

/* Zero means the default everywhere. */
typedef struct ttape_report_options {
    size_t size; /* sizeof(ttape_report_options) */
    ttape_report_by by;
    bool exact;       /* decode even where summaries say the same */
    bool percentiles; /* keep durations; decodes */
    bool has_range;   /* only [from_ns, to_ns) */
    uint64_t from_ns, to_ns;
    const uint32_t *streams; /* only these; NULL: all. Borrowed for the call */
    uint32_t stream_count;
    uint32_t jobs;         /* threads; 0: as many as the reader's options say */
    uint64_t memory_bytes; /* of the report; default 256 MiB */
    /* BY_GROUP: the number of a site's group, or TTAPE_NONE. */
    uint32_t (*group)(void *context, uint32_t site);
    /* BY_CALL: only calls by or of these functions; NULL: all. */
    bool (*focus)(void *context, uint32_t site);
    /* What blocks, where `switches` does not say; NULL: what ttape_is_idle_name says of the symbol,
     * and where there are such system calls, these only. */
    bool (*is_idle)(void *context, uint32_t site);
    /* A partition that cannot be read and is left out, in file order; NULL: the call fails. */
    void (*damage)(void *context, uint32_t partition, const ttape_error *error);
    void *context; /* of all four, which are called from the calling thread only */
    /* Time off the CPU, too: of partitions that know of switches and do not sum them up it decodes
     * the events. */
    bool switches;
    bool summed_switches; /* only where partitions sum them up: decodes nothing for it */
    /* Keep how many durations are of which size, in powers of two: percentiles are estimates then.
     * What overviews do not tell is decoded for it. Not with `percentiles`, which are exact. */
    bool histograms;
    /* Only what is on a stack with such a function's frame, that frame and those above it: the time
     * of the report is then that of these functions, and outer frames have none. Decodes; NULL:
     * everything. Called with `context`, as the four above. */
    bool (*below)(void *context, uint32_t site);
    const ttape_watch *watch; /* NULL: nobody */
    /* Only these partitions, by file order; 0, 0: all. Reports of all of them add up. */
    uint32_t first_partition, partition_count;
    bool self_times; /* the least and the largest own time of calls, too; decodes */
} ttape_report_options;

#define TTAPE_REPORT_SIGNAL (UINT32_MAX - 1) /* as a caller: a signal handler's frame */

/* What idle times are made of: the first of these that there is anything of. */
typedef enum ttape_idle_source {
    TTAPE_IDLE_NOTHING = 0,      /* nothing is known to block */
    TTAPE_IDLE_SWITCHES = 1,     /* threads were seen to be blocked */
    TTAPE_IDLE_SYSTEM_CALLS = 2, /* blocking system calls were on the stack */
    TTAPE_IDLE_FUNCTIONS = 3,    /* blocking functions were, by their names */
} ttape_idle_source;

typedef struct ttape_report_row {
    uint32_t site;    /* a site of the row's; TTAPE_NONE: none (threads, processes), or unknown */
    uint32_t caller;  /* BY_CALL: a site, TTAPE_REPORT_SIGNAL, or TTAPE_NONE (outermost frames);
                       * BY_SITE: that of the place, or TTAPE_NONE (not recorded) */
    uint32_t module;  /* of the site (BY_MODULE: of the row), or TTAPE_NONE */
    uint32_t stream;  /* BY_THREAD */
    uint32_t process; /* BY_THREAD, BY_PROCESS */
    uint32_t group;   /* BY_GROUP */
    uint64_t call_count;
    uint64_t exit_count; /* frames that ended: what the measures of durations are over */
    int64_t self_ns, total_ns;
    int64_t min_ns, max_ns; /* 0, 0 without ended frames */
    double mean_ns;         /* of ended frames: of total_ns what these have, but never beyond
                             * min_ns and max_ns. Of a range, and where none ended, total_ns by
                             * calls */
    double deviation_ns;    /* of durations, where the row is never on a stack twice at once and no
                             * range    cuts it; otherwise see duration_deviation_ns */
    double sum_of_squares;  /* of durations */
    ttape_wide squares;     /* the same exactly */
    int64_t idle_ns;
    bool is_idle_least; /* idle_ns is known in part: it is at least as much */
    bool idle_known;    /* summaries tell idle_ns of blocking functions, and where there are none */
    bool decoded;       /* the rest of the row is known */
    bool is_least;      /* total_ns and self_ns are: of some calls the ends were not seen, */
    bool is_about;      /* or are about that: some calls ended at the latest when it is said */
    /* Decoded rows: of durations as they are. Summaries lack their sum; for mean_ns and
     * deviation_ns the total stands for it, which counts recursion once. */
    int64_t duration_ns;
    double duration_mean_ns, duration_deviation_ns;
    uint64_t recursion_count; /* calls while the row was on the stack already */
    uint64_t unseen_count;    /* exits whose enter is not in the trace; no calls, no time */
    uint64_t event_count;     /* BY_THREAD, BY_PROCESS */
    int64_t span_ns;          /* BY_THREAD, BY_PROCESS: time between events, on any stack or none */
    /* Of partitions that know of switches: parts of self_ns. The rest was on the CPU. */
    int64_t preempted_ns, blocked_ns;
    int64_t unknown_ns; /* where nothing is known */
    /* Calls that ended, and how long they were is not known: their ends were not seen, or lost, or
     * they were open before the recording. exit_count and the measures of durations are without
     * them. */
    uint64_t unknown_end_count;
    /* With `self_times`: of the own times of ended frames. 0, 0 without such frames. */
    int64_t self_min_ns, self_max_ns;
} ttape_report_row;

typedef struct ttape_report_info {
    uint32_t row_count;
    uint32_t stream_count;    /* selected streams */
    uint64_t partition_count; /* that were looked at ... */
    uint64_t decoded_count;   /* ... of which decoded */
    uint64_t damaged_count;   /* ... and left out */
    uint64_t event_count;     /* in those that were looked at, of the streams, cut or not */
    uint64_t call_count;      /* over all functions */
    uint64_t unseen_count;    /* of decoded partitions: exits whose enter is not in the trace */
    uint64_t open_count;      /* frames of rows that are open where their streams end; a range: 0 */
    int64_t span_ns;          /* time of all threads together */
    int64_t idle_ns;          /* of that in blocking calls */
    bool idle_known;          /* otherwise idle_ns is the self time of blocking functions */
    bool has_idle;            /* there are blocking functions */
    bool has_times;           /* of any partition that was looked at */
    ttape_idle_source idle_source;
    double percentile_error; /* percentiles are at most this part too low; 0: exact */
    int64_t preempted_ns, blocked_ns, unknown_ns; /* of span_ns, as in rows */
    uint64_t reserved[1];
} ttape_report_info;

/* *out is NULL on failure. Rows come by descending total, then by their number. Limits:
 * TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_report_make(ttape_report **out, ttape_reader *reader,
                                         const ttape_report_options *options, ttape_error *err);
TTAPE_API void ttape_report_close(ttape_report *report);

TTAPE_API void ttape_report_get_info(const ttape_report *report, ttape_report_info *info);
/* They live as long as the report. Of NULL: none. */
TTAPE_API const ttape_report_row *ttape_report_get_rows(const ttape_report *report,
                                                        uint32_t *row_count);
/* The site that a site's row goes by, whether that row has anything or not: the same for all sites
 * of one row, and what `site` of that row is. TTAPE_NONE: there is no such site, or it is in no
 * group. */
TTAPE_API uint32_t ttape_report_get_row_site(const ttape_report *report, uint32_t site);
/* The smallest duration that at least `share` (0 .. 1) of the row's ended frames do not exceed.
 * With `histograms` an estimate: a duration between the ends of the bucket that it is in.
 * TTAPE_E_NOT_FOUND, and 0: no such row, no ended frames, or no percentiles were asked for. */
TTAPE_API ttape_status ttape_report_get_percentile(const ttape_report *report, uint32_t row,
                                                   double share, int64_t *duration_ns);

/* Durations of one size. */
typedef struct ttape_report_bucket {
    int64_t least_ns, most_ns; /* both may come; the first bucket is all that is 0 or below */
    uint64_t count;
} ttape_report_bucket;

#define TTAPE_REPORT_BUCKETS 48u /* at most; the last has no end but the row's max_ns */

/* How the durations of a row's ended frames are spread, with `histograms`: buckets from the first
 * to the last that has some, *bucket_count of them, of which the first `capacity` are written.
 * TTAPE_E_NOT_FOUND, and none: as for a percentile. */
TTAPE_API ttape_status ttape_report_get_histogram(const ttape_report *report, uint32_t row,
                                                  ttape_report_bucket *buckets, uint32_t capacity,
                                                  uint32_t *bucket_count);

/* Functions that wait for something else than the processor: waits, sleeps, locks, I/O, and
 * uftrace's linux:schedule. Leading underscores, versions and other decorations do not matter. */
TTAPE_API bool ttape_is_idle_name(ttape_string symbol);

#ifdef __cplusplus
}
#endif
#endif
