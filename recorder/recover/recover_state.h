/* The recorder's state as the journal tells it: so that its own decoder can go on where it stopped.
 */
#ifndef TTP_LIBTRACE_RECOVER_STATE_H
#define TTP_LIBTRACE_RECOVER_STATE_H

#include "recorder/recover/recover_edges.h"

/* A recording that only decodes; options and clock are the journal's. */
ttape_status ttp_state_open(struct ttp_encode **out, const ttape_recover_options *options,
                            const struct ttp_recovered_files *files, ttape_error *err);
ttape_status ttp_state_set_writer(struct ttp_encode *e, ttape_writer *writer, ttape_error *err);
/* Threads, processes and modules up to the last checkpoint. */
ttape_status ttp_state_replay(struct ttp_encode *e, const struct ttp_recovered_files *files,
                              ttape_error *err);
/* The trace's definitions keep their ids, its streams go on at the ends of its partitions. */
ttape_status ttp_state_adopt(struct ttp_encode *e, ttape_reader *reader, ttape_error *err);
/* Threads whose end nobody saw end where the last event of all is. */
ttape_status ttp_state_end_threads(struct ttp_encode *e, const struct ttp_recovered_edges *edges,
                                   ttape_error *err);
/* Nothing of what was replayed has an id in the output. */
void ttp_state_forget_ids(struct ttp_encode *e);
void ttp_state_close(struct ttp_encode *e);

#endif
