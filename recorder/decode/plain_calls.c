/* The tight loops of decoding: one for calls, which are nearly all, and one where blocks are among
 * them. */
#include <string.h>

#include "recorder/decode/layouts.h"

#define CALL_TAGS  (1u << TTP_TAG_ENTER | 1u << TTP_TAG_EXIT)
#define BLOCK_BIT  4u /* and not 0, so that one test tells calls from all else */
#define BLOCK_TAGS (1u << BLOCK_BIT)

_Static_assert(TTP_TAG_ENTER == 1 && TTP_TAG_EXIT == 2, "depth_exit is made of them");
_Static_assert(TTP_PLAIN_BATCH == TTP_BATCH_EVENTS, "calls that become events have room");

static struct ttp_plain_site *place_of(struct ttp_plain *plain, uint64_t address)
{
    uint32_t hash = (uint32_t)(address >> 1) * 0x9e3779b1u;
    return &plain->sites[hash / (UINT32_MAX / TTP_PLAIN_SITES + 1u)];
}

/* Looks the site up where all are; false: it is none that is plain. */
static bool look_up(const struct ttp_encode *e, const struct ttp_layout *layout, uint64_t record,
                    struct ttp_plain_site *found)
{
    const struct ttp_site_seen *sites = layout->sites.data;
    uint64_t address = ttp_record_address(record);
    uint32_t site = ttp_map_find(&layout->by_address, address);
    if (ttp_record_tag(record) == TTP_TAG_EXTENSION || site == TTAPE_NONE ||
        sites[site].id == TTAPE_NONE ||
        (e->options.is_checkpoint != NULL && sites[site].is_checkpoint))
        return false;
    *found = (struct ttp_plain_site){address, sites[site].id,
                                     sites[site].kind == TTAPE_SITE_BLOCK ? BLOCK_TAGS : CALL_TAGS};
    return true;
}

struct plain_run {
    struct ttp_encode *e;
    const struct ttp_layout *layout;
    const struct ttp_slot *slot;
    uint64_t high, last_ns; /* of the clock; of the thread */
    uint32_t at, used;
    bool is_timed;
};

/* The line of the clock within an epoch: a record's time is a product of 64 bits, and no more. */
struct epoch_line {
    uint64_t ns, part, scale; /* at the epoch's start, and 32 bits of what is less than a ns */
    uint32_t end;             /* so many ticks; of later ones the clock is asked */
};

#define SCALE_END   (1ull << (63 - TTP_RECORD_TIME_BITS)) /* a product has no more bits than 63 */
#define EPOCH_TICKS (1u << TTP_RECORD_TIME_BITS)

static struct epoch_line line_in(const struct plain_run *r)
{
    const struct ttp_clock *clock = &r->e->clock;
    const struct ttp_tick_rate *line = &clock->line;
    uint64_t from = r->high - line->base;
    if (!r->is_timed)
        return (struct epoch_line){.end = EPOCH_TICKS};
    if (r->high < line->base || from >= clock->span || line->scale >= SCALE_END)
        return (struct epoch_line){0};
    ttape_wide product = ttp_wide_multiply(from, line->scale);
    uint64_t left = clock->span - from;
    return (struct epoch_line){line->base_ns + ttp_clock_scaled(line, from), (uint32_t)product.low,
                               line->scale, left < EPOCH_TICKS ? (uint32_t)left : EPOCH_TICKS};
}

/* Until something else comes than a call. */
static void take_calls(struct plain_run *r)
{
    struct ttp_encode *e = r->e;
    struct epoch_line line = line_in(r);
    uint32_t room = TTP_BATCH_EVENTS - r->used, left = r->slot->head.count - r->at;
    const uint64_t *restrict from = r->slot->records + r->at;
    const uint64_t *end = from + (left < room ? left : room), *begin = from;
    ttape_enter_exit *restrict to = e->plain.calls + r->used;
    uint64_t last_ns = r->last_ns;
    for (; from < end; from++, to++) {
        uint64_t record = *from, address = ttp_record_address(record);
        uint32_t tag = ttp_record_tag(record);
        struct ttp_plain_site *site = place_of(&e->plain, address);
        if (__builtin_expect(site->address != address, 0) && !look_up(e, r->layout, record, site))
            break;
        if ((site->tags >> tag & 1) == 0)
            break;
        uint32_t low = (uint32_t)(record >> TTP_RECORD_TAG_BITS) & TTP_RECORD_TIME_MASK;
        uint64_t ns = line.ns + ((line.part + low * line.scale) >> TTP_CLOCK_SCALE_BITS);
        if (__builtin_expect(low >= line.end, 0)) {
            ns = ttp_clock_seek(&e->clock, r->high | low);
            line = line_in(r);
        }
        last_ns = ns < last_ns ? last_ns : ns;
        to->time_ns = last_ns;
        to->site = site->id;
        to->depth_exit = TTAPE_DEPTH_AUTO - (uint32_t)TTP_TAG_EXIT + tag;
    }
    r->at += (uint32_t)(from - begin);
    r->used += (uint32_t)(from - begin);
    r->last_ns = last_ns;
}

