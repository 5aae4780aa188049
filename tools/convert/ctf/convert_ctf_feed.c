/* The events of a CTF trace, in the order of time, become events of threads. Exits without an
 * address (lttng-ust-cyg-profile-fast) are of whatever is on top; events that a tracer lost go to
 * the thread that its CTF stream goes on with. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/progress.h"
#include "tools/convert/ctf/convert_ctf_events.h"
#include "tools/convert/text_words.h"

#define BATCH_EVENTS 1024u
#define STACK_MAX    1048575u
#define READ_BYTES   (256u * 1024u)

struct ctf_feed {
    struct tool_ctf *ctf;
    ttape_writer *writer;
    /* of the scratch file */
    char *buffer;
    size_t at, end;
    uint64_t offset; /* behind buffer[end] */
    uint32_t batch_thread;
    size_t batch_count;
    ttape_event batch[BATCH_EVENTS];
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
    char text[TOOL_CTF_TEXT_MAX + 1];
    ttape_status status;
};

static void flush_events(struct ctf_feed *feed)
{
    if (feed->batch_count > 0 && feed->status == TTAPE_OK) {
        feed->status =
            ttape_writer_append(feed->writer, feed->ctf->threads[feed->batch_thread].stream,
                                feed->batch, feed->batch_count, &feed->ctf->err);
    }
    feed->batch_count = 0;
}

static void add_event(struct ctf_feed *feed, uint32_t thread, ttape_event event)
{
    if (feed->batch_count == BATCH_EVENTS || feed->batch_thread != thread)
        flush_events(feed);
    event.depth = TTAPE_DEPTH_AUTO;
    event.time_ns = tool_conversion_time(feed->ctf->conversion, event.time_ns);
    feed->batch_thread = thread;
    feed->batch[feed->batch_count++] = event;
}

/* ---- values ---- */

/* Values as our exporter writes them, "(8, 0x7ff, "a, b", null)": words, once the commas between
 * them are blanks. */
static void attach_values(struct ctf_feed *feed, uint32_t thread)
{
    char *at = feed->text;
    uint32_t count = 0;
    size_t size = strlen(at);
    bool is_quoted = false;
    struct tool_token token;
    if (size < 2 || at[0] != '(' || at[size - 1] != ')')
        return;
    at[size - 1] = '\0';
    for (char *byte = ++at; *byte != '\0'; byte++)
        if (*byte == '\\' && is_quoted && byte[1] != '\0')
            byte++;
        else if (*byte == '"')
            is_quoted = !is_quoted;
        else if (*byte == ',' && !is_quoted)
            *byte = ' ';
    while (count < TTAPE_EVENT_MAX_VALUES && tool_next_token(&at, &token) == TTAPE_OK &&
           tool_token_value(&token, &feed->values[count]))
        count++;
    flush_events(feed);
    if (count > 0 && feed->status == TTAPE_OK) {
        feed->status = ttape_writer_attach(feed->writer, feed->ctf->threads[thread].stream,
                                           feed->values, count, &feed->ctf->err);
    }
}

/* ---- frames ---- */

/* Takes the frame of a site (or signal) off the stack, and those above it. False: it is not
 * there. */
static bool leave_call(struct tool_ctf_thread *thread, uint32_t site, uint32_t signal)
{
    uint32_t count = tool_frames_find(&thread->open, site, signal);
    tool_frames_drop(&thread->open, count);
    return count > 0;
}

/* ---- events ---- */

