/* Writing a trace: events go in, partitions come out at a sink, in bounded memory.
 *
 * State machine: open -> (add/append/flush/copy)* -> finish -> close. The first failure is
 * permanent: every later call returns it, until close. Threads: one writer is used by one thread at
 * a time; with options.jobs > 1 it runs worker threads of its own, which never change the bytes.
 * Nothing is kept of borrowed arguments after a call. */
#ifndef TRACETAPE_WRITER_H
#define TRACETAPE_WRITER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_writer ttape_writer;

/* Where bytes go: append-only. Both calls return TTAPE_OK or fill err. append must take all bytes
 * or fail. Sinks are used from the thread that uses the writer, never from a worker. */
typedef struct ttape_sink {
    void *context;
    ttape_status (*append)(void *context, const void *data, size_t size_bytes, ttape_error *err);
    ttape_status (*sync)(void *context, ttape_error *err); /* NULL: nothing to do */
} ttape_sink;

/* A sink over a file descriptor (file, pipe, socket); short writes and EINTR are dealt with. The
 * descriptor stays the caller's. EPIPE is returned as TTAPE_E_IO with os_errno. */
TTAPE_API ttape_sink ttape_sink_fd(int fd);

/* A sink into memory that grows. */
typedef struct ttape_memory_sink {
    uint8_t *data;
    size_t size_bytes, capacity_bytes;
} ttape_memory_sink;
TTAPE_API ttape_sink
ttape_sink_memory(ttape_memory_sink *memory); /* *memory zeroed by the caller */
TTAPE_API void ttape_memory_sink_close(ttape_memory_sink *memory);

/* A file that appears under its final name only when it is complete: written beside it under a
 * temporary name (created exclusively, mode 0666 & ~umask), synced and renamed by commit, removed
 * by close without commit. replace: an existing file may be replaced; otherwise TTAPE_E_EXISTS. */
typedef struct ttape_file_sink ttape_file_sink;
TTAPE_API ttape_status ttape_file_sink_open(ttape_file_sink **out, const char *path, bool replace,
                                            ttape_error *err);
TTAPE_API ttape_sink ttape_file_sink_sink(ttape_file_sink *file);
/* The temporary name (for removal in a signal handler); valid until close. */
TTAPE_API const char *ttape_file_sink_temporary_name(const ttape_file_sink *file);
TTAPE_API ttape_status ttape_file_sink_commit(ttape_file_sink *file, ttape_error *err);
TTAPE_API void ttape_file_sink_close(ttape_file_sink *file);

#define TTAPE_LEVEL_LITERAL 0 /* the literal form: simple to write and to read */
#define TTAPE_LEVEL_FAST    1 /* raw forms, compressed at once: to keep pace */
#define TTAPE_LEVEL_DEFAULT 3
#define TTAPE_LEVEL_MAX     9 /* spends what it takes: about 1 M events/s */
#define TTAPE_TIME_NONE     UINT64_MAX

/* Zero means the default everywhere. */
typedef struct ttape_writer_options {
    size_t size;               /* sizeof(ttape_writer_options) */
    uint64_t resolution_ns;    /* 0 or 1: exact; n: multiples of n; TTAPE_TIME_NONE: order only */
    uint32_t partition_events; /* default 1,000,000; at most 16,777,216 */
    uint32_t partition_bytes;  /* values bytes that end a partition; default 8 MiB */
    int32_t level; /* 1..9, 0: default (3); TTAPE_LEVEL_LITERAL is asked for by `literal` */
    bool literal;  /* the literal form of order (level 0 of the command) */
    uint32_t jobs; /* worker threads; 0 or 1: encode in the calling thread */
    uint32_t chain_threshold; /* literal form: times that a successor must follow; default 2 */
    uint32_t model_period;    /* partitions between model chunks; UINT32_MAX: none; default 16 where
                                 partitions have at most 65,536 events, none where they have more */
    uint32_t index_period; /* partitions before the first early index; default 64, then doubling */
    bool has_trace_id;     /* take trace_id; otherwise one is drawn from the content */
    uint8_t trace_id[16];
    uint64_t origin_ns; /* quantisation origin */
    const ttape_allocator *allocator;
    /* Partitions that one overview adds up, which makes a report of many faster: at most 64. 0: 64,
     * where overviews are small beside their partitions; UINT64_MAX: no overviews. */
    uint64_t overview_period;
    /* 1: partitions say by which events the calls began that are open at their ends, so that
     * ttape_call_origins_make need not decode them; 0: they do not. It was 0.005 to 0.1 % of our
     * recordings. */
    uint64_t call_numbers;
    uint64_t reserved[2];
} ttape_writer_options;

