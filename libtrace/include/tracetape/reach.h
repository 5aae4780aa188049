/* Every path that leads to a function, or to any of several: the calls below it on its stack, from
 * the outermost on, with how often and how long it ran there.
 *
 * The whole selection is read, once. What never leads to the function costs nothing but that.
 * Paths make a tree: each names the path that it goes on from, and what comes as one step more. A
 * function that calls itself is one step, however often; the handler of a signal is a step of its
 * own. Streams and stacks with the same path are one.
 *
 * Sites are one function where symbol, file and path of the module are equal (of frames of paths,
 * whatever the file is; without symbol or file, their shifts in the module as well), or as the
 * caller groups them. Times are in nanoseconds, by the conventions of tracetape/calls.h: only what
 * is read counts, of the range, and not where events are missing. Sums wrap around at 64 bits.
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * Others may use the reader while it is made; the reader must outlive it. */
#ifndef TRACETAPE_REACH_H
#define TRACETAPE_REACH_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/functions.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_reach ttape_reach;

/* Zero means the default everywhere. */
typedef struct ttape_reach_options {
    size_t size;             /* sizeof(ttape_reach_options) */
    const uint32_t *streams; /* only these, each once; NULL: all. Borrowed for the call */
    uint32_t stream_count;
    bool has_range; /* only [from_ns, to_ns); a to_ns of UINT64_MAX: to the end */
    uint64_t from_ns, to_ns;
    uint64_t memory_bytes; /* of the answer; default 256 MiB. What is open while streams are read
                            * has its own limit, the default of a call cursor */
    /* Whether the function of a site is one that is reached: one of its sites is enough. NULL: all
     * are. Asked once for each site, before anything is read. */
    bool (*selects)(void *context, uint32_t site);
    /* The number of a site's function, below the number of sites, or TTAPE_NONE: unknown. NULL: as
     * above. Asked as selects is. */
    uint32_t (*group)(void *context, uint32_t site);
    /* A part of a stream that cannot be read and is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t stream, const ttape_error *error);
    void *context;            /* of all three, which are called from the calling thread */
    const ttape_watch *watch; /* NULL: nobody */
    ttape_functions_by by;    /* which functions of scopes are one, where `group` is NULL */
} ttape_reach_options;

typedef struct ttape_reach_path {
    uint32_t before; /* the path that it goes on from, which stands before it; TTAPE_NONE: none */
    uint32_t site;  /* its last step: the first site of a function; TTAPE_NONE: not known, or ... */
    bool is_signal; /* ... the handler of a signal */
    bool is_end;    /* it ends in a function that is reached; others have no calls and no time */
    uint32_t signal; /* its number */
    uint32_t length; /* steps */
    /* Of the function on this path: calls that were made in what is read, and those of them that it
     * made itself. */
    uint64_t call_count, recursion_count;
    int64_t total_ns; /* a moment counts once where it calls itself */
    int64_t self_ns;
    uint64_t reserved[2];
} ttape_reach_path;

typedef struct ttape_reach_info {
    uint32_t path_count;
    bool has_times;         /* without, all times are 0 */
    uint64_t call_count;    /* in what was read, of whatever function */
    int64_t span_ns;        /* that was read, of all streams together */
    uint64_t damaged_count; /* parts that were left out */
    uint64_t reserved[3];
} ttape_reach_info;

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_reach_find(ttape_reach **out, ttape_reader *reader,
                                        const ttape_reach_options *options, ttape_error *err);
TTAPE_API void ttape_reach_close(ttape_reach *reach);

TTAPE_API void ttape_reach_get_info(const ttape_reach *reach, ttape_reach_info *info);
/* In the order in which they were met; they live as long as the answer. Of NULL: none. */
TTAPE_API const ttape_reach_path *ttape_reach_get_paths(const ttape_reach *reach,
                                                        uint32_t *path_count);

#ifdef __cplusplus
}
#endif
#endif
