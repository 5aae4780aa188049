/* Slots become events: the clock put together, addresses turned into sites, messages read.
 *
 * Records are never trusted: what the stream cannot bear (an unwind of more frames than are open,
 * data without its message, a signal's end without its beginning) is cut down or counted as lost.
 */
#include <string.h>

#include "format/base/bytes.h"
#include "recorder/arena/record.h"
#include "recorder/decode/layouts.h"
#include "recorder/decode/thread_names.h"
#include "recorder/state/recording_internal.h"
#include "writer/events/stream_edge.h"

#define MESSAGE_MAX  (TTP_BLOCK_RECORDS * TTP_DATA_BYTES)
#define REASON_MASK  ((1u << TTP_GAP_REASON_BITS) - 1)
#define EPOCH_END    (1ull << (60 - TTP_RECORD_TIME_BITS)) /* ticks: twelve years at 3 GHz */
#define EXPECTED_MAX 256u                                  /* functions that are named together */
#define VALUES_MAX   TTAPE_EVENT_MAX_VALUES
/* Signals are looked for within so many frames: more than the runtime keeps. */
#define SIGNALS_WITHIN 131072u

/* Where in a slot. */
struct decoding {
    struct ttp_encode *e;
    struct ttp_thread *thread;
    const struct ttp_slot *slot;
    uint32_t at;
    uint64_t epoch;
    bool is_open, is_unseen; /* what the record before said of this one */
    uint64_t ago;            /* and so did it of a gap: in ticks */
    bool is_timed, is_filtered;
    ttape_error *err;
};

ttape_status ttp_decode_flush(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    const struct ttp_events batch = e->event_count != 0 ? (struct ttp_events){e->events, NULL}
                                                        : (struct ttp_events){NULL, e->plain.calls};
    uint32_t count = e->event_count + e->plain.count; /* one of them is 0 */
    e->event_count = e->plain.count = 0;
    return count == 0 ? TTAPE_OK : ttp_output_append(e, thread, batch, count, err);
}

/* No clock gets as far: what a trace's times can hold. */
static uint64_t epoch_of(uint64_t said) { return said < EPOCH_END ? said : EPOCH_END - 1; }

/* The clock of one thread never goes back: a record that seems to was reserved before a signal
 * handler ran, and stored with the time from before it. */
static uint64_t time_of(struct decoding *d, uint64_t low_bits)
{
    if (!d->is_timed)
        return 0;
    uint64_t ns = ttp_clock_ns(&d->e->clock, d->epoch << TTP_RECORD_TIME_BITS | low_bits);
    if (ns < d->thread->last_ns)
        ns = d->thread->last_ns;
    d->thread->last_ns = ns;
    return ns;
}

static ttape_status put_event(struct decoding *d, const ttape_event *event, uint32_t site)
{
    struct ttp_encode *e = d->e;
    ttape_event copy = *event;
    d->thread->may_attach = !d->is_filtered && event->kind != TTAPE_EVENT_GAP;
    d->thread->has_jumped = false;
    if (d->is_filtered)
        return ttp_held_event(e, d->thread, &copy, site, d->err);
    ttp_plain_as_events(e);
    e->events[e->event_count++] = copy;
    return e->event_count == TTP_BATCH_EVENTS ? ttp_decode_flush(e, d->thread, d->err) : TTAPE_OK;
}

