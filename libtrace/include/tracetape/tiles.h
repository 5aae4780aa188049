/* Tiles: what a stream did, at any scale, in a size that does not depend on how many events it has.
 *
 * A tile is 256 buckets of 2^level ticks each, aligned: bucket i of tile n starts at tick
 * (256 n + i) * 2^level of the stream's axis. So tiles of all streams of one axis lie side by side,
 * and one of the next level has the buckets of two. Each bucket has up to 16 *instants*, at equal
 * distances from its start on; what a tile says is what the stream's current stack was at these,
 * which is the same whether it comes from the events, from what partitions say beside them, or from
 * overviews (spec/format.md, section 12): a tile never depends on where it came from.
 *
 * The *path* of a bucket: at each depth the function (or signal) that the stack has there at most
 * of the instants that it has the path so far at; of several the one that comes first. A *bar* is
 * one of these over neighbouring buckets. A time in which nothing is known has no path, and its
 * buckets say so; frames that were entered before their stream begins are not known.
 *
 * Threads: an answer does not change: any thread may read it. Others may use the reader while it is
 * made; the reader must outlive it. */
#ifndef TRACETAPE_TILES_H
#define TRACETAPE_TILES_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTAPE_TILE_BUCKETS  256u
#define TTAPE_TILE_INSTANTS 16u /* of a bucket, at most */
#define TTAPE_TILE_LEVELS   56u /* 0 .. 55: then two tiles are all of the axis */

typedef struct ttape_tile ttape_tile;

/* Where a tile may come from; may be or-ed. */
typedef enum ttape_tile_source {
    TTAPE_TILE_FROM_EVENTS = 1,
    TTAPE_TILE_FROM_INSTANTS = 2, /* what partitions say of them, without their events */
    TTAPE_TILE_FROM_OVERVIEWS = 4 /* what overviews say of them, without their partitions */
} ttape_tile_source;

/* The time of a tick is origin_ns + tick * resolution_ns. Partitions of another axis, which a
 * merged file may have, count by the tick in which their times lie. */
typedef struct ttape_tile_axis {
    bool has_times; /* without: there are no ticks, and nothing is known in any tile */
    uint64_t origin_ns, resolution_ns;
    int64_t first_tick, last_tick; /* the stream's events lie in between, both included */
    uint64_t reserved[4];
} ttape_tile_axis;

/* Zero means the default everywhere. */
typedef struct ttape_tile_options {
    size_t size; /* sizeof(ttape_tile_options) */
    uint32_t stream;
    uint32_t level;
    int64_t index;         /* of the tile; negative ones lie before tick 0 */
    uint32_t instants;     /* of a bucket: 1, 2, 4, 8 or 16; default 16; at most 2^level are used */
    uint32_t depths;       /* deeper frames are left out; default 4,096 */
    uint32_t sources;      /* ttape_tile_source; default all */
    uint64_t memory_bytes; /* of the answer; default 256 MiB */
    /* A partition that cannot be read and is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t partition, const ttape_error *error);
    void *context;            /* of it */
    const ttape_watch *watch; /* NULL: nobody */
    /* Fewer instants than that, down to one of each bucket, where so many would need the events of
     * segments of which one does not: ttape_tile_info says how many. */
    bool adapts;
} ttape_tile_options;

typedef struct ttape_tile_bucket {
    uint32_t known; /* instants at which the stack is known */
    /* Events are missing somewhere behind the last instant before that is known, up to the last one
     * of these. */
    bool has_gaps;
} ttape_tile_bucket;

/* Neighbouring buckets whose paths have the same down to here, and that are not of one call each
 * that differ. */
typedef struct ttape_tile_bar {
    uint32_t start, length; /* buckets */
    uint32_t depth;         /* 0: outermost known frame of its stack */
    uint32_t site;          /* or TTAPE_NONE: a signal's handler */
    uint32_t signal;        /* its number */
    uint32_t instants;      /* of these buckets, at which the stack has this path */
    uint32_t calls;         /* at least so many, as seen at these */
    uint32_t reserved;
} ttape_tile_bar;

typedef struct ttape_tile_info {
    uint32_t stream, level;
    int64_t index;
    uint32_t instants; /* of each bucket */
    uint32_t bar_count, depth_count;
    bool is_cut;             /* some frames are deeper than options.depths */
    uint32_t segment_count;  /* of the stream's partitions, that were looked at ... */
    uint32_t event_count;    /* ... of which from their events, ... */
    uint32_t left_out_count; /* ... left out, as no source that is allowed has them so fine ... */
    uint32_t damaged_count;  /* ... or as they cannot be read */
    uint32_t section_count;  /* ... from what their partitions say of instants */
    uint32_t overview_count; /* ... from what overviews say of them */
    uint64_t reserved[5];
} ttape_tile_info;

TTAPE_API ttape_status ttape_tile_get_axis(const ttape_reader *reader, uint32_t stream,
                                           ttape_tile_axis *axis, ttape_error *err);

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_tile_make(ttape_tile **out, ttape_reader *reader,
                                       const ttape_tile_options *options, ttape_error *err);
TTAPE_API void ttape_tile_close(ttape_tile *tile);

TTAPE_API void ttape_tile_get_info(const ttape_tile *tile, ttape_tile_info *info);
/* By depth, then by start; they live as long as the tile. Of NULL: none. */
TTAPE_API const ttape_tile_bar *ttape_tile_get_bars(const ttape_tile *tile, uint32_t *bar_count);
/* TTAPE_TILE_BUCKETS of them. Of NULL: NULL. */
TTAPE_API const ttape_tile_bucket *ttape_tile_get_buckets(const ttape_tile *tile);

#ifdef __cplusplus
}
#endif
#endif
