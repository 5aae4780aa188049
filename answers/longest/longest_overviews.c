/* How long a call of each partition may be, out of overviews: no longer than the longest of its
 * function in all of them, and none where the function was not called. Where an overview lists the
 * longest calls, these are known, and only others need be looked for. */
#include <string.h>

#include "answers/longest/longest_internal.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/levels/listed_reader.h"

/* Listed calls of partitions that are decoded all the same are taken out one by one. */
#define LISTED_COUNT_MOST 4096u

struct overview {
    struct ttape_longest *l;
    uint32_t scope;
    const struct ttp_read_overview *o;
    const struct ttp_listed *listed; /* NULL: it lists none */
    const uint8_t *omitted; /* by listed call: enum ttp_long_omitted; NULL: not asked, or no room */
};

static int64_t nanoseconds(const struct overview *v, int64_t ticks)
{
    return (int64_t)((uint64_t)ticks * v->o->head.resolution_ns);
}

static void raise_bound(const struct overview *v, uint32_t i, int64_t most)
{
    int64_t *bound = &v->l->bounds[v->o->partitions[i]];
    *bound = most > *bound ? most : *bound;
}

/* ---- listed calls ---- */

static uint32_t site_of(const struct overview *v, uint32_t argument)
{
    return ttp_definitions_find(&v->l->decoder->reader->definitions, v->scope, TTP_DEFINES_SITES,
                                argument);
}

/* Of its frames, too, the sites have to be defined. */
static bool fill_path(const struct overview *v, uint32_t node, struct ttp_long_path *path,
                      uint32_t stack)
{
    for (uint32_t i = path->frame_count; i-- > 0; node = v->listed->nodes[node - 1].below) {
        const struct ttp_listed_node *n = &v->listed->nodes[node - 1];
        bool is_signal = n->event_class == TTP_CLASS_SIGNAL;
        ttape_open_frame *f = &path->frames[i];
        memset(f, 0, sizeof *f);
        f->kind = is_signal                          ? TTAPE_EVENT_SIGNAL_BEGIN
                  : n->event_class == TTP_CLASS_OPEN ? TTAPE_EVENT_OPEN
                                                     : TTAPE_EVENT_ENTER;
        f->site = is_signal ? TTAPE_NONE : site_of(v, n->argument);
        f->argument = is_signal ? n->argument : 0;
        f->stack = stack;
        if (!is_signal && f->site == TTAPE_NONE)
            return false;
    }
    return true;
}

static uint32_t height_of(const struct overview *v, const struct ttp_listed_call *from)
{
    return from->path != 0 ? v->listed->nodes[from->path - 1].depth : 0;
}

/* NULL: there is no room, or it says what is not defined. */
static const struct ttp_long_path *path_of(const struct overview *v,
                                           const struct ttp_listed_call *from)
{
    uint32_t height = height_of(v, from);
    struct ttp_long_path *path = ttp_longest_new_path(v->l, height);
    if (path == NULL)
        return NULL;
    path->depth = height;
    return fill_path(v, from->path, path, from->stack) ? path : NULL;
}

static uint64_t end_of(const struct ttp_partition_entry *entry, const struct ttp_listed_call *call)
{
    uint64_t end = (uint64_t)call->enter_tick + (uint64_t)call->duration_ticks;
    return ttp_time_of((int64_t)end, entry->origin_ns, entry->resolution_ns);
}

/* Whether a known call of a function that is selected is asked for. */
static bool is_asked(const struct overview *v, const struct ttp_listed_call *call)
{
    const struct ttp_long_plan *plan = &v->l->plan;
    const ttape_reader *r = v->l->decoder->reader;
    const struct ttp_partition_entry *entry = &r->partitions[v->o->partitions[call->partition]];
    return ttp_long_is_in_range(plan, end_of(entry, call)) &&
           (plan->streams == NULL ||
            plan->streams[r->segments[entry->first_segment + call->segment].stream] != 0);
}

