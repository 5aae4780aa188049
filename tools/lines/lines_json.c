/* Lines for programs: JSON, and lcov's tracefile. */
#include <inttypes.h>
#include <string.h>

#include "tools/calls/stream_choice.h"
#include "tools/io/json.h"
#include "tools/lines/lines_print.h"

const char *tool_lines_word(enum tool_lines_state state)
{
    static const char *const words[] = {"ran", "elsewhere", "never", "unseen"};
    return words[state];
}

static void put_line(struct tool_json *json, const struct tool_source_line *line, bool has_second)
{
    static const char *const keys[2][3] = {{"state", "times", "or_more"},
                                           {"second_state", "second_times", "second_or_more"}};
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "line", line->line);
    for (size_t k = 0; k < 1 + (size_t)has_second; k++) {
        tool_json_text(json, keys[k][0], tool_lines_word(line->state[k]));
        tool_json_number(json, keys[k][1], line->count[k]);
        if (k == 0 && line->inlined != NULL)
            tool_json_text(json, "inlined", line->inlined);
        if (k == 0 && line->is_joined)
            tool_json_bool(json, "about", true);
        if (!line->is_sure[k])
            tool_json_bool(json, keys[k][2], true);
    }
    tool_json_end(json, '}');
}

static void put_files(const struct tool_lines_print *print, struct tool_json *json, bool has_second)
{
    size_t count;
    const struct tool_source_line *lines = tool_source_lines_get_rows(print->lines, &count);
    tool_json_begin(json, "files", '[');
    for (size_t i = 0; i < count;) {
        uint32_t file = lines[i].file;
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "file", tool_source_lines_file(print->lines, file));
        tool_json_begin(json, "lines", '[');
        for (; i < count && lines[i].file == file; i++)
            put_line(json, &lines[i], has_second);
        tool_json_end(json, ']');
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_place(const struct tool_lines_print *print, struct tool_json *json, const char *key,
                      uint32_t site, const struct tool_lines_at *at)
{
    ttape_site info;
    const char *file = tool_source_lines_file(print->lines, at->file);
    (void)ttape_reader_get_site(print->reader, site, &info);
    tool_json_begin(json, key, '{');
    tool_json_number(json, "address", info.address);
    tool_json_string_if(json, "file", (ttape_string){file, strlen(file)});
    tool_json_number_if(json, "line", at->file != TTAPE_NONE, at->line);
    tool_json_end(json, '}');
}

static void put_edges(const struct tool_lines_print *print, struct tool_json *json)
{
    size_t count;
    const struct tool_lines_edge *edges = tool_source_lines_get_edges(print->lines, &count);
    tool_json_begin(json, "edges", '[');
    for (size_t i = 0; i < count; i++) {
        tool_json_begin(json, NULL, '{');
        put_place(print, json, "from", edges[i].from, &edges[i].from_at);
        put_place(print, json, "to", edges[i].to, &edges[i].to_at);
        tool_json_number(json, "times", edges[i].count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_calls(const struct tool_lines_print *print, struct tool_json *json)
{
    size_t count;
    char id[TOOL_CALL_ID_BYTES];
    const ttape_passes_call *calls = tool_source_lines_get_calls(print->lines, &count);
    tool_json_begin(json, "calls", '[');
    for (size_t i = 0; i < count; i++) {
        const ttape_passes_call *call = &calls[i];
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "id", tool_put_call(id, call->stream, call->enter_number));
        tool_json_number(json, "start_ns", call->enter_ns);
        tool_json_number(json, "times", call->count);
        tool_json_string(json, "function", tool_site_text(print->names, call->site));
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

void tool_lines_json(const struct tool_lines_print *print, struct tool_output *out)
{
    struct tool_json json;
    struct tool_lines_info info;
    tool_source_lines_get_info(print->lines, &info);
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_number(&json, "calls_chosen", info.call_count[0]);
    tool_json_bool(&json, "complete", !info.is_partial[0]);
    if (info.has_second)
        tool_json_bool(&json, "second_complete", !info.is_partial[1]);
    if (info.lists_calls) {
        put_calls(print, &json);
    } else {
        put_files(print, &json, info.has_second);
        if (print->wants_edges)
            put_edges(print, &json);
    }
    tool_json_end(&json, '}');
    tool_output_text(out, "\n");
}

void tool_lines_lcov(const struct tool_source_lines *lines, struct tool_output *out)
{
    size_t count;
    const struct tool_source_line *rows = tool_source_lines_get_rows(lines, &count);
    tool_output_text(out, "TN:\n");
    for (size_t i = 0; i < count;) {
        uint32_t file = rows[i].file;
        uint64_t found = 0, hit = 0;
        tool_output_printf(out, "SF:%s\n", tool_source_lines_file(lines, file));
        for (; i < count && rows[i].file == file; i++) {
            const struct tool_source_line *line = &rows[i];
            if (!line->is_known && line->count[0] == 0)
                continue;
            found++;
            hit += line->count[0] > 0;
            tool_output_printf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", line->line, line->count[0]);
        }
        tool_output_printf(out, "LF:%" PRIu64 "\nLH:%" PRIu64 "\nend_of_record\n", found, hit);
    }
}
