/* One partition in memory, and what libtrace/copy/copy.c needs of a reader: stored bytes, scopes,
 * models, edges, events.
 *
 * A ttp_loaded belongs to its decoder's cache. It stays where it is until the decoder is given
 * back, or loads another partition, which may evict it: fetch it again (ttp_loaded_get is cheap
 * when nothing happened) rather than keep the pointer. */
#ifndef TTP_READER_PARTITION_READER_H
#define TTP_READER_PARTITION_READER_H

#include <stdbool.h>

#include <tracetape/calls.h>
#include <tracetape/reader.h>

#include "format/container/chunk.h"
#include "format/container/measures/cpu_times.h"
#include "format/container/measures/own_times.h"
#include "format/container/measures/summary.h"
#include "format/container/partition.h"
#include "format/container/segments.h"
#include "format/container/switches.h"
#include "format/container/values.h"
#include "format/order/order.h"
#include "reader/partition/frame_stacks.h"

struct ttp_trace_decoder; /* reader_internal.h */
struct ttp_segment_entry;
struct ttp_edge_frames;

/* How much of a partition is decoded; each includes those before it. */
enum ttp_stage {
    TTP_STAGE_LIGHT = 1, /* head, segments with bases and edges */
    TTP_STAGE_ORDER =
        2, /* codes, symbols, depths, switches, values of gaps; and times and checks as far as
                             ttp_loaded_reach was asked for them */
    TTP_STAGE_EVENTS = 3, /* all times; everything is checked */
    TTP_STAGE_VALUES = 4  /* values */
};

/* What a code means as an event. The first four are the end of a ttape_event, copied at once. */
struct ttp_code_view {
    uint32_t kind; /* ttape_event_kind */
    uint32_t site; /* file-wide, or TTAPE_NONE */
    uint32_t argument;
    uint32_t depth;  /* 0: the walk knows it */
    int32_t before;  /* frames that the event adds to the depth before its own depth counts ... */
    uint8_t after;   /* ... and after it */
    uint8_t special; /* needs more than this table: see walk.c */
    uint8_t event_class;
};

/* Whether a frame that an event pops is unwound; left: -1 for the last of these. An exit across
 * leaves all but that one. */
static inline bool ttp_code_unwinds(const struct ttp_code_view *v, int32_t left)
{
    return v->event_class == TTP_CLASS_UNWIND ||
           (v->event_class == TTP_CLASS_EXIT_ACROSS && left != -1);
}

/* The state of a walk through a segment before event `event` of the partition. */
struct ttp_walker {
    int64_t tick; /* of the event before */
    uint32_t event;
    uint32_t segment;
    uint32_t frames;          /* on the current stack */
    uint32_t unknown;         /* unknown depth */
    int32_t offset;           /* depth offset */
    uint32_t special, change; /* next entries of the sparse lists */
    bool is_untimed;          /* times do not go on */
};

#define TTP_CHECKPOINT_EVENTS 1024u

/* A fact that the code alone does not tell: for exit across the symbol of the frame that exits, for
 * a switch the frames on the new stack. */
struct ttp_special {
    uint32_t event, value;
};

/* The content of one section: section_reader.h. */
struct ttp_content {
    const uint8_t *data;
    size_t size_bytes;
    uint8_t *stored, *plain; /* owned, or NULL */
    const struct ttp_section *section;
    uint64_t offset; /* of the section in the file */
};

