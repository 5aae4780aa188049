/* Which basic blocks calls passed: how often each ran in the chosen calls, and what came behind
 * what in one call. For source lines, whoever reads the code of the program gives what it says of
 * the trace's sites, and finds lines by what comes out.
 *
 *   pass   a block ran, in the call that is open on its stack; but right in front of an enter, or
 *          behind an exit, it is of that call (F-SIT-12), as the sites' `function` tell
 *   pair   one site, then the other in the same call. A function's own site stands for the call's
 *          begin, as the first of two; as the second for an end within a block, where nothing
 *          returned
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * The reader must not be used while it is made. */
#ifndef TRACETAPE_PASSES_H
#define TRACETAPE_PASSES_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_passes ttape_passes;

/* What the code says of a site. */
typedef struct ttape_passes_site {
    uint32_t function; /* the same number of all sites of one function; TTAPE_NONE: not known */
    bool is_block;     /* its events are passes */
    bool is_first;     /* a block that its function tells of before its enter hook */
    bool is_tail;      /* a block behind the exit hook: it runs when the call is over */
    bool is_chosen;    /* calls of it are counted, where only_chosen */
    bool is_watched;   /* calls that pass it are listed */
} ttape_passes_site;

/* Zero means the default everywhere. */
typedef struct ttape_passes_options {
    size_t size; /* sizeof(ttape_passes_options) */
    /* Only these, each once; NULL: all. Arrays are borrowed for the call. */
    const uint32_t *streams;
    uint32_t stream_count;
    bool has_range; /* only [from_ns, to_ns) */
    uint64_t from_ns, to_ns;
    /* They are by site; sites past site_count are in no known function and not chosen. NULL: blocks
     * are the sites of that kind. */
    const ttape_passes_site *sites;
    uint32_t site_count;
    bool only_chosen;
    /* Only the call that event call_event of call_stream entered: streams, range and choice do not
     * matter then. */
    bool has_call;
    uint32_t call_stream;
    uint64_t call_event;
    uint64_t memory_bytes;    /* of the answer; default 256 MiB */
    const ttape_watch *watch; /* NULL: nobody. Steps are events, of an unknown number */
    /* A damaged place of a stream that is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t stream, const ttape_error *error);
    void *context;
} ttape_passes_options;

typedef struct ttape_passes_info {
    uint64_t call_count; /* that were chosen */
    uint64_t damaged_count;
    bool is_partial; /* events are missing, or began before: what was not seen may have run */
    uint32_t site_count;
    uint64_t reserved[2];
} ttape_passes_info;

typedef struct ttape_passes_pair {
    uint32_t from, to;
    uint64_t count;
    uint64_t jumped; /* of these, not by a way of the code: a call did not return */
} ttape_passes_pair;

/* A call that passed a watched site. */
typedef struct ttape_passes_call {
    uint32_t stream, site;
    uint64_t enter_number, enter_ns, count;
} ttape_passes_call;

/* *out is NULL on failure: TTAPE_E_NOT_FOUND where there is no such call. Limits: TTAPE_E_LIMIT
 * past memory_bytes. */
TTAPE_API ttape_status ttape_passes_make(ttape_passes **out, ttape_reader *reader,
                                         const ttape_passes_options *options, ttape_error *err);
TTAPE_API void ttape_passes_close(ttape_passes *passes);

TTAPE_API void ttape_passes_get_info(const ttape_passes *passes, ttape_passes_info *info);
/* All arrays live as long as the answer; of NULL they are none. Passes by site. */
TTAPE_API const uint64_t *ttape_passes_get_rows(const ttape_passes *passes, uint32_t *row_count);
/* What came behind what, by `from`, then `to`. */
TTAPE_API const ttape_passes_pair *ttape_passes_get_pairs(const ttape_passes *passes,
                                                          uint32_t *count);
/* Blocks, and the calls in them that did not return: from, to a function's site. */
TTAPE_API const ttape_passes_pair *ttape_passes_get_left(const ttape_passes *passes,
                                                         uint32_t *count);
/* Calls come as they ended. */
TTAPE_API const ttape_passes_call *ttape_passes_get_calls(const ttape_passes *passes,
                                                          uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
