/* How long a call takes is known where it ends, so calls are read before events are; of those that
 * took long enough two numbers stay. The last events of all streams are the last ones of each:
 * which those are takes as many events of each stream as are wanted, and then those since the first
 * of them. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/calls.h>

#include "tools/dump/dump.h"

#define BATCH_CALLS 256u

/* Event numbers of a stream. */
struct tool_dump_numbers {
    uint64_t *numbers; /* ascending */
    size_t count, capacity;
};

int tool_dump_filter_open(struct tool_dump_filter *filter, const struct tool_dump_wishes *wishes)
{
    *filter = (struct tool_dump_filter){.wishes = wishes};
    filter->is_given = wishes->function != NULL || wishes->depth.given || wishes->min_time.given;
    if (wishes->function == NULL)
        return TOOL_OK;
    if (regcomp(&filter->regex, wishes->function, REG_EXTENDED | REG_NOSUB) != 0)
        return tool_usage("dump", "cannot use '%s' as a regular expression", wishes->function);
    filter->has_regex = true;
    return TOOL_OK;
}

void tool_dump_filter_close(struct tool_dump_filter *filter)
{
    for (uint32_t i = 0; filter->long_calls != NULL && i < filter->stream_count; i++)
        free(filter->long_calls[i].numbers);
    if (filter->has_regex)
        regfree(&filter->regex);
    free(filter->long_calls);
    free(filter->matches);
    free(filter->first);
    *filter = (struct tool_dump_filter){0};
}

int tool_dump_filter_end(const struct tool_dump_filter *filter, const ttape_reader *reader)
{
    if (!filter->has_regex ||
        (filter->matches != NULL && memchr(filter->matches, 2, filter->site_count) != NULL))
        return TOOL_OK;
    return tool_no_match(reader, filter->wishes->function);
}

/* ---- long calls ---- */

static void add_number(struct tool_dump_numbers *to, uint64_t number)
{
    tool_grow((void **)&to->numbers, &to->capacity, to->count + 1, sizeof(uint64_t));
    to->numbers[to->count++] = number;
}

static void add_call(struct tool_dump *dump, const ttape_call *call)
{
    int64_t least_ns = (int64_t)dump->filter.wishes->min_time.value_ns;
    struct tool_dump_numbers *numbers = &dump->filter.long_calls[call->stream];
    if (call->duration_ns < least_ns)
        return;
    if (call->enter_number != TTAPE_CALL_NO_NUMBER)
        add_number(numbers, call->enter_number);
    if (call->end != TTAPE_CALL_RUNNING && call->end != TTAPE_CALL_LEFT)
        add_number(numbers, call->end_number);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *one = a, *two = b;
    return (*one > *two) - (*one < *two);
}

static int find_long_calls(struct tool_dump *dump)
{
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    ttape_call calls[BATCH_CALLS];
    ttape_call_options how = {
        .size = sizeof(how), .streams = dump->streams, .stream_count = dump->stream_count};
    dump->filter.long_calls =
        tool_allocate(dump->info.stream_count + 1u, sizeof(*dump->filter.long_calls));
    if (dump->stream_count == 0)
        return TOOL_OK;
    if (ttape_call_cursor_open(&cursor, dump->reader, &how, &err) != TTAPE_OK)
        return tool_fail_error(dump->input->name, &err);
    for (;;) {
        size_t count = 0;
        ttape_status status = ttape_call_cursor_next_many(cursor, calls, BATCH_CALLS, &count, &err);
        for (size_t i = 0; i < count; i++)
            add_call(dump, &calls[i]);
        if (status == TTAPE_END || (status != TTAPE_OK && status < TTAPE_E_TRUNCATED))
            break; /* damage is told when events are read */
    }
    ttape_call_cursor_close(cursor);
    for (uint32_t i = 0; i < dump->info.stream_count; i++) {
        struct tool_dump_numbers *numbers = &dump->filter.long_calls[i];
        if (numbers->count > 0)
            qsort(numbers->numbers, numbers->count, sizeof(uint64_t), compare_numbers);
    }
    return TOOL_OK;
}

static bool is_long(const struct tool_dump_filter *filter, const ttape_event_item *item)
{
    const struct tool_dump_numbers *numbers = &filter->long_calls[item->stream];
    return numbers->count > 0 && bsearch(&item->number, numbers->numbers, numbers->count,
                                         sizeof(uint64_t), compare_numbers) != NULL;
}

/* ---- the last events ---- */

struct last_event {
    uint64_t time_ns, number;
    uint32_t stream;
};

/* The last ones that were seen, in a ring. */
struct last_events {
    struct tool_dump *dump;
    struct last_event *events;
    size_t wanted, capacity;
    uint64_t seen;
};

static void take_last(void *context, const ttape_event_item *item)
{
    struct last_events *last = context;
    if (tool_dump_filter_hides(&last->dump->filter, &item->event))
        return;
    size_t at = (size_t)(last->seen++ % last->wanted);
    if (at >= last->capacity)
        tool_grow((void **)&last->events, &last->capacity, at + 1, sizeof(*last->events));
    last->events[at] = (struct last_event){item->event.time_ns, item->number, item->stream};
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t *one = a, *two = b;
    return (*one < *two) - (*one > *two);
}