struct ttp_loaded {
    struct ttp_loaded *newer, *older, *same_chain; /* cache.c */
    uint64_t used_bytes;
    uint32_t partition, scope;
    int stage;
    uint64_t payload_offset; /* in the file */
    struct ttp_partition_head head;
    uint8_t *light; /* chunk header, head and light sections, as stored */
    uint32_t light_bytes;
    struct ttp_segments segments;
    uint32_t *segment_start; /* segment_count + 1 */
    /* order */
    uint32_t *codes;
    struct ttp_symbol *symbols;
    uint32_t symbol_count, symbol_capacity;
    uint32_t *open;              /* symbols of the start frames */
    struct ttp_code_view *views; /* 2 * symbol_count */
    bool has_others;             /* a symbol neither pushes nor is a leaf ... */
    bool has_leaves;             /* ... is one */
    bool has_arguments;          /* ... has an argument that is not 0 */
    /* times: those of some blocks are there (times_reader.c) */
    uint32_t *delta; /* NULL without times */
    int64_t *wide;   /* wide_count of these blocks, in order, and the events that they belong to */
    uint32_t *wide_event;
    uint32_t wide_count, wide_capacity;
    uint8_t *time_blocks;      /* 1: it is there */
    uint32_t time_block_count; /* so many are */
    int64_t *ticks;            /* before event i * TTP_CHECKPOINT_EVENTS, in its segment */
    int64_t *block_ticks; /* the same for the first event of every block, as the directory says */
    struct ttp_content times; /* open until stage EVENTS ... */
    void *times_decoder;      /* ... and what its decoder keeps */
    const char *times_rule;   /* that the directory is right */
    bool steps_back; /* some difference is negative, or may be as long as not all are there */
    /* checks: those of the events before checked.event are done (events_check.c) */
    struct ttp_walker checked;
    struct ttp_frame_stacks stacks;
    struct ttp_stack_numbers stack_numbers;
    /* walkers to start from, but for the tick */
    struct ttp_walker *starts; /* of each segment */
    struct ttp_walker *
        checkpoints; /* before event i * TTP_CHECKPOINT_EVENTS, where that is inside of a segment */
    struct ttp_special *specials;
    uint32_t special_count, special_capacity;
    struct ttp_depth_change *changes;
    uint32_t change_count;
    struct ttp_switches switches; /* no segments: there is no such section */
    struct ttp_special *ends;     /* ttape_unwind_kind of those that are not TTAPE_UNWIND_LEFT */
    uint32_t end_count, end_capacity;
    /* values */
    struct ttp_values values;
    bool has_values;
    uint32_t gap_count;
    uint64_t lost_count;
    /* model chunks only (model_reader.c): `partition` is its index in the reader's list */
    bool is_model;
    void *snapshot; /* struct ttp_chain_primer */
    size_t snapshot_capacity;
};

/* How an unwind or exit across at `event` left its frames: ttape_unwind_kind. */
uint32_t ttp_loaded_unwind_kind(const struct ttp_loaded *loaded, uint32_t event);
/* The end of a call that such an event leaves. */
static inline ttape_call_end ttp_call_end_of(uint64_t unwind_kind)
{
    return unwind_kind == TTAPE_UNWIND_UNSEEN ? TTAPE_CALL_UNSEEN
           : unwind_kind == TTAPE_UNWIND_LATE ? TTAPE_CALL_LATE
           : unwind_kind == TTAPE_UNWIND_LOST ? TTAPE_CALL_LOST
                                              : TTAPE_CALL_UNWOUND;
}
/* Whether ends that are not known are among those that its summary counts. */
bool ttp_loaded_has_ends(const struct ttp_loaded *loaded);

/* Loads a partition up to a stage. Errors have file offsets. */
ttape_status ttp_loaded_get(struct ttp_trace_decoder *d, uint32_t partition, enum ttp_stage stage,
                            struct ttp_loaded **out, ttape_error *err);

/* Events of a partition that are about to be looked at. */
struct ttp_range {
    uint32_t first, end; /* their times are wanted ... */
    uint32_t checked;    /* ... and all before this event checked, so that walkers may go there */
    bool values;
};

/* Loads a partition to stage ORDER, and as much of times and checks as the range needs: a seek
 * costs a few blocks. */
ttape_status ttp_loaded_reach(struct ttp_trace_decoder *d, uint32_t partition,
                              const struct ttp_range *range, struct ttp_loaded **out,
                              ttape_error *err);

/* The stored payload of a partition, its chunk header checked and its hash verified. *payload was
 * taken from the reader's memory: give it back with ttp_payload_free. */
ttape_status ttp_payload_read(struct ttp_trace_decoder *d, uint32_t partition,
                              struct ttp_chunk *chunk, uint8_t **payload, ttape_error *err);
void ttp_payload_free(struct ttp_trace_decoder *d, uint8_t *payload, const struct ttp_chunk *chunk);
/* The index of the model that the partition names; TTAPE_E_NOT_FOUND when it names none. */
ttape_status ttp_payload_find_model(struct ttp_trace_decoder *d, uint32_t partition,
                                    uint32_t *index, ttape_error *err);
