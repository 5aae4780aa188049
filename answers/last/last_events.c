#include <string.h>

#include "answers/last/last_internal.h"

#define DEPTH_MAX 65536u /* calls further in have no duration */

static bool is_named(const ttape_site *site, const char *name)
{
    return site->symbol.size_bytes == strlen(name) &&
           memcmp(site->symbol.data, name, site->symbol.size_bytes) == 0;
}

/* F-FCT-01: a fact with so many values that are numbers. */
static bool is_fact(const ttape_reader *reader, const ttape_event_item *item, const char *name,
                    uint32_t count)
{
    ttape_site site;
    if (item->event.kind != TTAPE_EVENT_LEAF || item->value_count < count ||
        ttape_reader_get_site(reader, item->event.site, &site) != TTAPE_OK ||
        site.kind != TTAPE_SITE_MARKER || !is_named(&site, name))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (item->values[i].type != TTAPE_VALUE_UNSIGNED)
            return false;
    return true;
}

/* F-FCT-13 */
bool ttape_last_stop_of(const ttape_reader *reader, const ttape_event_item *item, uint64_t *reason)
{
    bool is_stop = is_fact(reader, item, "tracetape:stopped", 1);
    *reason = is_stop ? item->values[0].number : TTAPE_STOP_UNKNOWN;
    return is_stop;
}

bool ttape_last_end_of(const ttape_reader *reader, const ttape_event_item *item,
                       ttape_last_end *end)
{
    const ttape_value *values = item->values;
    bool is_process = is_fact(reader, item, "tracetape:process_end", 2);
    *end = (ttape_last_end){0};
    if (!is_process && !is_fact(reader, item, "tracetape:thread_end", 1))
        return false;
    *end = (ttape_last_end){.is_known = true,
                            .is_process = is_process,
                            .how = values[0].number,
                            .number = is_process ? values[1].number : 0};
    return true;
}

/* F-FCT-12 */
static void take_fault(struct ttp_last_reading *r, const ttape_event_item *item)
{
    ttape_site site;
    const ttape_value *values = item->values;
    if (item->value_count < 2 || values[0].type != TTAPE_VALUE_UNSIGNED ||
        values[1].type != TTAPE_VALUE_POINTER ||
        ttape_reader_get_site(r->reader, item->event.site, &site) != TTAPE_OK ||
        site.kind != TTAPE_SITE_MARKER || !is_named(&site, "tracetape:fault"))
        return;
    r->fault_signal = values[0].number;
    r->fault_address = values[1].number;
}

void ttp_last_begin(struct ttp_last_reading *r)
{
    r->count = r->open_count = 0;
    r->end = (ttape_last_end){0};
    r->end_ns = r->fault_signal = r->fault_address = r->lost = 0;
    r->is_stopped = false;
    r->stop_ns = r->stop_number = r->stop_reason = r->off_ns = 0;
}

/* What was left out on purpose is no loss, nor is what was called while recording was off. */
static void take_gap(struct ttp_last_reading *r, const ttape_event_item *item)
{
    const ttape_event *event = &item->event;
    if (event->argument == TTAPE_GAP_REASON_STOPPED) {
        r->is_stopped = true;
        r->stop_ns = event->time_ns;
        r->stop_number = item->number;
        return;
    }
    bool is_known = event->lost_count != 0 && r->lost != UINT64_MAX;
    if (event->argument != TTAPE_GAP_REASON_FILTER && event->argument != TTAPE_GAP_REASON_CUT)
        r->lost = is_known ? r->lost + event->lost_count : UINT64_MAX;
}

/* The thread goes on behind a time of being off. */
static void go_on(struct ttp_last_reading *r, const ttape_event *event)
{
    if (r->is_stopped)
        r->off_ns += event->time_ns - r->stop_ns;
    r->is_stopped = false;
}

/* F-FCT-10: the last one counts, unless it does not say how and another does. */
static void take_leaf(struct ttp_last_reading *r, const ttape_event_item *item)
{
    ttape_last_end said;
    uint64_t reason;
    if (ttape_last_end_of(r->reader, item, &said)) {
        if (!said.is_process && said.how == TTAPE_THREAD_END_RECORDING && r->is_stopped)
            said.number = r->stop_reason;
        if (said.how != 0 || !r->end.is_known || r->end.how == 0)
            r->end = said;
        return;
    }
    go_on(r, &item->event);
    if (ttape_last_stop_of(r->reader, item, &reason))
        r->stop_reason = reason;
    take_fault(r, item);
}