static ttape_status put_fact(struct decoding *d, uint32_t kind, uint32_t argument, uint64_t count,
                             uint64_t ns)
{
    ttape_event event = {.time_ns = ns,
                         .kind = kind,
                         .site = TTAPE_NONE,
                         .argument = argument,
                         .lost_count = count,
                         .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(ttp_stream_ready(d->e, d->thread, d->err));
    return put_event(d, &event, TTAPE_NONE);
}

/* count 0: some, but their number is not known. */
static ttape_status lose(struct decoding *d, uint64_t count, uint32_t reason)
{
    d->e->lost += count;
    d->e->uncounted += count == 0;
    return put_fact(d, TTAPE_EVENT_GAP, reason, count, d->is_timed ? d->thread->last_ns : 0);
}

static ttape_status put_call(struct decoding *d, uint64_t record, uint32_t kind)
{
    uint32_t site;
    uint64_t ns = time_of(d, ttp_record_time(record));
    if (ttp_record_address(record) == 0)
        return lose(d, 1, TTAPE_GAP_REASON_DAMAGE);
    TTP_TRY(ttp_site_of(d->e, d->thread, ttp_record_address(record), &site, d->err));
    if (kind == TTAPE_EVENT_ENTER && ttp_site_at(d->e, d->thread, site)->is_checkpoint)
        ttp_hit_put(&d->e->shared->hits, ns);
    ttape_event event = {.time_ns = ns,
                         .kind = kind,
                         .site = ttp_site_at(d->e, d->thread, site)->id,
                         .depth = TTAPE_DEPTH_AUTO};
    return put_event(d, &event, site);
}

/* It has the time of what came before, unless it came by the hook's slow side. */
static ttape_status put_block(struct decoding *d, uint64_t record)
{
    uint32_t site;
    uint64_t low_bits = ttp_record_time(record), ns = d->is_timed ? d->thread->last_ns : 0;
    if (ttp_record_address(record) == 0)
        return lose(d, 1, TTAPE_GAP_REASON_UNKNOWN);
    if (low_bits != 0 || ns == 0)
        ns = time_of(d, low_bits);
    TTP_TRY(ttp_block_site_of(d->e, d->thread, ttp_record_address(record), &site, d->err));
    ttape_event event = {.time_ns = ns,
                         .kind = TTAPE_EVENT_LEAF,
                         .site = ttp_site_at(d->e, d->thread, site)->id,
                         .depth = TTAPE_DEPTH_AUTO};
    return put_event(d, &event, site);
}

/* What is open on the thread's current stack: as the filter counts, or the writer. */
struct open_frames {
    const struct ttp_call_stack *filtered;
    const ttape_writer *writer;
    uint32_t stream, count;
};

static ttape_status find_open(struct decoding *d, struct open_frames *open)
{
    *open = (struct open_frames){0};
    if (d->is_filtered) {
        TTP_TRY(ttp_held_frames(d->e, d->thread, &open->filtered, d->err));
        open->count = open->filtered != NULL ? (uint32_t)open->filtered->calls.count : 0;
        return TTAPE_OK;
    }
    TTP_TRY(ttp_stream_ready(d->e, d->thread, d->err));
    TTP_TRY(ttp_decode_flush(d->e, d->thread, d->err));
    open->writer = ttp_output_of(d->e, d->thread)->writer;
    open->stream = d->thread->stream;
    open->count = ttp_stream_open_count(open->writer, open->stream);
    return TTAPE_OK;
}

static bool is_signal(const struct open_frames *open, uint32_t frame)
{
    return open->filtered != NULL ? ttp_filter_is_signal(open->filtered, frame)
                                  : ttp_stream_is_signal(open->writer, open->stream, frame);
}

/* How many of the open frames go with so many signals, and then above the one that stays. */
static uint32_t count_left(const struct open_frames *open, bool has_signals, uint64_t signals,
                           uint64_t staying)
{
    uint32_t left = 0, least = open->count < SIGNALS_WITHIN ? 0 : open->count - SIGNALS_WITHIN;
    for (uint32_t at = open->count; signals > 0 && at > least; at--)
        if (is_signal(open, at - 1)) {
            left = open->count - at + 1;
            signals--;
        }
    uint32_t top = open->count - left, above = top;
    if (has_signals)
        for (above = 0; above < top - least && !is_signal(open, top - 1 - above);)
            above++;
    return left + (above > staying ? above - (uint32_t)staying : 0);
}

static ttape_status unwind(struct decoding *d, uint64_t payload, ttape_unwind_kind kind,
                           uint64_t ns)
{
    struct open_frames open;
    uint32_t left;
    uint64_t count = payload >> TTP_UNWIND_FORM_BITS;
    TTP_TRY(find_open(d, &open));
    switch ((enum ttp_unwind_form)(payload & ((1u << TTP_UNWIND_FORM_BITS) - 1))) {
    case TTP_UNWIND_COUNT: left = count < open.count ? (uint32_t)count : open.count; break;
    case TTP_UNWIND_ALL_BUT: left = count < open.count ? open.count - (uint32_t)count : 0; break;
    default:
        left = count_left(&open, d->thread->has_signals, count >> TTP_UNWIND_FRAMES_BITS,
                          count & ((1u << TTP_UNWIND_FRAMES_BITS) - 1));
    }
    return left == 0 ? TTAPE_OK : put_fact(d, TTAPE_EVENT_UNWIND, left, kind, ns);
}

/* Where nothing has come in between, they ended when the last of them jumped. */
static ttape_status end_jumped(struct decoding *d, uint64_t payload, uint64_t ns)
{
    return unwind(d, payload, TTAPE_UNWIND_UNSEEN, d->thread->has_jumped ? d->thread->jump_ns : ns);
}

static ttape_status end_signal(struct decoding *d)
{
    uint32_t number = 0;
    uint64_t ns = d->is_timed ? d->thread->last_ns : 0;
    if (d->is_filtered)
        return put_fact(d, TTAPE_EVENT_SIGNAL_END, 0, 0, ns);
    TTP_TRY(ttp_stream_ready(d->e, d->thread, d->err));
    TTP_TRY(ttp_decode_flush(d->e, d->thread, d->err));
    const struct ttp_output *output = ttp_output_of(d->e, d->thread);
    if (!ttp_stream_open_signal(output->writer, d->thread->stream, &number))
        return TTAPE_OK;
    return put_fact(d, TTAPE_EVENT_SIGNAL_END, number, 0, ns);
}

/* The bytes of a message, from the data records behind its head; false: they are not all there. */
static bool gather(struct decoding *d, uint32_t size, uint8_t *bytes)
{
    uint32_t records = (size + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES;
    if (size > MESSAGE_MAX - TTP_DATA_BYTES || records > d->slot->head.count - d->at - 1)
        return false;
    for (uint32_t i = 0; i < records; i++) {
        uint64_t record = d->slot->records[d->at + 1 + i];
        if (ttp_record_tag(record) != TTP_TAG_EXTENSION || ttp_record_type(record) != TTP_EXT_DATA)
            return false;
        for (uint32_t k = 0; k < TTP_DATA_BYTES; k++)
            bytes[i * TTP_DATA_BYTES + k] = (uint8_t)(record >> (TTP_DATA_SHIFT + 8 * k));
    }
    d->at += records;
    return true;
}

/* The message about a library comes when it is closed, or when the program ends: behind its calls.
 * This is done once for each list of modules, however many addresses are unknown. */
ttape_status ttp_decode_peek_modules(struct ttp_encode *e, struct ttp_thread *thread,
                                     ttape_error *err)
{
    uint8_t bytes[MESSAGE_MAX];
    struct decoding d = {.e = e, .thread = thread, .slot = e->decoded_slot, .err = err};
    if (e->has_peeked)
        return TTAPE_OK;
    e->has_peeked = true;
    for (d.at = e->decoded_at; d.slot != NULL && d.at < d.slot->head.count; d.at++) {
        uint64_t record = d.slot->records[d.at], payload = ttp_record_payload(record);
        uint32_t size = (uint32_t)(payload & 0xFFFFFF);
        if (ttp_record_tag(record) != TTP_TAG_EXTENSION ||
            ttp_record_type(record) != TTP_EXT_MESSAGE ||
            (payload >> 24 & 0xFF) != TTP_MESSAGE_MODULE || !gather(&d, size, bytes))
            continue;
        TTP_TRY(ttp_image_early_module(e, thread, bytes, size, err));
    }
    return TTAPE_OK;
}

void ttp_decode_expect(struct ttp_encode *e, const struct ttp_layout *layout, uint32_t module)
{
    uint64_t found[EXPECTED_MAX];
    size_t count = 0;
    uint32_t at = e->decoded_at;
    if (e->decoded_slot == NULL || at < e->expected_to)
        return;
    for (; at < e->decoded_slot->head.count && count < EXPECTED_MAX; at++) {
        uint64_t record = e->decoded_slot->records[at], address = ttp_record_address(record);
        if (ttp_record_tag(record) != TTP_TAG_ENTER)
            continue;
        uint32_t site = ttp_map_find(&layout->by_address, address);
        if (site != TTAPE_NONE &&
            ((const struct ttp_site_seen *)layout->sites.data)[site].id != TTAPE_NONE)
            continue;
        size_t same = count;
        while (same > 0 && found[same - 1] != address)
            same--;
        if (same == 0 && ttp_module_find(layout, address) == module)
            found[count++] = address;
    }
    e->expected_to = at;
    const struct ttp_module_seen *modules = layout->modules.data;
    if (count > 1)
        e->options.rules.expect(e->options.rules.context, &modules[module].module, found, count);
}

/* Values: each a type, then its number, or its size and bytes. What does not fit ends them. */
uint32_t ttp_decode_values(struct ttp_encode *e, const uint8_t *at, const uint8_t *end,
                           ttape_error *err)
{
    e->values.count = 0;
    while (at < end && e->values.count < VALUES_MAX) {
        ttape_value value = {.type = *at++};
        bool has_bytes = value.type == TTAPE_VALUE_BYTES || value.type == TTAPE_VALUE_STRING;
        bool is_known =
            value.type <= TTAPE_VALUE_NULL || ((uint32_t)value.type >= TTP_VALUE_CALL_SITE &&
                                               (uint32_t)value.type <= TTP_VALUE_HOOK_SITE);
        if (!is_known || end - at < (has_bytes ? 4 : 8))
            break;
        if (has_bytes) {
            uint32_t size = ttp_load32(at);
            at += 4;
            if (size > (size_t)(end - at) || size > TTAPE_VALUE_MAX_BYTES)
                break;
            value.bytes = (ttape_string){(const char *)at, size};
            at += size;
        } else {
            value.number = ttp_load64(at);
            at += 8;
        }
        ttape_value *added = ttp_push(&e->allocator, &e->values, sizeof *added, err);
        if (added == NULL)
            break;
        *added = value;
    }
    return (uint32_t)e->values.count;
}

ttape_status ttp_decode_attach(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *at,
                               const uint8_t *end, ttape_error *err)
{
    uint32_t count = thread->may_attach ? ttp_decode_values(e, at, end, err) : 0;
    if (count == 0)
        return TTAPE_OK;
    thread->may_attach = false;
    TTP_TRY(ttp_decode_flush(e, thread, err));
    ttape_writer *writer = ttp_output_of(e, thread)->writer;
    if (!ttp_stream_takes_values(writer, thread->stream))
        return TTAPE_OK;
    TTP_TRY(ttp_values_name(e, thread, e->values.data, count, true, err));
    return ttape_writer_attach(writer, thread->stream, e->values.data, count, err);
}

/* Where the event waits, so do they. */
static ttape_status attach_values(struct decoding *d, const uint8_t *at, const uint8_t *end)
{
    return d->is_filtered ? ttp_held_values(d->e, d->thread, at, (uint32_t)(end - at), d->err)
                          : ttp_decode_attach(d->e, d->thread, at, end, d->err);
}

static ttape_status put_leaf(struct decoding *d, uint64_t ns, const uint8_t *bytes, uint32_t size)
{
    uint32_t site;
    if (size < 8 || ttp_load64(bytes) == 0)
        return lose(d, 1, TTAPE_GAP_REASON_DAMAGE);
    TTP_TRY(ttp_site_of(d->e, d->thread, ttp_load64(bytes), &site, d->err));
    ttape_event event = {.time_ns = ns,
                         .kind = TTAPE_EVENT_LEAF,
                         .site = ttp_site_at(d->e, d->thread, site)->id,
                         .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(put_event(d, &event, site));
    return attach_values(d, bytes + 8, bytes + size);
}

/* Where no more goes into the trace, recording stopped when it had its size. */
static uint64_t full_time(const struct decoding *d)
{
    uint64_t full_ns = d->e->full_ns, last_ns = d->thread->last_ns;
    return !d->is_timed ? 0 : full_ns > last_ns ? full_ns : last_ns;
}

/* Calls that wait for filters come first. The recorder saw the end a little later than it was: the
 * kernel may tell when. */
static ttape_status end_thread(struct decoding *d, uint64_t record)
{
    struct ttp_thread *thread = d->thread;
    uint64_t payload = ttp_record_payload(record), last_ns = thread->last_ns, exit_ns;
    if ((payload & TTP_END_SAID) != 0) /* nothing is written of it yet */
        return ttp_end_put(d->e, thread, payload, last_ns, d->err);
    bool goes_on = ttp_end_goes_on(d->e, payload);
    uint64_t ns = goes_on && d->e->is_full ? full_time(d) : time_of(d, ttp_record_time(record));
    TTP_TRY(ttp_decode_flush(d->e, thread, d->err));
    if (d->is_filtered) {
        TTP_TRY(ttp_held_end(d->e, thread, last_ns, d->err));
        TTP_TRY(ttp_filter_settle(d->e, thread, d->err));
    }
    if (d->e->switches != NULL && d->is_timed && !goes_on &&
        ttp_follower_find_exit(d->e->switches, thread->tid, last_ns, ns, &exit_ns))
        thread->last_ns = ns = exit_ns;
    return ttp_end_put(d->e, thread, payload, ns, d->err);
}

/* Its time is that of where recording went on again. */
static ttape_status stop(struct decoding *d, uint64_t record)
{
    struct ttp_thread *thread = d->thread;
    uint64_t payload = ttp_record_payload(record), last_ns = thread->last_ns, ago = d->ago;
    uint64_t ticks = d->epoch << TTP_RECORD_TIME_BITS | ttp_record_time(record);
    struct ttp_stop stop = {.reason = TTAPE_STOP_OFF,
                            .what = (uint32_t)(payload >> TTP_GAP_REASON_BITS) & 3u,
                            .count = payload >> TTP_STOP_COUNT_SHIFT,
                            .next_ns = time_of(d, ttp_record_time(record))};
    stop.ns = d->is_timed && ago < ticks ? ttp_clock_ns(&d->e->clock, ticks - ago) : stop.next_ns;
    stop.ns = stop.ns < last_ns ? last_ns : stop.ns > stop.next_ns ? stop.next_ns : stop.ns;
    TTP_TRY(ttp_decode_flush(d->e, thread, d->err));
    if (d->is_filtered)
        TTP_TRY(ttp_filter_settle(d->e, thread, d->err));
    return ttp_stop_put(d->e, thread, &stop, d->err);
}

static uint64_t time_within(const struct decoding *d, uint64_t ticks, uint64_t from, uint64_t to)
{
    uint64_t ns = ttp_clock_ns(&d->e->clock, ticks);
    return ns < from ? from : ns > to ? to : ns;
}

/* A call of the recorder's own, between the record before and this one. */
static ttape_status put_wait(struct decoding *d, uint64_t last_ns, const uint8_t *bytes,
                             uint32_t size)
{
    uint32_t site;
    if (size < 2 * sizeof(uint64_t) || !d->is_timed || last_ns == 0)
        return TTAPE_OK;
    uint64_t end_ns = d->thread->last_ns, from = time_within(d, ttp_load64(bytes), last_ns, end_ns);
    uint64_t until = time_within(d, ttp_load64(bytes + 8), from, end_ns);
    TTP_TRY(ttp_decode_flush(d->e, d->thread, d->err));
    TTP_TRY(ttp_wait_site(d->e, d->thread, &site, d->err));
    ttape_event event = {.time_ns = from,
                         .kind = TTAPE_EVENT_ENTER,
                         .site = ttp_site_at(d->e, d->thread, site)->id,
                         .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(put_event(d, &event, site));
    event.kind = TTAPE_EVENT_EXIT;
    event.time_ns = until;
    TTP_TRY(put_event(d, &event, site));
    d->thread->may_attach = d->thread->held.takes_values = false;
    return TTAPE_OK;
}

static ttape_status message(struct decoding *d, uint64_t record)
{
    uint8_t bytes[MESSAGE_MAX];
    uint64_t last_ns = d->thread->last_ns, payload = ttp_record_payload(record);
    uint64_t ns = time_of(d, ttp_record_time(record));
    uint32_t kind = (uint32_t)(payload >> 24 & 0xFF), size = (uint32_t)(payload & 0xFFFFFF);
    uint64_t before = d->at > 0 ? d->slot->records[d->at - 1] : d->thread->last_record;
    if (!gather(d, size, bytes))
        return lose(d, 1, TTAPE_GAP_REASON_DAMAGE);
    if (kind == TTP_MESSAGE_VALUES && ttp_values_unasked(d->e, d->thread, before, bytes, size))
        return TTAPE_OK;
    if (kind == TTP_MESSAGE_LEAF)
        return put_leaf(d, ns, bytes, size);
    if (kind == TTP_MESSAGE_VALUES)
        return attach_values(d, bytes, bytes + size);
    if (kind == TTP_MESSAGE_WAITED)
        return put_wait(d, last_ns, bytes, size);
    if (kind == TTP_MESSAGE_THREAD || kind == TTP_MESSAGE_NAMED)
        return ttp_thread_named(d->e, d->thread, kind, ns, bytes, size, d->err);
    TTP_TRY(ttp_decode_flush(d->e, d->thread, d->err));
    return ttp_image_message(d->e, d->thread, kind, bytes, size, d->err);
}

static ttape_status extension(struct decoding *d, uint64_t record)
{
    uint64_t payload = ttp_record_payload(record), time = ttp_record_time(record);
    switch (ttp_record_type(record)) {
    case TTP_EXT_EPOCH: d->epoch = epoch_of(record >> TTP_EPOCH_SHIFT); return TTAPE_OK;
    case TTP_EXT_NOTHING: return TTAPE_OK;
    case TTP_EXT_OPEN: d->is_open = true; return TTAPE_OK;
    case TTP_EXT_UNSEEN: d->is_unseen = true; return TTAPE_OK;
    case TTP_EXT_UNWIND: return unwind(d, payload, TTAPE_UNWIND_LEFT, time_of(d, time));
    case TTP_EXT_UNSEEN_END: return unwind(d, payload, TTAPE_UNWIND_LATE, time_of(d, time));
    case TTP_EXT_JUMP:
        d->thread->jump_ns = time_of(d, time);
        d->thread->has_jumped = true;
        return TTAPE_OK;
    case TTP_EXT_JUMPED: return end_jumped(d, payload, time_of(d, time));
    case TTP_EXT_SWITCH:
        return put_fact(d, TTAPE_EVENT_SWITCH, (uint32_t)payload & 0xFFFFFu, 0, time_of(d, time));
    case TTP_EXT_SIGNAL_BEGIN:
        d->thread->has_signals = true;
        return put_fact(d, TTAPE_EVENT_SIGNAL_BEGIN, (uint32_t)payload & 0xFFu, 0,
                        time_of(d, time));
    case TTP_EXT_SIGNAL_END: return end_signal(d);
    case TTP_EXT_AGO: d->ago = payload * TTP_AGO_TICKS; return TTAPE_OK;
    case TTP_EXT_GAP:
        if ((payload & REASON_MASK) == TTAPE_GAP_REASON_STOPPED)
            return stop(d, record);
        if ((payload & REASON_MASK) == TTAPE_GAP_REASON_OVERFLOW ||
            (payload & REASON_MASK) == TTAPE_GAP_REASON_SANDBOX)
            d->e->lost += payload >> TTP_GAP_REASON_BITS;
        if ((payload & REASON_MASK) == TTAPE_GAP_REASON_SANDBOX)
            d->e->sandboxed += payload >> TTP_GAP_REASON_BITS;
        return put_fact(d, TTAPE_EVENT_GAP, (uint32_t)payload & REASON_MASK,
                        payload >> TTP_GAP_REASON_BITS, time_of(d, time));
    case TTP_EXT_MESSAGE: return message(d, record);
    case TTP_EXT_END: return end_thread(d, record);
    default: return lose(d, 1, TTAPE_GAP_REASON_DAMAGE);
    }
}

static ttape_status decode_record(struct decoding *d, uint64_t record)
{
    bool is_open = d->is_open, is_unseen = d->is_unseen;
    d->is_open = d->is_unseen = false;
    if (ttp_record_type(record) != TTP_EXT_GAP)
        d->ago = 0;
    switch (ttp_record_tag(record)) {
    case TTP_TAG_ENTER: return put_call(d, record, is_open ? TTAPE_EVENT_OPEN : TTAPE_EVENT_ENTER);
    case TTP_TAG_EXIT:
        return put_call(d, record, is_unseen ? TTAPE_EVENT_EXIT_UNSEEN : TTAPE_EVENT_EXIT);
    case TTP_TAG_EXTENSION: return extension(d, record);
    default: return put_block(d, record);
    }
}

/* A block came behind later blocks of its thread: a program wrote over its number or theirs. (A
 * recovery finds blocks twice, and has their events already.) */
static ttape_status lose_late(struct decoding *d)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < d->slot->head.count; i++)
        count += ttp_record_is_event(d->slot->records[i]);
    if (d->e->is_replaying || count == 0)
        return TTAPE_OK;
    TTP_TRY(lose(d, count, TTAPE_GAP_REASON_DAMAGE));
    return ttp_decode_flush(d->e, d->thread, d->err);
}

/* Whether the slot is the next of its thread. A slot that was decoded already is left out. Where a
 * slot is missing, it is not known how many events it held. */
static ttape_status check_place(struct decoding *d, bool *is_next)
{
    const struct ttp_block_head *block = &d->slot->block;
    struct ttp_thread *thread = d->thread;
    bool same = block->sequence == thread->sequence;
    *is_next = block->sequence > thread->sequence ||
               (same && d->slot->head.first + d->slot->head.count > thread->consumed);
    if (!*is_next)
        return TTAPE_OK;
    bool is_again = same && d->slot->head.first < thread->consumed; /* the block itself, whole */
    bool follows = is_again || (same && d->slot->head.first == thread->consumed) ||
                   (block->sequence == thread->sequence + 1 && d->slot->head.first == 0);
    if (is_again)
        d->at = thread->consumed - d->slot->head.first;
    bool is_complete = (follows && !thread->has_hole) || d->e->is_full;
    thread->has_hole = false;
    return is_complete ? TTAPE_OK : lose(d, 0, TTAPE_GAP_REASON_DAMAGE);
}

/* Where decoding starts inside of a slot, the epochs before it are looked through. */
static void skip_to(struct decoding *d, uint32_t target)
{
    for (uint32_t i = 0; i < target; i++) {
        uint64_t record = d->slot->records[i];
        if (ttp_record_tag(record) == TTP_TAG_EXTENSION && ttp_record_type(record) == TTP_EXT_EPOCH)
            d->epoch = epoch_of(record >> TTP_EPOCH_SHIFT);
    }
    d->at = target;
}

/* Calls and blocks of sites that have an id, unfiltered, until something else comes. */
static void decode_plain(struct decoding *d)
{
    if (d->is_filtered || d->thread->stream == TTAPE_NONE || d->is_open || d->is_unseen)
        return;
    d->at = ttp_plain_take(d->e, d->thread, d->slot, d->at, d->epoch);
}

/* Whether the batch takes no more. */
static bool is_batch(const struct ttp_encode *e)
{
    return e->event_count == TTP_BATCH_EVENTS || e->plain.count == TTP_BATCH_EVENTS;
}

ttape_status ttp_decode_slot(struct ttp_encode *e, const struct ttp_slot *slot, ttape_error *err)
{
    struct decoding d = {.e = e,
                         .slot = slot,
                         .is_timed = e->options.clock != TTAPE_CLOCK_NONE,
                         .is_filtered = ttp_filter_is_on(e),
                         .err = err};
    bool is_next;
    e->first_pid = e->first_pid == 0 ? slot->block.process_id : e->first_pid;
    if (e->options.only_first && slot->block.process_id != e->first_pid)
        return TTAPE_OK;
    TTP_TRY(ttp_clock_take(e, err));
    if (e->switches != NULL)
        ttp_follower_read(e->switches);
    TTP_TRY(ttp_thread_of(e, &slot->block, &d.thread, err));
    d.epoch = slot->head.first == 0 ? epoch_of(slot->block.epoch) : d.thread->epoch;
    TTP_TRY(check_place(&d, &is_next));
    if (!is_next)
        return lose_late(&d);
    skip_to(&d, e->ends_only ? e->end_at : d.at);
    if (d.thread->stream == TTAPE_NONE && d.thread->named_ns == 0)
        memcpy(d.thread->name, slot->block.name, sizeof d.thread->name);
    e->decoded_slot = slot;
    e->has_peeked = false;
    e->expected_to = 0;
    while (decode_plain(&d), d.at < slot->head.count) {
        if (is_batch(e)) { /* the record may be a plain one */
            TTP_TRY(ttp_decode_flush(e, d.thread, err));
            continue;
        }
        e->decoded_at = d.at;
        TTP_TRY(decode_record(&d, slot->records[d.at]));
        d.at++;
    }
    e->decoded_slot = NULL;
    d.thread->epoch = d.epoch;
    if (slot->head.count > 0)
        d.thread->last_record = slot->records[slot->head.count - 1];
    d.thread->sequence = slot->block.sequence;
    d.thread->consumed = slot->head.first + slot->head.count;
    TTP_TRY(ttp_thread_touch(e, d.thread, err));
    return ttp_decode_flush(e, d.thread, err);
}
