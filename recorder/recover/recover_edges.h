/* Where streams stood when a file was finished: they go on there in the next one, also where that
 * has nothing of them yet. */
#ifndef TTP_LIBTRACE_RECOVER_EDGES_H
#define TTP_LIBTRACE_RECOVER_EDGES_H

#include "recorder/recover/recover_files.h"

/* The last of each thread, in the journal. */
struct ttp_recovered_edges {
    const uint8_t **items; /* by the thread's index; NULL: none */
    size_t *sizes, count;
    uint64_t begin_ns; /* no thread goes on before: what comes then is not kept; 0: all is */
};

ttape_status ttp_edges_find(struct ttp_recovered_edges *edges, const struct ttp_encode *e,
                            const struct ttp_recovered_files *files, ttape_error *err);
/* The thread goes on there, unless a file says where it stood. */
ttape_status ttp_edges_resume(const struct ttp_recovered_edges *edges, struct ttp_encode *e,
                              uint64_t serial, ttape_error *err);
/* The thread's event number there; 0: it has none. By its index. */
uint64_t ttp_edges_number(const struct ttp_recovered_edges *edges, uint32_t index);
void ttp_edges_close(struct ttp_recovered_edges *edges);

#endif
