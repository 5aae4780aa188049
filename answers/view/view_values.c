/* Values: those of one call's enter and end, and which events have a value that somebody looks for.
 * The search reads all events, some with each question: an answer says where to go on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define TEXT_BYTES_MOST 4096u
#define HEX_MOST        512u  /* bytes of a value */
#define SAME_TIME_MOST  4096u /* events at one time that are looked at */
#define WANTED_BYTES    256u
#define EVENTS_AT_ONCE  400000u
#define LOOKS_EVERY     4096u
#define FOUND_USUAL     50u
#define FOUND_MOST      500u

/* ---- what values are called and say ---- */

static void put_value(struct ttape_view *view, const ttape_value *value)
{
    ttp_view_begin(view, NULL, '{');
    ttp_view_number(view, "type", (uint32_t)value->type);
    if (value->type == TTAPE_VALUE_STRING) {
        ttp_view_string(view, "text", value->bytes);
    } else if (value->type == TTAPE_VALUE_BYTES) {
        size_t size = value->bytes.size_bytes;
        ttp_view_hex(view, "hex", value->bytes.data, size < HEX_MOST ? size : HEX_MOST);
    } else if (value->type == TTAPE_VALUE_SIGNED) {
        ttp_view_signed(view, "number", (int64_t)value->number);
    } else {
        ttp_view_wide(view, "number", value->number);
    }
    ttp_view_end(view, '}');
}

static void put_values(struct ttape_view *view, const char *key, const char *text_key,
                       const ttape_event_item *item, bool is_exit)
{
    char text[TEXT_BYTES_MOST];
    ttp_view_begin(view, key, '[');
    for (uint32_t i = 0; i < item->value_count; i++)
        put_value(view, &item->values[i]);
    ttp_view_end(view, ']');
    if (view->options.values == NULL || item->value_count == 0)
        return;
    size_t length = view->options.values(view->options.context, item->event.site, is_exit,
                                         item->values, item->value_count, text, sizeof text);
    ttp_view_string(view, text_key,
                    (ttape_string){text, length < sizeof text ? length : sizeof text - 1});
}

