/* CSV, RFC 4180 with plain line feeds: one row for what begins, ends or happens, thread after
 * thread. Unlike `tracetape dump --format csv`, every frame has its two rows whatever left it, the
 * second with its length, and names stand with module, file and line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/export.h"

#define FIXED_BYTES 160u
#define HEADER                                                                                     \
    "stream,pid,tid,time_ns,kind,depth,duration_ns,address,symbol,module,file,line,detail,"        \
    "values\n"

struct csv_table {
    struct tool_export *export;
    char prefix[96]; /* "STREAM,PID,TID," */
    size_t prefix_bytes;
    struct tool_buffer scratch;
};

/* A field, in quotes where RFC 4180 asks for them. */
static void put_field(struct tool_buffer *buffer, ttape_string text)
{
    struct tool_buffer field = {0};
    tool_buffer_name(&field, TTP_ESCAPE_TEXT, text);
    bool quote = strpbrk(field.data, ",\"") != NULL; /* line ends are escaped already */
    tool_buffer_text(buffer, quote ? "\"" : "");
    for (const char *at = field.data; *at != '\0';) {
        const char *mark = strchr(at, '"');
        size_t size = mark != NULL ? (size_t)(mark - at) + 1 : strlen(at);
        tool_buffer_add(buffer, at, size);
        tool_buffer_text(buffer, mark != NULL ? "\"" : "");
        at += size;
    }
    tool_buffer_text(buffer, quote ? "\"" : "");
    tool_buffer_close(&field);
}

/* ,ADDRESS,SYMBOL,MODULE,FILE,LINE, */
static void write_site(const struct tool_export *export, struct tool_buffer *buffer,
                       const ttape_site *site)
{
    tool_buffer_printf(buffer, ",0x%" PRIx64 ",", site->address);
    put_field(buffer, site->symbol);
    tool_buffer_text(buffer, ",");
    put_field(buffer, tool_export_module(export, site));
    tool_buffer_text(buffer, ",");
    put_field(buffer, site->file);
    tool_buffer_text(buffer, ",");
    if (site->line > 0)
        tool_buffer_number(buffer, site->line);
    tool_buffer_text(buffer, ",");
}

/* STREAM,PID,TID,TIME,KIND,DEPTH, and the duration, where it has one */
static void put_start(struct csv_table *csv, uint64_t time_ns, const char *kind, uint64_t depth,
                      const uint64_t *duration_ns)
{
    struct tool_output *out = &csv->export->out;
    char *at = tool_output_reserve(out, FIXED_BYTES + sizeof(csv->prefix));
    at = tool_put_bytes(at, csv->prefix, csv->prefix_bytes);
    at = tool_put_decimal(at, time_ns);
    *at++ = ',';
    at = tool_put_bytes(at, kind, strlen(kind));
    *at++ = ',';
    at = tool_put_decimal(at, depth);
    *at++ = ',';
    at = duration_ns != NULL ? tool_put_decimal(at, *duration_ns) : at;
    tool_output_commit(out, at);
}

/* ,ADDRESS,SYMBOL,MODULE,FILE,LINE,DETAIL,VALUES and the line's end */
static void put_end(struct csv_table *csv, uint32_t site, const char *detail,
                    const struct tool_moment *now)
{
    struct tool_output *out = &csv->export->out;
    if (site != TTAPE_NONE) {
        const struct tool_buffer *text = tool_export_site(csv->export, site);
        tool_output_bytes(out, text->data, text->size_bytes);
    } else {
        tool_output_bytes(out, ",,,,,,", 6);
    }
    tool_output_text(out, detail);
    tool_output_bytes(out, ",", 1);
    if (now->value_count > 0) {
        csv->scratch.size_bytes = 0;
        tool_buffer_text(&csv->scratch, "\"");
        struct tool_buffer values = {0};
        tool_buffer_values(&values, now->values, now->value_count);
        for (size_t i = 0; i < values.size_bytes; i++) {
            tool_buffer_add(&csv->scratch, &values.data[i], 1);
            tool_buffer_text(&csv->scratch, values.data[i] == '"' ? "\"" : "");
        }
        tool_buffer_text(&csv->scratch, "\"");
        tool_output_bytes(out, csv->scratch.data, csv->scratch.size_bytes);
        tool_buffer_close(&values);
    }
    tool_output_bytes(out, "\n", 1);
}

