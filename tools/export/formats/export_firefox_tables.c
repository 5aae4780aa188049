/* The tables of a thread in Firefox Profiler's profile: columns of equal length, which name each
 * other by index. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/formats/export_firefox.h"

#define READ_SAMPLES 4096u
#define NUMBER_BYTES 48u
#define LINE_ITEMS   16u
#define GUID_BYTES   16u

/* ---- texts, frames, resources of a thread ---- */

static uint32_t text_of(struct firefox *out, ttape_string text)
{
    struct tool_buffer json = {0};
    bool is_new;
    tool_buffer_json(&json, text);
    uint32_t *known = tool_names_find(&out->text_of, json.data, json.size_bytes, &is_new);
    if (is_new) {
        *known = out->text_count++;
        tool_buffer_text(&out->texts, *known > 0 ? ",\n" : "\n");
        tool_buffer_add(&out->texts, json.data, json.size_bytes);
    }
    tool_buffer_close(&json);
    return *known;
}

static ttape_string last_part(ttape_string path)
{
    size_t at = path.size_bytes;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    return at < path.size_bytes ? (ttape_string){path.data + at, path.size_bytes - at} : path;
}

static uint32_t resource_of(struct firefox *out, uint32_t module)
{
    uint32_t *known = tool_map_at(&out->resource_of, module, TTAPE_NONE);
    if (*known == TTAPE_NONE) {
        tool_grow((void **)&out->modules, &out->module_capacity, out->module_count + 1,
                  sizeof(uint32_t));
        *known = (uint32_t)out->module_count;
        out->modules[out->module_count++] = module;
    }
    return *known;
}

static void describe_site(struct firefox *out, struct used_frame *frame)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    ttape_site site = {.module = TTAPE_NONE};
    ttape_module module;
    tool_export_get_site(out->export, frame->label, &site);
    frame->name = text_of(out, tool_export_place(out->export, &site, room));
    frame->line = site.line;
    if (site.file.size_bytes > 0)
        frame->file = text_of(out, site.file);
    if (site.module == TTAPE_NONE ||
        ttape_reader_get_module(out->export->reader, site.module, &module) != TTAPE_OK)
        return;
    frame->resource = resource_of(out, site.module);
    if (site.kind != TTAPE_SITE_SYSCALL && site.address >= module.start &&
        site.address < module.end)
        frame->address = site.address - module.start;
}

static uint32_t frame_of(struct firefox *out, uint32_t label)
{
    char name[32] = "...";
    uint32_t *known = tool_map_at(&out->frame_of, label, TTAPE_NONE);
    if (*known != TTAPE_NONE)
        return *known;
    uint32_t index = *known = (uint32_t)out->frame_count++;
    tool_grow((void **)&out->frames, &out->frame_capacity, out->frame_count,
              sizeof(struct used_frame));
    struct used_frame *frame = &out->frames[index];
    *frame = (struct used_frame){label, 0, TTAPE_NONE, TTAPE_NONE, 0, UINT64_MAX};
    if (label != TOOL_FOLDED_UNKNOWN && (label & TOOL_FOLDED_SIGNAL) == 0) {
        describe_site(out, frame);
        return index;
    }
    if (label != TOOL_FOLDED_UNKNOWN)
        (void)snprintf(name, sizeof name, "signal %" PRIu32, label & ~TOOL_FOLDED_SIGNAL);
    frame->name = text_of(out, (ttape_string){name, strlen(name)});
    return index;
}

/* ---- columns ---- */

struct column {
    struct tool_output *out;
    uint64_t count;
};

static struct column open_column(struct firefox *out, const char *name)
{
    tool_output_printf(&out->export->out, "\"%s\":[", name);
    return (struct column){&out->export->out, 0};
}

static char *reserve_item(struct column *column)
{
    char *at = tool_output_reserve(column->out, NUMBER_BYTES);
    if (column->count > 0)
        *at++ = ',';
    if (column->count++ % LINE_ITEMS == 0)
        *at++ = '\n';
    return at;
}

static void put_number(struct column *column, bool is_known, uint64_t number)
{
    char *at = reserve_item(column);
    at = is_known ? tool_put_decimal(at, number) : tool_put_bytes(at, "null", 4);
    tool_output_commit(column->out, at);
}

static void put_minus_one(struct column *column)
{
    tool_output_commit(column->out, tool_put_bytes(reserve_item(column), "-1", 2));
}

/* Milliseconds; without times, numbers of events as they are. */
static void put_time(struct column *column, bool has_times, uint64_t time_ns)
{
    char *at = reserve_item(column);
    uint64_t rest = has_times ? time_ns % 1000000 : 0;
    at = tool_put_decimal(at, has_times ? time_ns / 1000000 : time_ns);
    if (rest > 0) {
        *at++ = '.';
        for (uint64_t digit = 100000; rest > 0; rest %= digit, digit /= 10)
            *at++ = (char)('0' + rest / digit);
    }
    tool_output_commit(column->out, at);
}

