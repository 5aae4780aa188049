/* Reading a damaged file for what is still sound in it, in three steps:
 *
 *   salvage_scan.c  bytes -> pieces     headers searched wherever one is broken, payloads hashed
 *   salvage_sort.c  pieces -> fates     their trace, copies, their order by sequence number
 *   salvage.c       pieces -> a reader  definitions (holes filled), models, then partitions, each
 *                                       decoded and verified as a whole
 *
 * The reader that comes out has its partitions in the order in which they were written, and every
 * one of them is sound. */
#ifndef TTP_READER_SALVAGE_H
#define TTP_READER_SALVAGE_H

#include <tracetape/recover.h>

#include "format/container/index.h"
#include "reader/definitions/placeholders.h"
#include "reader/reader_internal.h"

#define TTP_NO_PIECE UINT32_MAX

/* A chunk, or bytes that are none (head.kind and head.sequence are then not known). */
struct ttp_salvage_piece {
    uint64_t offset, size_bytes;
    struct ttp_chunk head;
    uint64_t event_count;
    uint32_t series;    /* chunks that stand behind one another with consecutive numbers */
    uint32_t why;       /* index in `whys`, or TTP_NO_PIECE */
    uint32_t partition; /* of the reader, or TTAPE_NONE */
    bool is_chunk, is_sound, events_known;
    uint8_t fate; /* ttape_recover_fate */
};

enum ttp_series_owner { TTP_SERIES_UNKNOWN, TTP_SERIES_HOME, TTP_SERIES_FOREIGN };

struct ttp_chunk_series {
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
    uint8_t owner; /* ttp_series_owner */
    bool has_id;   /* it begins with its trace's first metadata, or with a file header */
};

/* Chunks whose numbers come between those of two chunks that are there. */
struct ttp_hole {
    uint64_t first, count;
    bool is_index; /* the one chunk that is missing is an index: nothing is lost */
};

/* Events of a partition that is lost, as its own segments or an index tell. */
struct ttp_lost_segment {
    uint64_t first_event, sequence;
    uint32_t stream; /* file-wide */
    uint32_t event_count;
};

#define TTP_MAX_WHYS 65536u

/* For callers that want the file up to an end only: what stands behind it is skipped, and is no
 * loss. */
struct ttp_salvage_end {
    /* Does this partition, whose segments are known, stand behind the end? `before`: partitions
     * that were found before it, `missing`: chunks that are nowhere, which may be some, too. */
    bool (*is_behind)(void *context, const ttape_reader *r, const struct ttp_partition_entry *entry,
                      uint64_t before, uint64_t missing);
    void *context;
};

struct ttp_salvage {
    ttape_reader *r;
    struct ttp_placeholders placeholders;
    struct ttp_salvage_piece *pieces;
    struct ttp_chunk_series *series;
    ttape_error *whys;
    struct ttp_hole *holes;
    struct ttp_lost_segment *lost;
    uint32_t *order; /* pieces of our trace by sequence number, one of each */
    uint32_t piece_count, piece_capacity, series_count, series_capacity, why_count, why_capacity;
    uint32_t hole_count, hole_capacity, lost_count, lost_capacity, order_count, order_capacity;
    uint64_t rescan_bytes; /* that may still be looked at twice */
    bool has_header;       /* the file header is sound */
    ttape_error header_error;
    bool has_footer;
    struct ttp_footer footer; /* the last sound one */
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
    uint64_t index_end;         /* an index tells about all chunks with numbers below this */
    uint32_t *partition_losses; /* per partition of the reader: holes and lost chunks before it */
    uint32_t partition_losses_capacity;
    uint32_t losses;                   /* all of them */
    const struct ttp_salvage_end *end; /* NULL: all of the file is wanted */
};

/* Opens what there is. Failures of memory, I/O and version, and TTAPE_E_NOT_TRACE; findings are in
 * the pieces. `end`: NULL, or where to stop. To be closed in any case. */
ttape_status ttp_salvage_open(struct ttp_salvage *s, const ttape_source *source,
                              const ttape_reader_options *options,
                              const struct ttp_salvage_end *end, ttape_error *err);
/* Nothing is missed behind the last partition that is kept: what is lost there is skipped. */
void ttp_salvage_forgive_tail(struct ttp_salvage *s);
/* Calls back for each of `losses`, in their order, and says whether its events are known. */
void ttp_salvage_each_loss(const struct ttp_salvage *s,
                           void (*take)(void *context, uint32_t loss, bool is_known),
                           void *context);
void ttp_salvage_close(struct ttp_salvage *s);

/* The steps. */
ttape_status ttp_salvage_scan(struct ttp_salvage *s, ttape_error *err);
ttape_status ttp_salvage_sort(struct ttp_salvage *s, ttape_error *err);

/* Says why, and gives the piece a fate. */
ttape_status ttp_salvage_settle(struct ttp_salvage *s, struct ttp_salvage_piece *piece,
                                ttape_recover_fate fate, const ttape_error *why, ttape_error *err);

/* An index's view of the chunks before it: entries by sequence number. Taken from the reader's
 * memory with `capacity` items; NULL and TTAPE_OK where the index does not hold together. */
ttape_status ttp_salvage_read_index(ttape_reader *r, const struct ttp_salvage_piece *piece,
                                    struct ttp_index_entry **entries, uint32_t *count,
                                    uint32_t *capacity, ttape_error *err);
/* Segments of the lost partitions that the last sound index names: into s->lost. */
ttape_status ttp_salvage_lost_by_index(struct ttp_salvage *s, ttape_error *err);

/* Machine failures end everything; others are about a piece. */
static inline bool ttp_salvage_must_stop(const struct ttp_salvage *s, ttape_status status)
{
    (void)s;
    return status == TTAPE_E_MEMORY || status == TTAPE_E_IO;
}

#endif
