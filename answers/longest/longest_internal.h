/* The longest calls: what its files share.
 *
 *   overviews -> longest_overviews.c -> the longest calls that they list, and how long others of
 *                                       some partitions may be
 *   summaries -> longest_bounds.c -> how long a call of each partition may be
 *   partitions, the likeliest first -> longest_walk.c -> the longest calls, as ends
 *   callers of long calls -> longest_callers.c -> left out, where that is asked for
 *   frames that a fork inherited -> longest_inherited.c -> left out
 *   ends -> longest_enter.c, longest_off.c -> enters, paths, values, time off the CPU */
#ifndef TTP_READER_LONGEST_INTERNAL_H
#define TTP_READER_LONGEST_INTERNAL_H

#include <tracetape/longest.h>

#include "reader/levels/listed_reader.h"
#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

#define TTP_LONGEST_NO_EVENT UINT32_MAX

/* A call by its end. */
struct ttp_long_call {
    int64_t rank_ns;              /* what it is chosen by */
    uint32_t partition, segment;  /* where it ends ... */
    uint32_t end_event;           /* ... events of that partition; past all of them: left */
    uint32_t enter_event;         /* or TTP_LONGEST_NO_EVENT: it was entered before */
    uint32_t site, stack, height; /* height: frames below it on its stack */
    ttape_call_end end;
    uint64_t enter_ns, end_ns;
    int64_t self_ns;
    bool is_listed;   /* by an overview */
    uint32_t path_at; /* while its partition is gone through: in its paths, + 1; 0: not there */
    const struct ttp_long_path *path; /* NULL: to be looked for when it is told */
};

/* What led to a call that was entered in the partition in which it ended. */
struct ttp_long_path {
    struct ttp_long_path *next;
    uint64_t size_bytes;
    uint32_t start; /* the first event of its segment */
    uint32_t depth, frame_count;
    ttape_open_frame frames[];
};

/* Paths of the calls of one partition, and those that were kept of several. */
struct ttp_long_paths {
    ttape_open_frame *frames;
    uint32_t count, capacity;
    bool is_on, names_only;
    struct ttp_long_path *kept;
    uint64_t kept_bytes;
};

/* The `capacity` longest so far; the root is the shortest of them. */
struct ttp_long_heap {
    struct ttp_long_call *calls;
    uint32_t count, capacity;
};

/* What is looked for, for all partitions. */
struct ttp_long_plan {
    const uint8_t *sites;   /* by site, 1: selected */
    const uint8_t *streams; /* by stream, 1: selected; NULL: all */
    bool has_range;
    uint64_t from_ns, to_ns;
    ttape_longest_by by;
    bool names_only; /* of paths */
    bool ended_only; /* calls of which a duration is known */
    bool without_callers;
    bool has_durations;
    int64_t least_ns, most_ns; /* of it */
    uint64_t start_ns;         /* of the trace */
};

/* A stream's first frames are calls of the process that forked this one up to a time. */
struct ttp_long_fork {
    uint32_t stream; /* of is_known */
    bool is_known, has_frames;
    uint64_t until_ns;
};

struct ttape_longest {
    struct ttp_memory memory;
    ttape_reader *reader;
    struct ttp_long_fork fork; /* of the stream at hand */
    struct ttp_trace_decoder *decoder;
    ttape_longest_options options;
    ttape_longest_info info;
    struct ttp_long_plan plan;
    uint8_t *sites, *streams;
    int64_t *bounds;      /* by partition: no call that ends in it is longer */
    int64_t *ceilings;    /* the same as overviews say, of partitions whose summaries are read */
    uint8_t *rough;       /* by partition: enum ttp_long_rough */
    uint8_t *listed;      /* by partition: enum ttp_long_listed */
    uint32_t *partitions; /* those with a bound, the largest first */
    uint32_t partition_count, partition_capacity;
    uint32_t refined_count; /* partitions whose bounds were rough */
    struct ttp_long_heap heap;
    bool is_full;                 /* there may be more calls than the heap had */
    struct ttp_long_heap omitted; /* calls that are left out for a callee: longest_callers.c */
    ttape_longest_call *calls;
    struct ttp_long_block *blocks; /* paths and values */
    uint64_t path_bytes;           /* of them: of paths that were found by the search */
};

/* A bound may be that of all partitions of an overview; then the partition is not read, until it
 * is the likeliest. */
enum ttp_long_rough {
    TTP_LONG_FINE,
    TTP_LONG_ROUGH,
    TTP_LONG_DAMAGED /* rough, and could not be read */
};