/* How a frame was left. False: nothing is to be written. */
static bool take_exit(struct ctf_feed *feed, struct tool_ctf_thread *thread,
                      const struct tool_ctf_wire *wire, ttape_event *event)
{
    size_t top = tool_frames_innermost(&thread->open, thread->open.count);
    if (wire->c == TOOL_CTF_LEFT_OPEN)
        return false;
    if (wire->c == TOOL_CTF_LEFT_UNWIND) {
        if (top > 0) {
            tool_frames_drop(&thread->open, 1);
            event->kind = TTAPE_EVENT_UNWIND;
            event->argument = 1;
        }
        return top > 0;
    }
    if (wire->kind == TOOL_CTF_WIRE_SIGNAL_END) {
        event->kind = TTAPE_EVENT_SIGNAL_END;
        event->argument = (uint32_t)wire->a;
        return leave_call(thread, TTAPE_NONE, event->argument);
    }
    event->kind = TTAPE_EVENT_EXIT;
    if (wire->flags & TOOL_CTF_HAS_ADDRESS || wire->b > 0) {
        feed->status = tool_ctf_find_site(feed->ctf, wire, &event->site);
        (void)leave_call(thread, event->site, 0); /* where it is not open the writer says so */
        return true;
    }
    if (top == 0 || thread->open.frames[top - 1].site == TTAPE_NONE)
        return false;
    event->site = thread->open.frames[top - 1].site;
    tool_frames_drop(&thread->open, 1);
    return true;
}

static uint32_t reason_of(const char *name)
{
    uint32_t reason = TTAPE_GAP_REASON_STOPPED;
    while (reason > TTAPE_GAP_REASON_UNKNOWN && strcmp(ttape_gap_reason_name(reason), name) != 0)
        reason--;
    return reason;
}

/* Makes an event of a record. False: there is none to write. */
static bool make_event(struct ctf_feed *feed, struct tool_ctf_thread *thread,
                       const struct tool_ctf_wire *wire, ttape_event *event)
{
    switch (wire->kind) {
    case TOOL_CTF_WIRE_ENTRY:
        event->kind = wire->c != 0 ? TTAPE_EVENT_OPEN : TTAPE_EVENT_ENTER;
        feed->status = tool_ctf_find_site(feed->ctf, wire, &event->site);
        tool_frames_push(&thread->open, event->site, 0);
        return true;
    case TOOL_CTF_WIRE_SIGNAL:
        event->kind = TTAPE_EVENT_SIGNAL_BEGIN;
        event->argument = (uint32_t)wire->a;
        tool_frames_push(&thread->open, TTAPE_NONE, event->argument);
        return true;
    case TOOL_CTF_WIRE_EXIT:
    case TOOL_CTF_WIRE_SIGNAL_END: return take_exit(feed, thread, wire, event);
    case TOOL_CTF_WIRE_POINT:
    case TOOL_CTF_WIRE_UNSEEN:
        event->kind =
            wire->kind == TOOL_CTF_WIRE_POINT ? TTAPE_EVENT_LEAF : TTAPE_EVENT_EXIT_UNSEEN;
        feed->status = tool_ctf_find_site(feed->ctf, wire, &event->site);
        return true;
    case TOOL_CTF_WIRE_GAP:
        event->kind = TTAPE_EVENT_GAP;
        event->argument = reason_of(feed->text);
        event->lost_count = wire->a;
        return true;
    case TOOL_CTF_WIRE_SWITCH:
        event->kind = TTAPE_EVENT_SWITCH;
        event->argument = (uint32_t)wire->a;
        thread->open.stack = event->argument;
        return true;
    default: return false;
    }
}

static void put_lost(struct ctf_feed *feed, uint32_t thread, const struct tool_ctf_wire *wire)
{
    struct tool_ctf_lost *lost = &feed->ctf->lost[wire->source];
    lost->is_pending = false;
    add_event(feed, thread,
              (ttape_event){.time_ns = wire->time_ns,
                            .kind = TTAPE_EVENT_GAP,
                            .site = TTAPE_NONE,
                            .argument = TTAPE_GAP_REASON_OVERFLOW,
                            .lost_count = lost->count});
    lost->count = 0;
}

