/* What a frame's life does to the measures of its site: shared by both paths of appending. */
#ifndef TTP_WRITER_FRAMES_H
#define TTP_WRITER_FRAMES_H

#include "format/base/wide.h"
#include "writer/writer_internal.h"

/* sum + to - from, modulo 2^64 (F-NUM-07): clocks may jump over half of all times. */
static inline int64_t ttp_add_ticks(int64_t sum, int64_t to, int64_t from)
{
    return (int64_t)((uint64_t)sum + (uint64_t)to - (uint64_t)from);
}

static inline struct ttp_site_state *ttp_site_state_at(const struct ttp_scope *scope, uint32_t site)
{
    return (struct ttp_site_state *)scope->site_states.data + site;
}

/* Gives the site a row in the pending partition: its measures start at zero there. */
static inline void ttp_touch(ttape_writer *w, struct ttp_site_state *site)
{
    if (site->touched == w->epoch)
        return;
    uint32_t enter = site->enter_symbol, leaf = site->leaf_symbol, active = site->active;
    int64_t since = site->active_since;
    uint32_t *counts = site->counts;
    uint32_t counts_bytes = site->counts_bytes, group_row = site->group_row;
    uint32_t leaf_row = site->leaf_row, listed = site->listed;
    int64_t wanted = site->wanted_ticks;
    *site = (struct ttp_site_state){.enter_symbol = enter,
                                    .leaf_symbol = leaf,
                                    .active = active,
                                    .touched = w->epoch,
                                    .active_since = since,
                                    .min_ticks = INT64_MAX,
                                    .max_ticks = INT64_MIN,
                                    .max_self_ticks = INT64_MIN,
                                    .counts = counts,
                                    .counts_bytes = counts_bytes,
                                    .group_row = group_row,
                                    .leaf_row = leaf_row,
                                    .listed = listed,
                                    .wanted_ticks = wanted};
    struct ttp_growing *touched = &w->scope->touched; /* has room for every site */
    ((uint32_t *)touched->data)[touched->count++] =
        (uint32_t)(site - (struct ttp_site_state *)w->scope->site_states.data);
}

/* How long a frame was that ends at `tick`. */
static inline int64_t ttp_frame_ticks(const struct ttp_open *f, int64_t tick)
{
    return (int64_t)((uint64_t)tick - (uint64_t)f->enter_tick);
}

/* A frame ended at `tick`: its whole duration counts now, of its self time what earlier partitions
 * did not count. */
static inline void ttp_end_frame(struct ttp_site_state *site, const struct ttp_open *f,
                                 int64_t tick)
{
    int64_t duration = ttp_frame_ticks(f, tick);
    site->self_ticks = ttp_add_ticks(site->self_ticks, f->self_ticks, f->self_before);
    site->exit_count++;
    if (__builtin_expect(duration < site->min_ticks, 0))
        site->min_ticks = duration;
    if (__builtin_expect(duration > site->max_ticks, 0))
        site->max_ticks = duration;
    if (__builtin_expect(f->self_ticks > site->max_self_ticks, 0))
        site->max_self_ticks = f->self_ticks;
    if (site->counts != NULL)
        site->counts[ttp_overview_bucket(duration)]++;
    site->squares = ttp_wide_add(ttp_wide_square(duration), site->squares);
    if (--site->active == 0)
        site->total_ticks = ttp_add_ticks(site->total_ticks, tick, site->active_since);
}

#endif