/* Calls that overviews list are there until their partition is decoded, where it is. */
enum ttp_long_listed {
    TTP_LONG_UNLISTED,
    TTP_LONG_LISTED, /* it may have calls in the heap */
    TTP_LONG_DECODED /* its events gave them once more */
};

/* What a call is chosen by; on_cpu_ns: BY_ON_CPU only. */
static inline int64_t ttp_long_rank(const struct ttp_long_plan *plan, uint64_t enter_ns,
                                    uint64_t end_ns, int64_t self_ns, int64_t on_cpu_ns)
{
    switch (plan->by) {
    case TTAPE_LONGEST_BY_SELF: return self_ns;
    case TTAPE_LONGEST_BY_ON_CPU: return on_cpu_ns;
    case TTAPE_LONGEST_BY_START: return (int64_t)(plan->start_ns - enter_ns);
    default: return (int64_t)(end_ns - enter_ns);
    }
}

/* Whether a callee has nine tenths of a call. */
static inline bool ttp_long_is_most(int64_t callee, int64_t call)
{
    return callee <= call && callee >= call - call / 10;
}

static inline bool ttp_long_is_in_range(const struct ttp_long_plan *plan, uint64_t end_ns)
{
    return !plan->has_range || (end_ns >= plan->from_ns && end_ns < plan->to_ns);
}

/* Whether calls that took from `shortest` to `longest` may be among those asked for. */
static inline bool ttp_long_may_last(const struct ttp_long_plan *plan, int64_t shortest_ns,
                                     int64_t longest_ns)
{
    return !plan->has_durations || (longest_ns >= plan->least_ns && shortest_ns <= plan->most_ns);
}

static inline bool ttp_long_lasts(const struct ttp_long_plan *plan, int64_t duration_ns)
{
    return ttp_long_may_last(plan, duration_ns, duration_ns);
}

/* A call asked for is no longer than this, where none is longer than duration_ns. */
static inline int64_t ttp_long_at_most(const struct ttp_long_plan *plan, int64_t duration_ns)
{
    return plan->has_durations && plan->most_ns < duration_ns ? plan->most_ns : duration_ns;
}

/* No call. */
#define TTP_LONGEST_NONE INT64_MIN

/* ---- longest_heap.c ---- */
/* True where `a` comes before `b` in the answer: a total order. */
bool ttp_long_before(const struct ttp_long_call *a, const struct ttp_long_call *b);
/* Takes a call in where it is among the longest. */
void ttp_long_heap_add(struct ttp_long_heap *heap, const struct ttp_long_call *call);
/* The answer's order; then it is no heap any more. */
void ttp_long_heap_sort(struct ttp_long_heap *heap);
/* Takes out the calls that overviews list of partitions that are decoded now. */
void ttp_long_heap_unlist(struct ttp_long_heap *heap, const uint8_t *listed);
/* True where a call so long, ending in that partition at the earliest, may come in. */
bool ttp_long_heap_wants(const struct ttp_long_heap *heap, int64_t rank_ns, uint32_t partition);

/* ---- longest_bounds.c ---- */
/* Fills bounds and partitions. */
ttape_status ttp_longest_bounds(struct ttape_longest *l, ttape_error *err);
/* Reads the summaries of the likeliest partitions whose bounds are rough, from `at` on, which is
 * one; then partitions from there on are in order again. */
ttape_status ttp_longest_refine(struct ttape_longest *l, uint32_t at, ttape_error *err);
/* Adds the calls that are open where streams end. */
ttape_status ttp_longest_add_open(struct ttape_longest *l, ttape_error *err);
/* Whether it is its stream's last segment. */
bool ttp_longest_is_last(const ttape_reader *r, uint32_t partition, uint32_t segment);
ttape_status ttp_longest_damaged(struct ttape_longest *l, uint32_t partition,
                                 const ttape_error *problem);

/* ---- longest_overviews.c ---- */
/* Fills in bounds that overviews tell, and which are rough; adds calls that they list. */
ttape_status ttp_longest_rough(struct ttape_longest *l, ttape_error *err);

/* ---- longest_callers.c ---- */
enum ttp_long_omitted {
    TTP_LONG_ALONE,     /* no callee of the call has nine tenths of its time */
    TTP_LONG_OMITTED,   /* one that is listed, too, has */
    TTP_LONG_UNCERTAIN, /* one that is not listed may have */
    TTP_LONG_UNASKED    /* the call is not asked for, and no caller is left out for it */
};
/* Tells of each listed call that is ALONE so far what is true of it. False: there is no room. */
bool ttp_longest_omit(struct ttape_longest *l, const struct ttp_listed *listed, uint8_t *omitted);
/* Leaves out of the answer, which is in order, the callers of calls that are known, and what is too
 * much. */
