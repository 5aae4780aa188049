/* Looking an event up costs the decoding of its partition, mostly once for neighbours. */
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/io/table.h"
#include "tools/values/value_json.h"
#include "tools/values/value_search.h"
#include "tools/values/value_words.h"

#define SAME_TIME_EVENTS 4096u /* how many events of one time are looked at */

void tool_value_search_open(struct tool_value_search *search, ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *search = (struct tool_value_search){.reader = info.bytes.values != 0 ? reader : NULL,
                                         .partition = TTAPE_NONE,
                                         .partitions_left = TOOL_VALUE_PARTITIONS};
}

static void close_cursor(struct tool_value_search *search)
{
    ttape_cursor_close(search->cursor);
    search->cursor = NULL;
}

int tool_value_search_close(struct tool_value_search *search, const char *subject)
{
    close_cursor(search);
    return search->status != TTAPE_OK ? tool_fail_error(subject, &search->err) : TOOL_OK;
}

/* What is damaged in the file is said elsewhere. */
static bool is_fine(struct tool_value_search *search, ttape_status status, const ttape_error *err)
{
    if ((status == TTAPE_E_IO || status == TTAPE_E_MEMORY) && search->status == TTAPE_OK) {
        search->status = status;
        search->err = *err;
    }
    return status == TTAPE_OK;
}

/* Whether there may be something, and the bound is not reached. */
static bool prepare_call(struct tool_value_search *search, const struct tool_value_call *call)
{
    if (search->reader == NULL || call->site == TTAPE_NONE)
        return false;
    bool is_same = call->partition != TTAPE_NONE && call->partition == search->partition;
    if (!is_same && search->partitions_left == 0)
        return false;
    search->partitions_left -= !is_same;
    search->partition = call->partition;
    if (search->cursor != NULL && search->stream == call->stream)
        return true;
    ttape_error err = {0};
    close_cursor(search);
    search->stream = call->stream;
    return is_fine(search, ttape_cursor_open(&search->cursor, search->reader, call->stream, &err),
                   &err);
}

static bool next(struct tool_value_search *search, ttape_event_item *item)
{
    ttape_error err = {0};
    return is_fine(search, ttape_cursor_next(search->cursor, item, &err), &err);
}

static bool find_event(struct tool_value_search *search, uint64_t number, ttape_event_item *item)
{
    ttape_error err = {0};
    return number != TOOL_VALUE_NO_NUMBER &&
           is_fine(search, ttape_cursor_seek_event(search->cursor, number, &err), &err) &&
           next(search, item) && item->number == number;
}

/* The stream's only such event of that time; depth TTAPE_NONE: any. Of several nobody knows which
 * one is meant. */
static bool find_at(struct tool_value_search *search, uint64_t time_ns, uint32_t site,
                    ttape_event_kind kind, uint32_t depth, ttape_event_item *item)
{
    ttape_error err = {0};
    uint64_t found = TOOL_VALUE_NO_NUMBER;
    if (!is_fine(search, ttape_cursor_seek_time(search->cursor, time_ns, &err), &err))
        return false;
    for (uint32_t i = 0;
         i < SAME_TIME_EVENTS && next(search, item) && item->event.time_ns == time_ns; i++) {
        if (item->event.kind != kind || item->event.site != site ||
            (depth != TTAPE_NONE && item->event.depth != depth))
            continue;
        if (found != TOOL_VALUE_NO_NUMBER)
            return false;
        found = item->number;
    }
    return find_event(search, found, item); /* its values are gone when the next event comes */
}

static bool find_enter(struct tool_value_search *search, const struct tool_value_call *call,
                       ttape_event_item *item)
{
    if (!prepare_call(search, call))
        return false;
    if (call->enter_number != TOOL_VALUE_NO_NUMBER)
        return find_event(search, call->enter_number, item) && item->event.site == call->site;
    return find_at(search, call->enter_ns, call->site, TTAPE_EVENT_ENTER, TTAPE_NONE, item);
}

/* The event that ends it, behind find_enter, which said how deep it is. */
static bool find_end(struct tool_value_search *search, const struct tool_value_call *call,
                     uint32_t depth, ttape_event_item *item)
{
    if (call->end_number != TOOL_VALUE_NO_NUMBER)
        return find_event(search, call->end_number, item) && item->event.site == call->site &&
               (item->event.kind == TTAPE_EVENT_EXIT ||
                item->event.kind == TTAPE_EVENT_EXIT_ACROSS);
    return call->has_end_ns &&
           find_at(search, call->end_ns, call->site, TTAPE_EVENT_EXIT, depth, item);
}

void tool_put_found_values(struct tool_value_search *search, struct tool_output *out,
                           const struct tool_value_call *call)
{
    ttape_event_item item;
    struct tool_output given, returned;
    if (!find_enter(search, call, &item))
        return;
    tool_output_open(&given, -1);
    tool_output_open(&returned, -1);
    if (item.value_count > 0)
        tool_put_arguments(&given, search->reader, call->site, item.values, item.value_count);
    if (find_end(search, call, item.event.depth, &item))
        tool_put_results(&returned, search->reader, call->site, item.values, item.value_count);
    tool_put_cut_values(out, &given, &returned);
    free(given.data);
    free(returned.data);
}

void tool_json_found_values(struct tool_value_search *search, struct tool_json *json,
                            const struct tool_value_call *call)
{
    ttape_event_item item;
    if (!find_enter(search, call, &item))
        return;
    if (item.value_count > 0)
        tool_json_values(json, "argument", search->reader, call->site, false, item.values,
                         item.value_count);
    if (find_end(search, call, item.event.depth, &item) && item.value_count > 0)
        tool_json_values(json, "result", search->reader, call->site, true, item.values,
                         item.value_count);
}