static uint64_t depth_of(const struct tool_walk *walk, const struct tool_frame *frame)
{
    return (uint64_t)(frame - tool_walk_stack(walk)->frames);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct csv_table *csv = context;
    char detail[32] = "";
    const char *kind = "enter";
    if (frame->kind == TTAPE_EVENT_SIGNAL_BEGIN) {
        kind = "signal";
        snprintf(detail, sizeof(detail), "signal %" PRIu32, frame->signal);
    }
    if (frame->is_cut || frame->kind == TTAPE_EVENT_OPEN)
        kind = "open";
    put_start(csv, now->time_ns, kind, depth_of(walk, frame), NULL);
    put_end(csv, frame->site, detail, now);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    static const char *const kinds[] = {"exit", "unwind", "still_open", "lost", "unseen", "late"};
    struct csv_table *csv = context;
    char detail[32] = "";
    const char *kind = kinds[ending];
    uint64_t duration_ns = now->time_ns - frame->start_ns;
    if (frame->kind == TTAPE_EVENT_SIGNAL_BEGIN) {
        kind = ending == TOOL_ENDING_EXIT ? "signal_end" : kind;
        snprintf(detail, sizeof(detail), "signal %" PRIu32, frame->signal);
    }
    put_start(csv, now->time_ns, kind, depth_of(walk, frame), &duration_ns);
    put_end(csv, frame->site, detail,
            ending == TOOL_ENDING_EXIT ? now : &(struct tool_moment){.time_ns = now->time_ns});
}

static void take_point(void *context, struct tool_walk *walk, const struct tool_moment *now)
{
    struct csv_table *csv = context;
    char detail[64] = "";
    const ttape_event *event = now->event;
    ttape_site site = {.kind = TTAPE_SITE_MARKER};
    const char *kind;
    if (event->site != TTAPE_NONE)
        (void)ttape_reader_get_site(csv->export->reader, event->site, &site);
    kind = event->kind == TTAPE_EVENT_EXIT_UNSEEN ? "exit_unseen"
                                                  : ttape_event_kind_name(event->kind, site.kind);
    if (event->kind == TTAPE_EVENT_GAP) {
        snprintf(detail, sizeof(detail), "%s %" PRIu64, ttape_gap_reason_name(event->argument),
                 event->lost_count);
    }
    put_start(csv, now->time_ns, kind, tool_walk_stack(walk)->count, NULL);
    put_end(csv, event->site, detail, now);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    char detail[32];
    snprintf(detail, sizeof(detail), "stack %" PRIu32, walk->stack);
    put_start(context, now->time_ns, "switch", walk->stacks[from]->count, NULL);
    put_end(context, TTAPE_NONE, detail, &(struct tool_moment){.time_ns = now->time_ns});
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct csv_table *csv = context;
    const struct tool_export_stream *stream = walk->stream;
    int length = snprintf(csv->prefix, sizeof(csv->prefix), "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",",
                          stream->stream, stream->pid, stream->tid);
    csv->prefix_bytes = length > 0 ? (size_t)length : 0;
}

static int write_csv(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .point = take_point,
                                                   .changed = take_change};
    struct csv_table csv = {.export = export};
    export->write_site = write_site;
    tool_output_text(&export->out, HEADER);
    tool_export_walk(export, &calls, &csv);
    tool_buffer_close(&csv.scratch);
    return export->status;
}

const struct tool_export_format tool_export_csv = {
    .name = "csv", .summary = "a table of events", .shape = TOOL_EXPORT_TEXT, .run = write_csv};
