/* Calls: a thread's events as calls that begin and end on stacks, with their times.
 *
 *   events -> ttape_call_cursor_step   what begins, ends or happens, one after the other
 *          -> ttape_call_cursor_next   calls as they end, each once
 *   order  -> ttape_call_counts_make   who called whom how often, without times
 *
 * What the rules of the format make of events is done here, once: unwinding ends calls one by one,
 * innermost first; an exit across ends those that it left, then its own; each stack keeps its calls
 * while another one is current; the handler of a signal is a call without a function; what was open
 * where reading begins is found; where events are missing, calls are lost and found.
 *
 * Conventions of time are those of reports: the time between two events of a thread belongs to what
 * was on its current stack before the later one. A stack's time passes only while it is the current
 * one. Only time that is read counts: of the range, and not where events are missing. Where a clock
 * steps back, times are negative.
 *
 * Threads: as a cursor over events, a call cursor is used by one thread at a time. */
#ifndef TRACETAPE_CALLS_H
#define TRACETAPE_CALLS_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_call_cursor ttape_call_cursor;

/* Zero means the default everywhere. */
typedef struct ttape_call_options {
    size_t size;             /* sizeof(ttape_call_options) */
    const uint32_t *streams; /* only these; NULL: all. Borrowed for the call. One alone is read
                              * fast; several come together in the order of time, as events of a
                              * cursor over TTAPE_ALL_STREAMS do */
    uint32_t stream_count;
    bool has_range; /* only [from_ns, to_ns); a to_ns of UINT64_MAX: to the end */
    bool values;    /* arguments and results, too */
    uint64_t from_ns, to_ns;
    uint64_t memory_bytes; /* of open calls; default 1 GiB */
    bool switches;         /* time off the CPU, too */
    /* Times are not wanted. Of one stream alone, without `switches`, they are not decoded then:
     * events have those of any event before, and of the range only from_ns counts */
    bool untimed;
    /* Of one stream alone, and without a range: only calls that end with its events [first_event,
     * end_event). Where events are missing behind these, calls that are lost there come too, and
     * where the stream ends, those that are left open: so stretches that follow one another have
     * each call once, and may be read at the same time. Calls that began before a stretch are
     * found; enter_ns, duration_ns and self_ns are of the whole call, total_ns of what was read.
     * Those that begin where segments do (ttape_segment_info) are read fast */
    bool has_stretch;
    uint64_t first_event, end_event;
} ttape_call_options;

/* How a call ended. */
typedef enum ttape_call_end {
    TTAPE_CALL_RUNNING = 0,  /* not yet */
    TTAPE_CALL_RETURNED = 1, /* the function (or a signal's handler) returned */
    TTAPE_CALL_UNWOUND = 2,  /* an exception or a longjmp left it */
    TTAPE_CALL_LEFT = 3,     /* it is still open where the stream, or the range, ends */
    TTAPE_CALL_LOST = 4,     /* it ended where events are missing */
    TTAPE_CALL_UNSEEN = 5,   /* its end was not seen (ttape_unwind_kind): it ended at the earliest
                              * then, */
    TTAPE_CALL_LATE = 6      /* or at the latest */
} ttape_call_end;

#define TTAPE_CALL_NO_NUMBER UINT64_MAX
#define TTAPE_CALL_SIGNAL    (UINT32_MAX - 1) /* as a caller: a signal handler */

