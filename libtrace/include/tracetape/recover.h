/* Recovering: of a recording whose recorder was killed, the partitions that are in its unfinished
 * trace, as they are, and behind them everything that programs had recorded and that was not in a
 * partition yet; of a damaged or unfinished trace, everything that still verifies. Never in place,
 * never silent: what is read is not changed, but for a recording's arena, which is told to stop. */
#ifndef TRACETAPE_RECOVER_H
#define TRACETAPE_RECOVER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found, one line each; borrowed for the call. is_loss: something is not in the output. */
typedef void (*ttape_recover_callback)(void *context, bool is_loss, const char *line);

/* What became of a piece of a damaged trace. */
typedef enum ttape_recover_fate {
    TTAPE_RECOVER_KEPT = 0,
    TTAPE_RECOVER_MOVED = 1,     /* kept, but it stood out of order */
    TTAPE_RECOVER_LOST = 2,      /* not in the output */
    TTAPE_RECOVER_DUPLICATE = 3, /* another copy of it is kept, or told as lost */
    TTAPE_RECOVER_FOREIGN = 4,   /* of another trace, and left out */
    TTAPE_RECOVER_SKIPPED = 5 /* nothing is lost with it: an index (the output has its own), bytes
                               * in a place where no chunk is missing */
} ttape_recover_fate;
#define TTAPE_RECOVER_FATES 6

/* What a piece is; 1..6 are the chunk kinds of the format. */
typedef enum ttape_recover_kind {
    TTAPE_RECOVER_BYTES = 0, /* bytes that are no chunk */
    TTAPE_RECOVER_METADATA = 1,
    TTAPE_RECOVER_SITES = 2, /* site tables, and the path tables behind them */
    TTAPE_RECOVER_STREAMS = 3,
    TTAPE_RECOVER_PARTITION = 4,
    TTAPE_RECOVER_MODEL = 5,
    TTAPE_RECOVER_INDEX = 6,
    TTAPE_RECOVER_OTHER = 7 /* a chunk of any other kind */
} ttape_recover_kind;
#define TTAPE_RECOVER_KINDS 8

typedef struct ttape_recover_piece {
    ttape_recover_fate fate;
    ttape_recover_kind kind;
    uint64_t offset, size_bytes;
    uint64_t sequence;    /* of a chunk; UINT64_MAX: not known */
    uint64_t event_count; /* of a partition, where events_known */
    bool events_known;
    ttape_error why; /* status TTAPE_OK: nothing is wrong with it; otherwise with rule and offset */
    const char *file; /* of a recording: the trace file's name; NULL: there is only one */
    uint64_t reserved[2];
} ttape_recover_piece;
/* Called for every piece of a trace file, in its order, before anything of that is written; of a
 * recording file by file. Borrowed for the call. */
typedef void (*ttape_recover_piece_callback)(void *context, const ttape_recover_piece *piece);

typedef struct ttape_recover_options {
    size_t size; /* sizeof(ttape_recover_options) */
    const ttape_allocator *allocator;
    /* Of the reading of each trace file, one at a time; zero: ttape_reader_options' defaults. A
     * partition that passes one is lost, with that as its reason; memory that is not enough for the
     * file's table of pieces, or a definition too many, TTAPE_E_LIMIT, or of a recording the file's
     * loss. The writer of the output needs memory of its own, for definitions, the index and two
     * partitions: fuzzing holds both together to twice the 256 MiB of the default. A recording's
     * journal (2^30 bytes at most) and the list of its slots come on top. */
    ttape_limits limits;
    /* Names sites that come behind the trace's partitions, as in ttape_site_rules; NULL: none. */
    void (*name)(void *context, ttape_site *site, const ttape_module *module);
    ttape_recover_callback found;       /* NULL: not told */
    ttape_recover_piece_callback piece; /* NULL: not told */
    void *context;                      /* of all */
    /* As in ttape_site_rules, of paths that come behind the trace's partitions, where the recording
     * has such; NULL: they are whole. */
    bool (*is_application)(void *context, const ttape_module *module, ttape_string executable);
} ttape_recover_options;

typedef struct ttape_recover_report {
    uint64_t partition_count;  /* copied */
    uint64_t copied_events;    /* in them */
    uint64_t recovered_events; /* from the spill file and the arena */
    /* Known to be lost: the sum of what the gap events that mark losses count; of a recording also
     * what it had lost by itself. */
    uint64_t lost_events;
    uint64_t loss_count; /* findings that are losses */
    /* of trace files: */
    uint64_t pieces[TTAPE_RECOVER_KINDS][TTAPE_RECOVER_FATES];
    uint64_t missing_chunks;    /* numbers of chunks that are nowhere, indexes apart */
    uint64_t gap_count;         /* gap events that mark losses in the output */
    uint64_t placeholder_count; /* sites, modules, files, processes, streams without their names,
                                 * and paths without their frames */
    uint64_t uncounted_losses;  /* gaps and lost pieces of which nothing tells how many events */
    uint64_t reserved[4];
} ttape_recover_report;

/* `directory`: OUTPUT.recording. Recovers into the sink. TTAPE_E_STATE: it is still being recorded,
 * or has no journal: nothing had been recorded yet, or all of the output had been written. */
TTAPE_API ttape_status ttape_recover_recording(const char *directory, const ttape_sink *sink,
                                               const ttape_recover_options *options,
                                               ttape_recover_report *report, ttape_error *err);

/* Recovers a damaged or unfinished trace into the sink: chunks that verify, partitions after they
 * were decoded as a whole. Where a stream's events are lost, a gap event (TTAPE_GAP_REASON_DAMAGE)
 * has the number of the last of them, and counts them where that is known. The output is complete,
 * and verifies. TTAPE_E_NOT_TRACE: nothing of a trace is there. TTAPE_E_VERSION: it needs a newer
 * library. */
TTAPE_API ttape_status ttape_recover_trace(const ttape_source *source, const ttape_sink *sink,
                                           const ttape_recover_options *options,
                                           ttape_recover_report *report, ttape_error *err);

/* Removes what such a directory holds, and its arena; what it names as that and is not, stays.
 * TTAPE_E_STATE: it holds something that no recorder made; nothing was removed. */
TTAPE_API ttape_status ttape_recover_remove(const char *directory, ttape_error *err);

/* Clears what killed recorders of this user have left in shared memory. An arena that no process
 * has open or mapped any more is removed, and one that was never made to its end; where a
 * recording's folder needs it still, it is moved into that first, and `found` (NULL: not told)
 * gets a line. What is in use, or may be needed by a folder that cannot be found, stays. Opens and
 * locks nothing that is another user's. A limit on the size of files may send SIGXFSZ to a caller
 * that does not ignore it. */
TTAPE_API void ttape_recover_left(ttape_recover_callback found, void *context);

#ifdef __cplusplus
}
#endif
#endif