ttape_status ttp_longest_leave_out(struct ttape_longest *l, ttape_error *err);

/* ---- longest_walk.c ---- */
/* The stacks of one partition's segments, one after the other. */
struct ttp_long_walk {
    const struct ttp_loaded *p;
    ttape_reader *reader;             /* NULL: with no plan */
    const struct ttp_long_plan *plan; /* NULL: nothing is selected */
    struct ttp_long_heap *heap;
    const struct ttp_long_heap *known; /* that is to be beaten, too */
    struct ttp_long_heap *omitted;     /* of calls that are left out for a callee */
    struct ttp_long_paths *paths;      /* NULL: none are kept */
    /* flags of a frame: the event that opened it; its clock, where not on_cpu: the ticks of the
     * interval that this event ended */
    struct ttp_frame_stacks stacks;
    int64_t *callee_ticks; /* by frame: its longest callee; for plan->without_callers only */
    uint32_t callee_capacity;
    uint32_t segment, wide;
    bool without_times; /* only which event opened what: the partition need not have its times */
    bool on_cpu; /* the clocks of stacks are time on the CPU; those of frames, at their enter */
    const int64_t *start_off_ns; /* of start frames; NULL: nothing is known of what they did */
    struct ttp_switch_walk switches;
    int64_t tick, step; /* step: of the last interval */
    struct ttp_long_fork fork;
};

ttape_status ttp_long_walk_open(struct ttp_long_walk *w, struct ttp_memory *memory,
                                const struct ttp_loaded *p, ttape_error *err);
void ttp_long_walk_close(struct ttp_long_walk *w);
/* Goes through a segment, and leaves its stacks as they are at its end. */
ttape_status ttp_long_walk_segment(struct ttp_long_walk *w, uint32_t segment, ttape_error *err);
/* The calls that its stacks hold are open where their stream ends. */
void ttp_long_walk_left(struct ttp_long_walk *w);
/* The frame with so many below it on that stack, or NULL. */
const struct ttp_stack_frame *ttp_long_walk_frame(const struct ttp_long_walk *w, uint32_t stack,
                                                  uint32_t height);

/* ---- longest_paths.c ---- */
void ttp_long_paths_start(struct ttp_long_paths *paths, const ttape_reader *r,
                          const struct ttp_loaded *p);
/* The call is that of the top frame, which ends. */
void ttp_long_paths_add(const struct ttp_long_walk *w, struct ttp_long_call *call);
/* Of the partition's calls in the heap, which lose their places in `paths`. */
void ttp_long_paths_keep(struct ttp_long_paths *paths, const struct ttp_loaded *p,
                         struct ttp_long_heap *heap, struct ttp_memory *memory);
void ttp_long_paths_close(struct ttp_long_paths *paths, struct ttp_memory *memory);
/* NULL: there is no room. */
struct ttp_long_path *ttp_long_path_make(struct ttp_memory *memory, uint32_t count);

/* ---- longest_inherited.c ---- */
/* True where a frame of class open, of that time, is one that its process was forked in. `fork`,
 * zero at first, keeps what was found of the stream. */
bool ttp_long_is_inherited(struct ttp_long_fork *fork, ttape_reader *r, uint32_t stream,
                           uint64_t enter_ns);

/* ---- longest_enter.c ---- */
/* The path lives as long as the answer; NULL: there is no room. */
const struct ttp_long_path *ttp_longest_keep_path(struct ttape_longest *l,
                                                  const struct ttp_long_path *path);
/* Makes l->calls of l->heap. */
ttape_status ttp_longest_tell(struct ttape_longest *l, ttape_error *err);
void ttp_longest_forget(struct ttape_longest *l);
/* For so many frames, which are to be filled in; as long as the answer. NULL: there is no room. */
struct ttp_long_path *ttp_longest_new_path(struct ttape_longest *l, uint32_t frame_count);

/* ---- longest_off.c ---- */
/* Fills in how long the thread did not run, if it is known. `end`: where the call ends; height: so
 * many frames are below it on its stack. */
ttape_status ttp_longest_off(struct ttape_longest *l, const struct ttp_segment_entry *end,
                             uint32_t height, ttape_longest_call *call, ttape_error *err);
/* What start frames had before; cpu->rows stays NULL where the partition does not say. */
ttape_status ttp_longest_cpu_times(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                   struct ttp_cpu_times *cpu, ttape_error *err);

#endif
