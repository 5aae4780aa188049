/* How far each thread's events are in the trace files, by the journal: partitions of a damaged file
 * cannot be counted, event numbers can. */
#ifndef TTP_LIBTRACE_RECOVER_REACHED_H
#define TTP_LIBTRACE_RECOVER_REACHED_H

#include "recorder/recover/recover_edges.h"
#include "recorder/recover/recover_gaps.h"

struct ttp_reached_row {
    uint64_t number;  /* behind the last event that is in a partition; 0: nothing is known */
    uint64_t time_ns; /* of that event */
    uint32_t file, stream;
};

struct ttp_reached {
    struct ttp_reached_row *rows; /* by the thread's index */
    size_t count;
    bool is_known; /* by the journal at all: not by those of older recorders */
    bool is_false; /* it says what cannot be: nothing of it is believed */
    bool is_separate;
    struct ttp_word_map by_stream;
    const ttape_allocator *allocator; /* of the map */
};

ttape_status ttp_reached_find(struct ttp_reached *reached, struct ttp_encode *e,
                              const struct ttp_recovered_files *files,
                              const struct ttp_recovered_edges *edges, ttape_error *err);
/* May a thread have come from one number to the other in so many partitions? */
bool ttp_reached_can_be(uint64_t from, uint64_t to, uint64_t partitions);
/* The journal was found to say what cannot be: as if it had said nothing. */
void ttp_reached_forget(struct ttp_reached *reached);
/* The row of a stream of a file; NULL: there is none. */
const struct ttp_reached_row *ttp_reached_of(const struct ttp_reached *reached, uint32_t file,
                                             uint32_t stream);
/* Threads go on behind what the output has of them, and behind a gap where that is less than there
 * was. To be called when the last file was copied. *gaps is added to. */
ttape_status ttp_reached_resume(const struct ttp_reached *reached,
                                const struct ttp_recovered_edges *edges, struct ttp_encode *e,
                                struct ttp_gap_sums *gaps, ttape_error *err);
void ttp_reached_close(struct ttp_reached *reached);

#endif