/* *out is NULL on failure. The sink struct is copied. Nothing is written before the first partition
 * is sealed: without a given trace id, one is drawn from its content. With jobs > 1 the allocator
 * must be callable from several threads. */
TTAPE_API ttape_status ttape_writer_open(ttape_writer **out, const ttape_sink *sink,
                                         const ttape_writer_options *options, ttape_error *err);

/* The same into a file, as through ttape_file_sink: it appears under its name when the writer
 * finishes. replace: an existing file may be replaced; otherwise TTAPE_E_EXISTS. */
TTAPE_API ttape_status ttape_writer_open_path(ttape_writer **out, const char *path, bool replace,
                                              const ttape_writer_options *options,
                                              ttape_error *err);

/* Metadata of the trace, by key (see spec/metadata.cddl); the last value of a key stands. Keys set
 * before the first partition stand at the file's start, later ones at its end. TTAPE_E_ARGUMENT for
 * the key "trace_id" (it is an option) and strings over 1 MiB, TTAPE_E_LIMIT past 65,536 entries.
 */
TTAPE_API ttape_status ttape_writer_set_text(ttape_writer *writer, const char *key,
                                             ttape_string value, ttape_error *err);
TTAPE_API ttape_status ttape_writer_set_number(ttape_writer *writer, const char *key,
                                               uint64_t value, ttape_error *err);

/* Definitions; each returns its dense id. All strings are copied. */
TTAPE_API ttape_status ttape_writer_add_module(ttape_writer *writer, const ttape_module *module,
                                               uint32_t *id, ttape_error *err);
TTAPE_API ttape_status ttape_writer_add_process(ttape_writer *writer, const ttape_process *process,
                                                uint32_t *id, ttape_error *err);
TTAPE_API ttape_status ttape_writer_add_stream(ttape_writer *writer, const ttape_stream *stream,
                                               uint32_t *id, ttape_error *err);
TTAPE_API ttape_status ttape_writer_add_site(ttape_writer *writer, const ttape_site *site,
                                             uint32_t *id, ttape_error *err);
/* The id of a path, from 1 on: of the same parent and site always the same one, so that a stack
 * that comes again costs nothing. TTAPE_E_ARGUMENT: unknown parent or site, no site under a parent,
 * more than TTAPE_PATH_MAX_DEPTH frames. */
TTAPE_API ttape_status ttape_writer_add_path(ttape_writer *writer, const ttape_path *path,
                                             uint32_t *id, ttape_error *err);

/* Says what the values of a site's events are called; once for a site, at any time before the
 * writer finishes. All is copied; of equal enumerations one is kept. TTAPE_E_ARGUMENT: unknown
 * site, a second time, more than 255 values, strings over 1 MiB, more than 65,535 constants. */
TTAPE_API ttape_status ttape_writer_name_values(ttape_writer *writer, uint32_t site,
                                                const ttape_site_values *values, ttape_error *err);

/* Appends `count` events to a stream, in its order. Times may step backwards. An exit whose site is
 * not the innermost open frame's is taken as what it must have been: TTAPE_EVENT_EXIT_ACROSS where
 * the frame is open further out on the stack (at most 1,024 frames up), TTAPE_EVENT_EXIT_UNSEEN
 * otherwise; so a recording that is wrong is kept as it is. `depth` other than TTAPE_DEPTH_AUTO is
 * kept as recorded even where it contradicts the frames. TTAPE_E_ARGUMENT: unknown stream or site,
 * unwind of more frames than are open. */
