/* Many traces as one: pieces of one trace join into its streams, other traces lie side by side, on
 * one axis of times.
 *
 * Partitions are copied as they are, in an order that every reader can follow: within a file as
 * they stand; among pieces of one trace so that each stream's event numbers ascend; otherwise by
 * first time.
 *
 *   files --> segments by (trace, process, thread, start) and event number   merge_runs.c
 *         --> what is added to the times of each                             merge_clocks.c
 *         --> next partition that waits for no other                         merge_files.c
 *         --> a writer: a trace of its own, or one for an answer             joined.c */
#ifndef TOOL_MERGE_FILES_H
#define TOOL_MERGE_FILES_H

#include <stdbool.h>

#include <tracetape/clocks.h>
#include <tracetape/copy.h>

#include "tools/io/input.h"

struct tool_merge_piece {
    struct tool_input input;
    ttape_info info;
    ttape_copier *copier;
    ttape_clock_shift *shifts; /* by scope; NULL: all have one clock */
    uint32_t next;             /* partition */
    size_t first;              /* place of its partition 0 among all pieces' partitions */
};

/* One stream's run in one partition. */
struct tool_merge_run {
    uint8_t trace_id[16];
    uint64_t scope, pid, tid, start_ns;
    uint64_t first, end; /* event numbers */
    uint32_t piece, partition;
};

struct tool_merge {
    uint64_t memory_bytes; /* as of --memory */
    bool is_kept;          /* what a recording has kept: it says itself what was lost */
    bool leaves_out;       /* files that cannot be read are named, the others are merged */
    struct tool_merge_piece *pieces;
    size_t piece_count;
    ttape_clocks *clocks;
    struct tool_merge_run *runs; /* by stream, then by event number */
    size_t run_count, run_capacity;
    size_t partition_count; /* of all pieces */
    uint32_t *waits;        /* per partition: runs that must be copied before it */
    size_t *starts, *own;   /* per partition: where its runs' indexes start in own[] */
    ttape_writer *writer;
    int status; /* TOOL_LOSS: files were left out */
    ttape_error err;
};

/* Opens the files and looks how they fit together. Returns a tool_exit; what is wrong has been
 * reported. What was set of `merge` stays; it is closed in any case. */
int tool_merge_open(struct tool_merge *merge, char **paths, size_t count);
/* The id of the whole: the pieces' own where they agree. */
void tool_merge_choose_id(const struct tool_merge *merge, uint8_t id[16]);
/* Copies everything into a writer, and finishes it. name: of the output, for messages. */
int tool_merge_copy(struct tool_merge *merge, ttape_writer *writer, const char *name);
/* TOOL_LOSS: something was left out, or ends too early. */
int tool_merge_check_ends(struct tool_merge *merge);
void tool_merge_close(struct tool_merge *merge);

/* ---- between its files ---- */

int tool_merge_list_runs(struct tool_merge *merge);
/* Refuses pieces that hold the same events, and counts what each partition waits for. */
int tool_merge_check_runs(struct tool_merge *merge);
/* The partition is out: the runs that follow its own wait for one less. */
void tool_merge_release(struct tool_merge *merge, size_t place);
/* Puts the pieces' clocks on one axis, and says how well that is known. */
int tool_merge_place(struct tool_merge *merge);

#endif
