/* Text: the calls as an indented tree, merged by time over all streams, durations on exits. A call
 * that returns at once is one line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/calls/end_words.h"
#include "tools/calls/site_name.h"
#include "tools/command/pager.h"
#include "tools/dump/dump.h"
#include "tools/io/table.h"
#include "tools/values/value_words.h"

#define INDENT_MAX     60u
#define DURATION_WIDTH 10u
#define TID_WIDTH      9
#define TRACKED_DEPTH  65536u
#define COLUMN_LEAST   24u /* characters of a thread's column, with --side-by-side */
#define COLUMN_USUAL   48u

/* When the frame at a depth was entered; site TTAPE_NONE: not known. */
struct entered {
    uint64_t time_ns;
    uint32_t site;
};

/* Frames of one of a stream's stacks, by depth. */
struct frame_track {
    uint32_t stack;
    struct entered *frames;
    size_t count, capacity;
};

struct follow {
    uint32_t stack;
    struct frame_track *tracks;
    size_t track_count, track_capacity;
    uint64_t tid;
    uint32_t number, column; /* column: where its calls begin */
    bool is_stopped;         /* recording of it is: what is left now was open then */
};

struct text_state {
    struct tool_dump *dump;
    struct follow **streams; /* by stream number; NULL until its first event */
    size_t stream_count, stream_capacity;
    size_t tid_width;
    uint32_t column_width; /* 0: all threads have one */
    bool pending;          /* an enter line without its end: "name(...)" */
    ttape_event pending_event;
    uint32_t pending_stream;
    uint64_t
        pending_flush; /* the output's flush count, and where its line's duration column ends */
    size_t pending_column;
    size_t column; /* where the last line's duration column ends */
};

static void print_site(struct tool_dump *dump, uint32_t number, const ttape_site *site)
{
    char buffer[TOOL_LABEL_BYTES], place[TOOL_PLACE_BYTES];
    ttape_string name = site->symbol;
    if (name.size_bytes == 0)
        name =
            (ttape_string){buffer, ttape_site_name(dump->reader, number, buffer, sizeof(buffer))};
    tool_output_escaped(&dump->scratch, TTP_ESCAPE_TEXT, name);
    if (dump->places && (site->symbol.size_bytes > 0 || site->file.size_bytes > 0))
        tool_output_text(&dump->scratch, tool_site_where(dump->reader, site, place));
}

static void put_name(struct text_state *text, uint32_t site)
{
    if (site == TTAPE_NONE) {
        tool_output_text(&text->dump->out, "?");
        return;
    }
    const struct tool_site_text *name = tool_dump_site(text->dump, site);
    tool_output_bytes(&text->dump->out, name->text, name->size_bytes);
}

/* "f(int)" needs no other brackets. */
static bool ends_in_parameters(struct text_state *text, uint32_t site)
{
    if (site == TTAPE_NONE)
        return false;
    const struct tool_site_text *name = tool_dump_site(text->dump, site);
    return name->size_bytes > 0 && name->text[name->size_bytes - 1] == ')' && !text->dump->places;
}

static uint32_t column_of(const struct text_state *text, uint32_t number)
{
    uint32_t i = 0;
    while (text->column_width != 0 && i < text->dump->stream_count &&
           text->dump->streams[i] != number)
        i++;
    return i * text->column_width;
}

static struct follow *follow_of(struct text_state *text, uint32_t number)
{
    if (text->streams[number] == NULL) {
        ttape_stream_info stream = {0};
        (void)ttape_reader_get_stream(text->dump->reader, number, &stream);
        text->streams[number] = tool_allocate(1, sizeof(struct follow));
        text->streams[number]->tid = stream.stream.tid;
        text->streams[number]->number = number;
        text->streams[number]->column = column_of(text, number);
    }
    return text->streams[number];
}

static struct frame_track *track_of(struct follow *stream, uint32_t stack)
{
    for (size_t i = 0; i < stream->track_count; i++)
        if (stream->tracks[i].stack == stack)
            return &stream->tracks[i];
    tool_grow((void **)&stream->tracks, &stream->track_capacity, stream->track_count + 1,
              sizeof(struct frame_track));
    stream->tracks[stream->track_count] = (struct frame_track){.stack = stack};
    return &stream->tracks[stream->track_count++];
}

