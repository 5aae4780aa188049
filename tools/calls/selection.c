/* Relative times count from the trace's first event. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/calls/selection.h"
#include "tools/command/tool.h"

static bool scan_number(const char **text, uint64_t *value)
{
    char digits[24];
    size_t length = strspn(*text, "0123456789");
    if (length >= sizeof(digits))
        return false;
    memcpy(digits, *text, length);
    digits[length] = '\0';
    *text += length;
    return tool_parse_u64(digits, value);
}

void tool_add_number(struct tool_numbers *list, uint64_t number)
{
    tool_grow((void **)&list->numbers, &list->capacity, list->count + 1, sizeof(uint64_t));
    list->numbers[list->count++] = number;
}

bool tool_parse_numbers(const char *text, void *into)
{
    struct tool_numbers *list = into;
    for (;;) {
        uint64_t value = 0;
        if (!scan_number(&text, &value))
            return false;
        tool_add_number(list, value);
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

/* A letter and a number; moves on past them. */
static bool scan(const char **text, char letter, uint64_t most, uint64_t *value)
{
    const char *at = *text;
    if (*at++ != letter || !scan_number(&at, value) || *value > most)
        return false;
    *text = at;
    return true;
}

bool tool_parse_call(const char *text, void *into)
{
    struct tool_call_id *id = into;
    uint64_t stream = 0;
    id->given = scan(&text, 's', UINT32_MAX, &stream) && scan(&text, 'e', UINT64_MAX, &id->event) &&
                *text == '\0';
    id->stream = (uint32_t)stream;
    return id->given;
}

bool tool_parse_node(const char *text, ttape_node_id *id)
{
    uint64_t stream = 0, partition = 0, place = 0;
    *id = (ttape_node_id){.kind = TTAPE_NODE_STREAM};
    if (!scan(&text, 's', UINT32_MAX, &stream))
        return false;
    id->stream = (uint32_t)stream;
    if (*text == '\0')
        return true;
    id->kind = TTAPE_NODE_FRAME;
    id->by = TTAPE_NODE_BY_EVENT;
    if (scan(&text, 'e', UINT64_MAX, &id->place))
        return *text == '\0';
    if (!scan(&text, 'p', UINT32_MAX, &partition))
        return false;
    id->partition = (uint32_t)partition;
    id->kind = *text == '\0' ? TTAPE_NODE_PART : TTAPE_NODE_FRAME;
    id->by = *text == '\0'  ? TTAPE_NODE_BY_NOTHING
             : *text == 'b' ? TTAPE_NODE_BY_START
                            : TTAPE_NODE_BY_END;
    if (*text == '\0')
        return true;
    bool found = scan(&text, id->by == TTAPE_NODE_BY_START ? 'b' : 'f', UINT32_MAX, &place);
    id->place = place;
    return found && *text == '\0';
}

const char *tool_put_call(char *buffer, uint32_t stream, uint64_t event)
{
    snprintf(buffer, TOOL_CALL_ID_BYTES, "s%" PRIu32 "e%" PRIu64, stream, event);
    return buffer;
}

/* One end of a range: all of text[0, length); nothing: open. */
static bool parse_end(const char *text, size_t length, struct tool_time *time)
{
    char copy[64];
    *time = (struct tool_time){0};
    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return length == 0 || tool_parse_time(copy, time);
}

bool tool_parse_span(const char *text, void *into)
{
    struct tool_span *span = into;
    const char *dots = strstr(text, "..");
    *span = (struct tool_span){.given = true};
    return dots != NULL && parse_end(text, (size_t)(dots - text), &span->from) &&
           parse_end(dots + 2, strlen(dots + 2), &span->to);
}

uint64_t tool_absolute_ns(const struct tool_time *time, const ttape_info *info)
{
    uint64_t value = time->value_ns;
    bool is_early = time->has_unit && value < info->time_first_ns; /* 1s.. of a run */
    if ((time->relative || is_early) && __builtin_add_overflow(value, info->time_first_ns, &value))
        return UINT64_MAX;
    return value;
}

int tool_select_time(struct tool_selection *selection, const char *trace, const ttape_info *info,
                     const struct tool_span *span)
{
    if (!span->from.given && !span->to.given)
        return TOOL_OK;
    if (info->resolution_ns == TTAPE_TIME_NONE)
        return tool_fail("'%s' has no times: --time cannot be used", trace);
    selection->has_range = true;
    selection->from_ns = span->from.given ? tool_absolute_ns(&span->from, info) : 0;
    selection->to_ns = span->to.given ? tool_absolute_ns(&span->to, info) : UINT64_MAX;
    if (selection->from_ns > selection->to_ns)
        return tool_usage(NULL, "the range of --time ends before it starts");
    if (info->event_count > 0 &&
        (selection->to_ns <= info->time_first_ns || selection->from_ns > info->time_last_ns)) {
        uint64_t span_ns = info->time_last_ns - info->time_first_ns;
        tool_message("nothing of '%s' is in the range of --time: it is from +0 to +%" PRIu64
                     ".%03" PRIu64 "ms",
                     trace, span_ns / 1000000, span_ns / 1000 % 1000);
    }
    return TOOL_OK;
}

static bool has(const struct tool_numbers *list, uint64_t value)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->numbers[i] == value)
            return true;
    return false;
}

bool tool_choice_names(const struct tool_choice *choice)
{
    return choice->tids.count + choice->pids.count + choice->streams.count > 0;
}

bool tool_choice_has(const struct tool_choice *choice, uint32_t stream,
                     const ttape_stream_info *info)
{
    bool is_named = choice->tids.count + choice->streams.count == 0 ||
                    has(&choice->streams, stream) || has(&choice->tids, info->stream.tid);
    return is_named && (choice->pids.count == 0 || has(&choice->pids, info->pid));
}

int tool_choice_fail(const struct tool_choice *choice, const char *trace)
{
    return tool_fail("'%s' has no such %s", trace,
                     choice->tids.count > 0      ? "thread"
                     : choice->streams.count > 0 ? "stream"
                                                 : "process");
}

static int select_streams(struct tool_selection *selection, const struct tool_input *input,
                          const struct tool_choice *choice)
{
    ttape_info info;
    ttape_stream_info stream;
    if (!tool_choice_names(choice))
        return TOOL_OK;
    ttape_reader_get_info(input->reader, &info);
    selection->streams = tool_allocate(info.stream_count + 1u, sizeof(uint32_t));
    for (uint32_t i = 0; i < info.stream_count; i++)
        if (ttape_reader_get_stream(input->reader, i, &stream) == TTAPE_OK &&
            tool_choice_has(choice, i, &stream))
            selection->streams[selection->stream_count++] = i;
    if (selection->stream_count == 0)
        return tool_choice_fail(choice, input->name);
    return TOOL_OK;
}

int tool_select(struct tool_selection *selection, const struct tool_input *input,
                const struct tool_choice *choice)
{
    *selection = (struct tool_selection){.to_ns = UINT64_MAX};
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    int status = tool_select_time(selection, input->name, &info, &choice->time);
    return status != TOOL_OK ? status : select_streams(selection, input, choice);
}

void tool_choice_close(struct tool_choice *choice)
{
    free(choice->tids.numbers);
    free(choice->pids.numbers);
    free(choice->streams.numbers);
}

void tool_selection_close(struct tool_selection *selection)
{
    free(selection->streams);
    *selection = (struct tool_selection){0};
}
