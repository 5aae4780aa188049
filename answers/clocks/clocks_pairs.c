/* Pairs of events: what was received was sent before. Streams are read only where the trace has
 * such markers. */
#include <stdlib.h>
#include <string.h>

#include "answers/clocks/clocks_internal.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "reader/base/choice.h"

#define WATCH_EVENTS (1u << 16)

enum marker { MARKER_NONE, MARKER_SENT, MARKER_RECEIVED };

static enum marker marker_of(const ttape_site *site)
{
    if (site->kind != TTAPE_SITE_MARKER)
        return MARKER_NONE;
    return ttp_text_is(site->symbol, "sent")       ? MARKER_SENT
           : ttp_text_is(site->symbol, "received") ? MARKER_RECEIVED
                                                   : MARKER_NONE;
}

/* The result is by site; NULL: there are none, or no memory for them. */
static uint8_t *find_markers(ttape_clocks *c, ttape_reader *reader, uint32_t site_count)
{
    uint8_t *markers = NULL;
    for (uint32_t i = 0; i < site_count; i++) {
        ttape_site site = {0};
        (void)ttape_reader_get_site(reader, i, &site);
        enum marker marker = marker_of(&site);
        if (marker != MARKER_NONE && markers == NULL)
            markers = ttp_region_take(&c->region, site_count, 1);
        if (marker != MARKER_NONE && markers != NULL)
            markers[i] = (uint8_t)marker;
    }
    return markers;
}

static void add_message(ttape_clocks *c, const ttape_event_item *item, uint32_t reader,
                        uint32_t clock, enum marker marker)
{
    const ttape_value *id = item->values;
    bool is_text = id->type == TTAPE_VALUE_STRING || id->type == TTAPE_VALUE_BYTES;
    if (id->type == TTAPE_VALUE_FLOAT || id->type == TTAPE_VALUE_NULL)
        return;
    struct ttp_clock_message *m = ttp_region_add(&c->region, &c->messages, &c->message_count,
                                                 &c->message_capacity, sizeof *m);
    char *text = m != NULL && is_text
                     ? ttp_region_copy(&c->region, id->bytes.data, id->bytes.size_bytes)
                     : NULL;
    if (m == NULL || (is_text && text == NULL))
        return;
    *m = (struct ttp_clock_message){.at = {reader, item->stream, item->number, item->event.time_ns},
                                    .clock = clock,
                                    .is_received = marker == MARKER_RECEIVED,
                                    .is_text = is_text,
                                    .number = is_text ? 0 : id->number,
                                    .text = {text, is_text ? id->bytes.size_bytes : 0}};
}

/* Reading goes on behind damage: a pair less. */
static ttape_status read_stream(ttape_clocks *c, uint32_t reader, uint32_t stream,
                                const uint8_t *markers, ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_stream_info info = {0};
    ttape_error problem = {0};
    uint64_t done = 0;
    ttape_status status = ttape_reader_get_stream(c->readers[reader], stream, &info);
    uint32_t clock = c->scopes[c->first_scopes[reader] + info.scope].clock;
    if (status == TTAPE_OK)
        status = ttape_cursor_open(&cursor, c->readers[reader], stream, err);
    if (status != TTAPE_OK)
        return status;
    while (!c->region.is_short && (status == TTAPE_OK || status >= TTAPE_E_TRUNCATED)) {
        status = ttape_cursor_next(cursor, &item, &problem);
        if (status == TTAPE_OK && item.event.kind == TTAPE_EVENT_LEAF && item.value_count != 0 &&
            markers[item.event.site] != MARKER_NONE)
            add_message(c, &item, reader, clock, (enum marker)markers[item.event.site]);
        if (status == TTAPE_OK && ++done % WATCH_EVENTS == 0)
            status = ttp_ask_watch(c->watch, done, 0, &problem);
    }
    ttape_cursor_close(cursor);
    if (status == TTAPE_OK || status == TTAPE_END || status >= TTAPE_E_TRUNCATED)
        return TTAPE_OK;
    if (err != NULL)
        *err = problem;
    return status;
}

