/* What libtrace/copy/copy.c needs of a writer: scopes besides its own, stored partitions, another
 * clock. */
#ifndef TTP_WRITER_COPY_WRITER_H
#define TTP_WRITER_COPY_WRITER_H

#include "format/container/index.h"
#include "writer/writer_internal.h"

/* Sets times of what is appended from now on; seals what came before. resolution 0: no times. */
ttape_status ttp_writer_set_clock(ttape_writer *w, uint64_t resolution_ns, uint64_t origin_ns,
                                  ttape_error *err);

/* Whether times and self times of what is appended are ticks of that clock already: not every tick
 * of a file can be told from its time, of which there are 64 bits. */
void ttp_writer_take_ticks(ttape_writer *w, bool are_ticks);

/* Partitions say from now on by which events open calls began, as those do that are copied. */
ttape_status ttp_writer_number_calls(ttape_writer *w, ttape_error *err);

/* A new scope of a known trace; not written until something of it is. */
ttape_status ttp_writer_new_scope(ttape_writer *w, const uint8_t trace_id[TTP_TRACE_ID_BYTES],
                                  struct ttp_scope **out, ttape_error *err);

/* Adds a pair to a scope's metadata. */
ttape_status ttp_writer_scope_metadata(ttape_writer *w, struct ttp_scope *scope, ttape_string key,
                                       bool is_text, ttape_string text, uint64_t number,
                                       ttape_error *err);

/* Writes what is not written yet of a scope's definitions, all that was appended before first. */
ttape_status ttp_writer_introduce(ttape_writer *w, struct ttp_scope *scope, ttape_error *err);

/* Appends a stored chunk (partition or model) as it is under a new header. For a partition, `entry`
 * describes it (scope is filled in here) with its segments in the scope's stream numbers; those
 * streams need a resume before appends. */
ttape_status ttp_writer_stored_partition(ttape_writer *w, struct ttp_scope *scope,
                                         const struct ttp_chunk *chunk, const void *payload,
                                         struct ttp_index_entry *entry,
                                         const struct ttp_index_segment *segments,
                                         ttape_error *err);
/* An overview of partitions that were stored just now, all of them. */
ttape_status ttp_writer_stored_overview(ttape_writer *w, struct ttp_scope *scope,
                                        const void *content, size_t size_bytes, ttape_error *err);
ttape_status ttp_writer_stored_model(ttape_writer *w, struct ttp_scope *scope,
                                     const struct ttp_chunk *chunk, const void *payload,
                                     ttape_error *err);

/* Makes a copied scope the writer's own: what is added and appended from now on goes into it. The
 * writer's first own scope has to be empty. */
void ttp_writer_take_over(ttape_writer *w, struct ttp_scope *scope);

/* libtrace/copy/copy.c: the writer's scope for one of the reader's; NULL: the reader has not so
 * many. */
struct ttape_copier;
struct ttp_scope *ttp_copier_scope(const struct ttape_copier *copier, uint32_t scope);

#endif
