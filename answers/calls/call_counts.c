/* Counts are added up by partition, by the symbols that it has, then by the functions that these
 * are.
 *
 *   order with chains -> ttp_loaded_count_calls   chains at once (format/chain/chain_calls.h)
 *   other orders      -> codes -> stacks          event by event
 */
#include <tracetape/calls.h>

#include <stdlib.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/base/secret_hash.h"
#include "reader/base/choice.h"
#include "reader/cursor/cursor.h"
#include "reader/partition/partition_decoder.h"
#include "reader/reader_internal.h"

#define SLOTS_FIRST 1024u
#define SLOTS_KEPT  16384u /* by what is cleared for each partition */
#define SLOTS_MOST  (UINT32_C(1) << 30)

struct entry {
    uint64_t key, count; /* count 0: free */
};

/* (caller, callee) -> how often */
struct table {
    struct ttp_memory *memory;
    struct entry *entries;
    uint32_t slots, used;
    ttape_status status; /* of the first failure */
    ttape_error *err;
};

#define RECENT_BITS 6u

/* A partition's pairs, with the counts of recent ones in front: where they stand no secret is
 * needed, as pairs that share a place only go to the table sooner. */
struct local {
    struct table table;
    struct entry recent[1u << RECENT_BITS];
};

struct ttape_call_counts {
    struct ttp_trace_decoder *decoder; /* while it counts */
    struct ttp_memory memory;          /* of the counts */
    ttape_call_count *rows;
    uint32_t count;
};

/* ---- tables ---- */

static struct entry *entry_of(const struct table *t, uint64_t key)
{
    uint32_t mask = t->slots - 1;
    uint32_t at = (uint32_t)(ttp_secret_hash(key, t->memory->hash_key) >> 32) & mask;
    while (t->entries[at].count != 0 && t->entries[at].key != key)
        at = (at + 1) & mask;
    return &t->entries[at];
}

static ttape_status grow(struct table *t)
{
    struct table grown = *t;
    if (t->slots >= SLOTS_MOST)
        return ttp_fail(t->err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "too many pairs of caller and function");
    grown.slots = t->slots == 0 ? SLOTS_FIRST : 2 * t->slots;
    grown.entries = ttp_memory_take(t->memory, grown.slots, sizeof *grown.entries, t->err);
    if (grown.entries == NULL)
        return t->memory->status;
    memset(grown.entries, 0, grown.slots * sizeof *grown.entries);
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->entries[i].count != 0)
            *entry_of(&grown, t->entries[i].key) = t->entries[i];
    ttp_memory_give(t->memory, t->entries, t->slots, sizeof *t->entries);
    *t = grown;
    return TTAPE_OK;
}

static void add_times(struct table *t, uint64_t key, uint64_t times)
{
    if (t->status == TTAPE_OK && 2 * (t->used + 1ull) > t->slots)
        t->status = grow(t);
    if (t->status != TTAPE_OK)
        return;
    struct entry *entry = entry_of(t, key);
    t->used += entry->count == 0;
    entry->key = key;
    entry->count += times;
}

static void give_back(struct table *t)
{
    ttp_memory_give(t->memory, t->entries, t->slots, sizeof *t->entries);
    t->entries = NULL;
    t->slots = t->used = 0;
}

/* A large one is not cleared for each small partition that follows. */
static void empty(struct table *t)
{
    if (t->slots > SLOTS_KEPT)
        give_back(t);
    else if (t->used != 0)
        memset(t->entries, 0, t->slots * sizeof *t->entries);
    t->used = 0;
}

static void take_call(void *context, uint32_t caller, uint32_t symbol, uint64_t times)
{
    struct local *l = context;
    uint64_t key = (uint64_t)caller << 32 | symbol;
    uint32_t place = (caller * 0x9e3779b1u + symbol * 0x85ebca6bu) >> (32 - RECENT_BITS);
    struct entry *recent = &l->recent[place];
    if (recent->key != key) {
        if (recent->count != 0)
            add_times(&l->table, recent->key, recent->count);
        *recent = (struct entry){.key = key};
    }
    recent->count += times;
}

