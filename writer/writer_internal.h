/* The writer's inside: scopes with their definitions and streams, the pending partition, the jobs.
 *
 *   append.c            events -> pending partition (codes, differences, frames, measures)
 *   seal.c              pending partition -> job
 *   partition_encoder.c job -> payload bytes (in a worker or in place), partition_arrange.c first
 *   emit.c              payloads -> chunks -> sink; index and footer */
#ifndef TTP_WRITER_INTERNAL_H
#define TTP_WRITER_INTERNAL_H

#include <stdbool.h>

#include <tracetape/writer.h>

#include "format/container/chunk.h"
#include "format/container/index.h"
#include "format/container/layout.h"
#include "format/container/measures/cpu_times.h"
#include "format/container/measures/outlines.h"
#include "format/container/measures/overview.h"
#include "format/container/measures/own_times.h"
#include "format/container/measures/summary.h"
#include "format/container/partition.h"
#include "format/container/paths.h"
#include "format/container/segments.h"
#include "format/container/switches.h"
#include "format/container/values.h"
#include "format/order/order.h"
#include "writer/event_batch.h"
#include "writer/growing.h"

#define TTP_SYMBOL_BLOCK    64u      /* symbols in the first block, each is twice the one before */
#define TTP_SYMBOL_BLOCKS   20u      /* 2^26 symbols in a scope; blocks never move: workers read */
#define TTP_MAX_STRETCHES   131072u  /* of one stream's events, in a pending partition */
#define TTP_MAX_EDGE_FRAMES 1048576u /* open frames at start edges: see pending_full() */
#define TTP_OWN_TIMES_SHARE 350u     /* 0.3 % */
#define TTP_OVERVIEW_SHARE  400u     /* 0.25 % */
#define TTP_INSTANTS_SHARE  800u     /* 0.125 % */
#define TTP_INSTANT_EVENTS  8192u    /* for one instant, about */
#define TTP_MERGED_INSTANTS 2048u    /* of an overview, about */
#define TTP_ACROSS_MAX      1024u    /* how far up an exit looks for its frame */

/* What the writer keeps of a site while it is open: at most 256 bytes, names are not kept once they
 * are written. */
struct ttp_site_state {
    uint32_t enter_symbol, leaf_symbol; /* scope-wide symbol + 1, 0: none yet */
    uint32_t active;  /* frames of the site on the loaded stream's current stack */
    uint32_t touched; /* epoch of the last partition that has a row for it */
    int64_t active_since;
    uint64_t call_count, exit_count;
    int64_t self_ticks, total_ticks;
    int64_t min_ticks, max_ticks, max_self_ticks; /* of nothing where no frame ended */
    ttape_wide squares;
    /* over the partitions of the scope's group: */
    uint32_t *counts; /* of durations, by bucket; NULL: no frame yet */
    uint32_t counts_bytes;
    uint32_t group_row, leaf_row; /* + 1, 0: none yet */
    uint32_t listed;              /* its list of longest calls + 1, 0: none yet */
    int64_t wanted_ticks;         /* a frame of less comes into no list */
};

_Static_assert(sizeof(struct ttp_site_state) == 128 || sizeof(void *) < 8, "a power of two");

/* An open frame of a stream. */
struct ttp_open {
    int64_t enter_tick;
    int64_t self_ticks;  /* so far */
    int64_t self_before; /* part of it that earlier partitions count */
    uint32_t symbol;     /* scope-wide */
    uint32_t site;       /* TTAPE_NONE for signal frames */
    uint32_t argument;
    uint8_t event_class;
    uint32_t enter_event; /* of the segment that it was entered in */
    uint32_t node;        /* encode/listed_writer.c: in this group or one before; 0: none yet */
};

/* What of a site's frames was not on the CPU: events/off_times.c. */
struct ttp_site_off {
    uint32_t epoch; /* of the partition that all of it is of */
    uint64_t self_ns[TTP_OFF_KINDS], total_ns[TTP_OFF_KINDS];
    uint64_t exit_count; /* ended frames that have an entry, and the longest of them */
    int64_t max_ticks, max_on_ns;
};

