/* Lists are short and sorted, and few frames get into one: what counts is that all others are
 * turned away by one comparison, where they end. Paths are kept as nodes of one tree for the group,
 * which most calls share. */
#include "writer/encode/overview_writer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/base/secret_hash.h"
#include "writer/frames.h"

#define NODES_MOST 65535u /* of TTP_LISTED_NODES: with their group they have 32 bits */

/* ---- nodes ---- */

static size_t place_of(const ttape_writer *w, const struct ttp_group_listed *g,
                       const struct ttp_listed_node *node)
{
    const struct ttp_listed_node *nodes = g->nodes.data;
    const uint32_t *slots = g->slots.data;
    size_t mask = g->slots.count - 1;
    size_t at = (size_t)ttp_secret_hash((uint64_t)node->below << 32 | node->argument, w->hash_key);
    for (at &= mask; slots[at] != 0; at = (at + 1) & mask) {
        const struct ttp_listed_node *n = &nodes[slots[at] - 1];
        if (n->below == node->below && n->argument == node->argument &&
            n->event_class == node->event_class)
            break;
    }
    return at;
}

static ttape_status grow_slots(ttape_writer *w, struct ttp_group_listed *g)
{
    const struct ttp_listed_node *nodes = g->nodes.data;
    struct ttp_growing bigger = {0};
    size_t slots = g->slots.count == 0 ? 256 : g->slots.count * 2;
    TTP_TRY(ttp_grow(&w->allocator, &bigger, sizeof(uint32_t), slots, NULL));
    memset(bigger.data, 0, slots * sizeof(uint32_t));
    bigger.count = slots;
    ttp_grown_free(&w->allocator, &g->slots);
    g->slots = bigger;
    for (uint32_t i = 0; i < g->nodes.count; i++)
        ((uint32_t *)bigger.data)[place_of(w, g, &nodes[i])] = i + 1;
    return TTAPE_OK;
}

/* The number of the frame's node; 0: there is no room for it. */
static uint32_t node_of(ttape_writer *w, struct ttp_group_listed *g, uint32_t below,
                        const struct ttp_open *f)
{
    const struct ttp_listed_node node = {
        .below = below, .argument = f->argument, .event_class = f->event_class};
    if ((g->nodes.count + 1) * 2 > g->slots.count && grow_slots(w, g) != TTAPE_OK)
        return 0;
    uint32_t *slot = (uint32_t *)g->slots.data + place_of(w, g, &node);
    if (*slot != 0)
        return *slot;
    struct ttp_listed_node *added =
        g->nodes.count < NODES_MOST ? ttp_push(&w->allocator, &g->nodes, sizeof node, NULL) : NULL;
    if (added == NULL)
        return 0;
    *added = node;
    return *slot = (uint32_t)g->nodes.count;
}

/* Of all frames of the stack: those that have nodes know it. */
static bool find_path(ttape_writer *w, struct ttp_group_listed *g, const struct ttp_stack *stack,
                      uint32_t *path)
{
    uint32_t at = stack->count;
    while (at > 0 && (stack->frames[at - 1].node == 0 ||
                      (uint16_t)(stack->frames[at - 1].node >> 16) != g->group))
        at--;
    *path = at > 0 ? stack->frames[at - 1].node & 0xffff : 0;
    for (; at < stack->count; at++) {
        *path = node_of(w, g, *path, &stack->frames[at]);
        if (*path == 0)
            return false;
        stack->frames[at].node = (uint32_t)g->group << 16 | *path;
    }
    return true;
}

/* ---- calls ---- */

static void describe_call(ttape_writer *w, struct ttp_group_listed *g,
                          const struct ttp_listed_end *end, struct ttp_listed_call *call)
{
    const struct ttp_open *f = &end->stack->frames[end->stack->count];
    const struct ttp_edge_state *start = &end->segment->start;
    if (end->is_from_before || start->unknown_depth != 0 || start->depth_offset != 0 ||
        end->stack->count > TTP_LISTED_DEPTH)
        return;
    if (!find_path(w, g, end->stack, &call->path))
        return;
    call->is_known = true;
    call->is_unwound = end->is_unwound;
    call->self_ticks = f->self_ticks;
    call->enter_tick = f->enter_tick;
    call->enter_event = f->enter_event;
    call->end_event = end->segment->event_count;
    call->stack = end->stack->id;
}

/* The list of the site, or NULL. */
static struct ttp_growing *list_of(ttape_writer *w, struct ttp_group_listed *g,
                                   struct ttp_site_state *site)
{
    if (site->listed == 0) {
        if (ttp_push(&w->allocator, &g->lists, sizeof(struct ttp_growing), NULL) == NULL)
            return NULL;
        site->listed = (uint32_t)g->lists.count;
    }
    return (struct ttp_growing *)g->lists.data + site->listed - 1;
}

