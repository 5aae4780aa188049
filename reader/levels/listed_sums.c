/* Lists are short and sorted, as a writer has them; a path is as good as its hash here, for which
 * nobody knows the key. */
#include "reader/levels/listed_sums.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/secret_hash.h"

#define MEMORY_SHARE 4u /* of the limit, for lists */

static uint64_t add_frame(uint64_t path, uint8_t event_class, uint32_t argument, uint64_t key)
{
    uint64_t frame = (uint64_t)event_class << 32 | argument;
    return ttp_secret_hash(ttp_secret_hash(path + 1, key) ^ frame, key);
}

void ttp_listed_sums_start(struct ttp_listed_sums *s, const struct ttp_loaded *p,
                           uint32_t partition)
{
    s->partition = partition;
    s->is_plain = ttp_partition_section(&p->head, TTP_SECTION_VALUES) == NULL &&
                  ttp_partition_section(&p->head, TTP_SECTION_DEPTHS) == NULL &&
                  ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) == NULL;
}

/* Of the frames below the top one, from the outermost on: so they are found first. */
static uint64_t path_of(const struct ttp_listed_ending *e, uint64_t key)
{
    const struct ttp_frame_stacks *s = e->stacks;
    uint32_t symbols[TTP_LISTED_DEPTH], count = 0;
    uint64_t path = 0;
    for (uint32_t f = s->frames[s->current->top].below; f != TTP_NO_FRAME; f = s->frames[f].below)
        symbols[count++] = s->frames[f].symbol;
    while (count > 0) {
        const struct ttp_symbol *symbol = &e->p->symbols[symbols[--count]];
        path = add_frame(path, symbol->event_class, symbol->argument, key);
    }
    return path;
}

static void add_call(const struct ttp_listed_sums *s, const struct ttp_memory *memory,
                     const struct ttp_listed_ending *e, struct ttp_listed_sum *sum)
{
    const struct ttp_segment *g = &e->p->segments.segments[e->segment];
    const struct ttp_stack_frame *f = &e->stacks->frames[e->stacks->current->top];
    uint32_t start = e->p->segment_start[e->segment];
    if (!s->is_plain || f->start != TTP_NO_FRAME || g->start.unknown_depth != 0 ||
        g->start.depth_offset != 0 || e->stacks->current->height > TTP_LISTED_DEPTH + 1)
        return;
    sum->call.is_known = true;
    sum->call.is_unwound = e->is_unwound;
    sum->call.self_ticks = f->self_ticks;
    sum->call.enter_tick = f->enter_tick;
    sum->call.enter_event = e->enter_event - start;
    sum->call.end_event = e->end_event - start;
    sum->call.stack = e->stacks->current_number;
    sum->path = path_of(e, memory->hash_key);
}

static struct ttp_listed_list *list_of(struct ttp_listed_sums *s, struct ttp_memory *memory,
                                       uint32_t site)
{
    uint32_t before = s->site_count;
    if (ttp_memory_reserve(memory, &s->lists, &s->site_count, site + 1ull, sizeof *s->lists,
                           NULL) != TTAPE_OK)
        return NULL;
    if (s->site_count > before)
        memset(s->lists + before, 0, (s->site_count - before) * sizeof *s->lists);
    return &s->lists[site];
}

static void give_all(struct ttp_listed_sums *s, struct ttp_memory *memory)
{
    for (uint32_t i = 0; i < s->site_count; i++)
        ttp_memory_give(memory, s->lists[i].calls, s->lists[i].capacity, sizeof *s->lists[i].calls);
    ttp_memory_give(memory, s->lists, s->site_count, sizeof *s->lists);
    s->lists = NULL;
    s->site_count = 0;
    s->bytes = 0;
}

/* From one call on: most of very many sites have no more. */
static bool make_room(struct ttp_listed_sums *s, struct ttp_memory *memory,
                      struct ttp_listed_list *list)
{
    if (list->count < list->capacity)
        return true;
    uint32_t capacity = list->capacity == 0 ? 1 : 2 * list->capacity;
    uint64_t more = (uint64_t)(capacity - list->capacity) * sizeof *list->calls;
    if (s->bytes + more > memory->limit_bytes / MEMORY_SHARE)
        return false;
    struct ttp_listed_sum *calls = ttp_memory_take(memory, capacity, sizeof *calls, NULL);
    if (calls == NULL)
        return false;
    if (list->count > 0)
        memcpy(calls, list->calls, list->count * sizeof *calls);
    ttp_memory_give(memory, list->calls, list->capacity, sizeof *calls);
    list->calls = calls;
    list->capacity = capacity;
    s->bytes += more;
    return true;
}

