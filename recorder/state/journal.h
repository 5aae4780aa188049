/* The journal's entries, for the recorder that writes them and the recovery that reads them. */
#ifndef TTP_RECORDING_JOURNAL_H
#define TTP_RECORDING_JOURNAL_H

#include "recorder/state/recording_internal.h"

#define TTP_JOURNAL_HEAD_BYTES    16u
#define TTP_JOURNAL_START_BYTES   84u
#define TTP_JOURNAL_THREAD_BYTES  84u
#define TTP_JOURNAL_EDGE_BYTES    36u
#define TTP_JOURNAL_FRAME_BYTES   40u /* each, behind it */
#define TTP_JOURNAL_REACHED_BYTES 32u
#define TTP_JOURNAL_LINE_BYTES    24u
#define TTP_JOURNAL_FILE_BYTES    16u /* in a checkpoint */

/* Of events of a thread: one in each nanosecond of two years. What is above that is no number of a
 * recorder's. */
#define TTP_JOURNAL_NUMBER_MAX (UINT64_C(1) << 56)

/* START: how files are named. */
#define TTP_JOURNAL_SEPARATE 1u /* one for each process */
#define TTP_JOURNAL_LIVE     2u /* they have their names from the start */
#define TTP_JOURNAL_PIECES   4u /* one behind the other */
/* and not of them: */
#define TTP_JOURNAL_APPLICATION 8u  /* paths have the application's frames only */
#define TTP_JOURNAL_WINDOW      16u /* of the files those are removed that are not kept */
/* How system calls are recorded, where they are. */
#define TTP_JOURNAL_CALLS    1u
#define TTP_JOURNAL_OUTSIDE  2u /* by another process, */
#define TTP_JOURNAL_TRACED   4u /* which is there, too */
#define TTP_JOURNAL_ATTACHED 8u
#define TTP_JOURNAL_STACKS   16u

enum ttp_journal_kind {
    TTP_JOURNAL_START = 1,   /* clock and options */
    TTP_JOURNAL_ARENA = 2,   /* its path */
    TTP_JOURNAL_COMMAND = 3, /* the command line */
    TTP_JOURNAL_MESSAGE =
        4,                  /* u64 thread serial, u32 kind, its bytes: a message that was decoded */
    TTP_JOURNAL_THREAD = 5, /* how far a thread is in the trace */
    /* for each open file: u32 number, u32 0, u64 partitions of it that are complete. One entry: it
     * is there as a whole or not at all */
    TTP_JOURNAL_CHECKPOINT = 6,
    TTP_JOURNAL_EDGE = 7,    /* where a thread stands when its file is finished, and its frames */
    TTP_JOURNAL_REACHED = 8, /* how many events of a thread are in complete partitions */
    TTP_JOURNAL_LINE = 9,    /* of the clock: u64 base ticks, u64 base ns, u64 scale */
    TTP_JOURNAL_ENDED = 10   /* u64 serial of a thread whose end is in the trace */
};

ttape_status ttp_journal_open(struct ttp_encode *e, const char *arena_path, ttape_error *err);
/* These add to e->journal; nothing is written before the checkpoint is. */
ttape_status ttp_journal_message(struct ttp_encode *e, const struct ttp_thread *thread,
                                 uint32_t kind, const uint8_t *bytes, size_t size_bytes,
                                 ttape_error *err);
ttape_status ttp_journal_thread(struct ttp_encode *e, const struct ttp_thread *thread,
                                ttape_error *err);
ttape_status ttp_journal_ended(struct ttp_encode *e, const struct ttp_thread *thread,
                               ttape_error *err);
ttape_status ttp_journal_line(struct ttp_encode *e, const struct ttp_tick_rate *line,
                              ttape_error *err);
/* Behind the thread's entry, once all that was appended is sealed. */
ttape_status ttp_journal_reached(struct ttp_encode *e, const struct ttp_thread *thread,
                                 ttape_error *err);
/* thread->edge and its frames. */
ttape_status ttp_journal_edge(struct ttp_encode *e, const struct ttp_thread *thread,
                              ttape_error *err);
/* files: what ttp_journal_file has put there. */
ttape_status ttp_journal_file(struct ttp_encode *e, struct ttp_growing *files, uint32_t number,
                              uint64_t partitions, ttape_error *err);
ttape_status ttp_journal_checkpoint(struct ttp_encode *e, const struct ttp_growing *files,
                                    ttape_error *err);
ttape_status ttp_journal_write(struct ttp_encode *e, const struct ttp_growing *bytes,
                               ttape_error *err);

#endif
