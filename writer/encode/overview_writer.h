/* Overview chunks: what the last partitions of a scope add up to, gathered as they are sealed.
 *
 *   a frame or a leaf of a site  -> room for what is counted of it      ttp_group_site, _leaf
 *   a partition is sealed        -> its rows are added                  ttp_group_add
 *   it was the last of its group -> the chunk, which follows it         ttp_group_emit
 *   what is copied comes between -> the group ends as it is             ttp_group_end */
#ifndef TTP_WRITER_OVERVIEW_WRITER_H
#define TTP_WRITER_OVERVIEW_WRITER_H

#include "format/container/measures/listed.h"
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
void ttp_overview_free(ttape_writer *w, struct ttp_overview_content *content);

/* ---- listed_writer.c: the longest calls of each function ---- */

/* A frame that ends, and is not on its stack any more. */
struct ttp_listed_end {
    const struct ttp_segment *segment; /* still pending, event_count: its number of the end */
    const struct ttp_stack *stack;     /* frames[count] is the frame */
    int64_t tick;
    bool is_unwound;
    bool is_from_before; /* it was entered in an earlier partition */
};

struct ttp_listed_room {
    struct ttp_listed listed;
    struct ttp_growing counts, calls, nodes, numbers;
};

/* Its duration is state->wanted_ticks at least. What there is no memory for is not kept. */
void ttp_listed_note(ttape_writer *w, struct ttp_scope *scope, const struct ttp_listed_end *end);
/* The pending partition, which is not in its group yet. */
ttape_status ttp_listed_seal(ttape_writer *w, const struct ttp_pending *p, ttape_error *err);
/* `rows`: of the overview. To be dropped in any case. */
ttape_status ttp_listed_get(ttape_writer *w, struct ttp_scope *scope,
                            const struct ttp_measure *rows, uint32_t row_count, uint32_t most,
                            struct ttp_listed_room *room, ttape_error *err);
void ttp_listed_release(ttape_writer *w, struct ttp_listed_room *room);
/* The group ends. */
void ttp_listed_forget(struct ttp_scope *scope);
void ttp_listed_free(ttape_writer *w, struct ttp_scope *scope);

#endif