/* What of a frame, and of no frame that it called, was not on the CPU. */
struct ttp_off_entry {
    uint32_t height;                  /* frames up to it */
    int64_t off_ns;                   /* of its whole life */
    uint64_t kinds_ns[TTP_OFF_KINDS]; /* since the partition began or its stream was loaded */
};

struct ttp_stack {
    uint32_t id;
    uint32_t count, capacity;
    uint32_t low;            /* fewest frames since the segment's start */
    uint32_t start_count;    /* frames at the segment's start */
    struct ttp_growing offs; /* struct ttp_off_entry, by ascending height */
    int64_t left_tick;       /* when it stopped being the current one */
    struct ttp_open *frames;
};

struct ttp_stream_state {
    uint64_t next_event;
    uint64_t indexed_next; /* next event number as far as the index knows */
    int64_t last_tick;
    uint32_t unknown_depth;
    int32_t depth_offset;
    uint32_t current; /* index into stacks */
    uint32_t stack_count, stack_capacity, order_capacity;
    struct ttp_stack *stacks; /* by first use */
    uint32_t *stack_order;    /* indexes into stacks, by ascending id */
    uint64_t behind_gap;      /* number of the event behind a gap, and what it left */
    uint32_t epoch;           /* of the last partition that has a segment of it */
    uint32_t segment;         /* there */
    bool started;             /* has a base: an event or a resumed edge */
    bool stale;               /* partitions were copied: resume before the next append */
    bool valued;              /* its last event has values already */
    bool is_known;            /* its switches are, from event known_from on */
    uint64_t known_from;
    struct ttp_growing spans; /* ttape_off_span: by event number, not sealed yet */
    size_t span_next;         /* the first of them that was not appended yet */
    bool is_tracked;          /* switches of the segment are known */
    uint32_t outline_group;   /* + 1: the scope's last group that has a segment of it ... */
    struct ttp_outline_origin outline; /* ... which is this one */
};

/* What values are called, of sites whose names no chunk holds yet. */
struct ttp_fresh_names {
    struct ttp_growing enumerations; /* encoded, one after the other ... */
    struct ttp_growing places;       /* ... struct ttp_names_place, by number ... */
    struct ttp_growing slots;        /* ... and uint32_t number + 1: open addressing by content */
    struct ttp_growing rows;         /* encoded values of sites ... */
    struct ttp_growing sites;        /* ... and struct ttp_fresh_site */
};

/* A scope's definitions that no chunk holds yet, in the form in which they will be written. */
struct ttp_definitions {
    struct ttp_growing modules, files, processes, streams; /* rows, encoded */
    struct ttp_growing sites;                              /* struct ttp_pending_site */
    struct ttp_growing text;                               /* symbols of sites, and names */
    struct ttp_growing names;                              /* of stream_names.c */
    uint32_t first_module, module_count, first_file, file_count, first_site, site_count;
    uint32_t first_process, process_count, first_stream, stream_count;
    struct ttp_growing links; /* struct ttp_path_link: sites with a path, ascending */
    uint32_t path_count;      /* the scope's last ones */
    struct ttp_fresh_names value_names;
    struct ttp_growing metadata; /* encoded CBOR pairs ... */
    struct ttp_growing pairs;    /* ... those that count: metadata_pairs.c */
    uint32_t metadata_count;
};

struct ttp_pending_site {
    uint64_t address;
    uint32_t module_plus_one, file_plus_one, line, kind;
    size_t symbol_start, symbol_bytes;
};

/* A path, which is kept for as long as the writer is open: it may come again. */
struct ttp_scope_path {
    struct ttp_path_row row;
    uint32_t depth;
};

struct ttp_file_slot {
    uint64_t hash;
    uint32_t id_plus_one;
};