/* False: it has to be looked for in its partition. */
static bool take_call(const struct overview *v, const struct ttp_listed_call *from, uint32_t site,
                      enum ttp_long_omitted omitted)
{
    struct ttape_longest *l = v->l;
    const ttape_reader *r = l->decoder->reader;
    uint32_t partition = v->o->partitions[from->partition];
    const struct ttp_partition_entry *entry = &r->partitions[partition];
    struct ttp_long_call call = {
        .partition = partition,
        .segment = from->segment,
        .end_event = from->end_event,
        .enter_event = from->enter_event,
        .site = site,
        .stack = from->stack,
        .end = from->is_unwound ? TTAPE_CALL_UNWOUND : TTAPE_CALL_RETURNED,
        .enter_ns = ttp_time_of(from->enter_tick, entry->origin_ns, entry->resolution_ns),
        .end_ns = end_of(entry, from),
        .self_ns = nanoseconds(v, from->self_ticks),
        .is_listed = true};
    call.rank_ns = ttp_long_rank(&l->plan, call.enter_ns, call.end_ns, call.self_ns, 0);
    if (omitted == TTP_LONG_OMITTED) {
        call.height = height_of(v, from);
        ttp_long_heap_add(&l->omitted, &call);
        return true;
    }
    if (!ttp_long_heap_wants(&l->heap, call.rank_ns, partition))
        return true;
    call.path = path_of(v, from);
    if (call.path == NULL)
        return false;
    call.height = call.path->depth;
    l->listed[partition] = TTP_LONG_LISTED;
    ttp_long_heap_add(&l->heap, &call);
    return true;
}

/* ---- rows ---- */

/* One that is left out for its callee is none; of one that may be, its partition has to tell. */
static void add_call(const struct overview *v, const struct ttp_listed_call *call, uint32_t site,
                     bool can_tell)
{
    if (!ttp_long_lasts(&v->l->plan, nanoseconds(v, call->duration_ticks)) ||
        (call->is_known && !is_asked(v, call)))
        return;
    enum ttp_long_omitted omitted =
        v->omitted != NULL ? v->omitted[call - v->listed->calls] : TTP_LONG_ALONE;
    if (omitted == TTP_LONG_UNCERTAIN || !can_tell || !call->is_known ||
        !take_call(v, call, site, omitted))
        raise_bound(v, call->partition, nanoseconds(v, call->duration_ticks));
}

/* Its histogram has calls that may have taken so long. */
static bool has_so_long(const struct overview *v, uint32_t row)
{
    const struct ttp_long_plan *plan = &v->l->plan;
    int64_t step = (int64_t)v->o->head.resolution_ns;
    if (!plan->has_durations)
        return true;
    for (uint32_t b = ttp_overview_bucket(plan->least_ns / step);
         b <= ttp_overview_bucket(plan->most_ns / step); b++)
        if (v->o->calls[row].counts[b] != 0)
            return true;
    return false;
}

/* Calls that are not listed are behind the last one that is. */
static void add_row(const struct overview *v, uint32_t row, const struct ttp_listed_call *calls,
                    uint32_t count, uint32_t site)
{
    const struct ttp_read_overview *o = v->o;
    const struct ttp_listed_call *last = count != 0 ? &calls[count - 1] : NULL;
    bool can_tell = v->l->plan.names_only && v->l->options.count <= LISTED_COUNT_MOST &&
                    o->head.ends_mask == 0 && /* else some of them are none */
                    (v->omitted != NULL || !v->l->plan.without_callers);
    int64_t most = last != NULL ? last->duration_ticks : o->rows[row].max_ticks;
    if (!has_so_long(v, row))
        return;
    for (uint32_t i = 0; i < count; i++)
        add_call(v, &calls[i], site, can_tell);
    for (uint32_t i = 0; count != o->rows[row].exit_count && i < o->head.partition_count; i++)
        if ((o->calls[row].mask >> i & 1) != 0)
            raise_bound(
                v, i,
                ttp_long_at_most(&v->l->plan,
                                 nanoseconds(v, most - (last != NULL && i < last->partition))));
}