static void remember(struct frame_track *track, uint32_t depth, uint64_t time_ns, uint32_t site)
{
    if (depth >= TRACKED_DEPTH)
        return;
    tool_grow((void **)&track->frames, &track->capacity, depth + 1, sizeof(struct entered));
    for (; track->count <= depth; track->count++)
        track->frames[track->count].site = TTAPE_NONE;
    track->frames[depth] = (struct entered){time_ns, site};
}

/* How long the frame that this event closes was open; false: not known. */
static bool find_duration(struct follow *stream, const ttape_event *event, uint64_t *duration_ns)
{
    struct frame_track *track = track_of(stream, stream->stack);
    if (event->depth >= track->count || track->frames[event->depth].site != event->site ||
        event->site == TTAPE_NONE || event->time_ns < track->frames[event->depth].time_ns)
        return false;
    *duration_ns = event->time_ns - track->frames[event->depth].time_ns;
    track->frames[event->depth].site = TTAPE_NONE;
    return true;
}

static char *pad_left(char *at, const char *digits, size_t size, size_t width)
{
    for (size_t i = size; i < width; i++)
        *at++ = ' ';
    return tool_put_bytes(at, digits, size);
}

/* "1357.528012345", 18 wide; UTC as a date. */
static char *put_time(char *at, const struct tool_dump *dump, uint32_t stream, uint64_t time_ns)
{
    char digits[32];
    time_ns = tool_dump_time(dump, stream, time_ns);
    if (dump->origin == TOOL_ORIGIN_UTC)
        return tool_dump_put_utc(at, time_ns);
    char *end = tool_put_decimal(digits, time_ns / 1000000000u);
    uint64_t rest = time_ns % 1000000000u;
    *end = '.';
    for (int digit = 9; digit >= 1; digit--) {
        end[digit] = (char)('0' + rest % 10);
        rest /= 10;
    }
    return pad_left(at, digits, (size_t)(end + 10 - digits), 18);
}

/* Three to four digits and a unit, 10 wide. */
static char *put_duration(char *at, uint64_t duration_ns)
{
    static const struct {
        uint64_t limit, unit;
        const char *name;
    } units[] = {{10000, 1, " ns"},
                 {10000000, 1000, " us"},
                 {10000000000u, 1000000, " ms"},
                 {UINT64_MAX, 1000000000, " s "}};
    char digits[32];
    size_t i = 0;
    while (duration_ns >= units[i].limit && i < 3)
        i++;
    char *end = tool_put_decimal(digits, duration_ns / units[i].unit);
    end = tool_put_bytes(end, units[i].name, 3);
    return pad_left(at, digits, (size_t)(end - digits), DURATION_WIDTH);
}

/* Time, thread, duration and indentation of a line. */
static void put_columns(struct text_state *text, const ttape_event *event,
                        const struct follow *stream, const uint64_t *duration_ns)
{
    struct tool_output *out = &text->dump->out;
    char digits[24];
    char *start = tool_output_reserve(out, TOOL_DUMP_LINE_BYTES + stream->column);
    char *at = start;
    if (text->dump->colours)
        at = tool_put_bytes(at, "\033[2m", 4);
    if (text->dump->has_times)
        at = put_time(at, text->dump, stream->number, event->time_ns);
    char *end = tool_put_decimal(digits, stream->tid);
    at = pad_left(at, digits, (size_t)(end - digits), text->tid_width);
    if (text->dump->colours)
        at = tool_put_bytes(at, "\033[0m", 4);
    at = duration_ns != NULL ? put_duration(at, *duration_ns) : pad_left(at, "", 0, DURATION_WIDTH);
    text->column = (size_t)(at - out->data);
    uint32_t most = text->column_width != 0 ? text->column_width / 4 : INDENT_MAX;
    uint32_t indent = event->depth < most ? event->depth : most;
    at = pad_left(at, "", 0, 2 + stream->column + 2 * indent);
    if (event->depth > most) {
        *at++ = '[';
        at = tool_put_decimal(at, event->depth);
        at = tool_put_bytes(at, "] ", 2);
    }
    tool_output_commit(out, at);
}

/* How the call was reached, behind what is told of it. */
static void put_path(struct text_state *text, uint32_t site)
{
    struct tool_dump *dump = text->dump;
    struct tool_output *out = &dump->out;
    uint32_t count = tool_dump_path(dump, site);
    for (uint32_t i = 0; i < count; i++) {
        tool_output_text(out, i == 0 ? " /* by " : ";");
        tool_output_text(out, dump->frames[i] == TTAPE_NONE
                                  ? "..."
                                  : tool_site_name(&dump->names, dump->frames[i]));
    }
    tool_output_text(out, count != 0 ? " */\n" : "\n");
}