/* Partitions of one scope of a reader that stand at the end of a copied one, as they were. */
struct ttp_copied_series {
    uint32_t copier, last, count; /* last: the reader's number of the last one */
};

/* A function's row of an overview. */
struct ttp_group_row {
    struct ttp_measure measure;
    struct ttp_cpu_measure cpu;
    uint64_t mask;
};

/* What the next overview says of each of its partitions: encode/outline_writer.c. */
struct ttp_group_outlines {
    struct ttp_growing each;                     /* struct ttp_partition_outline */
    struct ttp_growing before;                   /* struct ttp_outline_origin, by segment */
    struct ttp_growing segments;                 /* struct ttp_segment */
    struct ttp_growing start_frames, end_frames; /* struct ttp_frame */
    struct ttp_growing rows;                     /* struct ttp_measure */
    uint32_t number;                             /* groups of the scope before */
    bool is_left_out;                            /* there is too much of it */
};

/* The longest calls in the group's partitions: encode/listed_writer.c. */
struct ttp_group_listed {
    struct ttp_growing lists; /* struct ttp_growing of struct ttp_listed_call, of each site */
    struct ttp_growing nodes; /* struct ttp_listed_node ... */
    struct ttp_growing slots; /* ... and uint32_t number: open addressing by content */
    uint64_t silent;          /* bit i: nothing is told of calls of the i-th partition */
    uint32_t call_count;      /* in all lists */
    uint16_t group;           /* a number of it, that comes again after 65,536 others */
    bool is_left_out;         /* there was no memory for it */
};

/* What its partitions whose chunks are out say of instants: encode/merged_writer.c. */
struct ttp_group_merged {
    struct ttp_growing each;         /* their counts ... */
    struct ttp_growing segments;     /* ... struct ttp_segment ... */
    struct ttp_growing start_frames; /* ... struct ttp_frame, and their sections ... */
    struct ttp_growing bytes;        /* ... one after the other */
    uint32_t known_count;            /* partitions with a section */
    bool is_left_out;                /* there is too much of it */
};

/* Partitions that the next overview covers: encode/overview_writer.c. */
struct ttp_group {
    struct ttp_growing rows;   /* struct ttp_group_row */
    struct ttp_growing leaves; /* struct ttp_overview_leaf */
    struct ttp_overview_fact facts[TTP_OVERVIEW_PARTITIONS];
    uint64_t all_ns[TTP_OFF_KINDS];
    uint64_t written_bytes; /* of the partitions of the group whose chunks are out */
    uint64_t unknown_ends;  /* bit i: the i-th partition has an ends section */
    int64_t span_ticks;
    uint32_t partition_count, cpu_count, switch_count;
    struct ttp_group_outlines outlines;
    struct ttp_group_listed listed;
    struct ttp_group_merged merged;
};

struct ttp_scope {
    uint32_t number; /* in the file, TTAPE_NONE until it is introduced */
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
    bool has_trace_id;
    struct ttp_definitions fresh;
    struct ttp_growing site_states; /* struct ttp_site_state */
    struct ttp_growing
        touched; /* uint32_t: sites with a row in the pending partition; room for all sites */
    struct ttp_growing stream_states; /* struct ttp_stream_state */
    struct ttp_growing site_offs;     /* struct ttp_site_off: of the first sites */
    struct ttp_growing
        file_slots; /* struct ttp_file_slot: open addressing by hash of the file name */
    struct ttp_growing
        symbol_slots; /* uint32_t symbol + 1: open addressing, symbols other than enter and leaf */
    struct ttp_growing paths;      /* struct ttp_scope_path, by path id - 1 */
    struct ttp_growing is_named;   /* uint8_t, a bit for a site: its values have names */
    struct ttp_growing path_slots; /* uint32_t path: open addressing by parent and site */
    uint32_t file_used, symbol_used;
    struct ttp_symbol *symbols[TTP_SYMBOL_BLOCKS];
    uint32_t symbol_count;
    uint32_t site_count, stream_count, process_count, module_count, file_count;
    struct ttp_group group;
    /* copied scopes only (models apart), see libtrace/copy/copy.c: */
    struct ttp_growing
        definition_hashes[5]; /* uint64_t each: modules, processes, streams, sites, paths */
    struct ttp_growing metadata_hashes; /* struct ttp_pair_hash */
    struct ttp_growing claimed;         /* struct ttp_claim: events that came from files */
    uint32_t copier;                    /* number of the last that copies into it */
    struct ttp_copied_series series;
    struct ttp_growing models; /* struct ttp_scope_model */
};

