/* Chrome trace JSON: B and E for frames, i for points, M for names; times in microseconds with
 * three decimals, exact.
 *
 *   {"otherData":{...},"traceEvents":[
 *   {"ph":"M",...},
 *   {"ph":"B","pid":1,"tid":1,"ts":12.345,"name":"main"},
 *   {"ph":"E","pid":1,"tid":1,"ts":12.567}
 *   ],"displayTimeUnit":"ns"}
 *
 * A system call has the number of its path as "sf"; "stackFrames" has the paths.
 *
 * The fast format: what repeats (a thread's start of line; a site's end of line; the upper digits
 * of the time) is made once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/export/export_paths.h"

#define PREFIX_BYTES 64u
#define HIGH_BYTES   16u
#define LOW_RANGE    100000000u
#define PAD_BYTES    48u   /* short site texts are copied with bytes behind them */
#define SHORT_BYTES  2048u /* a longer site text goes around the reserved room */
#define LINE_BYTES   (PREFIX_BYTES + HIGH_BYTES + 64u)

struct prefix {
    char text[PREFIX_BYTES]; /* ,\n{"ph":"B","pid":1,"tid":1,"ts": */
    size_t size_bytes;
};

struct chrome {
    struct tool_export *export;
    uint64_t origin_ns; /* taken from every time */
    uint64_t high;      /* upper digits of the last time, as a number and as text */
    char high_digits[HIGH_BYTES + 8];
    size_t high_bytes;
    struct prefix begin, end, point;
    uint32_t last_process;
    uint32_t stack; /* that the prefixes are of */
    bool has_lines;
    struct tool_buffer scratch;
};

static const char padding[PAD_BYTES];

/* ,"name":"..."} and bytes behind it that can be read */
static void write_site(const struct tool_export *export, struct tool_buffer *buffer,
                       const ttape_site *site)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    tool_buffer_text(buffer, ",\"name\":");
    tool_buffer_json(buffer, tool_export_place(export, site, room));
    if (site->path != 0)
        tool_buffer_printf(buffer, ",\"sf\":%" PRIu32, site->path);
    tool_buffer_text(buffer, "}");
    size_t size = buffer->size_bytes;
    tool_buffer_add(buffer, padding, sizeof(padding));
    buffer->size_bytes = size;
}

static void set_prefix(struct prefix *line, const char *start, uint32_t pid, uint32_t tid)
{
    char *at = tool_put_bytes(line->text, start, strlen(start));
    at = tool_put_decimal(tool_put_bytes(at, "\"pid\":", 6), pid);
    at = tool_put_decimal(tool_put_bytes(at, ",\"tid\":", 7), tid);
    at = tool_put_bytes(at, ",\"ts\":", 6);
    line->size_bytes = (size_t)(at - line->text);
}

