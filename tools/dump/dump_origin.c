/* From when times are counted: the trace's first event, the clock's own zero, or 1970.
 *
 * UTC is a time and what CLOCK_REALTIME was ahead then. Metadata of each scope say that: at the
 * start (realtime_offset_ns), and after each step of that clock (realtime_step_N_ns: when,
 * realtime_offset_N_ns: what it was from then on). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/dump/dump.h"

#define SECOND_NS 1000000000u

bool tool_dump_parse_origin(const char *text, void *into)
{
    static const char *const names[] = {[TOOL_ORIGIN_MONOTONIC] = "monotonic",
                                        [TOOL_ORIGIN_START] = "start",
                                        [TOOL_ORIGIN_UTC] = "utc"};
    enum tool_origin *origin = into;
    for (uint32_t i = TOOL_ORIGIN_MONOTONIC; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *origin = (enum tool_origin)i;
            return true;
        }
    }
    return false;
}

static bool is_key(const ttape_metadata_entry *entry, uint32_t scope, const char *key)
{
    return entry->scope == scope && entry->type == TTAPE_METADATA_NUMBER &&
           tool_text_is(entry->key, key);
}

/* The last value of the key stands. */
static bool find_number(const ttape_reader *reader, uint32_t scope, const char *key,
                        uint64_t *value)
{
    ttape_metadata_entry entry;
    bool found = false;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++) {
        if (is_key(&entry, scope, key)) {
            *value = entry.number;
            found = true;
        }
    }
    return found;
}

/* step 0: at the start. */
static bool find_step(const struct tool_dump *dump, uint32_t scope, uint32_t step,
                      struct tool_realtime *at)
{
    char key[48];
    if (step == 0)
        return find_number(dump->reader, scope, "realtime_offset_ns", &at->offset_ns);
    (void)snprintf(key, sizeof key, "realtime_step_%" PRIu32 "_ns", step);
    if (!find_number(dump->reader, scope, key, &at->from_ns))
        return false;
    (void)snprintf(key, sizeof key, "realtime_offset_%" PRIu32 "_ns", step);
    return find_number(dump->reader, scope, key, &at->offset_ns);
}

int tool_dump_find_origin(struct tool_dump *dump)
{
    dump->realtime_count = 0;
    for (uint32_t scope = 0; scope < dump->info.scope_count; scope++) {
        struct tool_realtime at = {.scope = scope};
        for (uint32_t step = 0; find_step(dump, scope, step, &at); step++) {
            tool_grow((void **)&dump->realtimes, &dump->realtime_capacity, dump->realtime_count + 1,
                      sizeof at);
            dump->realtimes[dump->realtime_count++] = at;
        }
        if (at.offset_ns == 0)
            return tool_fail("'%s' does not say what the time of day was: --origin utc cannot be "
                             "used",
                             dump->input->name);
    }
    return TOOL_OK;
}

uint64_t tool_dump_counted(const struct tool_dump *dump, uint32_t stream, uint64_t time_ns)
{
    if (dump->origin == TOOL_ORIGIN_START)
        return time_ns < dump->start_ns ? 0 : time_ns - dump->start_ns;
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(dump->reader, stream, &info);
    const struct tool_realtime *at = dump->realtimes, *found = NULL;
    for (size_t i = 0; i < dump->realtime_count; i++)
        if (at[i].scope == info.scope && (found == NULL || at[i].from_ns <= time_ns))
            found = &at[i];
    return found == NULL ? time_ns : time_ns + found->offset_ns;
}

char *tool_dump_put_utc(char *at, uint64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / SECOND_NS);
    struct tm when = {0};
    (void)gmtime_r(&seconds, &when);
    at += strftime(at, TOOL_UTC_BYTES, "%Y-%m-%dT%H:%M:%S", &when);
    return at + snprintf(at, TOOL_UTC_BYTES, ".%09" PRIu64 "Z", time_ns % SECOND_NS);
}