/* What the call ended with: it is the last of its events, where these are on one stack. */
static ttape_status put_results(struct ttape_view *view, ttape_cursor *cursor,
                                const ttape_node *node, uint64_t enter, ttape_error *err)
{
    ttape_event_item item;
    uint64_t number = enter + node->event_count - 1;
    if (!node->counts_exact || node->end != TTAPE_NODE_ENDED || node->event_count < 2)
        return TTAPE_OK;
    TTP_TRY(ttape_cursor_seek_event(cursor, number, err));
    ttape_status status = ttape_cursor_next(cursor, &item, err);
    if (status == TTAPE_OK && item.number == number && item.event.kind == TTAPE_EVENT_EXIT &&
        item.event.site == node->site && item.event.time_ns == node->end_ns)
        put_values(view, "results", "results_text", &item, true);
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* The event that enters a call: its name says which, or when it was. Several may be at that time:
 * then it is the one at the call's depth. TTAPE_END: it is not there. */
static ttape_status find_enter(ttape_cursor *cursor, const ttape_node_id *id,
                               const ttape_node *node, ttape_event_item *item, ttape_error *err)
{
    if (id->by == TTAPE_NODE_BY_EVENT) {
        TTP_TRY(ttape_cursor_seek_event(cursor, id->place, err));
        TTP_TRY(ttape_cursor_next(cursor, item, err));
        return item->number == id->place ? TTAPE_OK : TTAPE_END;
    }
    TTP_TRY(ttape_cursor_seek_time(cursor, node->enter_ns, err));
    for (uint32_t i = 0; i < SAME_TIME_MOST; i++) {
        TTP_TRY(ttape_cursor_next(cursor, item, err));
        if (item->event.time_ns != node->enter_ns)
            return TTAPE_END;
        if (item->event.kind == TTAPE_EVENT_ENTER && item->event.site == node->site &&
            item->event.depth == node->level)
            return TTAPE_OK;
    }
    return TTAPE_END;
}

static ttape_status put_call(struct ttape_view *view, ttape_cursor *cursor, const ttape_node_id *id,
                             const ttape_node *node, ttape_error *err)
{
    ttape_event_item item;
    ttape_status status = find_enter(cursor, id, node, &item, err);
    if (status == TTAPE_OK) {
        uint64_t enter = item.number;
        put_values(view, "arguments", "arguments_text", &item, false);
        return put_results(view, cursor, node, enter, err);
    }
    return status == TTAPE_END ? TTAPE_OK : status;
}

ttape_status ttp_view_call_values(struct ttape_view *view, const struct ttp_view_question *question,
                                  ttape_error *err)
{
    ttape_node_id id;
    ttape_node node;
    ttape_cursor *cursor;
    TTP_TRY(ttp_view_take_id(question, "id", &id, err));
    if (id.kind != TTAPE_NODE_FRAME)
        return ttp_view_refuse(err, "id", "names no call");
    if (view->info.bytes.values == 0)
        return TTAPE_OK;
    TTP_TRY(ttape_tree_get_node(view->tree, &id, TTAPE_TREE_OPENED, &node, err));
    TTP_TRY(ttape_cursor_open(&cursor, view->reader, id.stream, err));
    ttape_status status = put_call(view, cursor, &id, &node, err);
    ttape_cursor_close(cursor);
    return status;
}

/* ---- search ---- */

struct wanted {
    char text[WANTED_BYTES];
    size_t length;
    uint32_t found, most;
    uint64_t left; /* events that this answer still looks at */
};

static bool is_in(ttape_string bytes, const struct wanted *wanted)
{
    for (size_t at = 0; at + wanted->length <= bytes.size_bytes; at++)
        if (memcmp(bytes.data + at, wanted->text, wanted->length) == 0)
            return true;
    return false;
}

/* A text that it is part of; a number as it is printed. */
static bool is_wanted(const ttape_value *value, const struct wanted *wanted)
{
    char number[32];
    int length = 0;
    if (value->type == TTAPE_VALUE_STRING || value->type == TTAPE_VALUE_BYTES)
        return is_in(value->bytes, wanted);
    if (value->type == TTAPE_VALUE_NULL || value->type == TTAPE_VALUE_FLOAT)
        return false;
    if (value->type == TTAPE_VALUE_POINTER)
        length = snprintf(number, sizeof number, "0x%" PRIx64, value->number);
    else if (value->type == TTAPE_VALUE_SIGNED)
        length = snprintf(number, sizeof number, "%" PRId64, (int64_t)value->number);
    else
        length = snprintf(number, sizeof number, "%" PRIu64, value->number);
    return (size_t)length == wanted->length && memcmp(number, wanted->text, wanted->length) == 0;
}

static void look_at(struct ttape_view *view, struct wanted *wanted, const ttape_event_item *item)
{
    for (uint32_t i = 0; i < item->value_count; i++) {
        if (!is_wanted(&item->values[i], wanted))
            continue;
        wanted->found++;
        ttp_view_begin(view, NULL, '{');
        ttp_view_number(view, "stream", item->stream);
        ttp_view_wide(view, "event", item->number);
        ttp_view_number(view, "site", item->event.site);
        ttp_view_bool(view, "is_enter", item->event.kind == TTAPE_EVENT_ENTER);
        ttp_view_number(view, "depth", item->event.depth);
        ttp_view_time(view, "time", item->event.time_ns);
        put_values(view, "values", "values_text", item, item->event.kind == TTAPE_EVENT_EXIT);
        ttp_view_end(view, '}');
        return;
    }
}

/* Searches one stream from an event on. *next: the event to go on with; TTAPE_END: it is
 * through. */
static ttape_status search_stream(struct ttape_view *view, struct wanted *wanted, uint32_t stream,
                                  uint64_t *next, ttape_error *err)
{
    ttape_event_item item;
    ttape_cursor *cursor;
    uint64_t failures = 0;
    TTP_TRY(ttape_cursor_open(&cursor, view->reader, stream, err));
    ttape_status status = *next > 0 ? ttape_cursor_seek_event(cursor, *next, err) : TTAPE_OK;
    while (status == TTAPE_OK && wanted->left > 0 && wanted->found < wanted->most) {
        status = ttape_cursor_next(cursor, &item, err);
        /* It goes on behind what is damaged, and does not end there: the next answer would begin
         * before it again. Each partition fails once at most. */
        if (status >= TTAPE_E_TRUNCATED && failures++ < view->info.partition_count &&
            !ttp_view_stops(view)) {
            view->damage_count++;
            status = TTAPE_OK;
            continue;
        }
        if (status != TTAPE_OK)
            break;
        *next = item.number + 1;
        if (item.value_count > 0)
            look_at(view, wanted, &item);
        if (--wanted->left % LOOKS_EVERY == 0 && ttp_view_stops(view))
            wanted->left = 0;
    }
    ttape_cursor_close(cursor);
    return status;
}

static ttape_status search(struct ttape_view *view, struct wanted *wanted, uint32_t *stream,
                           uint64_t *event, ttape_error *err)
{
    while (*stream < view->info.stream_count && wanted->left > 0 && wanted->found < wanted->most) {
        ttape_status status = search_stream(view, wanted, *stream, event, err);
        if (status != TTAPE_OK && status != TTAPE_END)
            return status;
        if (status == TTAPE_END) {
            ++*stream;
            *event = 0;
        }
    }
    return TTAPE_OK;
}

ttape_status ttp_view_find(struct ttape_view *view, const struct ttp_view_question *question,
                           ttape_error *err)
{
    struct wanted wanted = {.most = FOUND_USUAL, .left = EVENTS_AT_ONCE};
    uint32_t stream = 0;
    uint64_t event = 0;
    TTP_TRY(ttp_view_take_number(question, "count", FOUND_MOST, &wanted.most, err));
    TTP_TRY(ttp_view_take_number(question, "stream", TTAPE_NONE, &stream, err));
    TTP_TRY(ttp_view_take_wide(question, "event", &event, err));
    wanted.length = ttp_view_take_text(question, "text", wanted.text, sizeof wanted.text);
    if (wanted.length == 0)
        return ttp_view_refuse(err, "text", "is empty");
    if (view->info.bytes.values == 0)
        stream = view->info.stream_count;
    ttp_view_begin(view, "found", '[');
    TTP_TRY(search(view, &wanted, &stream, &event, err));
    ttp_view_end(view, ']');
    ttp_view_bool(view, "complete", stream >= view->info.stream_count);
    ttp_view_number(view, "stream", stream);
    ttp_view_wide(view, "event", event);
    return TTAPE_OK;
}
