/* CSV: stream,tid,time_ns,kind,depth,address,symbol - one line per event, stream after stream. The
 * fast format: what repeats (stream and thread; address and symbol of a site; the upper digits of
 * the time) is made once. */
#include <stdlib.h>
#include <string.h>

#include "tools/dump/dump.h"

#define BATCH_EVENTS 4096u
#define LOW_DIGITS   8
#define LOW_RANGE    100000000u
#define SHORT_BYTES  2048u /* a longer site text goes around the reserved room */

struct csv_state {
    struct tool_dump *dump;
    uint32_t stream;
    char prefix[64]; /* "STREAM,TID," */
    size_t prefix_bytes;
    uint64_t high; /* upper digits of the last time, as a number and as text */
    char high_digits[24];
    size_t high_bytes;
    char kinds[TTAPE_EVENT_KIND_COUNT + 5]
              [24]; /* ",KIND,": event kinds, then the site kinds of leaves */
    size_t kind_bytes[TTAPE_EVENT_KIND_COUNT + 5];
    ttape_event events[BATCH_EVENTS];
};

/* ",0xADDRESS,SYMBOL\n" */
static void print_site(struct tool_dump *dump, uint32_t number, const ttape_site *site)
{
    (void)number;
    struct tool_output *out = &dump->scratch;
    char text[24];
    char *end = tool_put_hex(tool_put_bytes(text, ",0x", 3), site->address);
    tool_output_bytes(out, text, (size_t)(end - text));
    tool_output_text(out, ",");
    tool_output_csv(out, site->symbol);
    tool_output_text(out, dump->paths ? "" : "\n");
}

/* ",FRAME;FRAME\n" */
static void put_path(struct tool_dump *dump, uint32_t site)
{
    struct tool_output *out = &dump->out;
    char buffer[TOOL_LABEL_BYTES];
    bool quote = false;
    uint32_t count = tool_dump_path(dump, site);
    for (uint32_t i = 0; i < count; i++)
        quote |= tool_csv_needs_quotes(tool_site_word(&dump->names, dump->frames[i], buffer));
    tool_output_text(out, quote ? ",\"" : ",");
    for (uint32_t i = 0; i < count; i++) {
        tool_output_text(out, i == 0 ? "" : ";");
        if (dump->frames[i] == TTAPE_NONE)
            tool_output_text(out, "...");
        else
            tool_output_csv_text(out, tool_site_word(&dump->names, dump->frames[i], buffer));
    }
    tool_output_text(out, quote ? "\"\n" : "\n");
}

static void set_kind(struct csv_state *csv, size_t index, const char *name)
{
    char *end = tool_put_bytes(csv->kinds[index], ",", 1);
    end = tool_put_bytes(end, name, strlen(name));
    end = tool_put_bytes(end, ",", 1);
    csv->kind_bytes[index] = (size_t)(end - csv->kinds[index]);
}

static void open_stream(struct csv_state *csv, uint32_t number)
{
    ttape_stream_info stream = {0};
    (void)ttape_reader_get_stream(csv->dump->reader, number, &stream);
    csv->stream = number;
    char *end = tool_put_decimal(csv->prefix, number);
    *end++ = ',';
    end = tool_put_decimal(end, stream.stream.tid);
    *end++ = ',';
    csv->prefix_bytes = (size_t)(end - csv->prefix);
}

static inline char *put_time(struct csv_state *csv, char *at, uint64_t time_ns)
{
    uint64_t high = time_ns / LOW_RANGE;
    uint32_t low = (uint32_t)(time_ns % LOW_RANGE);
    if (high == 0)
        return tool_put_decimal(at, low);
    if (high != csv->high) {
        csv->high = high;
        csv->high_bytes = (size_t)(tool_put_decimal(csv->high_digits, high) - csv->high_digits);
    }
    memcpy(at, csv->high_digits, sizeof(csv->high_digits));
    at += csv->high_bytes;
    for (int digit = LOW_DIGITS - 1; digit >= 0; digit--) {
        at[digit] = (char)('0' + low % 10);
        low /= 10;
    }
    return at + LOW_DIGITS;
}

/* ",,WHAT": what belongs to an event without a site, in the place of a symbol. */
static char *put_detail(char *at, const ttape_event *event)
{
    static const char *const ends[] = {[TTAPE_UNWIND_UNSEEN] = "unseen",
                                       [TTAPE_UNWIND_LOST] = "lost",
                                       [TTAPE_UNWIND_LATE] = "late"};
    const char *word = "";
    at = tool_put_bytes(at, ",,", 2);
    switch (event->kind) {
    case TTAPE_EVENT_UNWIND:
        if (event->lost_count > 0 && event->lost_count <= TTAPE_UNWIND_LATE)
            word = ends[event->lost_count];
        return tool_put_bytes(at, word, strlen(word));
    case TTAPE_EVENT_GAP:
        word = ttape_gap_reason_name(event->argument);
        at = tool_put_bytes(tool_put_bytes(at, word, strlen(word)), " ", 1);
        return tool_put_decimal(at, event->lost_count);
    case TTAPE_EVENT_SWITCH:
    case TTAPE_EVENT_SIGNAL_BEGIN:
    case TTAPE_EVENT_SIGNAL_END: return tool_put_decimal(at, event->argument);
    default: return at;
    }
}

