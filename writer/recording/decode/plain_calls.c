/* The tight loop of decoding. What it needs of the clock and of the site is in locals, so that
 * stores of calls do not make the compiler load it again. */
#include <string.h>

#include "writer/recording/decode/layouts.h"

#define CALL_TAGS  (1u << TTP_TAG_ENTER | 1u << TTP_TAG_EXIT)
#define BLOCK_TAGS (1u << TTP_TAG_BLOCK)

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

static inline __attribute__((always_inline)) bool take(struct plain_run *r, bool has_events)
{
    struct ttp_encode *e = r->e;
    struct ttp_tick_rate line = e->clock.line;
    uint64_t span = e->clock.span, last_ns = r->last_ns;
    uint32_t at = r->at, used = r->used, count = r->slot->head.count;
    bool is_block = false;
    for (; at < count && used < TTP_BATCH_EVENTS; at++) {
        uint64_t record = r->slot->records[at], address = ttp_record_address(record), ns = 0;
        uint32_t tag = ttp_record_tag(record);
        struct ttp_plain_site *site = place_of(&e->plain, address);
        if (site->address != address && !look_up(e, r->layout, record, site))
            break;
        if ((site->tags >> tag & 1) == 0)
            break;
        is_block = tag == TTP_TAG_BLOCK;
        if (!has_events && is_block)
            break;
        uint64_t low = record >> TTP_RECORD_TAG_BITS & TTP_RECORD_TIME_MASK;
        if (is_block && low == 0 && last_ns != 0) {
            ns = last_ns;
        } else if (r->is_timed) {
            uint64_t ticks = (r->high | low) - line.base;
            ns = line.base_ns + ttp_clock_scaled(&line, ticks);
            if (__builtin_expect(ticks >= span, 0)) {
                ns = ttp_clock_seek(&e->clock, r->high | low);
                line = e->clock.line;
                span = e->clock.span;
            }
            last_ns = ns = ns < last_ns ? last_ns : ns;
        }
        if (has_events)
            e->events[used++] = (ttape_event){.time_ns = ns,
                                              .kind = is_block               ? TTAPE_EVENT_LEAF
                                                      : tag == TTP_TAG_ENTER ? TTAPE_EVENT_ENTER
                                                                             : TTAPE_EVENT_EXIT,
                                              .site = site->id,
                                              .depth = TTAPE_DEPTH_AUTO};
        else
            e->plain.calls[used++] =
                (ttape_enter_exit){ns, site->id, TTAPE_DEPTH_AUTO - (uint32_t)TTP_TAG_EXIT + tag};
    }
    r->at = at;
    r->used = used;
    r->last_ns = last_ns;
    return is_block;
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
    bool has_events = e->event_count != 0, is_block = !has_events && take(&r, false);
    e->plain.count = has_events ? 0 : r.used;
    if (has_events || is_block) {
        ttp_plain_as_events(e);
        r.used = e->event_count;
        (void)take(&r, true);
        e->event_count = r.used;
    }
    thread->may_attach |= r.at != at;
    thread->last_ns = r.last_ns;
    return r.at;
}
