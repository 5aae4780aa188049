/* Reading a trace: a handle over a stateless source; streams, partitions, cursors, summaries,
 * verify.
 *
 * Never trusts a byte, never repairs. Memory is bounded by the options, never by the file.
 *
 * Threads: any number of them may use one reader at once, for every answer. Its limits hold for all
 * of them together. What was opened from it (a cursor, a tree) is used by one thread at a time, and
 * may go from one to another. A source's read_at, and an allocator, must then be callable from
 * several threads; the file and memory sources, and malloc, are. Opening and closing a reader, and
 * a forward handle with its reader, are for one thread. */
#ifndef TRACETAPE_READER_H
#define TRACETAPE_READER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_reader ttape_reader;
typedef struct ttape_cursor ttape_cursor;
typedef struct ttape_forward ttape_forward;

/* Random access to bytes. read_at fills up to size_bytes bytes from offset and says how many: fewer
 * only at the end. */
typedef struct ttape_source {
    void *context;
    ttape_status (*read_at)(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                            size_t *got_bytes, ttape_error *err);
    uint64_t size_bytes;
} ttape_source;

/* A regular file, by pread. TTAPE_E_ARGUMENT for anything that is not a regular file. */
TTAPE_API ttape_status ttape_source_file_open(ttape_source *out, const char *path,
                                              ttape_error *err);
TTAPE_API void ttape_source_file_close(ttape_source *source);
/* Borrowed memory; needs no close. */
TTAPE_API ttape_source ttape_source_memory(const void *data, size_t size_bytes);

/* An answer that takes long asks whether it is still wanted: set in the answer's options, and
 * borrowed for the call. False: the call ends with TTAPE_E_STATE. */
typedef struct ttape_watch {
    /* Now and then, from the calling thread. `done` of `all` steps of what is done now are over;
     * there may be more than one such row of steps. all 0: how many is not known. */
    bool (*goes_on)(void *context, uint64_t done, uint64_t all);
    void *context;
} ttape_watch;

/* Bounds on what a file may make the reader do; zero means the default. Passing one is
 * TTAPE_E_LIMIT. The struct is part of the options, whose size says how much of it a caller knows.
 *
 * Others are the format's own, and not to be changed: 16 levels of metadata and 65,536 entries, 64
 * sections of a partition, chains of height 1,000, 65,536 events of stored chains, 2^20 stacks of a
 * stream, 2^16 scopes, 2^30 bytes of a payload, windows of 128 MiB (spec/registry.md). */
typedef struct ttape_limits {
    uint64_t memory_bytes;     /* of all that reads from the reader; default 256 MiB */
    uint32_t partition_events; /* events in one partition; default 16,777,216 */
    uint32_t site_count;       /* default 16,777,216 */
    uint32_t stream_count;     /* default 16,777,216 */
    uint32_t partition_count;  /* default 16,777,216 */
    uint32_t string_bytes;     /* one name; default 1 MiB */
    uint64_t reserved[2];
} ttape_limits;

typedef struct ttape_reader_options {
    size_t size; /* sizeof(ttape_reader_options) */
    ttape_limits limits;
    uint64_t cache_bytes; /* decoded partitions kept; default 64 MiB, one a thread is always kept */
    bool ignore_index;    /* open by scan even where there is an index */
    uint32_t jobs;        /* decoding threads of cursors that run forward, and a second one for the
                           * times of a partition; 0 or 1: none. They call read_at and the
                           * allocator; results are the same for any number */
    const ttape_allocator *allocator;
    uint64_t start_ns; /* of what the file is a part of: its time_first_ns is not behind that, so
                        * that times count from there. 0: the file's first event */
} ttape_reader_options;

/* Opens by the index, or by a scan where there is none. A file that ends early opens with what is
 * complete: see ttape_info.truncated. *out is NULL on failure. The source must outlive the reader.
 */
TTAPE_API ttape_status ttape_reader_open(ttape_reader **out, const ttape_source *source,
                                         const ttape_reader_options *options, ttape_error *err);
/* The same of a file, which the reader keeps open until its close. */
TTAPE_API ttape_status ttape_reader_open_path(ttape_reader **out, const char *path,
                                              const ttape_reader_options *options,
                                              ttape_error *err);
TTAPE_API void ttape_reader_close(ttape_reader *reader);

/* Where bytes go. The sum of all fields is the file's size. */
typedef struct ttape_byte_counts {
    uint64_t order; /* chains and data, segment tables, recorded depths */
    uint64_t times;
    uint64_t values;
    uint64_t summaries; /* per-function measures and edges */
    uint64_t sites;     /* sites, modules, processes, streams, paths */
    uint64_t models;
    uint64_t other; /* headers, metadata, index, footer, unknown chunks */
    uint64_t reserved[2];
} ttape_byte_counts;