static bool insert(struct ttp_listed_sums *s, struct ttp_memory *memory,
                   struct ttp_listed_list *list, const struct ttp_listed_sum *sum, uint32_t at)
{
    if (list->count < TTP_LISTED_MOST) {
        if (!make_room(s, memory, list))
            return false;
        list->count++;
    }
    memmove(list->calls + at + 1, list->calls + at, (list->count - 1 - at) * sizeof *list->calls);
    list->calls[at] = *sum;
    return true;
}

void ttp_listed_sums_add(struct ttp_listed_sums *s, struct ttp_memory *memory, uint32_t site,
                         const struct ttp_listed_ending *e)
{
    const struct ttp_stack_frame *f = &e->stacks->frames[e->stacks->current->top];
    struct ttp_listed_list *list = s->is_too_much ? NULL : list_of(s, memory, site);
    struct ttp_listed_sum sum = {
        .call = {.duration_ticks = (int64_t)((uint64_t)e->tick - (uint64_t)f->enter_tick),
                 .partition = s->partition,
                 .segment = e->segment}};
    if (list == NULL) {
        s->is_too_much = true;
        return;
    }
    uint32_t at = list->count;
    while (at > 0 && !ttp_listed_is_behind(&list->calls[at - 1].call, &sum.call))
        at--;
    if (at == TTP_LISTED_MOST)
        return;
    add_call(s, memory, e, &sum);
    s->is_too_much = !insert(s, memory, list, &sum, at);
    if (s->is_too_much)
        give_all(s, memory); /* others need it */
}

/* ---- comparing ---- */

static bool is_same(const struct ttp_listed_sum *sum, const struct ttp_listed_call *said,
                    const uint64_t *paths)
{
    const struct ttp_listed_call *call = &sum->call;
    if (said->duration_ticks != call->duration_ticks || said->partition != call->partition ||
        said->segment != call->segment)
        return false;
    return !said->is_known ||
           (call->is_known && said->is_unwound == call->is_unwound &&
            said->self_ticks == call->self_ticks && said->enter_tick == call->enter_tick &&
            said->enter_event == call->enter_event && said->end_event == call->end_event &&
            said->stack == call->stack &&
            (said->path != 0 ? paths[said->path - 1] : 0) == sum->path);
}

static ttape_status compare_sums(const struct ttp_listed_sums *s, const struct ttp_listed *listed,
                                 const uint64_t *paths, ttape_error *err)
{
    const struct ttp_listed_list none = {0};
    const struct ttp_listed_call *said = listed->calls;
    for (uint32_t row = 0; row < listed->row_count; row++) {
        uint32_t site = listed->rows[row].site;
        const struct ttp_listed_list *list = site < s->site_count ? &s->lists[site] : &none;
        for (uint32_t i = 0; i < listed->counts[row]; i++, said++)
            if (i >= list->count || !is_same(&list->calls[i], said, paths))
                return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-12", 0,
                                "overview: wrong longest calls of site '%u'", site);
    }
    return TTAPE_OK;
}

ttape_status ttp_listed_sums_compare(const struct ttp_listed_sums *s, struct ttp_trace_decoder *d,
                                     const struct ttp_read_overview *o, ttape_error *err)
{
    struct ttp_listed listed;
    if (s->is_too_much) /* not all calls are there to compare with */
        return TTAPE_OK;
    ttape_status status = ttp_listed_load(d, o, &listed, err);
    if (status != TTAPE_OK)
        return status == TTAPE_E_NOT_FOUND ? TTAPE_OK : status;
    uint64_t *paths = ttp_memory_take(&d->memory, listed.node_count, sizeof *paths, err);
    for (uint32_t i = 0; paths != NULL && i < listed.node_count; i++) {
        const struct ttp_listed_node *n = &listed.nodes[i];
        paths[i] = add_frame(n->below != 0 ? paths[n->below - 1] : 0, n->event_class, n->argument,
                             d->memory.hash_key);
    }
    status = paths != NULL ? compare_sums(s, &listed, paths, err) : d->memory.status;
    ttp_memory_give(&d->memory, paths, listed.node_count, sizeof *paths);
    ttp_listed_drop(d, &listed);
    return status;
}

void ttp_listed_sums_clear(struct ttp_listed_sums *s)
{
    for (uint32_t i = 0; i < s->site_count; i++)
        s->lists[i].count = 0;
    s->is_too_much = false;
}

void ttp_listed_sums_close(struct ttp_listed_sums *s, struct ttp_trace_decoder *d)
{
    give_all(s, &d->memory);
    *s = (struct ttp_listed_sums){0};
}