static void settle_recent(struct local *l)
{
    for (uint32_t i = 0; i < 1u << RECENT_BITS; i++)
        if (l->recent[i].count != 0)
            add_times(&l->table, l->recent[i].key, l->recent[i].count);
    memset(l->recent, 0, sizeof l->recent);
}

/* ---- event by event ---- */

static void pop_frames(struct ttp_frame_stacks *stacks, uint64_t frames)
{
    for (; frames > 0; frames--)
        ttp_stacks_pop(stacks);
}

static ttape_status start_segment(const struct ttp_loaded *p, const struct ttp_segment *g,
                                  struct ttp_frame_stacks *s, ttape_error *err)
{
    ttp_stacks_start(s);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        uint32_t frame = g->start.frame_start + i;
        ttp_stacks_switch(s, p->segments.start_frames[frame].stack);
        TTP_TRY(ttp_stacks_push(s, p->open[frame], err));
    }
    ttp_stacks_switch(s, g->start.stack);
    return TTAPE_OK;
}

/* The codes are checked. */
static ttape_status walk_segment(const struct ttp_loaded *p, uint32_t segment,
                                 struct ttp_frame_stacks *s, struct local *l, ttape_error *err)
{
    TTP_TRY(start_segment(p, &p->segments.segments[segment], s, err));
    for (uint32_t i = p->segment_start[segment]; i < p->segment_start[segment + 1]; i++) {
        uint32_t code = p->codes[i], top = s->current->top;
        const struct ttp_code_view *v = &p->views[code];
        if ((code & 1) != 0) {
            ttp_stacks_pop(s);
        } else if (v->after != 0) {
            if (v->event_class == TTP_CLASS_ENTER)
                take_call(l, top == TTP_NO_FRAME ? 0 : s->frames[top].symbol + 1, code >> 1, 1);
            TTP_TRY(ttp_stacks_push(s, code >> 1, err));
        } else if (v->event_class == TTP_CLASS_UNWIND) {
            pop_frames(s, v->argument);
        } else if (v->event_class == TTP_CLASS_EXIT_ACROSS) {
            pop_frames(s, (uint64_t)v->argument + 1);
        } else if (v->event_class == TTP_CLASS_SWITCH) {
            ttp_stacks_switch(s, v->argument);
        }
    }
    return TTAPE_OK;
}

static ttape_status walk_events(struct ttp_trace_decoder *d, struct ttp_loaded *p, struct local *l,
                                ttape_error *err)
{
    struct ttp_frame_stacks stacks = {0};
    TTP_TRY(ttp_stacks_open(&stacks, &d->memory, &p->stack_numbers, err));
    ttape_status status = TTAPE_OK;
    for (uint32_t s = 0; status == TTAPE_OK && s < p->head.segment_count; s++)
        status = walk_segment(p, s, &stacks, l, err);
    ttp_stacks_close(&stacks);
    return status;
}

/* ---- partitions ---- */

static uint32_t caller_of(const struct ttp_loaded *p, uint32_t caller)
{
    if (caller == 0)
        return TTAPE_NONE;
    const struct ttp_code_view *v = &p->views[2ull * (caller - 1)];
    return v->event_class == TTP_CLASS_SIGNAL ? TTAPE_CALL_SIGNAL : v->site;
}

static void add_partition(const struct ttp_loaded *p, const struct table *local, struct table *all)
{
    for (uint32_t i = 0; i < local->slots; i++) {
        const struct entry *e = &local->entries[i];
        if (e->count == 0)
            continue;
        uint32_t caller = caller_of(p, (uint32_t)(e->key >> 32));
        add_times(all, (uint64_t)caller << 32 | p->views[2ull * (uint32_t)e->key].site, e->count);
    }
}

/* A partition of which only the light sections are there, and after which no more are. */
static ttape_status count_fresh(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                struct local *local, ttape_error *err)
{
    if (ttp_loaded_has_chains(p))
        return ttp_loaded_count_calls(d, p, (struct ttp_chain_call_sink){take_call, local}, err);
    TTP_TRY(ttp_loaded_check_untimed(d, p, err));
    return walk_events(d, p, local, err);
}

