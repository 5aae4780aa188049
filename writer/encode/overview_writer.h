/* Overview chunks: what the last partitions of a scope add up to, gathered as they are sealed.
 *
 *   a frame or a leaf of a site  -> room for what is counted of it      ttp_group_site, _leaf
 *   a partition is sealed        -> its rows are added                  ttp_group_add
 *   it was the last of its group -> the chunk, which follows it         ttp_group_emit
 *   what is copied comes between -> the group ends as it is             ttp_group_end */
#ifndef TTP_WRITER_OVERVIEW_WRITER_H
#define TTP_WRITER_OVERVIEW_WRITER_H

#include "writer/writer_internal.h"

/* The site gets a frame: room for its histogram. */
ttape_status ttp_group_site(ttape_writer *w, struct ttp_site_state *site, ttape_error *err);
/* A leaf of the site comes. */
ttape_status ttp_group_leaf(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                            ttape_error *err);
/* The pending partition, whose measures are collected. */
ttape_status ttp_group_add(ttape_writer *w, struct ttp_pending *p, ttape_error *err);
/* A partition went out: now comes the overview that was made when it was sealed, if any. */
ttape_status ttp_group_emit(ttape_writer *w, struct ttp_job *job, ttape_error *err);
/* No job is in flight: writes what there is of a group, where it is worth it. */
ttape_status ttp_group_end(ttape_writer *w, struct ttp_scope *scope, ttape_error *err);
void ttp_group_free(ttape_writer *w, struct ttp_scope *scope);

#endif