/* Equal ones that come in a later partition are behind those of the list. */
static void set_wanted(struct ttp_site_state *site, const struct ttp_growing *list, bool is_full,
                       uint32_t partition)
{
    const struct ttp_listed_call *calls = list->data;
    site->wanted_ticks = 0;
    if (!is_full)
        return;
    site->wanted_ticks = INT64_MAX;
    if (list->count != 0 && calls[list->count - 1].duration_ticks < INT64_MAX)
        site->wanted_ticks =
            calls[list->count - 1].duration_ticks + (calls[list->count - 1].partition < partition);
}

void ttp_listed_note(ttape_writer *w, struct ttp_scope *scope, const struct ttp_listed_end *end)
{
    struct ttp_group_listed *g = &scope->group.listed;
    const struct ttp_open *f = &end->stack->frames[end->stack->count];
    struct ttp_site_state *site = ttp_site_state_at(scope, f->site);
    struct ttp_growing *list = g->is_left_out ? NULL : list_of(w, g, site);
    struct ttp_listed_call call = {.duration_ticks =
                                       (int64_t)((uint64_t)end->tick - (uint64_t)f->enter_tick),
                                   .partition = scope->group.partition_count,
                                   .segment = end->segment->stream};
    g->is_left_out = list == NULL;
    if (g->is_left_out)
        return;
    bool is_full = list->count == TTP_LISTED_MOST || g->call_count == TTP_LISTED_CALLS;
    uint32_t count = (uint32_t)list->count;
    uint32_t at = ttp_listed_place(list->data, count, &call);
    if (at < count || !is_full) {
        if (!is_full && ttp_push(&w->allocator, list, sizeof call, NULL) == NULL) {
            g->is_left_out = true;
            return;
        }
        g->call_count += !is_full;
        struct ttp_listed_call *calls = list->data;
        describe_call(w, g, end, &call);
        memmove(calls + at + 1, calls + at, (list->count - 1 - at) * sizeof call);
        calls[at] = call;
        is_full = list->count == TTP_LISTED_MOST || g->call_count == TTP_LISTED_CALLS;
    }
    set_wanted(site, list, is_full, call.partition);
}

/* ---- partitions ---- */