static void end_pending(struct text_state *text)
{
    if (text->pending) {
        tool_output_text(&text->dump->out, " {");
        put_path(text, text->pending_event.site);
        text->pending = false;
    }
}

/* One line is out; false: no more are wanted. */
static bool count_line(struct text_state *text)
{
    if (tool_dump_done(text->dump))
        return false;
    text->dump->lines_left--;
    return true;
}

static void take_enter(struct text_state *text, struct follow *stream, const ttape_event_item *item)
{
    const ttape_event *event = &item->event;
    bool open = event->kind == TTAPE_EVENT_OPEN;
    remember(track_of(stream, stream->stack), event->depth, event->time_ns,
             open ? TTAPE_NONE : event->site);
    if (text->dump->out.size_bytes > TOOL_OUTPUT_BYTES * 3 / 4)
        tool_output_flush(&text->dump->out); /* so that the line stays there until its exit */
    put_columns(text, event, stream, NULL);
    text->pending_column = text->column;
    text->pending_flush = text->dump->out.flush_count;
    put_name(text, event->site);
    if (item->value_count > 0 || !ends_in_parameters(text, event->site))
        tool_put_arguments(&text->dump->out, text->dump->reader, event->site, item->values,
                           item->value_count);
    if (open) {
        tool_output_text(&text->dump->out, " { /* open before the start */\n");
        return;
    }
    text->pending = true;
    text->pending_event = *event;
    text->pending_stream = item->stream;
}

/* Ends the line of a call that returns at once; its duration goes into the column that was left
 * blank. */
static void close_pending(struct text_state *text, const ttape_event_item *item,
                          const uint64_t *duration_ns)
{
    struct tool_output *out = &text->dump->out;
    if (duration_ns != NULL && out->flush_count == text->pending_flush)
        put_duration(out->data + text->pending_column - DURATION_WIDTH, *duration_ns);
    tool_put_results(out, text->dump->reader, text->pending_event.site, item->values,
                     item->value_count);
    tool_output_text(out, ";");
    put_path(text, text->pending_event.site);
    text->pending = false;
}

static const char *unwind_words(const ttape_event *event)
{
    bool is_one = event->argument == 1;
    return event->lost_count == TTAPE_UNWIND_UNSEEN && is_one
               ? "unwound, by a jump: its end is not seen"
           : event->lost_count == TTAPE_UNWIND_UNSEEN ? "unwound, by jumps: their ends are not seen"
           : event->lost_count == TTAPE_UNWIND_LATE   ? "unwound, by exits that are not seen"
           : event->lost_count == TTAPE_UNWIND_LOST   ? "unwound, where events are missing"
                                                      : "unwound";
}

static void take_exit(struct text_state *text, struct follow *stream, const ttape_event_item *item)
{
    struct tool_output *out = &text->dump->out;
    const ttape_event *event = &item->event;
    uint64_t duration_ns = 0;
    bool known = find_duration(stream, event, &duration_ns) && text->dump->has_times;
    const uint64_t *duration = known ? &duration_ns : NULL;
    put_columns(text, event, stream, duration);
    tool_output_text(out, "}");
    tool_put_results(&text->dump->out, text->dump->reader, event->site, item->values,
                     item->value_count);
    tool_output_text(out, " /* ");
    if (event->site != TTAPE_NONE)
        put_name(text, event->site);
    else
        tool_output_text(out, "signal handler");
    if (event->kind == TTAPE_EVENT_EXIT_UNSEEN)
        tool_output_text(out, ": its call was not seen");
    else if (event->kind == TTAPE_EVENT_EXIT_ACROSS)
        tool_output_printf(out, ": after %" PRIu32 " frame%s %s", event->argument,
                           event->argument == 1 ? " was" : "s were", unwind_words(event));
    tool_output_text(out, " */\n");
}

/* The values of a fact in words. */
static void put_end(struct text_state *text, const ttape_event_item *item)
{
    ttape_last_end end;
    uint64_t reason;
    char words[TOOL_END_BYTES];
    if (ttape_last_stop_of(text->dump->reader, item, &reason))
        tool_output_printf(&text->dump->out, " /* recording stopped: %s */",
                           tool_stop_words(reason));
    if (!ttape_last_end_of(text->dump->reader, item, &end))
        return;
    tool_end_words(&end, words);
    tool_output_printf(&text->dump->out, " /* the %s */", words);
}

