/* Outlines out of overviews: without reading the partitions. One that does not hold is left out,
 * and its partitions are read. */
#include "answers/tree/tree_overviews.h"

#include "format/base/fail.h"

/* ---- which overview is the one of a partition ---- */

static ttape_status take_numbers(struct ttape_tree *tree, uint32_t scopes, uint32_t **next,
                                 ttape_error *err)
{
    tree->overview_of =
        ttp_memory_take(&tree->memory, tree->outline_capacity, sizeof *tree->overview_of, err);
    *next = ttp_memory_take(&tree->memory, scopes, sizeof **next, err);
    if (tree->overview_of != NULL && *next != NULL)
        return TTAPE_OK;
    ttp_memory_give(&tree->memory, *next, scopes, sizeof **next);
    return tree->memory.status;
}

/* The first of its scope behind it, which may cover it. */
ttape_status ttp_tree_overviews_open(struct ttape_tree *tree, ttape_error *err)
{
    const ttape_reader *r = tree->reader;
    uint32_t left = r->overview_count, scopes = r->definitions.scope_count, *next;
    if (left == 0)
        return TTAPE_OK;
    TTP_TRY(take_numbers(tree, scopes, &next, err));
    for (uint32_t i = 0; i < scopes; i++)
        next[i] = TTAPE_NONE;
    for (uint32_t p = tree->outline_capacity; p-- > 0;) {
        for (; left != 0 && r->overviews[left - 1].end > p; left--)
            next[r->overviews[left - 1].scope] = left - 1;
        uint32_t number = next[r->partitions[p].scope];
        bool is_near = number != TTAPE_NONE && r->overviews[number].end - p <= TTP_OVERVIEW_SPREAD;
        tree->overview_of[p] = is_near ? number : TTAPE_NONE;
    }
    ttp_memory_give(&tree->memory, next, scopes, sizeof *next);
    return TTAPE_OK;
}

void ttp_tree_overviews_close(struct ttape_tree *tree)
{
    ttp_memory_give(&tree->memory, tree->overview_of, tree->outline_capacity,
                    sizeof *tree->overview_of);
}

/* ---- what it says ---- */

static bool is_defined(const ttape_reader *r, uint32_t scope, uint32_t site)
{
    return ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_SITES, site) != TTAPE_NONE;
}

static bool are_defined(const ttape_reader *r, uint32_t scope, const struct ttp_frame *frames,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (frames[i].event_class != TTP_CLASS_SIGNAL && !is_defined(r, scope, frames[i].argument))
            return false;
    return true;
}

/* Whether it is as good as light sections and a summary. */
static bool is_sound(const ttape_reader *r, const struct ttp_loaded *p,
                     const struct ttp_partition_outline *one)
{
    uint64_t step = p->head.resolution_ns != 0 ? p->head.resolution_ns : 1;
    const struct ttp_segments *s = &one->segments;
    bool sound = one->own_sum <= (uint64_t)INT64_MAX / step && !ttp_tree_needs_events(p) &&
                 are_defined(r, p->scope, s->start_frames, s->start_frame_count) &&
                 are_defined(r, p->scope, s->end_frames, s->end_frame_count);
    for (uint32_t i = 0; i < one->row_count && sound; i++)
        sound = is_defined(r, p->scope, one->rows[i].site);
    return sound;
}

static ttape_status take_one(const struct ttp_tree_taking *taking, const ttape_reader *r,
                             uint32_t partition, const struct ttp_partition_outline *one,
                             bool *is_taken, ttape_error *err)
{
    const struct ttp_partition_entry *entry = &r->partitions[partition];
    uint64_t step = entry->resolution_ns != 0 ? entry->resolution_ns : 1;
    const struct ttp_loaded p = {.partition = partition,
                                 .scope = entry->scope,
                                 .head = {.event_count = entry->event_count,
                                          .segment_count = entry->segment_count,
                                          .wide_count = one->has_wide,
                                          .resolution_ns = entry->resolution_ns,
                                          .origin_ns = entry->origin_ns,
                                          .first_tick = entry->first_tick,
                                          .end_tick = entry->end_tick},
                                 .segments = one->segments};
    const struct ttp_tree_measures measures = {.rows = one->rows,
                                               .row_count = one->row_count,
                                               .call_count = one->call_count,
                                               .own_sum = one->own_sum * step,
                                               .is_there = true};
    *is_taken = is_sound(r, &p, one);
    return *is_taken ? taking->take(taking->context, &p, &measures, err) : TTAPE_OK;
}

/* Takes those of the listed partitions that the overview says something of; the rest stays. */
static ttape_status take_all(const struct ttp_tree_taking *taking, struct ttp_trace_decoder *d,
                             uint32_t number, const struct ttp_read_overview *o,
                             const struct ttp_read_outlines *outlines, uint32_t *list,
                             uint32_t *count, ttape_error *err)
{
    uint32_t *overview_of = taking->tree->overview_of, left = 0, at = 0;
    for (uint32_t i = 0; i < *count; i++) { /* both ascend */
        bool is_taken = false;
        uint32_t partition = list[i];
        while (at < o->head.partition_count && o->partitions[at] < partition)
            at++;
        if (overview_of[partition] == number) {
            if (at < o->head.partition_count && o->partitions[at] == partition)
                TTP_TRY(
                    take_one(taking, d->reader, partition, &outlines->each[at], &is_taken, err));
            if (!is_taken)
                overview_of[partition] = TTAPE_NONE;
        }
        if (!is_taken)
            list[left++] = partition;
    }
    *count = left;
    return TTAPE_OK;
}

/* One that does not hold is not asked again. */
static void give_up(struct ttape_tree *tree, uint32_t number)
{
    uint32_t end = tree->reader->overviews[number].end;
    for (uint32_t p = end; p-- > 0 && end - p <= TTP_OVERVIEW_SPREAD;)
        if (tree->overview_of[p] == number)
            tree->overview_of[p] = TTAPE_NONE;
}

static ttape_status take_from(const struct ttp_tree_taking *taking, uint32_t number, uint32_t *list,
                              uint32_t *count, ttape_error *err)
{
    struct ttp_trace_decoder *d = taking->tree->lease.decoder;
    struct ttp_read_overview o;
    struct ttp_read_outlines outlines;
    ttape_error problem = {0};
    ttape_status status =
        ttp_overview_load(d, number, TTP_OVERVIEW_BARE, TTP_OVERVIEW_SPREAD, &o, &problem);
    if (status == TTAPE_OK) {
        status = ttp_outlines_load(d, &o, &outlines, &problem);
        if (status == TTAPE_OK) {
            status = take_all(taking, d, number, &o, &outlines, list, count, err);
            ttp_outlines_drop(d, &outlines);
            ttp_overview_drop(d, &o);
            return status;
        }
        ttp_overview_drop(d, &o);
    }
    if (ttp_overview_fails(status) && err != NULL)
        *err = problem;
    give_up(taking->tree, number);
    return ttp_overview_fails(status) ? status : TTAPE_OK;
}

ttape_status ttp_tree_take_overviews(const struct ttp_tree_taking *taking, uint32_t *list,
                                     uint32_t *count, ttape_error *err)
{
    const uint32_t *overview_of = taking->tree->overview_of;
    uint32_t i = 0;
    while (overview_of != NULL && i < *count)
        if (overview_of[list[i]] == TTAPE_NONE)
            i++;
        else /* then what is there is another one, or its partition is none of an overview */
            TTP_TRY(take_from(taking, overview_of[list[i]], list, count, err));
    return TTAPE_OK;
}
