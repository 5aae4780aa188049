/* The converter for Chrome trace JSON: the file.
 *
 *   [ {"ph":"B",...}, ... ]   or   {"traceEvents":[ ... ], ...}   or one event after the other;
 *   several of these one behind the other; the end may be missing
 *
 * Events come in any order, so what becomes of them is sorted, on disk where it is much. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/command/progress.h"
#include "tools/convert/chrome/convert_chrome.h"

#define SORT_RECORDS     (1u << 19) /* in memory: 20 MiB of records, 36 MiB of items */
#define PROGRESS_OBJECTS 4096u
#define MEMBERS_BYTES    160u /* that are named */

/* The elements of the array whose bracket was taken. False: failed, reported. */
static bool take_elements(struct tool_chrome *chrome, struct tool_json_stream *json,
                          uint64_t total_bytes)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct tool_json_object object;
    for (uint64_t count = 0;; count++) {
        int byte = tool_json_stream_peek(json);
        if (byte == '{') {
            tool_json_stream_object(json, &object);
            if (!tool_chrome_take_object(chrome, &object))
                return false;
        } else if (byte == ',') {
            tool_json_stream_skip(json);
        } else if (byte == ']' || byte < 0) {
            tool_json_stream_skip(json); /* an end that is missing is no loss: writers die */
            return true;
        } else {
            if (byte != 'n') /* null is what some writers begin or end with */
                tool_conversion_warn(conversion, "byte %" PRIu64 " begins no event",
                                     tool_json_stream_offset(json));
            if (byte == '}' || byte == ':' || !tool_json_stream_pass(json))
                return true;
        }
        if (count % PROGRESS_OBJECTS == 0)
            tool_progress_update(tool_json_stream_offset(json), total_bytes, chrome->event_count);
    }
}

/* The keys of an object, as far as there is room: "meta", "threads". */
static void name_member(char *members, size_t room, const char *key)
{
    size_t used = strlen(members);
    if (used + strlen(key) + sizeof ", \"\"" <= room)
        (void)snprintf(members + used, room - used, "%s\"%s\"", used > 0 ? ", " : "", key);
}

/* {"traceEvents":[...],...}: any other member is passed over. */
static bool take_members(struct tool_chrome *chrome, struct tool_json_stream *json,
                         uint64_t total_bytes)
{
    char key[32], members[MEMBERS_BYTES] = "";
    struct tool_json_object object;
    bool goes_on = true, has_events = false;
    tool_json_stream_skip(json);
    while (goes_on) {
        int byte = tool_json_stream_peek(json);
        if (byte == ',') {
            tool_json_stream_skip(json);
            continue;
        }
        if (byte == '}') {
            tool_json_stream_skip(json);
            break;
        }
        if (byte != '"')
            break;
        bool fits = tool_json_stream_string(json, key, sizeof(key));
        if (fits)
            name_member(members, sizeof members, key);
        if (tool_json_stream_peek(json) != ':')
            break;
        tool_json_stream_skip(json);
        byte = tool_json_stream_peek(json);
        if (fits && strcmp(key, "traceEvents") == 0 && byte == '[') {
            tool_json_stream_skip(json);
            has_events = true;
            if (!take_elements(chrome, json, total_bytes))
                return false;
        } else if (fits && strcmp(key, "otherData") == 0 && byte == '{' && !has_events) {
            tool_json_stream_object(json, &object);
            tool_chrome_take_origin(chrome, &object);
        } else {
            goes_on = tool_json_stream_pass(json);
        }
    }
    if (!has_events)
        (void)tool_conversion_refuse_members(chrome->conversion, members);
    return has_events;
}

/* What stands in the file one behind the other. False: failed, reported. */
static bool take_values(struct tool_chrome *chrome, struct tool_json_stream *json,
                        uint64_t total_bytes)
{
    struct tool_json_object object;
    bool is_first = true, is_event = false;
    for (int byte; (byte = tool_json_stream_peek(json)) >= 0; is_first = false) {
        enum tool_json_what what = byte == '{' ? tool_json_stream_look(json) : TOOL_JSON_OTHER;
        bool is_read = true;
        if (byte == '[') {
            tool_json_stream_skip(json);
            is_read = take_elements(chrome, json, total_bytes);
        } else if (what == TOOL_JSON_EVENT) {
            tool_json_stream_object(json, &object);
            is_read = tool_chrome_take_object(chrome, &object);
        } else if (what == TOOL_JSON_CONTAINER || (byte == '{' && is_first)) {
            is_read = take_members(chrome, json, total_bytes);
        } else if (byte == ',' && is_event) {
            tool_json_stream_skip(json);
            continue;
        } else {
            tool_conversion_warn(chrome->conversion,
                                 "left out from byte %" PRIu64 " on: the events have ended",
                                 tool_json_stream_offset(json));
            return true;
        }
        if (!is_read)
            return false;
        is_event = what == TOOL_JSON_EVENT;
    }
    return true;
}

static int take_file(struct tool_chrome *chrome)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct tool_json_stream json;
    struct stat status;
    uint64_t total_bytes = fstat(conversion->fd, &status) == 0 && S_ISREG(status.st_mode)
                               ? (uint64_t)status.st_size
                               : 0;
    tool_json_stream_open(&json, conversion->fd, conversion->head, conversion->head_bytes);
    bool is_read = take_values(chrome, &json, total_bytes);
    int failed_errno = json.failed_errno;
    tool_json_stream_close(&json);
    if (failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(failed_errno));
    return is_read ? TOOL_OK : TOOL_CANNOT;
}