/* Of a time in which recording was off, how many there were is known to tracers only. */
static void put_gap(struct tool_output *out, const ttape_event *event)
{
    if (event->argument == TTAPE_GAP_REASON_STOPPED && event->lost_count == 0)
        tool_output_text(out, "gap: nothing was recorded from here on, reason: stopped");
    else
        tool_output_printf(out, "gap: %" PRIu64 " events lost, reason: %s", event->lost_count,
                           ttape_gap_reason_name(event->argument));
}

static void take_other(struct text_state *text, struct follow *stream, const ttape_event_item *item)
{
    struct tool_output *out = &text->dump->out;
    const ttape_event *event = &item->event;
    put_columns(text, event, stream, NULL);
    switch (event->kind) {
    case TTAPE_EVENT_LEAF:
        tool_output_text(
            out, ttape_event_kind_name(event->kind, tool_dump_site(text->dump, event->site)->kind));
        tool_output_text(out, " ");
        put_name(text, event->site);
        tool_put_arguments(out, text->dump->reader, event->site, item->values, item->value_count);
        put_end(text, item);
        break;
    case TTAPE_EVENT_SIGNAL_BEGIN:
        tool_output_printf(out, "signal %" PRIu32 " {", event->argument);
        break;
    case TTAPE_EVENT_SIGNAL_END:
        tool_output_printf(out, "} /* signal %" PRIu32 " */", event->argument);
        break;
    case TTAPE_EVENT_UNWIND:
        if (stream->is_stopped)
            tool_output_printf(out, "%" PRIu32 " frame%s open then", event->argument,
                               event->argument == 1 ? " was" : "s were");
        else
            tool_output_printf(out, "%" PRIu32 " frame%s %s", event->argument,
                               event->argument == 1 ? "" : "s", unwind_words(event));
        break;
    case TTAPE_EVENT_SWITCH:
        tool_output_printf(out, "switch to stack %" PRIu32, event->argument);
        stream->stack = event->argument;
        break;
    default: put_gap(out, event); break;
    }
    tool_output_text(out, "\n");
}

static void take_item(void *context, const ttape_event_item *item)
{
    struct text_state *text = context;
    const ttape_event *event = &item->event;
    struct follow *stream = follow_of(text, item->stream);
    if (event->kind != TTAPE_EVENT_UNWIND && event->kind != TTAPE_EVENT_SWITCH)
        stream->is_stopped =
            event->kind == TTAPE_EVENT_GAP && event->argument == TTAPE_GAP_REASON_STOPPED;
    bool exits = event->kind == TTAPE_EVENT_EXIT || event->kind == TTAPE_EVENT_EXIT_UNSEEN ||
                 event->kind == TTAPE_EVENT_EXIT_ACROSS;
    if (tool_dump_filter_hides(&text->dump->filter, event)) {
        stream->stack = event->argument;
        return;
    }
    if (text->pending && event->kind == TTAPE_EVENT_EXIT && item->stream == text->pending_stream &&
        event->site == text->pending_event.site && event->depth == text->pending_event.depth) {
        uint64_t duration_ns = 0;
        bool known = find_duration(stream, event, &duration_ns) && text->dump->has_times;
        close_pending(text, item, known ? &duration_ns : NULL);
        return;
    }
    end_pending(text);
    if (!count_line(text))
        return;
    if (event->kind == TTAPE_EVENT_ENTER || event->kind == TTAPE_EVENT_OPEN)
        take_enter(text, stream, item);
    else if (exits)
        take_exit(text, stream, item);
    else
        take_other(text, stream, item);
}

/* Frames that are open where printing starts: their exits have durations too. */
static void take_edge(void *context, uint32_t number, const ttape_edge *edge)
{
    struct text_state *text = context;
    struct follow *stream = follow_of(text, number);
    uint32_t stack = TTAPE_NONE;
    int64_t depth = 0;
    stream->stack = edge->stack;
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *frame = &edge->frames[i];
        depth =
            frame->stack != stack ? (int64_t)edge->unknown_depth + edge->depth_offset : depth + 1;
        stack = frame->stack;
        if (depth >= 0 && depth < (int64_t)TRACKED_DEPTH && frame->kind == TTAPE_EVENT_ENTER)
            remember(track_of(stream, stack), (uint32_t)depth, frame->enter_time_ns, frame->site);
    }
}