static ttape_status count_partition(struct ttp_trace_decoder *d, uint32_t partition,
                                    struct local *local, struct table *all, ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    if (p->head.event_count !=
        d->reader->partitions[partition].event_count) /* no cursor goes there */
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", p->payload_offset,
                        "a partition has events that belong to no stream");
    const struct ttp_range range = {.checked = p->head.event_count};
    bool is_fresh = p->stage == TTP_STAGE_LIGHT;
    empty(&local->table);
    if (!is_fresh)
        TTP_TRY(ttp_loaded_reach(d, partition, &range, &p, err));
    ttape_status status = is_fresh ? count_fresh(d, p, local, err) : walk_events(d, p, local, err);
    settle_recent(local);
    status = status == TTAPE_OK ? local->table.status : status;
    if (status == TTAPE_OK)
        add_partition(p, &local->table, all);
    if (is_fresh)
        ttp_loaded_drop(d, p, TTP_STAGE_LIGHT);
    return status == TTAPE_OK ? all->status : status;
}

/* ---- the rows ---- */

static int by_caller(const void *a, const void *b)
{
    const ttape_call_count *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static ttape_status make_rows(ttape_call_counts *c, const struct table *all, ttape_error *err)
{
    c->rows = ttp_memory_take(all->memory, all->used, sizeof *c->rows, err);
    if (c->rows == NULL)
        return all->memory->status;
    c->count = all->used;
    for (uint32_t i = 0, row = 0; i < all->slots; i++)
        if (all->entries[i].count != 0)
            c->rows[row++] =
                (ttape_call_count){(uint32_t)(all->entries[i].key >> 32),
                                   (uint32_t)all->entries[i].key, all->entries[i].count};
    qsort(c->rows, c->count, sizeof *c->rows, by_caller);
    return TTAPE_OK;
}

static ttape_status count_all(ttape_call_counts *c, ttape_error *err)
{
    struct ttp_trace_decoder *d = c->decoder;
    struct table all = {.memory = &d->memory, .err = err};
    struct local local = {.table = all};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; status == TTAPE_OK && i < d->reader->partition_count; i++)
        status = count_partition(d, i, &local, &all, err);
    if (status == TTAPE_OK)
        status = make_rows(c, &all, err);
    give_back(&local.table);
    give_back(&all);
    return status;
}

ttape_status ttape_call_counts_make(ttape_call_counts **out, ttape_reader *r, ttape_error *err)
{
    if (out == NULL)
        return ttp_refuse(err, "no place for counts of calls");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    struct ttp_memory memory = ttp_memory_sharing(&r->memory);
    ttape_call_counts *c = ttp_memory_take(&memory, 1, sizeof *c, err);
    if (c == NULL)
        return memory.status;
    *c = (ttape_call_counts){.memory = memory, .decoder = &r->pool.first};
    ttape_status status = ttp_decoder_take(&r->pool, &c->decoder, err);
    if (status == TTAPE_OK) {
        status = count_all(c, err);
        if (c->rows != NULL)
            ttp_memory_hand_over(&c->decoder->memory, &c->memory, c->count, sizeof *c->rows);
        ttp_decoder_give(c->decoder);
    }
    if (status != TTAPE_OK)
        ttape_call_counts_close(c);
    else
        *out = c;
    return status;
}

const ttape_call_count *ttape_call_counts_get(const ttape_call_counts *c, size_t *count)
{
    if (count != NULL)
        *count = c != NULL ? c->count : 0;
    return c != NULL ? c->rows : NULL;
}

void ttape_call_counts_close(ttape_call_counts *c)
{
    if (c == NULL)
        return;
    struct ttp_memory m = c->memory;
    ttp_memory_give(&m, c->rows, c->count, sizeof *c->rows);
    ttp_memory_give(&m, c, 1, sizeof *c);
}