typedef struct ttape_call {
    uint32_t stream;
    uint32_t site;   /* TTAPE_NONE: a signal's handler */
    uint32_t caller; /* site of the call below, TTAPE_CALL_SIGNAL, or TTAPE_NONE (outermost) */
    /* What opened it. TTAPE_EVENT_OPEN: it was open before the recording began, at the latest since
     * enter_ns. _EXIT_UNSEEN: nothing that is in the trace; only its end is known. */
    ttape_event_kind kind;
    uint32_t argument; /* signal number */
    uint32_t stack;    /* number of the stack that it is on */
    uint32_t height;   /* known calls below it on this stack */
    uint32_t depth;    /* calls below it as recorded, unknown ones too */
    ttape_call_end end;
    bool is_found;         /* it was open where reading began, or behind missing events */
    uint64_t enter_number; /* of the event that opened it; is_found: TTAPE_CALL_NO_NUMBER */
    uint64_t end_number;   /* of the event that ended it, or of the next one (left, lost); the
                            * end's fields are there when it ended */
    uint64_t enter_ns, end_ns;
    int64_t duration_ns; /* end_ns - enter_ns */
    int64_t total_ns;    /* time that was read while it was on the current stack */
    int64_t self_ns;     /* the part of it on top */
    const ttape_value *arguments, *results; /* ttape_call_cursor_next only */
    uint32_t argument_count, result_count;
    uint64_t user[4]; /* yours: 0 when a call begins, and kept until it ended */
    /* With the option `switches`, of calls that ended: parts of total_ns in which the thread did
     * not run, and in which nothing is known of that. The rest was on the CPU. */
    int64_t off_ns, unknown_ns;
} ttape_call;

/* Before the first event nothing is read. *out is NULL on failure. The reader must outlive the
 * cursor. Limits: TTAPE_E_LIMIT past memory_bytes; then, and without memory, reading is over. */
TTAPE_API ttape_status ttape_call_cursor_open(ttape_call_cursor **out, ttape_reader *reader,
                                              const ttape_call_options *options, ttape_error *err);
TTAPE_API void ttape_call_cursor_close(ttape_call_cursor *cursor);

/* The next call in the order in which they end, calls that are left open last; TTAPE_END (which is
 * no failure) when there is none. Values live until the next call on the cursor. After a failure
 * reading goes on behind the damaged partition: the failing call returns the error once, and the
 * calls that are lost there come next. */
TTAPE_API ttape_status ttape_call_cursor_next(ttape_call_cursor *cursor, ttape_call *out,
                                              ttape_error *err);
/* Up to `capacity` calls, without values. *count 0 and TTAPE_END at the end. With a failure come
 * the calls before it. */
TTAPE_API ttape_status ttape_call_cursor_next_many(ttape_call_cursor *cursor, ttape_call *out,
                                                   size_t capacity, size_t *count,
                                                   ttape_error *err);

/* What a step is about. A stream: FOUND for each stack with open calls, START, EVENT ..., STOP,
 * LEFT for each stack with open calls. Missing events: MISSING, LOST and FOUND for stacks where
 * calls end and begin unseen, START. */
typedef enum ttape_call_step_kind {
    TTAPE_STEP_EVENT = 0,   /* an event, which began and ended calls or did not */
    TTAPE_STEP_FOUND = 1,   /* calls that are open where reading begins */
    TTAPE_STEP_START = 2,   /* reading begins here, or goes on, on `stack`, with event `number` */
    TTAPE_STEP_MISSING = 3, /* events are missing here: `event` is a gap made up for them */
    TTAPE_STEP_LOST = 4,    /* calls that ended there */
    TTAPE_STEP_STOP = 5,    /* the stream's end, or the range's (is_cut): time goes on to it */
    TTAPE_STEP_LEFT = 6     /* calls that are still open there */
} ttape_call_step_kind;

/* Belongs to the library, which may give it more fields. */
typedef struct ttape_call_step {
    ttape_call_step_kind kind;
    uint32_t stream;
    uint32_t stack;            /* that it happened on; of a switch: that is left */
    bool is_cut;               /* STOP: the range ends before the stream does */
    uint64_t number;           /* of the event, or of the next one */
    uint64_t time_ns;          /* FOUND, START: where reading begins */
    int64_t elapsed_ns;        /* since the stream's step before; counted in it and in its calls */
    const ttape_event *event;  /* NULL: none */
    const ttape_value *values; /* of the event */
    uint32_t value_count;
    uint32_t began_count, ended_count;
    ttape_call *began; /* outermost first; the top of the stack is the last of them */
    ttape_call *ended; /* outermost first: the last of them ended first. They lie behind the calls
                        * that are open still (ttape_call_cursor_stack) */
    /* With the option `switches`: parts of elapsed_ns, which belongs to what was on top before. */
    int64_t preempted_ns, blocked_ns;
    int64_t unknown_ns; /* the same, of which nothing is known */
} ttape_call_step;