static inline char *put_depth(char *at, uint32_t depth)
{
    if (depth < 10) {
        *at = (char)('0' + depth);
        return at + 1;
    }
    return tool_put_decimal(at, depth);
}

static inline void put_line(struct csv_state *csv, const ttape_event *event)
{
    struct tool_dump *dump = csv->dump;
    const struct tool_site_text *site =
        event->site != TTAPE_NONE ? tool_dump_site(dump, event->site) : NULL;
    size_t kind = event->kind != TTAPE_EVENT_LEAF || site == NULL
                      ? event->kind
                      : TTAPE_EVENT_KIND_COUNT + site->kind;
    char *at = tool_output_reserve(&dump->out, TOOL_DUMP_LINE_BYTES + SHORT_BYTES);
    memcpy(at, csv->prefix, sizeof(csv->prefix));
    at += csv->prefix_bytes;
    if (dump->has_times)
        at = put_time(csv, at, tool_dump_time(dump, csv->stream, event->time_ns));
    memcpy(at, csv->kinds[kind], sizeof(csv->kinds[kind]));
    at += csv->kind_bytes[kind];
    at = put_depth(at, event->depth);
    if (site == NULL) {
        at = dump->details ? put_detail(at, event) : tool_put_bytes(at, ",,", 2);
        tool_output_commit(&dump->out, tool_put_bytes(at, "\n", !dump->paths));
    } else if (site->size_bytes <= SHORT_BYTES) {
        tool_output_commit(&dump->out, tool_put_bytes(at, site->text, site->size_bytes));
    } else {
        tool_output_commit(&dump->out, at);
        tool_output_bytes(&dump->out, site->text, site->size_bytes);
    }
    if (dump->paths)
        put_path(dump, event->site);
}

/* Up to `count` lines; false when the stream's part of the selection ends here. */
static bool put_batch(struct csv_state *csv, const ttape_event *events, size_t count)
{
    struct tool_dump *dump = csv->dump;
    for (size_t i = 0; i < count; i++) {
        if ((dump->to.given && events[i].time_ns >= dump->to.value_ns) || tool_dump_done(dump))
            return false;
        dump->lines_left--;
        put_line(csv, &events[i]);
    }
    return true;
}

/* All of a stream, batch by batch. */
static void put_stream(struct csv_state *csv, ttape_cursor *cursor)
{
    ttape_error err = {0};
    while (!tool_dump_done(csv->dump)) {
        size_t count = 0;
        ttape_status status =
            ttape_cursor_next_events(cursor, csv->events, BATCH_EVENTS, &count, &err);
        if (status == TTAPE_END || !put_batch(csv, csv->events, count))
            return;
        if (status != TTAPE_OK && !tool_dump_go_on(csv->dump, &err))
            return;
    }
}

/* A range of event numbers: one by one, because damage may leave some out. */
static void put_range(struct csv_state *csv, ttape_cursor *cursor)
{
    ttape_error err = {0};
    ttape_event_item item;
    while (!tool_dump_done(csv->dump)) {
        ttape_status status = ttape_cursor_next(cursor, &item, &err);
        if (status == TTAPE_END)
            return;
        if (status != TTAPE_OK) {
            if (!tool_dump_go_on(csv->dump, &err))
                return;
            continue;
        }
        if (csv->dump->events.given && item.number >= csv->dump->events.to)
            return;
        if (!tool_dump_filter_has(csv->dump, &item) ||
            tool_dump_filter_hides(&csv->dump->filter, &item.event))
            continue;
        if (!put_batch(csv, &item.event, 1))
            return;
    }
}

static void open_csv(struct tool_dump *dump)
{
    struct csv_state *csv = tool_allocate(1, sizeof(*csv));
    csv->dump = dump;
    csv->high = UINT64_MAX;
    for (uint32_t kind = 0; kind < TTAPE_EVENT_KIND_COUNT; kind++)
        set_kind(csv, kind, ttape_event_kind_name(kind, TTAPE_SITE_MARKER));
    for (uint32_t kind = 0; kind <= TTAPE_SITE_MARKER; kind++)
        set_kind(csv, TTAPE_EVENT_KIND_COUNT + kind, ttape_event_kind_name(TTAPE_EVENT_LEAF, kind));
    dump->state = csv;
    dump->print_site = print_site;
    tool_output_text(&dump->out, dump->paths ? "stream,tid,time_ns,kind,depth,address,symbol,path\n"
                                             : "stream,tid,time_ns,kind,depth,address,symbol\n");
}

static void print_csv(struct tool_dump *dump)
{
    struct csv_state *csv = dump->state;
    for (uint32_t i = 0; i < dump->stream_count && !tool_dump_done(dump); i++) {
        ttape_cursor *cursor = tool_dump_open_stream(dump, dump->streams[i]);
        if (cursor == NULL)
            continue;
        open_stream(csv, dump->streams[i]);
        if (dump->events.given || dump->filter.is_given || dump->filter.first != NULL)
            put_range(csv, cursor);
        else
            put_stream(csv, cursor);
        ttape_cursor_close(cursor);
    }
}

static void close_csv(struct tool_dump *dump) { free(dump->state); }

const struct tool_dump_format tool_dump_csv = {"csv", open_csv, print_csv, close_csv};