static void set_prefixes(struct chrome *json, uint32_t pid, uint32_t tid)
{
    set_prefix(&json->begin, ",\n{\"ph\":\"B\",", pid, tid);
    set_prefix(&json->end, ",\n{\"ph\":\"E\",", pid, tid);
    set_prefix(&json->point, ",\n{\"ph\":\"i\",\"s\":\"t\",", pid, tid);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

/* Two digits of 0 .. 99 at `at`. */
static inline void put_pair(char *at, uint32_t value) { memcpy(at, pairs + value * 2, 2); }

static inline char *put_time(struct chrome *json, char *at, uint64_t time_ns)
{
    time_ns -= json->origin_ns;
    uint64_t high = time_ns / LOW_RANGE;
    uint32_t low = (uint32_t)(time_ns % LOW_RANGE);
    if (__builtin_expect(high != json->high, 0)) {
        json->high = high;
        json->high_bytes =
            high > 0 ? (size_t)(tool_put_decimal(json->high_digits, high) - json->high_digits) : 0;
    }
    memcpy(at, json->high_digits, HIGH_BYTES);
    at += json->high_bytes;
    uint32_t micros = low / 1000, nanos = low % 1000;
    if (high > 0) {
        at[0] = (char)('0' + micros / 10000);
        put_pair(at + 1, micros / 100 % 100);
        put_pair(at + 3, micros % 100);
        at += 5;
    } else {
        at = tool_put_decimal(at, micros);
    }
    at[0] = '.';
    at[1] = (char)('0' + nanos / 100);
    put_pair(at + 2, nanos % 100);
    return at + 4;
}

/* The line up to its time; the caller commits. */
static inline char *start_line(struct chrome *json, const struct prefix *line, uint64_t time_ns)
{
    char *at = tool_output_reserve(&json->export->out, LINE_BYTES + SHORT_BYTES);
    memcpy(at, line->text, PREFIX_BYTES);
    return put_time(json, at + line->size_bytes, time_ns);
}

static void put_buffer(struct chrome *json, const struct tool_buffer *buffer, size_t size_bytes)
{
    tool_output_bytes(&json->export->out, buffer->data, size_bytes);
}

/* ,"args":{"arg1":1,...}} in scratch. */
static void make_args(struct chrome *json, const struct tool_moment *now, uint32_t event_kind)
{
    char room[16];
    json->scratch.size_bytes = 0;
    for (uint32_t i = 0; i < now->value_count; i++) {
        tool_buffer_text(&json->scratch, i == 0 ? ",\"args\":{\"" : ",\"");
        tool_buffer_text(&json->scratch, tool_value_name(room, event_kind, i, now->value_count));
        tool_buffer_text(&json->scratch, "\":");
        tool_buffer_json_value(&json->scratch, &now->values[i]);
    }
    tool_buffer_text(&json->scratch, now->value_count > 0 ? "}}" : "}");
}

/* ,"name":"signal 11"} in scratch: what stands for a site where there is none. */
static const struct tool_buffer *make_name(struct chrome *json, const char *what, uint64_t number)
{
    json->scratch.size_bytes = 0;
    tool_buffer_printf(&json->scratch, ",\"name\":\"%s", what);
    tool_buffer_number(&json->scratch, number);
    tool_buffer_text(&json->scratch, "\"}");
    return &json->scratch;
}

/* Ends a line with a name and, where the event carries values, its arguments. */
static void end_line(struct chrome *json, char *at, const struct tool_buffer *name,
                     const struct tool_moment *now, uint32_t event_kind)
{
    tool_output_commit(&json->export->out, at);
    if (now->value_count == 0) {
        put_buffer(json, name, name->size_bytes);
        return;
    }
    put_buffer(json, name, name->size_bytes - 1);
    make_args(json, now, event_kind);
    put_buffer(json, &json->scratch, json->scratch.size_bytes);
}

/* ---- names ---- */

static void put_name(struct chrome *json, const char *what, uint32_t pid, uint32_t tid,
                     ttape_string name)
{
    struct tool_buffer *line = &json->scratch;
    line->size_bytes = 0;
    tool_buffer_printf(line, "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{",
                       json->has_lines ? ",\n" : "", pid, tid, what);
    tool_buffer_text(line, "\"name\":");
    tool_buffer_json(line, name);
    tool_buffer_text(line, "}}");
    json->has_lines = true;
    put_buffer(json, line, line->size_bytes);
}

/* A stack beside the first one is a thread of its own to viewers: frames must nest. */
static void use_stack(struct chrome *json, struct tool_walk *walk)
{
    struct tool_buffer name = {0};
    uint32_t pid = walk->stream->shown_pid;
    struct tool_stack *stack = tool_walk_stack(walk);
    if (stack->track == 0) {
        /* A track is the number + 1: 0 is none yet. */
        stack->track = 1 + (uint64_t)(walk->stack == 0 ? walk->stream->shown_tid
                                                       : tool_export_number(json->export));
        tool_export_thread_name(json->export, walk->stream, walk->stack, &name);
        put_name(json, "thread_name", pid, (uint32_t)(stack->track - 1),
                 (ttape_string){name.data, name.size_bytes});
        tool_buffer_close(&name);
    }
    set_prefixes(json, pid, (uint32_t)(stack->track - 1));
    json->stack = walk->stack;
}

/* ---- frames and points ---- */

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct chrome *json = context;
    if (__builtin_expect(walk->stack != json->stack, 0))
        use_stack(json, walk);
    char *at = start_line(json, &json->begin, now->time_ns);
    if (frame->site == TTAPE_NONE) {
        end_line(json, at, make_name(json, "signal ", frame->signal), now, frame->kind);
        return;
    }
    const struct tool_buffer *name = tool_export_site(json->export, frame->site);
    if (__builtin_expect(name->size_bytes <= SHORT_BYTES && now->value_count == 0, 1)) {
        if (name->size_bytes <= PAD_BYTES)
            memcpy(at, name->data, PAD_BYTES);
        else
            memcpy(at, name->data, name->size_bytes);
        tool_output_commit(&json->export->out, at + name->size_bytes);
    } else {
        end_line(json, at, name, now, frame->kind);
    }
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    static const char *const why[] = {"}",
                                      ",\"args\":{\"left\":\"unwind\"}}",
                                      ",\"args\":{\"left\":\"open\"}}",
                                      ",\"args\":{\"left\":\"lost\"}}",
                                      ",\"args\":{\"left\":\"unseen\"}}",
                                      ",\"args\":{\"left\":\"late\"}}"};
    struct chrome *json = context;
    (void)frame;
    if (__builtin_expect(walk->stack != json->stack, 0))
        use_stack(json, walk);
    char *at = start_line(json, &json->end, now->time_ns);
    if (__builtin_expect(ending == TOOL_ENDING_EXIT && now->value_count == 0, 1)) {
        *at++ = '}';
        tool_output_commit(&json->export->out, at);
        return;
    }
    tool_output_commit(&json->export->out, at);
    if (ending != TOOL_ENDING_EXIT) {
        tool_output_text(&json->export->out, why[ending]);
        return;
    }
    make_args(json, now, TTAPE_EVENT_EXIT);
    put_buffer(json, &json->scratch, json->scratch.size_bytes);
}