/* Times of a stream's last events. */
static void add_times(struct tool_dump *dump, uint32_t stream, uint64_t wanted,
                      struct tool_dump_numbers *times)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(dump->reader, stream, &info);
    uint64_t end = info.first_event + info.event_count + info.missing_count;
    if (ttape_cursor_open(&cursor, dump->reader, stream, &err) != TTAPE_OK)
        return;
    ttape_status status = ttape_cursor_seek_event(cursor, end > wanted ? end - wanted : 0, &err);
    while (status == TTAPE_OK) {
        status = ttape_cursor_next(cursor, &item, &err);
        if (status == TTAPE_OK)
            add_number(times, item.event.time_ns);
    }
    ttape_cursor_close(cursor);
}

/* Since when there are as many events as are wanted; 0: not known. */
static uint64_t guess_start(struct tool_dump *dump, uint64_t wanted)
{
    struct tool_dump_numbers times = {0};
    uint64_t start_ns = 0;
    for (uint32_t i = 0; i < dump->stream_count; i++)
        add_times(dump, dump->streams[i], wanted, &times);
    if (times.count > wanted) {
        qsort(times.numbers, times.count, sizeof(uint64_t), compare_times);
        start_ns = times.numbers[wanted - 1];
    } else if (dump->stream_count == 1 && times.count > 0) {
        qsort(times.numbers, times.count, sizeof(uint64_t), compare_times);
        start_ns = times.numbers[times.count - 1];
    }
    free(times.numbers);
    return start_ns;
}

static void find_last(struct tool_dump *dump)
{
    struct tool_dump_filter *filter = &dump->filter;
    struct last_events last = {.dump = dump, .wanted = (size_t)filter->wishes->last.value};
    bool is_plain = dump->has_times && !dump->from.given && !dump->to.given &&
                    !dump->events.given && !filter->is_given;
    uint64_t lines_left = dump->lines_left;
    dump->lines_left = UINT64_MAX;
    filter->first_ns = is_plain ? guess_start(dump, last.wanted) : 0;
    tool_dump_merged(dump, take_last, NULL, &last);
    dump->lines_left = lines_left;
    filter->first = tool_allocate(dump->info.stream_count + 1u, sizeof(uint64_t));
    for (uint32_t i = 0; i < dump->info.stream_count; i++)
        filter->first[i] = UINT64_MAX;
    filter->first_ns = UINT64_MAX;
    size_t count = last.seen < last.wanted ? (size_t)last.seen : last.wanted;
    for (size_t i = 0; i < count; i++) {
        const struct last_event *event = &last.events[i];
        uint64_t *first = &filter->first[event->stream];
        *first = event->number < *first ? event->number : *first;
        filter->first_ns = event->time_ns < filter->first_ns ? event->time_ns : filter->first_ns;
    }
    free(last.events);
}

/* ---- all ---- */

/* Before anything is printed. What a trace that grows does not have may come. */
static bool may_match(struct tool_dump *dump)
{
    uint32_t site = 0, count = dump->info.site_count;
    if (!dump->filter.has_regex || dump->is_followed)
        return true;
    while (site < count && !tool_site_matches(&dump->names, site, &dump->filter.regex))
        site++;
    return site < count;
}

int tool_dump_filter_prepare(struct tool_dump *dump)
{
    struct tool_dump_filter *filter = &dump->filter;
    uint32_t sites = dump->info.site_count;
    int status = TOOL_OK;
    if (filter->wishes->min_time.given && !dump->has_times)
        return tool_fail("'%s' has no times: --min-time cannot be used", dump->input->name);
    filter->matches = tool_reallocate(filter->matches, sites + 1u, 1);
    memset(filter->matches, 0, sites + 1u);
    filter->site_count = sites;
    if (!may_match(dump))
        return tool_dump_filter_end(filter, dump->reader);
    filter->stream_count = dump->info.stream_count;
    if (filter->wishes->min_time.given)
        status = find_long_calls(dump);
    if (status == TOOL_OK && filter->wishes->last.given && filter->wishes->last.value > 0)
        find_last(dump);
    if (filter->wishes->last.given && filter->wishes->last.value == 0)
        dump->lines_left = 0;
    return status != TOOL_OK ? status : dump->status == TOOL_LOSS ? TOOL_OK : dump->status;
}

static bool matches(struct tool_dump *dump, uint32_t site)
{
    struct tool_dump_filter *filter = &dump->filter;
    if (!filter->has_regex)
        return true;
    if (site >= filter->site_count)
        return false;
    if (filter->matches[site] == 0)
        filter->matches[site] = 1 + tool_site_matches(&dump->names, site, &filter->regex);
    return filter->matches[site] == 2;
}

bool tool_dump_filter_asks(struct tool_dump *dump, const ttape_event_item *item)
{
    const struct tool_dump_filter *filter = &dump->filter;
    const ttape_event *event = &item->event;
    if (filter->first != NULL && item->number < filter->first[item->stream])
        return false;
    if (!filter->is_given || event->kind == TTAPE_EVENT_SWITCH || event->kind == TTAPE_EVENT_GAP)
        return true;
    return (!filter->wishes->depth.given || event->depth < filter->wishes->depth.value) &&
           matches(dump, event->site) && (filter->long_calls == NULL || is_long(filter, item));
}