/* The next step, which lives (and its calls) until the next call on the cursor. TTAPE_END and
 * failures: as ttape_call_cursor_next. Steps and calls are not taken from the same cursor. */
TTAPE_API ttape_status ttape_call_cursor_step(ttape_call_cursor *cursor,
                                              const ttape_call_step **out, ttape_error *err);
/* The next step that ends calls: those before it are left out, which costs less than to take them
 * and to drop them. */
TTAPE_API ttape_status ttape_call_cursor_step_ended(ttape_call_cursor *cursor,
                                                    const ttape_call_step **out, ttape_error *err);

/* The open calls, outermost first, of the stack that the last step or call was on: those around a
 * call that ended. They live until the next call on the cursor. */
TTAPE_API void ttape_call_cursor_stack(const ttape_call_cursor *cursor, const ttape_call **calls,
                                       uint32_t *count);

/* What a stretch does not know of the calls that it finds where it begins: by which events they
 * began, and how many had ended in them before. It is worked out from what partitions say of it
 * (call_numbers of ttape_writer_options); no events are decoded. */
typedef struct ttape_call_origins ttape_call_origins;

typedef struct ttape_call_origin {
    uint64_t enter_number; /* TTAPE_CALL_NO_NUMBER: it began before its stream, or where events are
                            * missing */
    uint64_t below_count;  /* calls, and handlers of signals, above it on its stack that ended */
} ttape_call_origin;

/* TTAPE_END, which is no failure, where not all partitions say it. *out is NULL then. A partition
 * whose light sections are damaged is left out. The reader must outlive the origins, which any
 * number of threads may use at a time. */
TTAPE_API ttape_status ttape_call_origins_make(ttape_call_origins **out, ttape_reader *reader,
                                               ttape_error *err);
TTAPE_API void ttape_call_origins_close(ttape_call_origins *origins);
/* Origins are those of the frames that are open where a segment begins, in the order of its start
 * edge (ttape_segment_info): up to `capacity`. Returns how many there are. */
TTAPE_API uint32_t ttape_call_origins_get(const ttape_call_origins *origins, uint32_t partition,
                                          uint32_t segment, ttape_call_origin *out,
                                          uint32_t capacity);

/* How often each function was called by each, over the whole trace. Neither times nor the calls
 * themselves are decoded: a sequence of calls that recurs is counted once, and then by how often it
 * does. That is many times faster than going through all calls. */
typedef struct ttape_call_counts ttape_call_counts;

typedef struct ttape_call_count {
    uint32_t caller; /* site of the call below, TTAPE_CALL_SIGNAL, or TTAPE_NONE (outermost) */
    uint32_t site;
    uint64_t count; /* enters of the site; not calls that were open before the recording began */
} ttape_call_count;

/* Counts. What it does not need of a partition (times, values) is neither read nor verified.
 * *out is NULL on failure, also where a partition is damaged. The reader must outlive the
 * counts. */
TTAPE_API ttape_status ttape_call_counts_make(ttape_call_counts **out, ttape_reader *reader,
                                              ttape_error *err);
TTAPE_API void ttape_call_counts_close(ttape_call_counts *counts);
/* By caller, then by site, each pair once. */
TTAPE_API const ttape_call_count *ttape_call_counts_get(const ttape_call_counts *counts,
                                                        size_t *count);

#ifdef __cplusplus
}
#endif
#endif