static ttape_status read_messages(ttape_clocks *c, uint32_t reader, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(c->readers[reader], &info);
    uint8_t *markers = find_markers(c, c->readers[reader], info.site_count);
    for (uint32_t i = 0; markers != NULL && i < info.stream_count; i++)
        TTP_TRY(read_stream(c, reader, i, markers, err));
    ttp_region_give(&c->region, markers);
    return TTAPE_OK;
}

static int compare_ids(const struct ttp_clock_message *a, const struct ttp_clock_message *b)
{
    if (a->is_text != b->is_text)
        return a->is_text ? 1 : -1;
    if (a->is_text)
        return ttp_compare_strings(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_messages(const void *left, const void *right)
{
    const struct ttp_clock_message *a = left, *b = right;
    int order = compare_ids(a, b);
    return order != 0 ? order : a->is_received - b->is_received;
}

/* Times are those of CLOCK_REALTIME where the clock has an offset. */
static int64_t time_of(const ttape_clocks *c, const struct ttp_clock_message *m)
{
    const struct ttp_clock *clock = &c->clocks[m->clock];
    return (int64_t)(m->at.time_ns + (clock->has_offset ? c->scopes[clock->best].offset_ns : 0));
}

/* C-PAR-02: what was received cannot be earlier. Rest of the receiver - rest of the sender >= by
 * how much it seems to be, less what clocks may be wrong by. */
static void add_pair(ttape_clocks *c, const struct ttp_clock_message *sent,
                     const struct ttp_clock_message *received)
{
    int64_t sent_ns = time_of(c, sent), received_ns = time_of(c, received);
    bool is_least = sent->clock < received->clock;
    int64_t least_ns;
    if (__builtin_sub_overflow(sent_ns, received_ns, &least_ns))
        return;
    least_ns = least_ns > TTP_CLOCKS_FAR    ? TTP_CLOCKS_FAR
               : least_ns < -TTP_CLOCKS_FAR ? -TTP_CLOCKS_FAR
                                            : least_ns;
    least_ns = ttp_clocks_sum(least_ns, -c->clocks[sent->clock].error_ns);
    least_ns = ttp_clocks_sum(least_ns, -c->clocks[received->clock].error_ns);
    struct ttp_clock_bound *bound =
        ttp_region_add(&c->region, &c->bounds, &c->bound_count, &c->bound_capacity, sizeof *bound);
    if (bound == NULL)
        return;
    *bound = (struct ttp_clock_bound){.a = is_least ? sent->clock : received->clock,
                                      .b = is_least ? received->clock : sent->clock,
                                      .is_least = is_least,
                                      .time_ns = is_least ? received_ns : sent_ns,
                                      .bound_ns = is_least ? least_ns : -least_ns,
                                      .pair = {sent->at, received->at}};
    c->info.pair_count++;
}

/* Messages have one id, and there are count of them. */
static void match(ttape_clocks *c, const struct ttp_clock_message *same, size_t count)
{
    bool is_pair = count == 2 && !same[0].is_received && same[1].is_received;
    if (count > 2 || (count == 2 && !is_pair))
        c->info.repeated_count++;
    else if (is_pair && same[0].clock != same[1].clock)
        add_pair(c, &same[0], &same[1]);
}

static int compare_bounds(const void *left, const void *right)
{
    const struct ttp_clock_bound *a = left, *b = right;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

ttape_status ttp_clocks_pairs(ttape_clocks *c, ttape_error *err)
{
    for (uint32_t i = 0; i < c->reader_count && !c->region.is_short; i++)
        TTP_TRY(read_messages(c, i, err));
    if (c->message_count == 0 || c->region.is_short)
        return TTAPE_OK;
    qsort(c->messages, c->message_count, sizeof *c->messages, compare_messages);
    for (size_t i = 0, end; i < c->message_count; i = end) {
        for (end = i + 1; end < c->message_count; end++)
            if (compare_ids(&c->messages[i], &c->messages[end]) != 0)
                break;
        match(c, &c->messages[i], end - i);
    }
    if (c->bound_count != 0)
        qsort(c->bounds, c->bound_count, sizeof *c->bounds, compare_bounds);
    return TTAPE_OK;
}