static void close_column(struct column *column, const char *next)
{
    tool_output_text(column->out, "]");
    tool_output_text(column->out, next);
}

static void put_same(struct firefox *out, const char *name, const char *value, uint64_t count)
{
    struct column column = open_column(out, name);
    for (uint64_t i = 0; i < count; i++)
        tool_output_commit(column.out, tool_put_bytes(reserve_item(&column), value, strlen(value)));
    close_column(&column, ",\n");
}

static void put_length(struct firefox *out, uint64_t length, const char *next)
{
    tool_output_printf(&out->export->out, "\"length\":%" PRIu64 "}%s", length, next);
}

/* ---- a thread's tables ---- */

typedef void (*sample_writer)(struct firefox *out, struct column *column, const struct sample *it);

static void write_stack(struct firefox *out, struct column *column, const struct sample *it)
{
    (void)out;
    put_number(column, it->node != 0, it->node - 1);
}

static void write_time(struct firefox *out, struct column *column, const struct sample *it)
{
    put_time(column, out->export->has_times, it->start_ns - out->origin_ns);
}

static void write_weight(struct firefox *out, struct column *column, const struct sample *it)
{
    put_time(column, out->export->has_times, it->end_ns - it->start_ns);
}

static void put_samples(struct firefox *out, const char *name, sample_writer write)
{
    struct sample *read = tool_allocate(READ_SAMPLES, sizeof *read);
    struct column column = open_column(out, name);
    for (uint64_t i = 0; i < out->sample_count;) {
        uint64_t left = out->sample_count - i;
        size_t count = left < READ_SAMPLES ? (size_t)left : READ_SAMPLES;
        if (!tool_scratch_read(&out->samples, out->thread_start + i * sizeof *read, read,
                               count * sizeof *read)) {
            out->export->status = TOOL_CANNOT;
            break;
        }
        for (size_t j = 0; j < count; j++)
            write(out, &column, &read[j]);
        i += count;
    }
    close_column(&column, ",\n");
    free(read);
}

static void put_stacks(struct firefox *out)
{
    const struct tool_stacks *stacks = &out->stacks;
    uint32_t count = stacks->node_count - 1;
    tool_output_text(&out->export->out, "\"stackTable\":{");
    struct column column = open_column(out, "frame");
    for (uint32_t i = 1; i <= count; i++)
        put_number(&column, true, frame_of(out, stacks->nodes[i].label));
    close_column(&column, ",\n");
    column = open_column(out, "prefix");
    for (uint32_t i = 1; i <= count; i++)
        put_number(&column, stacks->nodes[i].parent != 0, stacks->nodes[i].parent - UINT64_C(1));
    close_column(&column, ",\n");
    put_same(out, "category", "0", count);
    put_same(out, "subcategory", "0", count);
    put_length(out, count, ",\n");
}

static void put_frames(struct firefox *out)
{
    static const char *const empty[] = {"nativeSymbol", "innerWindowID", "implementation",
                                        "optimizations", "column"};
    tool_output_text(&out->export->out, "\"frameTable\":{");
    struct column column = open_column(out, "address");
    for (size_t i = 0; i < out->frame_count; i++)
        if (out->frames[i].address == UINT64_MAX)
            put_minus_one(&column);
        else
            put_number(&column, true, out->frames[i].address);
    close_column(&column, ",\n");
    column = open_column(out, "func");
    for (size_t i = 0; i < out->frame_count; i++)
        put_number(&column, true, i);
    close_column(&column, ",\n");
    column = open_column(out, "line");
    for (size_t i = 0; i < out->frame_count; i++)
        put_number(&column, out->frames[i].line > 0, out->frames[i].line);
    close_column(&column, ",\n");
    put_same(out, "inlineDepth", "0", out->frame_count);
    put_same(out, "category", "0", out->frame_count);
    put_same(out, "subcategory", "0", out->frame_count);
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        put_same(out, empty[i], "null", out->frame_count);
    put_length(out, out->frame_count, ",\n");
}

static void put_functions(struct firefox *out)
{
    tool_output_text(&out->export->out, "\"funcTable\":{");
    struct column column = open_column(out, "name");
    for (size_t i = 0; i < out->frame_count; i++)
        put_number(&column, true, out->frames[i].name);
    close_column(&column, ",\n");
    column = open_column(out, "resource");
    for (size_t i = 0; i < out->frame_count; i++)
        if (out->frames[i].resource == TTAPE_NONE)
            put_minus_one(&column);
        else
            put_number(&column, true, out->frames[i].resource);
    close_column(&column, ",\n");
    column = open_column(out, "fileName");
    for (size_t i = 0; i < out->frame_count; i++)
        put_number(&column, out->frames[i].file != TTAPE_NONE, out->frames[i].file);
    close_column(&column, ",\n");
    column = open_column(out, "lineNumber");
    for (size_t i = 0; i < out->frame_count; i++)
        put_number(&column, out->frames[i].line > 0, out->frames[i].line);
    close_column(&column, ",\n");
    put_same(out, "columnNumber", "null", out->frame_count);
    put_same(out, "isJS", "false", out->frame_count);
    put_same(out, "relevantForJS", "false", out->frame_count);
    put_length(out, out->frame_count, ",\n");
}