static void take_record(struct ctf_feed *feed, const struct tool_ctf_wire *wire)
{
    struct tool_ctf *ctf = feed->ctf;
    ttape_event event = {.time_ns = wire->time_ns, .site = TTAPE_NONE};
    if (wire->kind == TOOL_CTF_WIRE_LOST) {
        ctf->lost[wire->source].is_pending = true;
        ctf->lost[wire->source].count += wire->a;
        return;
    }
    uint32_t index = tool_ctf_thread_of(ctf, wire);
    if (ctf->lost[wire->source].is_pending)
        put_lost(feed, index, wire);
    bool is_number_bad =
        (wire->kind == TOOL_CTF_WIRE_SWITCH && wire->a > STACK_MAX) ||
        ((wire->kind == TOOL_CTF_WIRE_SIGNAL || wire->kind == TOOL_CTF_WIRE_SIGNAL_END) &&
         wire->a >= UINT32_MAX);
    if (is_number_bad || !make_event(feed, &ctf->threads[index], wire, &event)) {
        ctf->refused_count += is_number_bad || wire->c != TOOL_CTF_LEFT_OPEN;
        return;
    }
    add_event(feed, index, event);
    if (wire->text_bytes > 0 && wire->kind != TOOL_CTF_WIRE_GAP)
        attach_values(feed, index);
}

/* ---- the scratch file ---- */

/* Takes bytes from the scratch file. False: it failed, or ended. */
static bool take_bytes(struct ctf_feed *feed, void *into, size_t size_bytes)
{
    if (feed->end - feed->at < size_bytes) {
        memmove(feed->buffer, feed->buffer + feed->at, feed->end - feed->at);
        feed->end -= feed->at;
        feed->at = 0;
        uint64_t left = feed->ctf->events.size_bytes - feed->offset;
        size_t part = READ_BYTES - feed->end;
        part = left < part ? (size_t)left : part;
        if (!tool_scratch_read(&feed->ctf->events, feed->offset, feed->buffer + feed->end, part))
            return false;
        feed->offset += part;
        feed->end += part;
    }
    if (feed->end - feed->at < size_bytes)
        return false;
    memcpy(into, feed->buffer + feed->at, size_bytes);
    feed->at += size_bytes;
    return true;
}

/* Losses that no event follows belong to the last thread of all. */
static void put_last_lost(struct ctf_feed *feed, const struct tool_ctf_wire *last)
{
    for (uint32_t i = 0; i < feed->ctf->lost_count; i++) {
        if (feed->ctf->lost[i].is_pending && feed->ctf->thread_count > 0) {
            struct tool_ctf_wire wire = *last;
            wire.source = i;
            put_lost(feed, tool_ctf_thread_of(feed->ctf, last), &wire);
        }
    }
}

int tool_ctf_feed(struct tool_ctf *ctf)
{
    struct ctf_feed *feed = tool_allocate(1, sizeof(*feed));
    struct tool_ctf_wire wire = {0}, last = {0};
    int status = TOOL_OK;
    feed->ctf = ctf;
    feed->writer = ctf->conversion->writer;
    feed->buffer = tool_allocate(READ_BYTES, 1);
    for (uint64_t i = 0; i < ctf->event_count && feed->status == TTAPE_OK; i++) {
        if (!take_bytes(feed, &wire, sizeof(wire)) ||
            !take_bytes(feed, feed->text, wire.text_bytes)) {
            status = TOOL_CANNOT;
            break;
        }
        feed->text[wire.text_bytes] = '\0';
        take_record(feed, &wire);
        last = wire.kind != TOOL_CTF_WIRE_LOST ? wire : last;
        if (i % 4096 == 0)
            tool_progress_update(feed->offset, ctf->events.size_bytes, i);
    }
    put_last_lost(feed, &last);
    flush_events(feed);
    if (feed->status != TTAPE_OK)
        status = tool_conversion_fail(ctf->conversion, &ctf->err);
    free(feed->buffer);
    free(feed);
    return status;
}
