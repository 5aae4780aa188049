/* The execution tree: threads, calls, their calls, opened where somebody looks.
 *
 *   trace -> stream -> frame -> frame -> ...
 *                   -> part (what is local to one partition) -> frame -> ...
 *
 * A frame is local when it begins and ends inside one partition, and spanning when it crosses a
 * boundary between two. What is open at the boundaries is stored, so all spanning frames are known
 * without decoding anything. What is local to a partition hangs as one *part* below a spanning
 * frame that is open in it (that to which most of its time belongs), or below the stream, and is
 * pruned until somebody opens it.
 *
 * A node's time is from its enter to its end, self the time in which it is on top of its stack.
 * Always, to the nanosecond, where a thread keeps to one stack:
 *
 *   time = self + rest + the times of its children (frames and parts)
 *
 * where rest is time of the partitions in which the node begins and ends that nobody split yet; it
 * is 0 with TTAPE_TREE_FULL. Where a thread changes stacks, times of children on other stacks
 * overlap, and rest is also time in which the node's stack was not the current one.
 *
 * Memory: records of partitions in a cache of bounded size, and the reader's cache of decoded
 * partitions; a walk has no memory of its own. Threads: a tree and its walks are used by one thread
 * at a time, while others use the reader; with `jobs`, others help to read. */
#ifndef TRACETAPE_TREE_H
#define TRACETAPE_TREE_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_tree ttape_tree;
typedef struct ttape_tree_walk ttape_tree_walk;

typedef enum ttape_node_kind {
    TTAPE_NODE_TRACE = 0,  /* everything; its children are the streams */
    TTAPE_NODE_STREAM = 1, /* a thread; `stream` */
    TTAPE_NODE_PART = 2,   /* what is local to a partition; `stream`, `partition` */
    TTAPE_NODE_FRAME = 3,  /* a call, or a signal handler's run */
    TTAPE_NODE_KIND_COUNT = 4
} ttape_node_kind;

/* How a frame is named. */
typedef enum ttape_node_by {
    TTAPE_NODE_BY_NOTHING = 0, /* not a frame */
    TTAPE_NODE_BY_EVENT = 1,   /* `place`: number of its enter in the stream */
    TTAPE_NODE_BY_END = 2,     /* spanning; first open at the end edge of the stream's segment in
                                * `partition`, there at place `place` */
    TTAPE_NODE_BY_START = 3    /* the same at the start edge, where nothing is in the file before */
} ttape_node_by;

/* Names a node in its file for ever. A spanning frame has two names; nodes carry that of an
 * edge. */
typedef struct ttape_node_id {
    ttape_node_kind kind;
    ttape_node_by by;
    uint32_t stream, partition;
    uint64_t place;
} ttape_node_id;

/* How much is decoded for what is asked. */
typedef enum ttape_tree_mode {
    TTAPE_TREE_PRUNED = 0, /* nothing but local frames asked for by name, and children of parts */
    TTAPE_TREE_OPENED = 1, /* the partitions in which the node begins and ends, two at most */
    TTAPE_TREE_FULL = 2,   /* all: no parts, every number exact */
    TTAPE_TREE_MODE_COUNT = 3
} ttape_tree_mode;

typedef enum ttape_node_end {
    TTAPE_NODE_ENDED = 0,  /* at end_ns, by exit or unwinding */
    TTAPE_NODE_OPEN = 1,   /* it was open when the recording ended; end_ns is then */
    TTAPE_NODE_HIDDEN = 2, /* between end_ns and end_most_ns, in last_partition: see the modes */
    TTAPE_NODE_LOST = 3,   /* events behind end_ns, or where it ended, are missing */
    TTAPE_NODE_UNSEEN = 4, /* at end_ns at the earliest: its end was not seen */
    TTAPE_NODE_LATE = 5    /* at end_ns at the latest: its exit was not seen */
} ttape_node_end;

/* What was pruned below a node: parts. Counts are those of a thread's whole run in a partition,
 * also where some of that lies below other frames that begin or end there: so each event counts
 * once, and a stream's parts have all of its events. */
typedef struct ttape_pruned {
    uint64_t part_count;
    uint64_t event_count;
    uint64_t call_count;
    bool calls_exact; /* otherwise they are shared out: right over a partition's threads together */
    int64_t time_ns;  /* of the node and all below it, what no frame that is known was on top for */
    uint64_t reserved[1];
} ttape_pruned;