typedef struct ttape_info {
    uint16_t major_version, minor_version, required_minor;
    uint8_t trace_id[16];
    uint64_t file_bytes;
    uint64_t event_count, partition_count, chunk_count;
    uint64_t gap_count, lost_count; /* recorded gaps and the events they count */
    uint64_t unknown_chunk_count;   /* skipped: optional kinds that this version does not know */
    uint64_t time_first_ns, time_last_ns; /* 0, 0 without times or events */
    uint64_t resolution_ns; /* of the first partition; TTAPE_TIME_NONE for order only */
    uint32_t scope_count, site_count, module_count, process_count,
        stream_count;      /* over all scopes */
    bool by_index;         /* opened by the index */
    bool complete;         /* index and footer are there */
    bool truncated;        /* the file ends inside a chunk */
    uint64_t truncated_at; /* end of the last complete chunk */
    ttape_byte_counts bytes;
    uint64_t reserved[8];
} ttape_info;
TTAPE_API void ttape_reader_get_info(const ttape_reader *reader, ttape_info *info);

/* Sites, modules, processes, streams and paths are numbered through over all scopes of the file:
 * these numbers are what events and cursors carry. Strings live as long as the reader. A number
 * that there is none of, TTAPE_NONE too, is TTAPE_E_NOT_FOUND, and *out is then empty: ids
 * TTAPE_NONE, strings "", the rest 0. */
TTAPE_API ttape_status ttape_reader_get_site(const ttape_reader *reader, uint32_t site,
                                             ttape_site *out);
TTAPE_API ttape_status ttape_reader_get_module(const ttape_reader *reader, uint32_t module,
                                               ttape_module *out);
TTAPE_API ttape_status ttape_reader_get_process(const ttape_reader *reader, uint32_t process,
                                                ttape_process *out);
/* Paths have numbers 1 to ttape_reader_path_count; a parent has a lower one. */
TTAPE_API ttape_status ttape_reader_get_path(const ttape_reader *reader, uint32_t path,
                                             ttape_path *out);
TTAPE_API uint32_t ttape_reader_path_count(const ttape_reader *reader);
/* What the values of a site's events are called. Arrays and strings live as long as the reader.
 * TTAPE_E_NOT_FOUND, and *out is empty, where the file does not say. An event may have fewer values
 * than have names, or more. */
TTAPE_API ttape_status ttape_reader_get_site_values(const ttape_reader *reader, uint32_t site,
                                                    ttape_site_values *out);
/* What an address among the values of a site's events points to: "f", "&variable", "&variable+16".
 * TTAPE_E_NOT_FOUND, and "": the trace does not say. */
TTAPE_API ttape_status ttape_reader_get_target(const ttape_reader *reader, uint32_t site,
                                               uint64_t address, ttape_string *symbol);
/* The site that says so, which may be where a call was made (TTAPE_SITE_CALL): that has the line,
 * too. TTAPE_NONE: there is none. */
TTAPE_API uint32_t ttape_reader_find_target(const ttape_reader *reader, uint32_t site,
                                            uint64_t address);
typedef struct ttape_stream_info {
    ttape_stream stream;
    uint64_t pid;
    uint32_t scope;
    uint64_t first_event; /* number of its first event in this file (0 unless the file was cut) */
    uint64_t event_count;
    uint64_t missing_count; /* events between first_event and the last that are not in the file */
    uint64_t reserved[4];
} ttape_stream_info;
TTAPE_API ttape_status ttape_reader_get_stream(const ttape_reader *reader, uint32_t stream,
                                               ttape_stream_info *out);
/* What to call a site: its symbol; without one "module+0x12", with at most 64 bytes of the module's
 * file name, or "0x1234" where no module is known; "?" for a number without a site. As snprintf
 * does, writes what fits into size_bytes bytes, always ended by NUL, and returns the whole name's
 * length. Not escaped. */
TTAPE_API size_t ttape_site_name(const ttape_reader *reader, uint32_t site, char *buffer,
                                 size_t size_bytes);
/* Where a call was made, of a site that says so (TTAPE_SITE_CALL): "parse.c:12" where the line is
 * known, else what ttape_site_name has, "parse_line+25" or "module+0x12". Written as there. */
TTAPE_API size_t ttape_call_site_name(const ttape_reader *reader, uint32_t site, char *buffer,
                                      size_t size_bytes);