/* A model that a scope has: copied ones by their payload, whatever its number is, so that pieces of
 * one trace share it. */
struct ttp_scope_model {
    uint32_t number;
    uint64_t hash, bytes; /* 0, 0: the writer's own */
};

/* A key of a copied scope's metadata, and the value that stands. */
struct ttp_pair_hash {
    uint64_t key, value;
};

/* Events [start, end) of a scope's stream. */
struct ttp_claim {
    uint32_t stream;
    uint64_t start, end;
};

struct ttp_stretch {
    uint32_t segment, start, count;
};

/* Facts about single events, by segment and place in it. */
struct ttp_fact {
    uint32_t segment, event;
    int64_t number; /* wide difference; depth offset; or first value */
};

/* The partition that is being filled: everything in order of arrival. */
/* An overview's content; it may end at several places, as what stands behind may be left out. Of
 * the longest calls there are several lists, of which one is taken. */
#define TTP_OVERVIEW_ENDS  4u
#define TTP_OVERVIEW_LISTS 3u
struct ttp_overview_content {
    struct ttp_growing bytes;
    size_t ends[TTP_OVERVIEW_ENDS];               /* ascending */
    struct ttp_growing lists[TTP_OVERVIEW_LISTS]; /* the largest first */
    uint64_t unknown_ends; /* bit i: the group's i-th partition has an ends section */
    bool is_due;           /* the group ends here, with an overview or without */
};

struct ttp_pending {
    struct ttp_scope *scope;
    uint32_t *codes, *delta; /* event_room entries, grown up to options.partition_events */
    uint32_t event_room;
    uint32_t event_count;
    struct ttp_growing stretches;     /* struct ttp_stretch */
    struct ttp_growing segments;      /* struct ttp_segment */
    struct ttp_growing start_frames;  /* struct ttp_frame */
    struct ttp_growing start_symbols; /* uint32_t, scope-wide, parallel to start_frames */
    struct ttp_growing end_frames;    /* struct ttp_frame, filled at the seal */
    struct ttp_growing wide, depths;  /* struct ttp_fact */
    struct ttp_growing ends;          /* struct ttp_fact: number is the ttape_unwind_kind */
    uint64_t opened_count;            /* open events */
    bool has_ends;                    /* ends that are not known: filled at the seal */
    struct ttp_growing valued;        /* struct ttp_fact: number is the first value */
    struct ttp_growing values;        /* struct ttp_value */
    struct ttp_growing value_bytes;
    struct ttp_growing measures; /* struct ttp_measure, filled at the seal */
    struct ttp_growing known;    /* uint8_t, filled at the seal: segments of known switches ... */
    struct ttp_growing spans;    /* ... and struct ttp_off_span, segment by segment; event: in it */
    struct ttp_growing span_counts; /* uint32_t, of each segment */
    struct ttp_growing cpu;         /* struct ttp_cpu_measure beside measures, where all is known */
    uint64_t off_ns[TTP_OFF_KINDS];
    uint64_t gap_count, lost_count;
    int64_t first_tick, last_tick; /* least and greatest of the partition's events */
    uint32_t symbol_total;         /* scope-wide symbols at the seal */
    struct ttp_growing sites_chunk, paths_chunk, value_names_chunk, streams_chunk,
        metadata_chunk;                   /* definitions to write before it */
    struct ttp_overview_content overview; /* to write behind it */
    uint32_t metadata_pairs;
};