static void add_overview(const struct overview *v)
{
    const struct ttp_read_overview *o = v->o;
    const struct ttp_listed_call *calls = v->listed != NULL ? v->listed->calls : NULL;
    for (uint32_t i = 0; i < o->row_count; i++) {
        uint32_t site = site_of(v, o->rows[i].site);
        uint32_t count = v->listed != NULL ? v->listed->counts[i] : 0;
        if (o->rows[i].exit_count != 0 && v->l->plan.sites[site] != 0)
            add_row(v, i, calls, count, site);
        calls += count;
    }
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        v->l->rough[o->partitions[i]] = TTP_LONG_ROUGH;
}

/* The result has an enum ttp_long_omitted for each listed call; NULL: there is no room. */
static uint8_t *find_omitted(const struct overview *v)
{
    struct ttp_memory *memory = &v->l->memory;
    const struct ttp_listed_call *call = v->listed->calls;
    uint8_t *omitted = ttp_memory_take(memory, v->listed->call_count, 1, NULL), *at = omitted;
    if (omitted == NULL)
        return NULL;
    for (uint32_t row = 0; row < v->o->row_count; row++) {
        bool is_selected = v->l->plan.sites[site_of(v, v->o->rows[row].site)] != 0;
        for (uint32_t i = 0; i < v->listed->counts[row]; i++, call++)
            *at++ = is_selected && (!call->is_known || is_asked(v, call)) ? TTP_LONG_ALONE
                                                                          : TTP_LONG_UNASKED;
    }
    if (ttp_longest_omit(v->l, v->listed, omitted))
        return omitted;
    ttp_memory_give(memory, omitted, v->listed->call_count, 1);
    return NULL;
}

/* Without a list, or with one that does not hold, there are bounds still. */
static ttape_status add_with_list(struct overview *v, ttape_error *err)
{
    struct ttp_listed listed;
    ttape_error problem = {0};
    ttape_status status = ttp_listed_load(v->l->decoder, v->o, &listed, &problem);
    if (ttp_overview_fails(status)) {
        if (err != NULL)
            *err = problem;
        return status;
    }
    v->listed = status == TTAPE_OK ? &listed : NULL;
    uint8_t *omitted = NULL;
    if (status == TTAPE_OK && v->l->plan.without_callers)
        omitted = find_omitted(v);
    v->omitted = omitted;
    add_overview(v);
    if (omitted != NULL)
        ttp_memory_give(&v->l->memory, omitted, listed.call_count, 1);
    if (status == TTAPE_OK)
        ttp_listed_drop(v->l->decoder, &listed);
    return TTAPE_OK;
}

ttape_status ttp_longest_rough(struct ttape_longest *l, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    for (uint32_t i = 0; l->plan.by == TTAPE_LONGEST_BY_DURATION && i < d->reader->overview_count;
         i++) {
        struct ttp_read_overview o;
        ttape_error problem = {0};
        uint32_t scope = d->reader->overviews[i].scope;
        ttape_status status =
            ttp_overview_load(d, i, TTP_OVERVIEW_ALL, TTP_OVERVIEW_SPREAD, &o, &problem);
        if (ttp_overview_fails(status) && err != NULL)
            *err = problem;
        if (ttp_overview_fails(status))
            return status;
        if (status != TTAPE_OK)
            continue;
        struct overview v = {.l = l, .scope = scope, .o = &o};
        if (o.head.resolution_ns != 0 && o.calls != NULL &&
            ttp_overview_tells(d->reader, scope, &o, l->rough))
            status = add_with_list(&v, err);
        ttp_overview_drop(d, &o);
        TTP_TRY(status);
    }
    return TTAPE_OK;
}