TTAPE_API ttape_status ttape_writer_append(ttape_writer *writer, uint32_t stream,
                                           const ttape_event *events, size_t count,
                                           ttape_error *err);

/* An enter or an exit in 16 bytes, for whoever appends many. depth_exit: twice the depth, as
 * `depth` of ttape_event, and 1 more for an exit; TTAPE_DEPTH_AUTO - 1 and TTAPE_DEPTH_AUTO are an
 * enter and an exit whose depth the frames give. */
typedef struct ttape_enter_exit {
    uint64_t time_ns;
    uint32_t site;
    uint32_t depth_exit;
} ttape_enter_exit;

/* ttape_writer_append of events that are enters and exits alone: the same bytes, and the same
 * errors, in less time. Both may be used by turns. */
TTAPE_API ttape_status ttape_writer_append_calls(ttape_writer *writer, uint32_t stream,
                                                 const ttape_enter_exit *calls, size_t count,
                                                 ttape_error *err);

/* Gives values to the stream's last appended event (once per event). */
TTAPE_API ttape_status ttape_writer_attach(ttape_writer *writer, uint32_t stream,
                                           const ttape_value *values, size_t count,
                                           ttape_error *err);

/* Says when the stream's thread did not run, in intervals that end with events to come: of a span,
 * event 0 is the stream's next event, 1 the one behind it, and so on. Spans come in the order of
 * events, those of an interval in the order of their starts. From the first call on (its count may
 * be 0), switches of the stream are known: what no span says was time on the CPU. A call between
 * two events of a partition holds from the next partition on. TTAPE_E_ARGUMENT: without times. */
TTAPE_API ttape_status ttape_writer_add_off(ttape_writer *writer, uint32_t stream,
                                            const ttape_off_span *spans, size_t count,
                                            ttape_error *err);

/* Starts (or restarts) a stream at an edge: its next event follows frames that are already open,
 * and nothing is known of its switches. */
TTAPE_API ttape_status ttape_writer_resume(ttape_writer *writer, uint32_t stream,
                                           const ttape_edge *edge, ttape_error *err);

/* Ends the open partition (nothing when it is empty). With jobs > 1 it may reach the sink later:
 * when progress.partition_count has come up to the sealed_count of now. */
TTAPE_API ttape_status ttape_writer_seal(ttape_writer *writer, ttape_error *err);

/* The level, 1..9, of the partitions that are sealed from now on, the open one included. Each may
 * have another. A writer of the literal form takes it and does not change its form. */
TTAPE_API ttape_status ttape_writer_set_level(ttape_writer *writer, int32_t level,
                                              ttape_error *err);

/* Seals, and waits until all is with the sink; sync also syncs the sink. */
TTAPE_API ttape_status ttape_writer_flush(ttape_writer *writer, bool sync, ttape_error *err);

/* Seals, writes index and footer, syncs. No more calls but close. */
TTAPE_API ttape_status ttape_writer_finish(ttape_writer *writer, ttape_error *err);

/* Frees everything; without finish the file has no index (and still opens by scan). NULL is fine.
 */
TTAPE_API void ttape_writer_close(ttape_writer *writer);

/* Bytes and counts so far (for progress). */
typedef struct ttape_writer_progress {
    uint64_t event_count, partition_count, written_bytes;
    uint64_t sealed_count; /* partitions ended, written or not */
    uint64_t raw_count;    /* with `literal`: of those written, whose order has the raw form, as
                            * the literal one is larger or has too many symbols */
    uint64_t reserved[3];
} ttape_writer_progress;
TTAPE_API void ttape_writer_get_progress(const ttape_writer *writer,
                                         ttape_writer_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
