/* NDJSON: one JSON object per event and line, merged by time, with values. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/dump/dump.h"
#include "tools/io/dump_values.h"
#include "tools/values/value_json.h"

struct json_state {
    struct tool_dump *dump;
    uint64_t *tids; /* by stream */
    size_t tid_count, tid_capacity;
};

static void put_text(struct tool_output *out, const char *key, ttape_string text)
{
    tool_output_text(out, key);
    tool_output_escaped(out, TTP_ESCAPE_JSON, text);
    tool_output_text(out, "\"");
}

/* ,"module":"...","offset":"0x...","file":"...","line":1 where they are known */
static void put_place(struct tool_dump *dump, const ttape_site *site)
{
    struct tool_output *out = &dump->scratch;
    ttape_module module;
    if (ttape_reader_get_module(dump->reader, site->module, &module) == TTAPE_OK) {
        put_text(out, ",\"module\":\"", module.path);
        tool_output_printf(out, ",\"offset\":\"0x%" PRIx64 "\"", site->address - module.start);
    }
    if (site->file.size_bytes > 0)
        put_text(out, ",\"file\":\"", site->file);
    if (site->line > 0)
        tool_output_printf(out, ",\"line\":%" PRIu32, site->line);
}

/* ,"address":"0x...","symbol":"..." */
static void print_site(struct tool_dump *dump, uint32_t number, const ttape_site *site)
{
    (void)number;
    struct tool_output *out = &dump->scratch;
    char text[48];
    char *end = tool_put_bytes(text, ",\"address\":\"0x", 14);
    end = tool_put_hex(end, site->address);
    tool_output_bytes(out, text, (size_t)(end - text));
    put_text(out, "\",\"symbol\":\"", site->symbol);
    if (dump->places)
        put_place(dump, site);
}

static void put_key(struct tool_output *out, const char *key, uint64_t number)
{
    tool_output_text(out, key);
    char *at = tool_output_reserve(out, 20);
    tool_output_commit(out, tool_put_decimal(at, number));
}

static void put_value(struct tool_output *out, const ttape_value *value)
{
    char number[48];
    char *end;
    switch (value->type) {
    case TTAPE_VALUE_NULL: tool_output_text(out, "null"); break;
    case TTAPE_VALUE_STRING:
        tool_output_text(out, "\"");
        tool_output_escaped(out, TTP_ESCAPE_JSON, value->bytes);
        tool_output_text(out, "\"");
        break;
    case TTAPE_VALUE_BYTES:
        tool_output_text(out, "{\"hex\":\"");
        for (size_t i = 0; i < value->bytes.size_bytes; i++)
            tool_output_printf(out, "%02x", (unsigned char)value->bytes.data[i]);
        tool_output_text(out, "\"}");
        break;
    default: {
        end = tool_put_number(number, value);
        /* Pointers and floats that JSON has no number for are strings. */
        bool plain = value->type != TTAPE_VALUE_POINTER && end[-1] != 'f' && end[-1] != 'n';
        tool_output_text(out, plain ? "" : "\"");
        tool_output_bytes(out, number, (size_t)(end - number));
        tool_output_text(out, plain ? "" : "\"");
        break;
    }
    }
}

static void put_details(struct tool_output *out, const ttape_event *event)
{
    static const char *const ends[] = {[TTAPE_UNWIND_UNSEEN] = "unseen",
                                       [TTAPE_UNWIND_LOST] = "lost",
                                       [TTAPE_UNWIND_LATE] = "late"};
    switch (event->kind) {
    case TTAPE_EVENT_GAP:
        put_key(out, ",\"lost\":", event->lost_count);
        tool_output_printf(out, ",\"reason\":\"%s\"", ttape_gap_reason_name(event->argument));
        break;
    case TTAPE_EVENT_EXIT_ACROSS:
    case TTAPE_EVENT_UNWIND:
        put_key(out, ",\"frames\":", event->argument);
        if (event->lost_count > 0 && event->lost_count <= TTAPE_UNWIND_LATE)
            tool_output_printf(out, ",\"ends\":\"%s\"", ends[event->lost_count]);
        break;
    case TTAPE_EVENT_EXIT_UNSEEN: tool_output_text(out, ",\"unseen\":true"); break;
    case TTAPE_EVENT_SWITCH: put_key(out, ",\"stack\":", event->argument); break;
    case TTAPE_EVENT_SIGNAL_BEGIN:
    case TTAPE_EVENT_SIGNAL_END: put_key(out, ",\"signal\":", event->argument); break;
    default: break;
    }
}