/* As symbol servers know a file: its build id as a GUID, whose first three fields are turned. */
static void put_breakpad_id(struct tool_buffer *text, ttape_string id)
{
    static const uint8_t order[GUID_BYTES] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < GUID_BYTES && id.size_bytes > 0; i++)
        tool_buffer_printf(text, "%02X",
                           order[i] < id.size_bytes ? (unsigned char)id.data[order[i]] : 0);
    tool_buffer_text(text, id.size_bytes > 0 ? "0" : "");
}

static void put_library(struct firefox *out, uint32_t number)
{
    ttape_module module = {.path = {"", 0}};
    struct tool_buffer path = {0}, name = {0}, text = {0};
    (void)ttape_reader_get_module(out->export->reader, number, &module);
    tool_buffer_json(&path, module.path);
    tool_buffer_json(&name, last_part(module.path));
    tool_buffer_printf(
        &text, "{\"arch\":\"\",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"offset\":0,\"name\":",
        module.start, module.end);
    tool_buffer_add(&text, name.data, name.size_bytes);
    tool_buffer_text(&text, ",\"debugName\":");
    tool_buffer_add(&text, name.data, name.size_bytes);
    tool_buffer_text(&text, ",\"path\":");
    tool_buffer_add(&text, path.data, path.size_bytes);
    tool_buffer_text(&text, ",\"debugPath\":");
    tool_buffer_add(&text, path.data, path.size_bytes);
    tool_buffer_text(&text, ",\"breakpadId\":\"");
    put_breakpad_id(&text, module.build_id);
    tool_buffer_text(&text, "\",\"codeId\":");
    tool_buffer_text(&text, module.build_id.size_bytes > 0 ? "\"" : "null");
    for (size_t i = 0; i < module.build_id.size_bytes && i < 64; i++)
        tool_buffer_printf(&text, "%02x", (unsigned char)module.build_id.data[i]);
    tool_buffer_text(&text, module.build_id.size_bytes > 0 ? "\"}" : "}");
    tool_output_bytes(&out->export->out, text.data, text.size_bytes);
    tool_buffer_close(&path);
    tool_buffer_close(&name);
    tool_buffer_close(&text);
}

static void put_resources(struct firefox *out)
{
    tool_output_text(&out->export->out, "\"resourceTable\":{");
    struct column column = open_column(out, "lib");
    for (size_t i = 0; i < out->module_count; i++)
        put_number(&column, true, i);
    close_column(&column, ",\n");
    column = open_column(out, "name");
    for (size_t i = 0; i < out->module_count; i++) {
        ttape_module module = {.path = {"", 0}};
        (void)ttape_reader_get_module(out->export->reader, out->modules[i], &module);
        put_number(&column, true, text_of(out, last_part(module.path)));
    }
    close_column(&column, ",\n");
    put_same(out, "host", "null", out->module_count);
    put_same(out, "type", "1", out->module_count); /* a library */
    put_length(out, out->module_count, ",\n\"libs\":[");
    for (size_t i = 0; i < out->module_count; i++) {
        tool_output_text(&out->export->out, i > 0 ? ",\n" : "\n");
        put_library(out, out->modules[i]);
    }
    tool_output_text(&out->export->out, "],\n");
}

void tool_firefox_put_tables(struct firefox *out)
{
    struct tool_output *file = &out->export->out;
    tool_output_text(file, "\"samples\":{");
    put_samples(out, "stack", write_stack);
    put_samples(out, "time", write_time);
    put_samples(out, "weight", write_weight);
    tool_output_printf(file, "\"weightType\":\"%s\",",
                       out->export->has_times ? "tracing-ms" : "samples");
    put_length(out, out->sample_count, ",\n");
    tool_output_text(file, "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
                           "\"phase\":[],\"category\":[],\"length\":0},\n"
                           "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                           "\"length\":0},\n");
    put_stacks(out);
    put_frames(out);
    put_functions(out);
    put_resources(out);
    tool_output_text(file, "\"stringArray\":[");
    tool_output_bytes(file, out->texts.data, out->texts.size_bytes);
    tool_output_text(file, "]");
}

void tool_firefox_close_thread(struct firefox *out)
{
    tool_stacks_close(&out->stacks);
    tool_names_close(&out->text_of);
    tool_map_close(&out->frame_of);
    tool_map_close(&out->resource_of);
}
