/* The longest calls of a trace: of one function, of several, or of all.
 *
 * The summary of each partition says how long the longest call is that ended in it, for each
 * function, those of many events how long the one is that had the most for itself, and those that
 * know when threads ran which was on the CPU for longest. So only
 * those partitions are decoded that hold one of the calls asked for: at most as many as calls,
 * however long the trace is. By start, with streams, with a time range, or with a largest duration
 * the summaries tell an upper bound only, and more partitions may have to be decoded; so by own
 * time where partitions do not say the largest one. A partition without a summary is decoded
 * always.
 *
 * Calls are counted where they end. A call that is open where its stream ends counts up to there;
 * what a forked process was born in is no call of its own.
 * Calls whose end is not in the trace because events are missing do not count, nor do handlers of
 * signals. Equally long calls come in the order in which their ends stand in the file.
 *
 * Threads: an answer is made by one thread (with `jobs`, helped by others of its own) and does not
 * change afterwards: any thread may read it. Others may use the reader while it is made; the
 * reader must outlive it. */
#ifndef TRACETAPE_LONGEST_H
#define TRACETAPE_LONGEST_H

#include <stdbool.h>

#include <tracetape/calls.h>
#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_longest ttape_longest;

/* What makes a call long. */
typedef enum ttape_longest_by {
    TTAPE_LONGEST_BY_DURATION = 0, /* from enter to end */
    TTAPE_LONGEST_BY_SELF = 1,     /* time on top of its stack */
    TTAPE_LONGEST_BY_START = 2,    /* nothing: the first calls come, in the order of their starts */
    /* Time in which its thread ran on its stack. Calls that end where nothing is known of that are
     * left out; what is not known of others does not count, nor what a piece of a trace does not
     * say of its first calls. */
    TTAPE_LONGEST_BY_ON_CPU = 3
} ttape_longest_by;

/* Zero means the default everywhere. */
typedef struct ttape_longest_options {
    size_t size; /* sizeof(ttape_longest_options) */
    ttape_longest_by by;
    uint32_t count; /* at most so many calls; default 10, at most 2^20 */
    bool has_range; /* only calls that end in [from_ns, to_ns) */
    uint64_t from_ns, to_ns;
    const uint32_t *streams; /* only these; NULL: all. Borrowed for the call */
    uint32_t stream_count;
    uint32_t jobs;         /* threads; 0: as many as the reader's options say */
    uint64_t memory_bytes; /* of the answer; default 256 MiB */
    bool (*selects)(void *context, uint32_t site); /* only calls of these functions; NULL: all */
    /* A partition that cannot be read and is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t partition, const ttape_error *error);
    void *context;   /* of both, which are called from the calling thread only */
    bool ended_only; /* only those of which a duration is known: ended, and seen to */
    bool names_only; /* frames of paths have no times (0): overviews may tell of a call sooner */
    const ttape_watch *watch; /* NULL: nobody */
    /* By duration: no call of which one callee that is selected, too, has nine tenths or more: that
     * one says more. Of a call over several partitions the callee has to be among the longest. */
    bool without_callers;
    /* Only calls that took so long, both included; not together with without_callers. */
    bool has_durations;
    uint64_t least_ns, most_ns;
} ttape_longest_options;

typedef struct ttape_longest_call {
    uint32_t stream;
    uint32_t site;
    uint32_t stack;        /* number of the stack that it is on */
    uint32_t depth;        /* of its enter, as recorded; is_found: calls of `path` */
    ttape_call_end end;    /* RETURNED, UNWOUND or LEFT */
    bool is_found;         /* its enter is not in the file */
    uint64_t enter_number; /* of the event that opened it; is_found: TTAPE_CALL_NO_NUMBER */
    uint64_t end_number;   /* of the event that ended it, or behind the last one (left) */
    uint64_t enter_ns, end_ns;
    int64_t duration_ns, self_ns;
    /* Time in which the thread did not run, while the call's stack was the current one; unknown:
     * part of it that may be either. All 0 where nothing is known: without switches in the trace,
     * or of a call over more than 32 partitions. */
    int64_t preempted_ns, blocked_ns, unknown_ns;
    bool off_known;
    /* The rest of the time in which its stack was the current one; BY_ON_CPU: what the call was
     * chosen by, whether off_known or not. */
    int64_t on_cpu_ns;
    const ttape_open_frame *path; /* the calls below it on its stack, outermost first */
    uint32_t path_count;
    uint32_t argument_count, result_count;
    const ttape_value *arguments, *results;
    uint64_t reserved[3];
} ttape_longest_call;

typedef struct ttape_longest_info {
    uint32_t call_count;
    bool has_times;           /* of any partition that was looked at; without, there are no calls */
    uint64_t partition_count; /* that were looked at ... */
    uint64_t decoded_count;   /* ... of which decoded for the search, ... */
    uint64_t enter_count;     /* ... and for enters of calls that span partitions, ... */
    uint64_t damaged_count;   /* ... and left out */
    uint64_t reserved[4];
} ttape_longest_info;

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_longest_find(ttape_longest **out, ttape_reader *reader,
                                          const ttape_longest_options *options, ttape_error *err);
TTAPE_API void ttape_longest_close(ttape_longest *longest);

TTAPE_API void ttape_longest_get_info(const ttape_longest *longest, ttape_longest_info *info);
/* The longest first; they live as long as the answer. Of NULL: none. */
TTAPE_API const ttape_longest_call *ttape_longest_get_calls(const ttape_longest *longest,
                                                            uint32_t *call_count);

#ifdef __cplusplus
}
#endif
#endif