/* Events of phases that a trace has no place for: counters, flows, asynchronous ones, ... */
static void say_left_out(const struct tool_chrome *chrome)
{
    for (unsigned i = 0; i < TOOL_CHROME_PHASES; i++) {
        if (chrome->left_out[i] > 0) {
            tool_conversion_warn(chrome->conversion, "%" PRIu64 " events of phase '%c' left out",
                                 chrome->left_out[i], (char)i);
        }
    }
}

/* What was no JSON, or no number, and what became of it. */
static void say_oddities(const struct tool_chrome *chrome)
{
    static const char *const words[TOOL_CHROME_ODDITIES] = {
        [TOOL_CHROME_ODD_VALUE] = "values are no JSON (NaN, Infinity, ...): kept as texts",
        [TOOL_CHROME_ODD_CHARACTER] = "control characters or wrong escapes in texts: kept",
        [TOOL_CHROME_ODD_BYTES] = "bytes or escapes in texts are no character: U+FFFD",
        [TOOL_CHROME_ODD_KEY] = "events with a key that comes twice: its last value counts",
        [TOOL_CHROME_ODD_SIZE] = "values are too long or too deep: null",
        [TOOL_CHROME_ODD_LENGTH] = "calls (X) whose 'dur' is no length: open to the end",
        [TOOL_CHROME_ODD_TIME] =
            "events whose 'ts' is no time: put at the last one of their thread"};
    for (int i = 0; i < TOOL_CHROME_ODDITIES; i++) {
        if (chrome->oddities[i] > 0) {
            tool_conversion_warn(chrome->conversion,
                                 "%" PRIu64 " %s; the first in the event at byte %" PRIu64,
                                 chrome->oddities[i], words[i], chrome->first_odd[i]);
        }
    }
    if (chrome->unmatched_count > 0) {
        tool_conversion_warn(chrome->conversion, "%" PRIu64 " ends (E) without a begin left out",
                             chrome->unmatched_count);
    }
}

static int convert(struct tool_chrome *chrome)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct ttp_hash content = {0};
    ttp_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status == TOOL_OK &&
        ttape_writer_set_text(conversion->writer, "source", (ttape_string){"chrome", 6},
                              &chrome->err) != TTAPE_OK)
        status = tool_conversion_fail(conversion, &chrome->err);
    status = status == TOOL_OK ? take_file(chrome) : status;
    if (status == TOOL_OK) {
        say_left_out(chrome);
        status = tool_chrome_pair(chrome) ? tool_chrome_feed(chrome) : TOOL_CANNOT;
    }
    if (status == TOOL_OK)
        say_oddities(chrome);
    if (status == TOOL_OK && chrome->event_count == 0 && conversion->warning_count > 0)
        status = tool_fail("'%s' holds no event that could be used", conversion->input);
    return status == TOOL_OK && conversion->warning_count > 0 ? TOOL_LOSS : status;
}

static int compare_records(const void *a, const void *b)
{
    const struct tool_chrome_record *one = a, *two = b;
    if (one->time != two->time)
        return one->time < two->time ? -1 : 1;
    if (one->thread != two->thread)
        return one->thread < two->thread ? -1 : 1;
    return one->sequence < two->sequence ? -1 : one->sequence > two->sequence;
}

static int compare_numbers(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* By their begin; those of one thread at one time in their order, behind them X that have a length,
 * the longest first. */
static int compare_items(const void *a, const void *b)
{
    const struct tool_chrome_item *one = a, *two = b;
    if (one->begin != two->begin)
        return one->begin < two->begin ? -1 : 1;
    if (one->thread != two->thread)
        return one->thread < two->thread ? -1 : 1;
    bool one_x = one->kind == TOOL_CHROME_X && one->end > one->begin;
    bool two_x = two->kind == TOOL_CHROME_X && two->end > two->begin;
    int order = one_x != two_x ? compare_numbers(one_x, two_x)
                : one_x        ? compare_numbers(two->end, one->end)
                               : compare_numbers(one->order, two->order);
    return order != 0 ? order : compare_numbers(one->sequence, two->sequence);
}

static int convert_events(struct tool_conversion *conversion)
{
    tool_chrome_use_memory();
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    struct tool_chrome chrome = {
        .conversion = conversion, .values = {.fd = -1}, .least = TOOL_CHROME_OPEN};
    chrome.records =
        tool_sorter_open(sizeof(struct tool_chrome_record), SORT_RECORDS, compare_records);
    chrome.items = tool_sorter_open(sizeof(struct tool_chrome_item), SORT_RECORDS, compare_items);
    int status = convert(&chrome);
    for (size_t i = 0; i < chrome.process_count; i++)
        free(chrome.processes[i].name);
    for (size_t i = 0; i < chrome.thread_count; i++)
        free(chrome.threads[i].name);
    tool_sorter_close(chrome.records);
    tool_sorter_close(chrome.items);
    tool_scratch_close(&chrome.values);
    tool_names_close(&chrome.process_of);
    tool_names_close(&chrome.thread_of);
    tool_names_close(&chrome.site_of);
    tool_names_close(&chrome.number_of);
    free(chrome.processes);
    free(chrome.threads);
    free(chrome.key);
    free(chrome.mended);
    return status;
}

/* An array of objects, or an object with a member: no other input looks like that. Some arrays
 * begin with nothing or null. */
static bool probe_input(const struct tool_conversion *conversion)
{
    const char *at = (const char *)conversion->head, *end = at + conversion->head_bytes;
    if (conversion->is_directory)
        return false;
    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
        at++;
    if (at == end || (*at != '[' && *at != '{'))
        return false;
    const char *next = *at == '[' ? "{],n" : "\"}";
    for (at++; at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0'; at++) {
    }
    return at == end || (*at != '\0' && strchr(next, *at) != NULL);
}

const struct tool_converter tool_converter_chrome = {
    .name = "chrome", .summary = "Chrome trace JSON", .probe = probe_input, .run = convert_events};
