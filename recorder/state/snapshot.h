/* Flushes and snapshots: what is asked of the encoding thread while recording goes on.
 *
 *   poll (a request was seen) --> drains everything --> a mark in the queue behind it, when nothing
 *                                 was left for which the spill file had no room
 *   encoding thread, at the mark --> seals and writes --> answers the flush
 *                                --> opens the trace's files as they are now
 *   snapshot thread              --> joins them into a file of its own, names it, answers
 */
#ifndef TTP_RECORDING_SNAPSHOT_H
#define TTP_RECORDING_SNAPSHOT_H

#include <pthread.h>
#include <stdbool.h>

#include <tracetape/writer.h>

#include "writer/growing.h"

/* A trace file up to a place where a partition ends. */
struct ttp_piece {
    int fd;
    uint64_t size_bytes;
};

/* A number for the metadata. */
struct ttp_number {
    char key[32];
    char text[1024]; /* "": it is a number */
    uint64_t value;
};

/* Entries of functions that ask for a checkpoint, one thread each at the two ends. What comes while
 * it is full is counted. */
#define TTP_HITS_KEPT 64u
struct ttp_hits {
    uint64_t times_ns[TTP_HITS_KEPT], numbers[TTP_HITS_KEPT]; /* of each: when, which one of all */
    _Atomic uint32_t put, taken;
    _Atomic uint64_t count, copied; /* of all, those that were copied */
};

/* Pieces of one trace, each following the one before, and what its metadata says last. */
struct ttp_pieces {
    const struct ttp_piece *items;
    size_t count;
    const struct ttp_number *numbers;
    size_t number_count;
    bool is_window;    /* what came before them is not kept */
    uint64_t until_ns; /* what came later is left out; 0: nothing is */
};

/* Writes them as one trace with an index. Above the writer's layer, because it reads. */
typedef ttape_status (*ttp_joiner)(const struct ttp_pieces *pieces,
                                   const ttape_writer_options *options, const ttape_sink *sink,
                                   ttape_error *err);

/* A place in the queue of slots, with the requests that made it. */
struct ttp_mark {
    uint32_t flush_requests, snapshot_requests;
    bool is_snapshot;
    uint64_t until_ns, hit; /* of a checkpoint at a hit; 0: of all that there is */
};

struct ttp_drain;

/* Of the polling thread: what was asked for and is not in the queue yet. */
struct ttp_asked {
    bool flush, snapshot;
    uint64_t since_ms;
    uint64_t until_ns, hit; /* of a checkpoint that nobody else's snapshot goes with */
    uint32_t number;        /* times that all was wanted: a block is taken once for each of them */
    uint32_t flushes;       /* requests that marks answer, up to the last one */
    uint32_t mark_count;    /* that were put into the queue */
};

/* One file to be written, from some of the pieces. */
struct ttp_copy {
    char *base; /* what its name begins with */
    size_t first, count;
};

struct ttp_snapshots {
    ttp_joiner join;
    pthread_t thread;
    bool has_thread;
    struct ttp_growing pieces;  /* struct ttp_piece, of what is under way */
    struct ttp_growing copies;  /* struct ttp_copy */
    struct ttp_growing numbers; /* struct ttp_number */
    uint32_t number;            /* of the last one */
    uint32_t request;           /* that it answers */
    uint64_t until_ns;          /* as of its mark */
    size_t name_bytes;          /* of names in the arena's head, of the one that is being made */
    ttape_error error;          /* of the last that failed */
    ttape_error untold;         /* the polling thread's while has_failed, else their maker's */
    _Atomic bool has_failed;
    bool is_failing; /* the last one was not written: the next failure is not told */
};

typedef struct ttape_recording ttape_recording;

/* recording.c, without the joiner of its own that the public call gives it. */
struct ttape_recording_options;
ttape_status ttp_recording_open(ttape_recording **out, const char *output,
                                const struct ttape_recording_options *options, ttp_joiner join,
                                ttape_error *err);

/* Of the polling thread: whether the next round has to take everything; everything: anyway. */
bool ttp_snapshots_asked(struct ttp_drain *d, bool flush, bool snapshot, bool everything);
/* After a round: a mark, where the round calls for one. */
ttape_status ttp_snapshots_mark(struct ttp_drain *d, ttape_error *err);
/* Of the encoding thread: serves a mark. ttp_snapshots_tell returns the failures of snapshots. */
ttape_status ttp_mark_serve(ttape_recording *r, const struct ttp_mark *mark, ttape_error *err);
/* The encoding thread says so: a function was entered that asks for a checkpoint. */
void ttp_hit_put(struct ttp_hits *hits, uint64_t time_ns);
/* The polling thread asks whether a checkpoint is to be made now; then it counts as begun. Where
 * somebody asks for a snapshot, that is made: of all that there is. */
bool ttp_checkpoint_due(ttape_recording *r, uint64_t now_ms, bool is_asked);
/* Waits for a snapshot that is under way. */
void ttp_snapshots_end(ttape_recording *r);
/* What one failed with since the last call; of those in a row, the first. Of the polling thread. */
ttape_status ttp_snapshots_tell(ttape_recording *r, ttape_error *err);

#endif