static ttape_status take_enter(struct ttp_last_reading *r, const ttape_event *event,
                               ttape_error *err)
{
    ttape_status status = ttp_memory_reserve(r->memory, &r->calls, &r->capacity, r->count + 1ull,
                                             sizeof *r->calls, err);
    if (status != TTAPE_OK)
        return status;
    r->calls[r->count++] = (ttape_last_call){.site = event->site,
                                             .depth = event->depth,
                                             .start_ns = event->time_ns,
                                             .count = 1,
                                             .lost_before = r->lost,
                                             .off_before_ns = r->off_ns};
    r->lost = r->off_ns = 0;
    if (event->depth >= DEPTH_MAX)
        return TTAPE_OK;
    status = ttp_memory_reserve(r->memory, &r->open, &r->open_capacity, event->depth + 1ull,
                                sizeof *r->open, err);
    if (status != TTAPE_OK)
        return status;
    while (r->open_count <= event->depth)
        r->open[r->open_count++] = 0;
    r->open[event->depth] = r->count;
    return TTAPE_OK;
}

static void take_exit(struct ttp_last_reading *r, const ttape_event *event)
{
    uint32_t number = event->depth < r->open_count ? r->open[event->depth] : 0;
    if (number == 0 || r->calls[number - 1].site != event->site)
        return;
    ttape_last_call *call = &r->calls[number - 1];
    call->has_returned = true;
    call->total_ns = (int64_t)(event->time_ns - call->start_ns);
    r->open[event->depth] = 0;
}

ttape_status ttp_last_event(struct ttp_last_reading *r, const ttape_event_item *item,
                            ttape_error *err)
{
    const ttape_event *event = &item->event;
    bool is_of_stop = event->kind == TTAPE_EVENT_GAP || event->kind == TTAPE_EVENT_UNWIND ||
                      event->kind == TTAPE_EVENT_SWITCH || event->kind == TTAPE_EVENT_LEAF;
    r->end_ns = event->time_ns;
    if (!is_of_stop)
        go_on(r, event);
    if (event->kind == TTAPE_EVENT_ENTER)
        return take_enter(r, event, err);
    if (event->kind == TTAPE_EVENT_EXIT)
        take_exit(r, event);
    else if (event->kind == TTAPE_EVENT_LEAF)
        take_leaf(r, item);
    else if (event->kind == TTAPE_EVENT_GAP)
        take_gap(r, item);
    else if (event->kind == TTAPE_EVENT_SWITCH)
        r->open_count = 0; /* depths are those of another stack */
    return TTAPE_OK;
}

void ttp_last_fold(struct ttp_last_reading *r)
{
    uint32_t used = 0;
    ttape_last_call *calls = r->calls;
    for (uint32_t i = 0; i < r->count; i++) {
        ttape_last_call *before = used > 0 ? &calls[used - 1] : NULL;
        bool is_leaf = i + 1 == r->count || calls[i + 1].depth <= calls[i].depth;
        if (before != NULL && before->site == calls[i].site && before->depth == calls[i].depth &&
            before->has_returned && calls[i].has_returned && is_leaf && calls[i].lost_before == 0 &&
            calls[i].off_before_ns == 0) {
            before->count++;
            before->total_ns = (int64_t)((uint64_t)before->total_ns + (uint64_t)calls[i].total_ns);
        } else {
            calls[used++] = calls[i];
        }
    }
    r->count = used;
}

void ttp_last_mark_open(struct ttp_last_reading *r, const ttape_open_frame *frames,
                        uint32_t frame_count)
{
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t k = frame_count; k-- > 0 && !r->calls[i].is_open;)
            r->calls[i].is_open = !r->calls[i].has_returned && frames[k].site == r->calls[i].site &&
                                  frames[k].enter_time_ns == r->calls[i].start_ns;
}

void ttp_last_reading_close(struct ttp_last_reading *r)
{
    if (r->calls != NULL)
        ttp_memory_give(r->memory, r->calls, r->capacity, sizeof *r->calls);
    if (r->open != NULL)
        ttp_memory_give(r->memory, r->open, r->open_capacity, sizeof *r->open);
}
