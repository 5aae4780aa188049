/* The end of each thread: what is open there, its last calls, and how it ended.
 *
 * Each stream is read backwards from its end, only as far as its last calls take: so an answer is
 * quick, however long the trace is. How threads and processes end, the trace says in facts, which a
 * recorder writes (spec/facts.md); of a trace without them it is not known.
 *
 * Threads: an answer does not change: any thread may read it. Others may use the reader while it
 * is made; the reader must outlive it. */
#ifndef TRACETAPE_LAST_H
#define TRACETAPE_LAST_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_last ttape_last;

/* Zero means the default everywhere. */
typedef struct ttape_last_options {
    size_t size;             /* sizeof(ttape_last_options) */
    const uint32_t *streams; /* only these; NULL: all. Borrowed for the call */
    uint32_t stream_count;
    uint32_t call_count;   /* at most so many calls of each thread; default 10, at most 2^20 */
    bool has_no_calls;     /* none */
    uint64_t memory_bytes; /* of the answer; default 256 MiB */
    /* A stream whose end cannot be read: what was read of it is in the answer; NULL: the call
     * fails. */
    void (*damage)(void *context, uint32_t stream, const ttape_error *error);
    void *context;            /* of it */
    const ttape_watch *watch; /* NULL: nobody */
} ttape_last_options;

/* A fact of an end. how is of enum ttape_process_end, or of enum ttape_thread_end. */
typedef struct ttape_last_end {
    bool is_known, is_process;
    uint64_t how;
    uint64_t number; /* of a process: its exit code, or the signal; of a thread that went on when
                      * recording ended: why it did (ttape_stop_reason), in ttape_last_thread */
} ttape_last_end;

/* A call; or `count` calls of one function, one after the other, that call nothing. */
typedef struct ttape_last_call {
    uint32_t site, depth;
    uint64_t start_ns; /* of the first of them */
    uint64_t count;
    int64_t total_ns; /* of those that returned, else 0 */
    bool has_returned, is_open;
    /* Events that were lost since the call before it began; UINT64_MAX: some, nobody knows how
     * many. 0: none. */
    uint64_t lost_before;
    uint64_t off_before_ns; /* for how long recording was off then; 0: it was not */
} ttape_last_call;

typedef struct ttape_last_thread {
    uint32_t stream;
    ttape_last_end end;             /* the last fact of the stream */
    uint64_t end_ns;                /* time of its last event */
    const ttape_open_frame *frames; /* open at the end, outermost first */
    uint32_t frame_count;
    const ttape_last_call *calls; /* the earliest first */
    uint32_t call_count;
    bool has_more_calls; /* before them */
    /* The last fault in what was read, for which the program has a handler (spec/facts.md), and the
     * address that it was about. 0: none. */
    uint64_t fault_signal, fault_address;
    uint64_t lost_after; /* as lost_before: since the last of the calls began */
    /* Recording was off from then to the end: frames are those that were open then. 0: it was on */
    uint64_t off_since_ns;
} ttape_last_thread;

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_last_find(ttape_last **out, ttape_reader *reader,
                                       const ttape_last_options *options, ttape_error *err);
TTAPE_API void ttape_last_close(ttape_last *last);

/* Those that have events, by stream, or in the order of the options; they live as long as the
 * answer. Of NULL: none. */
TTAPE_API const ttape_last_thread *ttape_last_get_threads(const ttape_last *last,
                                                          uint32_t *thread_count);
/* How a process of the trace ended, as its threads in the answer say. */
TTAPE_API ttape_status ttape_last_get_process(const ttape_last *last, uint32_t process,
                                              ttape_last_end *end);

/* Whether an item of a cursor says that recording stopped: then *reason has why
 * (ttape_stop_reason). */
TTAPE_API bool ttape_last_stop_of(const ttape_reader *reader, const ttape_event_item *item,
                                  uint64_t *reason);
/* Whether an item of a cursor is a fact of an end: then *end has it. */
TTAPE_API bool ttape_last_end_of(const ttape_reader *reader, const ttape_event_item *item,
                                 ttape_last_end *end);

#ifdef __cplusplus
}
#endif
#endif