/* As ttp_payload_read, of the model chunk at that index. */
ttape_status ttp_payload_read_model(struct ttp_trace_decoder *d, uint32_t index,
                                    struct ttp_chunk *chunk, uint8_t **payload, ttape_error *err);

/* Scopes, numbered below ttp_scope_count; ids that do not exist give TTAPE_NONE. */
uint32_t ttp_scope_count(const ttape_reader *reader);
const uint8_t *ttp_scope_trace_id(const ttape_reader *reader, uint32_t scope);
uint32_t ttp_partition_scope(const ttape_reader *reader, uint32_t partition);
struct ttp_scope_counts {
    uint32_t site_count, module_count, file_count, process_count, stream_count, path_count;
};
struct ttp_scope_counts ttp_scope_count_ids(const ttape_reader *reader, uint32_t scope);
/* File-wide number of a scope's id, for ttape_reader_get_site and its like; TTAPE_NONE when there
 * is none. */
uint32_t ttp_scope_site(const ttape_reader *reader, uint32_t scope, uint32_t id);
uint32_t ttp_scope_module(const ttape_reader *reader, uint32_t scope, uint32_t id);
uint32_t ttp_scope_process(const ttape_reader *reader, uint32_t scope, uint32_t id);
uint32_t ttp_scope_stream(const ttape_reader *reader, uint32_t scope, uint32_t id);
/* The same of paths, which are numbered from 1 on; 0 when there is none. */
uint32_t ttp_scope_path(const ttape_reader *reader, uint32_t scope, uint32_t id);
uint32_t ttp_local_path(const ttape_reader *reader, uint32_t path);
/* The way back: the scope's id of a file-wide number (that exists), and the scope. */
uint32_t ttp_local_site(const ttape_reader *reader, uint32_t site, uint32_t *scope);
uint32_t ttp_local_module(const ttape_reader *reader, uint32_t module, uint32_t *scope);
uint32_t ttp_local_process(const ttape_reader *reader, uint32_t process, uint32_t *scope);
uint32_t ttp_local_stream(const ttape_reader *reader, uint32_t stream, uint32_t *scope);

/* A segment of a partition: file-wide stream, and the number of its first event. It exists. */
const struct ttp_segment_entry *ttp_partition_segment(const ttape_reader *reader,
                                                      uint32_t partition, uint32_t segment);

/* A walker before event `event` (of the partition, within segment `segment` or at its end). */
struct ttp_walker ttp_walker_at(const struct ttp_loaded *loaded, uint32_t segment, uint32_t event);
/* The same where no times were decoded: all are the segment's first. */
struct ttp_walker ttp_walker_untimed(const struct ttp_loaded *loaded, uint32_t segment,
                                     uint32_t event);
/* On to before event `event`, which is not behind the walker's segment's end. */
void ttp_walker_go(const struct ttp_loaded *loaded, struct ttp_walker *walker, uint32_t event);
/* Produces events [walker->event, end) of the walker's segment: `out` has room. Counts of gaps are
 * filled in. */
void ttp_walker_events(const struct ttp_loaded *loaded, struct ttp_walker *walker, uint32_t end,
                       ttape_event *out);
/* The same as columns, the events numbered from `number` on. */
void ttp_walker_columns(const struct ttp_loaded *loaded, struct ttp_walker *walker, uint32_t end,
                        const ttape_event_columns *out, uint64_t number);

/* Values of an event of the partition (stage VALUES, or reached with values): [*first, *first +
 * *count) of loaded->values. */
void ttp_loaded_values(const struct ttp_loaded *loaded, uint32_t event, uint32_t *first,
                       uint32_t *count);
/* As the public API shows it; false for what is not shown (the count of a gap). */
bool ttp_loaded_value(const struct ttp_loaded *loaded, uint32_t value, ttape_value *out);

/* The state before event `event` of a segment (the segment reached behind it; at its edges stage
 * LIGHT). without_self: self times are 0; then the event's own time is enough, and others are
 * reached as needed. out->frames points into *frames, which grows as needed; the caller gives it
 * back. */
ttape_status ttp_loaded_edge(struct ttp_trace_decoder *d, const struct ttp_loaded *loaded,
                             uint32_t segment, uint32_t event, struct ttp_edge_frames *frames,
                             bool without_self, ttape_edge *out, ttape_error *err);

#endif
