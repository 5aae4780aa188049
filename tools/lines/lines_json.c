/* Lines for programs: JSON, and lcov's tracefile. */
#include <inttypes.h>
#include <string.h>

#include "tools/io/json.h"
#include "program/lines/lines_inside.h"

static void put_line(const struct tool_lines *view, struct tool_json *json,
                     const struct tool_line *line)
{
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "line", line->line);
    tool_json_text(json, "state", tool_lines_word(tool_lines_state(view, line, 0)));
    tool_json_number(json, "times", line->count[0]);
    if (line->inlined != NULL)
        tool_json_text(json, "inlined", line->inlined);
    if (!line->is_sure[0])
        tool_json_bool(json, "or_more", true);
    if (view->has_second) {
        tool_json_text(json, "second_state", tool_lines_word(tool_lines_state(view, line, 1)));
        tool_json_number(json, "second_times", line->count[1]);
        if (!line->is_sure[1])
            tool_json_bool(json, "second_or_more", true);
    }
    tool_json_end(json, '}');
}

static void put_files(const struct tool_lines *view, struct tool_json *json)
{
    tool_json_begin(json, "files", '[');
    for (size_t i = 0; i < view->line_count;) {
        uint32_t file = view->lines[i].file;
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "file", view->files.list[file]);
        tool_json_begin(json, "lines", '[');
        for (; i < view->line_count && view->lines[i].file == file; i++)
            put_line(view, json, &view->lines[i]);
        tool_json_end(json, ']');
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_place(const struct tool_lines *view, struct tool_json *json, const char *key,
                      uint32_t site)
{
    const struct tool_lines_at *at = &view->begins[site];
    bool is_known = at->file != TOOL_LINES_NONE;
    ttape_site info;
    (void)ttape_reader_get_site(view->reader, site, &info);
    tool_json_begin(json, key, '{');
    tool_json_number(json, "address", info.address);
    tool_json_string_if(
        json, "file",
        is_known ? (ttape_string){view->files.list[at->file], strlen(view->files.list[at->file])}
                 : (ttape_string){"", 0});
    tool_json_number_if(json, "line", is_known, at->line);
    tool_json_end(json, '}');
}

static void put_edges(const struct tool_lines *view, struct tool_json *json)
{
    tool_json_begin(json, "edges", '[');
    for (size_t i = 0; i < view->counts[0].edges.count; i++) {
        const ttape_passes_pair *edge = &view->counts[0].edges.list[i];
        if (!tool_lines_is_edge(view, edge))
            continue;
        tool_json_begin(json, NULL, '{');
        put_place(view, json, "from", edge->from);
        put_place(view, json, "to", edge->to);
        tool_json_number(json, "times", edge->count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_calls(struct tool_lines *view, struct tool_json *json)
{
    char id[TOOL_CALL_ID_BYTES];
    tool_json_begin(json, "calls", '[');
    for (size_t i = 0; i < view->call_count; i++) {
        const ttape_passes_call *call = &view->calls[i];
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "id", tool_put_call(id, call->stream, call->enter_number));
        tool_json_number(json, "start_ns", call->enter_ns);
        tool_json_number(json, "times", call->count);
        tool_json_string(json, "function", tool_site_text(&view->names, call->site));
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

void tool_lines_json(struct tool_lines *view, struct tool_output *out)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_number(&json, "calls_chosen", view->counts[0].calls);
    tool_json_bool(&json, "complete", !view->counts[0].is_partial);
    if (view->has_second)
        tool_json_bool(&json, "second_complete", !view->counts[1].is_partial);
    if (view->line_sites != NULL) {
        put_calls(view, &json);
    } else {
        put_files(view, &json);
        if (view->wants_edges)
            put_edges(view, &json);
    }
    tool_json_end(&json, '}');
    tool_output_text(out, "\n");
}

void tool_lines_lcov(struct tool_lines *view, struct tool_output *out)
{
    tool_output_text(out, "TN:\n");
    for (size_t i = 0; i < view->line_count;) {
        uint32_t file = view->lines[i].file;
        uint64_t found = 0, hit = 0;
        tool_output_printf(out, "SF:%s\n", view->files.list[file]);
        for (; i < view->line_count && view->lines[i].file == file; i++) {
            const struct tool_line *line = &view->lines[i];
            if (!line->is_known && line->count[0] == 0)
                continue;
            found++;
            hit += line->count[0] > 0;
            tool_output_printf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", line->line, line->count[0]);
        }
        tool_output_printf(out, "LF:%" PRIu64 "\nLH:%" PRIu64 "\nend_of_record\n", found, hit);
    }
}