/* One partition on its way to the sink. */
struct ttp_job {
    struct ttp_pending pending;
    struct ttp_growing workspace, gathered, payload;
    struct ttp_growing symbol_map;               /* scope-wide symbol -> local symbol + 1 */
    struct ttp_growing symbols;                  /* struct ttp_symbol, local */
    struct ttp_growing scope_symbols;            /* uint32_t, parallel: scope-wide */
    struct ttp_growing segments;                 /* struct ttp_segment by ascending stream */
    struct ttp_growing start_frames, end_frames; /* struct ttp_frame in that order */
    struct ttp_growing segment_start, open, open_start, open_stack,
        start_stack;         /* struct ttp_order's arrays */
    struct ttp_growing rank; /* pending segment -> place */
    struct ttp_growing wide; /* int64_t */
    uint32_t *codes, *delta; /* in segment order: the pending arrays or the gathered ones */
    struct ttp_partition_head head;
    uint32_t light_bytes;
    size_t section_start; /* where the first section stands in the payload until the head is put in
                             front */
    uint64_t category_bytes[5];    /* order, times, values, summaries, none */
    const struct ttp_model *model; /* to start from, or NULL */
    int32_t level;                 /* the writer's when it was sealed */
    bool is_raw;                   /* the literal form was asked for, and does not pay */
    ttape_status status;
    ttape_error error;
    enum { TTP_JOB_FREE, TTP_JOB_QUEUED, TTP_JOB_DONE } state;
};

/* The model that partitions start from now. */
struct ttp_model {
    struct ttp_scope *scope; /* NULL: none yet */
    uint32_t number, age;    /* age: partitions sealed since */
    bool ready, written;
    struct ttp_growing snapshot; /* struct ttp_chain_primer and what follows it */
    struct ttp_growing symbols;  /* uint32_t: its symbols, scope-wide */
    struct ttp_growing payload;  /* of the model chunk */
};

struct ttp_workers;

struct ttape_writer {
    ttape_allocator allocator;
    ttape_sink sink;
    ttape_file_sink *file;        /* that the sink is of, where it was opened by path */
    ttape_writer_options options; /* the level may change between partitions */
    bool timed;
    uint64_t resolution;      /* 1 or more; meaningless when not timed */
    uint32_t own_times_share; /* of a partition's bytes they are at most one in so many; 0: any */
    uint32_t overview_share;  /* the same of overviews, of their partitions' bytes */
    uint32_t instants_share;  /* the same of instants */
    uint32_t instant_events;  /* of a partition, for each of its instants */
    uint32_t merged_instants; /* of an overview, about */
    bool shares_memory;       /* room for events grows in small steps */
    /* What partitions say. Where ticks are copied, they are appended as times: resolution and
     * options.origin_ns are 1 and 0 then. */
    uint64_t head_resolution_ns, head_origin_ns;
    ttape_status failed; /* permanent */
    ttape_error failure;
    bool finished;

    struct ttp_growing scopes; /* struct ttp_scope * */
    struct ttp_scope *scope;   /* appended to now */
    uint32_t scopes_introduced;
    uint32_t copier_count;           /* that were opened */
    uint32_t metadata_entries;       /* in the file so far */
    uint64_t hash_key;               /* of tables that inputs fill: secret.h */
    struct ttp_stream_state *loaded; /* whose frames site_state.active counts */
    uint32_t epoch;                  /* of the pending partition, from 1 */
    struct ttp_job *jobs; /* ring of job_count slots; the open partition is slot next_job */
    uint32_t job_count, next_job, oldest_job, queued_jobs;
    struct ttp_workers *workers;

