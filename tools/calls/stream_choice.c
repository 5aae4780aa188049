/* Relative times count from the trace's first event. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/calls/stream_choice.h"
#include "tools/command/memory_limit.h"
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

/* ---- what they choose ---- */

static ttape_selection_time time_of(const struct tool_time *time)
{
    return (ttape_selection_time){.is_given = time->given,
                                  .is_relative = time->relative,
                                  .is_span = time->has_unit,
                                  .time_ns = time->value_ns};
}

uint64_t tool_absolute_ns(const struct tool_time *time, const ttape_info *info)
{
    const ttape_selection_time meant = time_of(time);
    return ttape_selection_time_ns(&meant, info);
}

bool tool_choice_names(const struct tool_choice *choice)
{
    return choice->tids.count + choice->pids.count + choice->streams.count > 0;
}

static int print_failure(ttape_status status, const char *trace, const struct tool_choice *choice)
{
    if (status == TTAPE_E_UNSUPPORTED)
        return tool_fail("'%s' has no times: --time cannot be used", trace);
    if (status == TTAPE_E_ARGUMENT)
        return tool_usage(NULL, "the range of --time ends before it starts");
    if (status != TTAPE_E_NOT_FOUND)
        tool_memory_short();
    return tool_fail("'%s' has no such %s", trace,
                     choice->tids.count > 0      ? "thread"
                     : choice->streams.count > 0 ? "stream"
                                                 : "process");
}

static ttape_status make_selection(struct tool_selection *selection, const ttape_reader *reader,
                                   const struct tool_choice *choice)
{
    const ttape_selection_options options = {.size = sizeof(options),
                                             .tids = choice->tids.numbers,
                                             .pids = choice->pids.numbers,
                                             .streams = choice->streams.numbers,
                                             .tid_count = (uint32_t)choice->tids.count,
                                             .pid_count = (uint32_t)choice->pids.count,
                                             .named_stream_count = (uint32_t)choice->streams.count,
                                             .from = time_of(&choice->time.from),
                                             .to = time_of(&choice->time.to)};
    ttape_selection_info info = {.to_ns = UINT64_MAX};
    *selection = (struct tool_selection){0};
    ttape_status status = ttape_selection_make(&selection->made, reader, &options, NULL);
    if (status == TTAPE_OK)
        ttape_selection_get_info(selection->made, &info);
    selection->streams = ttape_selection_get_rows(selection->made, &selection->stream_count);
    selection->has_range = info.has_range;
    selection->from_ns = info.from_ns;
    selection->to_ns = info.to_ns;
    return status;
}

/* Where may_be_none, a trace of which nothing is in the range is told, and is fine. */
static int select_all(struct tool_selection *selection, const ttape_reader *reader,
                      const char *trace, const struct tool_choice *choice, bool may_be_none)
{
    ttape_info info;
    ttape_selection_info chosen;
    ttape_status status = make_selection(selection, reader, choice);
    if (status != TTAPE_OK)
        return print_failure(status, trace, choice);
    ttape_selection_get_info(selection->made, &chosen);
    ttape_reader_get_info(reader, &info);
    uint64_t span_ns = info.time_last_ns - info.time_first_ns;
    selection->is_outside = chosen.is_outside;
    if (chosen.is_outside)
        tool_message("nothing of '%s' is in the range of --time: it is from +0 to +%" PRIu64
                     ".%03" PRIu64 "ms",
                     trace, span_ns / 1000000, span_ns / 1000 % 1000);
    if (!chosen.is_outside || may_be_none)
        return TOOL_OK;
    tool_selection_close(selection);
    return TOOL_CANNOT;
}

int tool_select(struct tool_selection *selection, const struct tool_input *input,
                const struct tool_choice *choice)
{
    return select_all(selection, input->reader, input->name, choice, false);
}

int tool_select_of_many(struct tool_selection *selection, const struct tool_input *input,
                        const struct tool_choice *choice)
{
    return select_all(selection, input->reader, input->name, choice, true);
}

int tool_select_time(struct tool_selection *selection, const ttape_reader *reader,
                     const char *trace, const struct tool_choice *choice, bool may_be_none)
{
    const struct tool_choice time = {.time = choice->time};
    return select_all(selection, reader, trace, &time, may_be_none);
}

int tool_select_streams(struct tool_selection *selection, const ttape_reader *reader,
                        const char *trace, const struct tool_choice *choice, bool may_be_none)
{
    struct tool_choice streams = *choice;
    streams.time = (struct tool_span){0};
    ttape_status status = make_selection(selection, reader, &streams);
    bool is_fine = status == TTAPE_OK || (status == TTAPE_E_NOT_FOUND && may_be_none);
    return is_fine ? TOOL_OK : print_failure(status, trace, choice);
}

bool tool_selects(const struct tool_selection *selection, uint32_t stream)
{
    return selection->made != NULL && ttape_selection_has(selection->made, stream);
}

void tool_choice_close(struct tool_choice *choice)
{
    free(choice->tids.numbers);
    free(choice->pids.numbers);
    free(choice->streams.numbers);
}

void tool_selection_close(struct tool_selection *selection)
{
    ttape_selection_close(selection->made);
    *selection = (struct tool_selection){0};
}