/* Which of the values of a site's enter says where the call was made (F-SIT-14); `count`: none. */
TTAPE_API uint32_t ttape_call_site_index(const ttape_reader *reader, uint32_t site,
                                         const ttape_value *values, uint32_t count);
/* Metadata of a scope, one key at a time in file order. */
typedef enum ttape_metadata_type {
    TTAPE_METADATA_TEXT = 0,   /* `text` */
    TTAPE_METADATA_NUMBER = 1, /* `number` */
    TTAPE_METADATA_OTHER = 2   /* a structure, which is skipped */
} ttape_metadata_type;

typedef struct ttape_metadata_entry {
    uint32_t scope;
    ttape_string key;
    ttape_metadata_type type;
    ttape_string text;
    uint64_t number;
    uint64_t reserved[2];
} ttape_metadata_entry;
TTAPE_API ttape_status ttape_reader_get_metadata(const ttape_reader *reader, uint32_t entry,
                                                 ttape_metadata_entry *out);

typedef struct ttape_partition_info {
    uint64_t offset;       /* of its chunk header */
    uint64_t stored_bytes; /* chunk header and payload */
    uint64_t sequence;     /* chunk number in the file */
    uint32_t scope;
    uint32_t event_count, segment_count;
    uint32_t model;                      /* model that it starts from, or TTAPE_NONE */
    uint64_t resolution_ns;              /* or TTAPE_TIME_NONE */
    uint64_t time_first_ns, time_end_ns; /* half-open; 0, 0 without times */
    ttape_byte_counts bytes;
    uint64_t reserved[4];
} ttape_partition_info;
TTAPE_API ttape_status ttape_reader_get_partition(const ttape_reader *reader, uint32_t partition,
                                                  ttape_partition_info *out);

/* A segment: one stream's run in a partition, with its edges; frames live until the calling thread
 * asks the reader for the next one. */
typedef struct ttape_segment_info {
    uint32_t stream;
    uint32_t event_count;
    uint32_t min_depth; /* least depth of an event in it */
    ttape_edge start, end;
    uint64_t reserved[2];
} ttape_segment_info;
TTAPE_API ttape_status ttape_reader_get_segment(ttape_reader *reader, uint32_t partition,
                                                uint32_t segment, ttape_segment_info *out,
                                                ttape_error *err);

/* Per-function measures of one partition, read without its event payload. Time measures are
 * nanoseconds and 0 in a file without times. */
typedef struct ttape_summary_row {
    uint32_t site;
    uint64_t call_count;       /* enters */
    uint64_t exit_count;       /* frames that ended here: what min, max and squares are over */
    int64_t self_ns, total_ns; /* signed: a clock may step backwards */
    int64_t min_ns,
        max_ns; /* whole durations of frames that ended here; 0, 0 where there are none */
    double sum_of_squares; /* of those durations, ns^2 */
    ttape_wide squares;    /* the same exactly: the sum of squared ticks */
    uint64_t reserved[2];
} ttape_summary_row;
/* Rows by site number; *rows lives until the calling thread asks the reader for the next ones. */
TTAPE_API ttape_status ttape_reader_get_summary(ttape_reader *reader, uint32_t partition,
                                                const ttape_summary_row **rows, uint32_t *row_count,
                                                ttape_error *err);

/* When the thread of one segment of a partition did not run, in the intervals between its events:
 * read without its event payload. A span's event is its number in the stream. *is_known is false
 * where nothing is known of its switches. *spans lives until the calling thread asks the reader for
 * the next ones. */
TTAPE_API ttape_status ttape_reader_get_off(ttape_reader *reader, uint32_t partition,
                                            uint32_t segment, const ttape_off_span **spans,
                                            uint32_t *span_count, bool *is_known, ttape_error *err);

/* A cursor over one stream, or over all streams merged by time. Merged order: by time, ties by
 * stream number, then by order in the stream; a stream whose clock steps backwards keeps its order
 * (its event waits for its turn as if it had the largest time seen in the stream before it). */
#define TTAPE_ALL_STREAMS UINT32_MAX
TTAPE_API ttape_status ttape_cursor_open(ttape_cursor **out, ttape_reader *reader, uint32_t stream,
                                         ttape_error *err);
TTAPE_API void ttape_cursor_close(ttape_cursor *cursor);

/* One event with what belongs to it. `values` lives until the next call on the cursor. */
typedef struct ttape_event_item {
    ttape_event event;
    uint32_t stream;
    uint64_t number; /* of the event in its stream */
    const ttape_value *values;
    uint32_t value_count;
    uint64_t reserved[2];
} ttape_event_item;
/* The site that says where a call was made, of an event that begins one; TTAPE_NONE: none does. */
TTAPE_API uint32_t ttape_event_call_site(const ttape_reader *reader, const ttape_event_item *item);