static int compare_streams(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t rank_of(const uint32_t *streams, uint32_t count, uint32_t stream)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (streams[middle] < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void place_calls(const struct ttp_pending *p, struct ttp_growing *list,
                        const uint32_t *streams, uint32_t stream_count)
{
    struct ttp_listed_call *calls = list->data;
    for (size_t i = 0; i < list->count; i++) {
        if (calls[i].partition != p->scope->group.partition_count)
            continue;
        calls[i].segment = rank_of(streams, stream_count, calls[i].segment);
    }
}

/* Segments stand by ascending stream, and until now calls had that. */
ttape_status ttp_listed_seal(ttape_writer *w, const struct ttp_pending *p, ttape_error *err)
{
    struct ttp_group *group = &p->scope->group;
    const struct ttp_segment *segments = p->segments.data;
    const struct ttp_measure *rows = p->measures.data;
    uint32_t count = (uint32_t)p->segments.count;
    TTP_TRY(ttp_grow(&w->allocator, &w->scratch, sizeof(uint32_t), count, err));
    uint32_t *streams = w->scratch.data;
    for (uint32_t i = 0; i < count; i++)
        streams[i] = segments[i].stream;
    qsort(streams, count, sizeof *streams, compare_streams);
    for (size_t i = 0; i < p->measures.count; i++) {
        const struct ttp_site_state *site = ttp_site_state_at(p->scope, rows[i].site);
        if (site->listed != 0)
            place_calls(p, (struct ttp_growing *)group->listed.lists.data + site->listed - 1,
                        streams, count);
    }
    if (p->values.count != 0 || p->depths.count != 0 || p->known.count != 0)
        group->listed.silent |= 1ull << group->partition_count;
    return TTAPE_OK;
}

/* ---- the overview ---- */

/* Gives numbers to nodes that are used, which stand on others that are; the others go. */
static void number_nodes(struct ttp_listed *listed, const struct ttp_listed_node *nodes,
                         uint32_t node_count, uint32_t *numbers)
{
    memset(numbers, 0, ((size_t)node_count + 1) * sizeof *numbers);
    for (uint32_t i = 0; i < listed->call_count; i++)
        numbers[listed->calls[i].path] = 1;
    for (uint32_t i = node_count; i > 0; i--)
        if (numbers[i] != 0)
            numbers[nodes[i - 1].below] = 1;
    numbers[0] = 0;
    for (uint32_t i = 1; i <= node_count; i++) {
        if (numbers[i] == 0)
            continue;
        listed->nodes[listed->node_count] = nodes[i - 1];
        listed->nodes[listed->node_count].below = numbers[nodes[i - 1].below];
        numbers[i] = ++listed->node_count;
    }
    for (uint32_t i = 0; i < listed->call_count; i++)
        listed->calls[i].path = numbers[listed->calls[i].path];
}

/* Calls of equal length are listed all or none, so that a search need not decode for the rest. */
static uint8_t count_of(const struct ttp_listed_call *calls, uint32_t count, uint32_t most)
{
    uint32_t end = count < most ? count : most;
    while (end > 0 && end < count && calls[end].duration_ticks == calls[end - 1].duration_ticks)
        end++;
    return (uint8_t)end;
}

static void take_calls(const struct ttp_scope *scope, uint32_t most, struct ttp_listed *out)
{
    const struct ttp_group_listed *g = &scope->group.listed;
    const struct ttp_growing *lists = g->lists.data;
    for (uint32_t i = 0; i < out->row_count; i++) {
        const struct ttp_site_state *site = ttp_site_state_at(scope, out->rows[i].site);
        const struct ttp_growing *list = site->listed != 0 ? &lists[site->listed - 1] : NULL;
        const struct ttp_listed_call *calls = list != NULL ? list->data : NULL;
        out->counts[i] = list != NULL ? count_of(calls, (uint32_t)list->count, most) : 0;
        for (uint32_t c = 0; c < out->counts[i]; c++) {
            struct ttp_listed_call call = calls[c];
            call.is_known = call.is_known && (g->silent >> call.partition & 1) == 0;
            call.path = call.is_known ? call.path : 0;
            out->calls[out->call_count++] = call;
        }
    }
}

static void *take_room(ttape_writer *w, struct ttp_growing *room, size_t count, size_t item_bytes,
                       ttape_error *err)
{
    *room = (struct ttp_growing){0};
    return ttp_grow(&w->allocator, room, item_bytes, count + 1, err) == TTAPE_OK ? room->data
                                                                                 : NULL;
}

ttape_status ttp_listed_get(ttape_writer *w, struct ttp_scope *scope,
                            const struct ttp_measure *rows, uint32_t row_count, uint32_t most,
                            struct ttp_listed_room *room, ttape_error *err)
{
    const struct ttp_group_listed *g = &scope->group.listed;
    uint32_t nodes = (uint32_t)g->nodes.count;
    struct ttp_listed *out = &room->listed;
    *room = (struct ttp_listed_room){.listed = {.rows = rows, .row_count = row_count}};
    for (uint32_t i = 0; i < scope->group.partition_count; i++)
        out->first_ticks[i] = scope->group.facts[i].first_tick;
    out->counts = take_room(w, &room->counts, row_count, 1, err);
    out->calls = take_room(w, &room->calls, g->call_count, sizeof *out->calls, err);
    out->nodes = take_room(w, &room->nodes, nodes, sizeof *out->nodes, err);
    uint32_t *numbers = take_room(w, &room->numbers, nodes, sizeof *numbers, err);
    if (out->counts == NULL || out->calls == NULL || out->nodes == NULL || numbers == NULL)
        return TTAPE_E_MEMORY;
    take_calls(scope, most, out);
    number_nodes(out, g->nodes.data, nodes, numbers);
    return TTAPE_OK;
}

void ttp_listed_release(ttape_writer *w, struct ttp_listed_room *room)
{
    ttp_grown_free(&w->allocator, &room->counts);
    ttp_grown_free(&w->allocator, &room->calls);
    ttp_grown_free(&w->allocator, &room->nodes);
    ttp_grown_free(&w->allocator, &room->numbers);
}

void ttp_listed_forget(struct ttp_scope *scope)
{
    struct ttp_group *group = &scope->group;
    struct ttp_group_listed *g = &group->listed;
    struct ttp_growing *lists = g->lists.data;
    const struct ttp_group_row *rows = group->rows.data;
    for (size_t i = 0; i < group->rows.count; i++)
        if (ttp_site_state_at(scope, rows[i].measure.site)->listed != 0)
            ttp_site_state_at(scope, rows[i].measure.site)->wanted_ticks = 0;
    for (size_t i = 0; i < g->lists.count; i++)
        lists[i].count = 0;
    if (g->slots.count != 0)
        memset(g->slots.data, 0, g->slots.count * sizeof(uint32_t));
    g->nodes.count = g->call_count = 0;
    g->silent = 0;
    g->group++;
    g->is_left_out = false;
}

void ttp_listed_free(ttape_writer *w, struct ttp_scope *scope)
{
    struct ttp_group_listed *g = &scope->group.listed;
    struct ttp_growing *lists = g->lists.data;
    for (size_t i = 0; i < g->lists.count; i++)
        ttp_grown_free(&w->allocator, &lists[i]);
    ttp_grown_free(&w->allocator, &g->lists);
    ttp_grown_free(&w->allocator, &g->nodes);
    ttp_grown_free(&w->allocator, &g->slots);
}