    bool header_written;
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
    bool has_trace_id;
    uint64_t offset, chunk_count, last_index;
    uint64_t event_count, partition_count, raw_count, next_index_at;
    uint64_t sealed_count;    /* partitions handed over, emitted or not */
    struct ttp_growing index; /* encoded entries so far */
    uint64_t index_entries;
    struct ttp_growing scratch;
    struct ttp_model model;
    uint32_t model_count;
    struct {
        uint64_t origin_ns;
        int64_t end_tick;
    } index_before;
};

/* Every public call begins with this: a failure is remembered for good. */
ttape_status ttp_writer_check(ttape_writer *w, ttape_error *err);

/* scope_writer.c */
ttape_status ttp_scope_add(ttape_writer *w, struct ttp_scope **out, ttape_error *err);
void ttp_scope_free(ttape_writer *w, struct ttp_scope *scope);
/* The scope-wide symbol of (class, argument), made on first use. */
ttape_status ttp_scope_symbol(ttape_writer *w, struct ttp_scope *scope, uint8_t event_class,
                              uint32_t argument, uint32_t *symbol, ttape_error *err);
/* Block `block` begins with symbol TTP_SYMBOL_BLOCK * (2^block - 1). */
static inline uint32_t ttp_symbol_block(uint32_t symbol)
{
    return 31u - (uint32_t)__builtin_clz(symbol / TTP_SYMBOL_BLOCK + 1);
}
static inline struct ttp_symbol *ttp_scope_symbol_at(const struct ttp_scope *scope, uint32_t symbol)
{
    uint32_t block = ttp_symbol_block(symbol);
    return &scope->symbols[block][symbol - TTP_SYMBOL_BLOCK * ((1u << block) - 1)];
}
ttape_status ttp_scope_add_module(ttape_writer *w, struct ttp_scope *scope,
                                  const ttape_module *module, uint32_t *id, ttape_error *err);
ttape_status ttp_scope_add_process(ttape_writer *w, struct ttp_scope *scope,
                                   const ttape_process *process, uint32_t *id, ttape_error *err);
ttape_status ttp_scope_add_stream(ttape_writer *w, struct ttp_scope *scope,
                                  const ttape_stream *stream, uint32_t *id, ttape_error *err);
ttape_status ttp_scope_add_site(ttape_writer *w, struct ttp_scope *scope, const ttape_site *site,
                                uint32_t *id, ttape_error *err);
/* path_writer.c */
ttape_status ttp_scope_add_path(ttape_writer *w, struct ttp_scope *scope, const ttape_path *path,
                                uint32_t *id, ttape_error *err);
/* The same of a path that gets an id of its own, whatever paths there are. */
ttape_status ttp_scope_new_path(ttape_writer *w, struct ttp_scope *scope, const ttape_path *path,
                                uint32_t *id, ttape_error *err);
/* Gives a site its path: sites ascend, over all calls. */
ttape_status ttp_scope_link_site(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                                 uint32_t path, ttape_error *err);
ttape_status ttp_scope_collect_paths(ttape_writer *w, struct ttp_scope *scope,
                                     struct ttp_growing *out, ttape_error *err);
/* value_names_writer.c: once for a site. */
ttape_status ttp_scope_name_values(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                                   const ttape_site_values *values, ttape_error *err);
bool ttp_scope_has_value_names(const struct ttp_scope *scope, uint32_t site);
ttape_status ttp_scope_collect_value_names(ttape_writer *w, struct ttp_scope *scope,
                                           struct ttp_growing *out, ttape_error *err);
void ttp_fresh_names_free(ttape_writer *w, struct ttp_fresh_names *names);

/* Whether anything of the scope's definitions is not written yet. */
bool ttp_scope_is_fresh(const struct ttp_scope *scope);
/* Moves what is fresh into chunk payloads (content, not compressed) of the pending partition. */
ttape_status ttp_scope_collect(ttape_writer *w, struct ttp_scope *scope,
                               struct ttp_pending *pending, ttape_error *err);