static void take_point(void *context, struct tool_walk *walk, const struct tool_moment *now)
{
    struct chrome *json = context;
    const ttape_event *event = now->event;
    if (walk->stack != json->stack)
        use_stack(json, walk);
    char *at = start_line(json, &json->point, now->time_ns);
    if (event->kind == TTAPE_EVENT_GAP) {
        tool_output_commit(&json->export->out, at);
        tool_output_printf(
            &json->export->out, ",\"name\":\"gap\",\"args\":{\"reason\":\"%s\",\"lost\":%llu}}",
            ttape_gap_reason_name(event->argument), (unsigned long long)event->lost_count);
        return;
    }
    const struct tool_buffer *name = tool_export_site(json->export, event->site);
    at =
        tool_put_bytes(at, event->kind == TTAPE_EVENT_EXIT_UNSEEN ? ",\"cat\":\"exit_unseen\"" : "",
                       event->kind == TTAPE_EVENT_EXIT_UNSEEN ? 20 : 0);
    end_line(json, at, name, now, event->kind);
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct chrome *json = context;
    const struct tool_export_stream *stream = walk->stream;
    if (json->last_process != stream->process) {
        json->last_process = stream->process;
        put_name(json, "process_name", stream->shown_pid, stream->shown_tid,
                 tool_export_process_name(json->export, stream->process));
    }
    use_stack(json, walk);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    struct chrome *json = context;
    char *at = start_line(json, &json->point, now->time_ns);
    (void)from;
    end_line(json, at, make_name(json, "switch to stack ", walk->stack), &(struct tool_moment){0},
             0);
}

/* ---- the whole ---- */

static void put_head(struct chrome *json)
{
    const struct tool_export *export = json->export;
    struct tool_buffer *text = &json->scratch;
    ttape_metadata_entry entry;
    tool_buffer_printf(text, "{\"otherData\":{\"producer\":\"tracetape %s\"",
                       ttape_version_string());
    tool_buffer_printf(text, ",\"time_origin_ns\":\"%llu\"", (unsigned long long)json->origin_ns);
    if (!export->has_times)
        tool_buffer_text(text, ",\"times\":\"event numbers\"");
    uint64_t lost = tool_lost_events(export->reader);
    if (lost > 0) /* instant events called "gap" are where, as far as that is known */
        tool_buffer_printf(text, ",\"lost_events\":\"%llu\"", (unsigned long long)lost);
    for (uint32_t i = 0; ttape_reader_get_metadata(export->reader, i, &entry) == TTAPE_OK; i++) {
        if (entry.type != TTAPE_METADATA_TEXT || entry.scope != 0)
            continue;
        tool_buffer_text(text, ",");
        tool_buffer_text(text, "\"trace_");
        tool_buffer_name(text, TTP_ESCAPE_JSON, entry.key);
        tool_buffer_text(text, "\":");
        tool_buffer_json(text, entry.text);
    }
    tool_buffer_text(text, "},\"traceEvents\":[\n");
    put_buffer(json, text, text->size_bytes);
}

/* ,"stackFrames":{"1":{"name":"main"},"2":{"name":"f","parent":1}}: the paths, by their numbers. */
static void put_paths(struct chrome *json)
{
    const struct tool_export *export = json->export;
    struct tool_buffer *text = &json->scratch;
    uint32_t count = ttape_reader_path_count(export->reader);
    for (uint32_t i = 1; i <= count; i++) {
        ttape_path path = {0};
        ttape_site site = {.symbol = {"...", 3}, .module = TTAPE_NONE};
        char room[TOOL_EXPORT_PLACE_BYTES];
        (void)ttape_reader_get_path(export->reader, i, &path);
        if (path.site != TTAPE_NONE)
            tool_export_get_site(export, path.site, &site);
        text->size_bytes = 0;
        tool_buffer_text(text, i == 1 ? ",\"stackFrames\":{\n" : ",\n");
        tool_buffer_printf(text, "\"%" PRIu32 "\":{\"name\":", i);
        tool_buffer_json(text, tool_export_place(export, &site, room));
        if (path.parent != 0)
            tool_buffer_printf(text, ",\"parent\":%" PRIu32, path.parent);
        tool_buffer_text(text, i == count ? "}}" : "}");
        put_buffer(json, text, text->size_bytes);
    }
}

static int write_chrome(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .point = take_point,
                                                   .changed = take_change};
    struct chrome json = {.export = export,
                          .origin_ns = tool_export_origin(export),
                          .high = UINT64_MAX,
                          .last_process = TTAPE_NONE};
    export->write_site = write_site;
    put_head(&json);
    tool_export_walk(export, &calls, &json);
    tool_output_text(&export->out, "\n]");
    put_paths(&json);
    tool_output_text(&export->out, ",\"displayTimeUnit\":\"ns\"}\n");
    tool_buffer_close(&json.scratch);
    return export->status;
}

const struct tool_export_format tool_export_chrome = {.name = "chrome",
                                                      .summary = "Chrome trace JSON",
                                                      .shape = TOOL_EXPORT_TEXT,
                                                      .run = write_chrome};