/* "path":["main","work"]; null for frames further out that are not known */
static void put_path(struct tool_dump *dump, uint32_t site)
{
    struct tool_output *out = &dump->out;
    uint32_t count = tool_dump_path(dump, site);
    for (uint32_t i = 0; i < count; i++) {
        char buffer[TOOL_LABEL_BYTES];
        tool_output_text(out, i == 0 ? ",\"path\":[" : ",");
        if (dump->frames[i] == TTAPE_NONE) {
            tool_output_text(out, "null");
            continue;
        }
        put_text(out, "\"", tool_site_word(&dump->names, dump->frames[i], buffer));
    }
    tool_output_text(out, count != 0 ? "]" : "");
}

static bool is_exit(ttape_event_kind kind)
{
    return kind == TTAPE_EVENT_EXIT || kind == TTAPE_EVENT_EXIT_ACROSS ||
           kind == TTAPE_EVENT_EXIT_UNSEEN;
}

static void take_item(void *context, const ttape_event_item *item)
{
    struct json_state *ndjson = context;
    struct tool_dump *dump = ndjson->dump;
    struct tool_output *out = &dump->out;
    const ttape_event *event = &item->event;
    const struct tool_site_text *site =
        event->site != TTAPE_NONE ? tool_dump_site(dump, event->site) : NULL;
    if (tool_dump_done(dump) || tool_dump_filter_hides(&dump->filter, event))
        return;
    dump->lines_left--;
    put_key(out, "{\"stream\":", item->stream);
    put_key(out, ",\"tid\":", ndjson->tids[item->stream]);
    put_key(out, ",\"event\":", item->number);
    if (dump->has_times)
        put_key(out, ",\"time_ns\":", tool_dump_time(dump, item->stream, event->time_ns));
    else
        tool_output_text(out, ",\"time_ns\":null");
    tool_output_printf(out, ",\"kind\":\"%s\"",
                       ttape_event_kind_name(event->kind, site != NULL ? site->kind : 0));
    put_key(out, ",\"depth\":", event->depth);
    if (site != NULL)
        tool_output_bytes(out, site->text, site->size_bytes);
    put_details(out, event);
    put_path(dump, event->site);
    for (uint32_t i = 0; i < item->value_count; i++) {
        tool_output_text(out, i == 0 ? ",\"values\":[" : ",");
        put_value(out, &item->values[i]);
    }
    tool_output_text(out, item->value_count > 0 ? "]" : "");
    if (item->value_count > 0 && event->site != TTAPE_NONE)
        tool_line_value_names(out, dump->reader, event->site, is_exit(event->kind), item->values,
                              item->value_count);
    tool_output_text(out, "}\n");
}

static void open_ndjson(struct tool_dump *dump)
{
    struct json_state *ndjson = tool_allocate(1, sizeof(*ndjson));
    ndjson->dump = dump;
    dump->state = ndjson;
    dump->print_site = print_site;
}

static void print_ndjson(struct tool_dump *dump)
{
    struct json_state *ndjson = dump->state;
    size_t count = dump->info.stream_count;
    tool_grow((void **)&ndjson->tids, &ndjson->tid_capacity, count, sizeof(uint64_t));
    for (; ndjson->tid_count < count; ndjson->tid_count++) {
        ttape_stream_info stream = {0};
        (void)ttape_reader_get_stream(dump->reader, (uint32_t)ndjson->tid_count, &stream);
        ndjson->tids[ndjson->tid_count] = stream.stream.tid;
    }
    tool_dump_merged(dump, take_item, NULL, ndjson);
}

static void close_ndjson(struct tool_dump *dump)
{
    struct json_state *ndjson = dump->state;
    free(ndjson->tids);
    free(ndjson);
}

const struct tool_dump_format tool_dump_ndjson = {"ndjson", open_ndjson, print_ndjson,
                                                  close_ndjson};