static void take_events(struct plain_run *r)
{
    struct ttp_encode *e = r->e;
    for (; r->at < r->slot->head.count && r->used < TTP_BATCH_EVENTS; r->at++) {
        uint64_t record = r->slot->records[r->at], address = ttp_record_address(record);
        uint32_t tag = ttp_record_tag(record);
        struct ttp_plain_site *site = place_of(&e->plain, address);
        if (site->address != address && !look_up(e, r->layout, record, site))
            break;
        if ((site->tags >> (tag == TTP_TAG_BLOCK ? BLOCK_BIT : tag) & 1) == 0)
            break;
        uint64_t low = record >> TTP_RECORD_TAG_BITS & TTP_RECORD_TIME_MASK, ns = 0;
        if (tag == TTP_TAG_BLOCK && low == 0 && r->last_ns != 0) {
            ns = r->last_ns;
        } else if (r->is_timed) {
            ns = ttp_clock_ns(&e->clock, r->high | low);
            r->last_ns = ns = ns < r->last_ns ? r->last_ns : ns;
        }
        e->events[r->used++] = (ttape_event){.time_ns = ns,
                                             .kind = tag == TTP_TAG_BLOCK   ? TTAPE_EVENT_LEAF
                                                     : tag == TTP_TAG_ENTER ? TTAPE_EVENT_ENTER
                                                                            : TTAPE_EVENT_EXIT,
                                             .site = site->id,
                                             .depth = TTAPE_DEPTH_AUTO};
    }
}

/* Whether a block is what stopped the calls. */
static bool is_at_block(const struct plain_run *r)
{
    if (r->at == r->slot->head.count || r->used == TTP_BATCH_EVENTS)
        return false;
    uint64_t record = r->slot->records[r->at], address = ttp_record_address(record);
    const struct ttp_plain_site *site = place_of(&r->e->plain, address);
    return ttp_record_tag(record) == TTP_TAG_BLOCK && site->address == address &&
           (site->tags & BLOCK_TAGS) != 0;
}

void ttp_plain_as_events(struct ttp_encode *e)
{
    const ttape_enter_exit *calls = e->plain.calls;
    for (uint32_t i = 0; i < e->plain.count; i++)
        e->events[i] = (ttape_event){.time_ns = calls[i].time_ns,
                                     .kind = (calls[i].depth_exit & 1) != 0 ? TTAPE_EVENT_EXIT
                                                                            : TTAPE_EVENT_ENTER,
                                     .site = calls[i].site,
                                     .depth = TTAPE_DEPTH_AUTO};
    if (e->plain.count != 0)
        e->event_count = e->plain.count;
    e->plain.count = 0;
}

static void know(struct ttp_plain *plain, uint32_t layout)
{
    if (plain->layout_plus_one == layout + 1)
        return;
    memset(plain->sites, 0, sizeof plain->sites);
    plain->layout_plus_one = layout + 1;
}

uint32_t ttp_plain_take(struct ttp_encode *e, struct ttp_thread *thread,
                        const struct ttp_slot *slot, uint32_t at, uint64_t epoch)
{
    uint32_t layout = ttp_image_at(e, thread->image)->layout;
    struct plain_run r = {.e = e,
                          .layout = ttp_layout_at(e, layout),
                          .slot = slot,
                          .high = epoch << TTP_RECORD_TIME_BITS,
                          .last_ns = thread->last_ns,
                          .at = at,
                          .used = e->plain.count,
                          .is_timed = e->options.clock != TTAPE_CLOCK_NONE};
    know(&e->plain, layout);
    bool has_events = e->event_count != 0;
    if (!has_events)
        take_calls(&r);
    e->plain.count = has_events ? 0 : r.used;
    if (has_events || is_at_block(&r)) {
        ttp_plain_as_events(e);
        r.used = e->event_count;
        take_events(&r);
        e->event_count = r.used;
    }
    thread->may_attach |= r.at != at;
    thread->has_jumped &= r.at == at;
    thread->last_ns = r.last_ns;
    return r.at;
}