/* The next (previous) event; TTAPE_END (which is no failure) when there is none. After a failure,
 * forward reading goes on behind the damaged partition: the failing call returns the error once.
 * previous is for single streams. */
TTAPE_API ttape_status ttape_cursor_next(ttape_cursor *cursor, ttape_event_item *out,
                                         ttape_error *err);
TTAPE_API ttape_status ttape_cursor_previous(ttape_cursor *cursor, ttape_event_item *out,
                                             ttape_error *err);
/* Up to `capacity` events of a single-stream cursor without values: the fast way through. *count 0
 * and TTAPE_END at the end. */
TTAPE_API ttape_status ttape_cursor_next_events(ttape_cursor *cursor, ttape_event *out,
                                                size_t capacity, size_t *count, ttape_error *err);
/* Where columns of events go, an entry for each event; NULL: nobody wants that one. */
typedef struct ttape_event_columns {
    size_t size; /* sizeof(ttape_event_columns) */
    uint64_t *number, *time_ns, *lost_count;
    uint32_t *site, *argument, *depth;
    uint8_t *kind; /* ttape_event_kind */
} ttape_event_columns;

/* ttape_cursor_next_events, column by column: for tables, at a third of the cost. */
TTAPE_API ttape_status ttape_cursor_next_columns(ttape_cursor *cursor,
                                                 const ttape_event_columns *out, size_t capacity,
                                                 size_t *count, ttape_error *err);
/* The next event will be the first of its stream with time >= time_ns (in merged order: of every
 * stream). */
TTAPE_API ttape_status ttape_cursor_seek_time(ttape_cursor *cursor, uint64_t time_ns,
                                              ttape_error *err);
/* The next event will be event `number` of the stream, or the first after it that is in the file.
 */
TTAPE_API ttape_status ttape_cursor_seek_event(ttape_cursor *cursor, uint64_t number,
                                               ttape_error *err);
/* The state before the next event: open frames and so on; lives until the next call on the cursor.
 * Single streams. */
TTAPE_API ttape_status ttape_cursor_get_edge(ttape_cursor *cursor, ttape_edge *out,
                                             ttape_error *err);
/* The same but for self_ns of the frames, which is 0: so that after a seek only a few times have to
 * be decoded. */
TTAPE_API ttape_status ttape_cursor_get_open_frames(ttape_cursor *cursor, ttape_edge *out,
                                                    ttape_error *err);

/* What verify finds, one call per finding, in file order; return false to stop. */
typedef struct ttape_finding {
    ttape_error error;   /* status, rule, offset, message */
    uint32_t chunk_kind; /* 0 when it is not about a chunk */
    uint32_t partition;  /* or TTAPE_NONE */
    uint64_t reserved[2];
} ttape_finding;
typedef bool (*ttape_finding_callback)(void *context, const ttape_finding *finding);
/* Reads everything: checksums, every rule, every event decoded, summaries recomputed and compared.
 * TTAPE_OK also when there are findings (*finding_count says how many); failures only of memory and
 * I/O. Progress may be NULL. */
typedef void (*ttape_progress_callback)(void *context, uint64_t done_bytes, uint64_t total_bytes);
TTAPE_API ttape_status ttape_verify(const ttape_source *source, const ttape_reader_options *options,
                                    ttape_finding_callback callback,
                                    ttape_progress_callback progress, void *context,
                                    uint64_t *finding_count, ttape_error *err);

/* Forward reading of a pipe or socket: chunk after chunk, with nothing kept but definitions. read
 * returns up to size_bytes bytes (0 at the end). */
typedef struct ttape_input {
    void *context;
    ttape_status (*read)(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                         ttape_error *err);
} ttape_input;
TTAPE_API ttape_input ttape_input_fd(int fd);
TTAPE_API ttape_status ttape_forward_open(ttape_forward **out, const ttape_input *input,
                                          const ttape_reader_options *options, ttape_error *err);
TTAPE_API void ttape_forward_close(ttape_forward *forward);
/* Reads to the next partition; TTAPE_END after the last chunk. The returned reader (owned by the
 * forward handle) holds exactly that partition (number 0) and all definitions so far, and works
 * like any other until the next call; after TTAPE_END its info counts the whole file. */
TTAPE_API ttape_status ttape_forward_next(ttape_forward *forward, ttape_reader **reader,
                                          ttape_error *err);

#ifdef __cplusplus
}
#endif
#endif