/* Takes the streams that are new; a thread's number has a blank before it, however long it is. */
static void grow_streams(struct text_state *text)
{
    size_t count = text->dump->info.stream_count;
    char digits[24];
    tool_grow((void **)&text->streams, &text->stream_capacity, count, sizeof(struct follow *));
    for (; text->stream_count < count; text->stream_count++) {
        ttape_stream_info stream = {0};
        (void)ttape_reader_get_stream(text->dump->reader, (uint32_t)text->stream_count, &stream);
        size_t width = (size_t)(tool_put_decimal(digits, stream.stream.tid) - digits) + 1;
        text->tid_width = width > text->tid_width ? width : text->tid_width;
        text->streams[text->stream_count] = NULL;
    }
}

/* What is left of the terminal, shared by the threads. */
static uint32_t column_width_of(const struct text_state *text)
{
    unsigned width = tool_terminal_columns();
    size_t head = text->tid_width + DURATION_WIDTH + 2 + (text->dump->has_times ? 18 : 0);
    size_t share = width > head && text->dump->stream_count != 0
                       ? (width - head) / text->dump->stream_count
                       : COLUMN_USUAL;
    share = share < COLUMN_USUAL ? share : COLUMN_USUAL;
    return (uint32_t)(share > COLUMN_LEAST ? share : COLUMN_LEAST);
}

/* "THREAD 4711 worker" over each column; a name too long for it is cut. */
static void put_threads(const struct text_state *text)
{
    struct tool_dump *dump = text->dump;
    for (uint32_t i = 0; i < dump->stream_count; i++) {
        ttape_stream_info stream = {0};
        char digits[24];
        (void)ttape_reader_get_stream(dump->reader, dump->streams[i], &stream);
        dump->scratch.size_bytes = 0;
        tool_output_text(&dump->scratch, "THREAD ");
        tool_output_bytes(&dump->scratch, digits,
                          (size_t)(tool_put_decimal(digits, stream.stream.tid) - digits));
        tool_output_text(&dump->scratch, " ");
        tool_output_escaped(&dump->scratch, TTP_ESCAPE_TEXT, stream.stream.name);
        const char *title = dump->scratch.data;
        size_t most = text->column_width - 2;
        size_t size = ttp_text_cut(title, dump->scratch.size_bytes, most);
        size_t blanks = most - ttp_text_columns(title, size);
        tool_output_printf(&dump->out, "  %.*s%*s", (int)size, title,
                           i + 1 < dump->stream_count ? (int)blanks : 0, "");
    }
}

static void open_text(struct tool_dump *dump)
{
    struct text_state *text = tool_allocate(1, sizeof(*text));
    text->dump = dump;
    text->tid_width = TID_WIDTH;
    dump->state = text;
    dump->print_site = print_site;
    grow_streams(text);
    if (dump->side_by_side)
        text->column_width = column_width_of(text);
    tool_output_text(&dump->out, dump->colours ? "\033[1m" : "");
    tool_output_text(&dump->out, !dump->has_times ? ""
                                 : dump->origin == TOOL_ORIGIN_UTC
                                     ? "                    TIME (UTC)"
                                     : "          TIME (s)");
    tool_output_printf(&dump->out, "%*s  DURATION", (int)text->tid_width, "TID");
    if (dump->side_by_side)
        put_threads(text);
    tool_output_printf(&dump->out, "%s%s\n", dump->side_by_side ? "" : "  EVENT",
                       dump->colours ? "\033[0m" : "");
}

static void print_text(struct tool_dump *dump)
{
    struct text_state *text = dump->state;
    grow_streams(text);
    tool_dump_merged(dump, take_item, take_edge, text);
    end_pending(text);
}

static void close_text(struct tool_dump *dump)
{
    struct text_state *text = dump->state;
    for (size_t i = 0; i < text->stream_count; i++) {
        struct follow *stream = text->streams[i];
        for (size_t k = 0; stream != NULL && k < stream->track_count; k++)
            free(stream->tracks[k].frames);
        if (stream != NULL)
            free(stream->tracks);
        free(stream);
    }
    free(text->streams);
    free(text);
}

const struct tool_dump_format tool_dump_text = {"text", open_text, print_text, close_text};
