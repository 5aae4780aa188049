/* Instants of the partitions of a group, kept as their sections say them until its overview goes
 * out, which is behind all of them. */
#ifndef TTP_WRITER_MERGED_WRITER_H
#define TTP_WRITER_MERGED_WRITER_H

#include "writer/writer_internal.h"

/* A partition of the group went out. */
ttape_status ttp_merged_add(ttape_writer *w, const struct ttp_job *job, ttape_error *err);
/* The field's bytes, no more than `most`: none where there is nothing to say. */
ttape_status ttp_merged_make(ttape_writer *w, struct ttp_scope *scope, size_t most,
                             struct ttp_growing *out, ttape_error *err);
void ttp_merged_forget(struct ttp_scope *scope);
void ttp_merged_free(ttape_writer *w, struct ttp_scope *scope);

#endif