/* append.c */
ttape_status ttp_append(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_event *events, size_t count, ttape_error *err);
ttape_status ttp_append_from(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                             struct ttp_events from, size_t count, ttape_error *err);
ttape_status ttp_attach(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_value *values, size_t count, ttape_error *err);
ttape_status ttp_resume(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_edge *edge, ttape_error *err);
void ttp_stream_free(ttape_writer *w, struct ttp_stream_state *stream);
/* load.c: counts the stream's frames on its current stack as active. */
void ttp_load(ttape_writer *w, struct ttp_stream_state *s);
/* Stops counting the loaded stream's frames as active, up to its last tick. */
void ttp_unload(ttape_writer *w);
struct ttp_pending *ttp_writer_pending(ttape_writer *w);
/* writer.c: room for more events in the open partition, which has not as many as it may. */
ttape_status ttp_pending_grow(ttape_writer *w, struct ttp_pending *p, ttape_error *err);
/* Fetches (makes) the stack `id` of a stream. */
ttape_status ttp_stream_stack(ttape_writer *w, struct ttp_stream_state *s, uint32_t id,
                              uint32_t *index, ttape_error *err);

/* off_spans.c */
ttape_status ttp_add_off(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                         const ttape_off_span *spans, size_t count, ttape_error *err);
/* What is known of the pending partition's switches; nothing: its lists are empty. */
ttape_status ttp_collect_switches(ttape_writer *w, struct ttp_pending *p, ttape_error *err);
void ttp_forget_switches(struct ttp_stream_state *s);

/* seal.c */
ttape_status ttp_seal(ttape_writer *w, ttape_error *err);
ttape_status ttp_drain(ttape_writer *w, ttape_error *err); /* waits for and emits every job */

/* model_writer.c */
/* Adds a model to the scope: under its number, or where that is taken under the next free one. */
ttape_status ttp_scope_add_model(ttape_writer *w, struct ttp_scope *scope,
                                 struct ttp_scope_model *model, ttape_error *err);
bool ttp_model_due(const ttape_writer *w, const struct ttp_pending *p);
/* Makes the model of a job that was encoded just now, with no other job in flight. */
ttape_status ttp_model_take(ttape_writer *w, struct ttp_job *job, ttape_error *err);
ttape_status ttp_model_emit(ttape_writer *w, ttape_error *err); /* once */
void ttp_model_free(ttape_writer *w);

/* partition_encoder.c: pure work on one job, callable from any thread. */
void ttp_encode_job(const ttape_writer *w, struct ttp_job *job);
void ttp_job_free(ttape_writer *w, struct ttp_job *job);

/* workers.c */
ttape_status ttp_workers_start(ttape_writer *w, uint32_t count, ttape_error *err);
void ttp_workers_submit(ttape_writer *w, struct ttp_job *job);
void ttp_workers_wait(ttape_writer *w, struct ttp_job *job);
void ttp_workers_stop(ttape_writer *w);

/* emit.c */
ttape_status ttp_emit_job(ttape_writer *w, struct ttp_job *job, ttape_error *err);
/* Introduces a scope (metadata chunk) and writes its fresh definitions: for copying, and at the
 * end. */
ttape_status ttp_emit_definitions(ttape_writer *w, struct ttp_scope *scope, ttape_error *err);
ttape_status ttp_emit_chunk(ttape_writer *w, struct ttp_chunk *chunk, const void *payload,
                            ttape_error *err);
ttape_status ttp_emit_index_entry(ttape_writer *w, const void *entry, size_t entry_bytes,
                                  ttape_error *err);
/* Fills in kind and scope, and enters a partition with its segments (scope's stream numbers) into
 * the index. */
ttape_status ttp_emit_partition_entry(ttape_writer *w, struct ttp_scope *scope,
                                      struct ttp_index_entry *entry,
                                      const struct ttp_index_segment *segments, ttape_error *err);
ttape_status ttp_emit_early_index(ttape_writer *w, ttape_error *err);
ttape_status ttp_emit_end(ttape_writer *w, ttape_error *err);

#endif