typedef struct ttape_node {
    ttape_node_id id;
    ttape_event_kind frame_kind; /* frames: TTAPE_EVENT_ENTER, _OPEN or _SIGNAL_BEGIN */
    uint32_t site;               /* or TTAPE_NONE */
    uint32_t argument;           /* signal number */
    uint32_t stack;              /* that it is on */
    uint32_t level;              /* frames below it on its stack */
    ttape_node_end end;
    uint32_t first_partition, last_partition;
    uint64_t enter_ns; /* may lie before what the file has; start_ns does not */
    uint64_t start_ns, end_ns, end_most_ns;
    int64_t time_ns; /* start_ns to end_ns; a least value where the end is hidden */
    int64_t self_ns; /* streams: no frame is open */
    bool self_exact; /* otherwise a least value */
    int64_t rest_ns;
    bool is_spanning;
    bool counts_exact;    /* the next two are known: of local nodes, and in full mode */
    uint64_t event_count; /* of the node and below it, its own enter and end included */
    uint64_t call_count;  /* enters below it, its own not included */
    ttape_pruned pruned;  /* of spanning nodes; of parts: what they are */
    uint64_t reserved[1];
} ttape_node;

/* Zero means the default everywhere. */
typedef struct ttape_tree_options {
    size_t size;          /* sizeof(ttape_tree_options) */
    uint64_t cache_bytes; /* of partitions' records; default 32 MiB, one is always kept */
    uint32_t jobs;        /* threads that read and decode; 0: as many as the reader's options say */
} ttape_tree_options;

/* *out is NULL on failure. Reads nothing yet. The reader must outlive the tree. */
TTAPE_API ttape_status ttape_tree_open(ttape_tree **out, ttape_reader *reader,
                                       const ttape_tree_options *options, ttape_error *err);
TTAPE_API void ttape_tree_close(ttape_tree *tree);

/* The node of a name. TTAPE_E_NOT_FOUND: there is none. */
TTAPE_API ttape_status ttape_tree_get_node(ttape_tree *tree, const ttape_node_id *id,
                                           ttape_tree_mode mode, ttape_node *out, ttape_error *err);

/* A node's children, in order of time (a trace's: of streams), one at a time. A walk belongs to its
 * tree, and ends with it. */
TTAPE_API ttape_status ttape_tree_walk_open(ttape_tree_walk **out, ttape_tree *tree,
                                            const ttape_node_id *id, ttape_tree_mode mode,
                                            ttape_error *err);
/* TTAPE_END when there is no further child. After a failure the walk goes on behind what could not
 * be read, where there is something; the status of bytes (20 and above) tells so. */
TTAPE_API ttape_status ttape_tree_walk_next(ttape_tree_walk *walk, ttape_node *out,
                                            ttape_error *err);
/* The next children, up to `capacity`, and with each local one what is below it: the nodes of so
 * many levels, by one look at each event. depths[i] says how many levels below the walk's node
 * nodes[i] is: 1 is a child; those below a local frame come before it. Who goes through a walk by
 * this function does not by the other. Statuses are those of ttape_tree_walk_next. */
TTAPE_API ttape_status ttape_tree_walk_next_nodes(ttape_tree_walk *walk, uint32_t depth_most,
                                                  ttape_node *nodes, uint32_t *depths,
                                                  size_t capacity, size_t *count, ttape_error *err);
TTAPE_API void ttape_tree_walk_close(ttape_tree_walk *walk);

/* The frames that a stream has open at a time, outermost first, by name: *count of them, of which
 * the first `capacity` are written. */
TTAPE_API ttape_status ttape_tree_find_time(ttape_tree *tree, uint32_t stream, uint64_t time_ns,
                                            ttape_node_id *ids, size_t capacity, size_t *count,
                                            ttape_error *err);

/* A function, and its own time in a partition; without times, its calls. */
typedef struct ttape_tree_share {
    uint32_t site;
    uint64_t weight;
} ttape_tree_share;

/* The functions that had a 64th or more of the own time of all in a partition, over all of its
 * threads, by site: nothing is decoded. *all: of all functions. They are good until the next call
 * on the tree. */
TTAPE_API ttape_status ttape_tree_get_shares(ttape_tree *tree, uint32_t partition,
                                             const ttape_tree_share **shares, uint32_t *share_count,
                                             uint64_t *all, ttape_error *err);

/* How many events the tree has looked at so far, each time counted: a small file can have so many
 * levels and stacks that all of its tree takes hours. Who goes through one can stop in time. */
TTAPE_API uint64_t ttape_tree_get_work(const ttape_tree *tree);

#ifdef __cplusplus
}
#endif
#endif
