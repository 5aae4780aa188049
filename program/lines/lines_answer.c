/* An answer: code, then passes, then lines; or which blocks have the wanted line, then the passes
 * of calls that ran it. */
#include "program/lines/lines_answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "program/lines/lines_inside.h"

#define MEMORY_USUAL (UINT64_C(256) << 20)

ttape_status tool_lines_fail(const struct tool_source_lines *view, ttape_status status,
                             const char *format, ...)
{
    va_list values;
    if (view->err == NULL)
        return status;
    *view->err = (ttape_error){.status = status, .offset = TTAPE_ERROR_NO_OFFSET};
    va_start(values, format);
    (void)vsnprintf(view->err->message, sizeof view->err->message, format, values);
    va_end(values);
    return status;
}

static ttape_status find_line(struct tool_source_lines *view)
{
    const struct tool_lines_options *o = &view->options;
    bool is_there = false;
    view->line_sites = ttp_region_take(&view->region, (uint64_t)view->info.site_count + 1,
                                       sizeof *view->line_sites);
    if (view->line_sites == NULL)
        return TTAPE_E_LIMIT;
    ttape_status status = tool_lines_count(view);
    for (size_t i = 0; i < view->info.site_count; i++)
        is_there = is_there || view->line_sites[i];
    if (status == TTAPE_OK && !is_there)
        return tool_lines_fail(view, TTAPE_E_NOT_FOUND,
                               "no block of '%.128s:%" PRIu32
                               "' ran: it never did, or is no line of code",
                               o->file, o->line);
    return status;
}

static ttape_status make_lines(struct tool_source_lines *view)
{
    const struct tool_lines_options *o = &view->options;
    ttape_status status = tool_lines_open_code(view);
    if (status == TTAPE_OK && o->file != NULL)
        status = find_line(view);
    if (status == TTAPE_OK)
        status = tool_lines_count_passes(view, o->call, &view->counts[0]);
    if (status == TTAPE_OK && view->has_second)
        status = tool_lines_count_passes(view, o->with, &view->counts[1]);
    if (status == TTAPE_OK && view->line_sites == NULL)
        status = tool_lines_count(view);
    if (view->region.is_short)
        return tool_lines_fail(view, TTAPE_E_LIMIT,
                               "lines need more memory than their limit of %llu bytes",
                               (unsigned long long)o->memory_bytes);
    return status;
}

ttape_status tool_source_lines_make(struct tool_source_lines **out, ttape_reader *reader,
                                    const struct tool_lines_options *options, ttape_error *err)
{
    const uint64_t memory_bytes = options->memory_bytes != 0 ? options->memory_bytes : MEMORY_USUAL;
    struct ttp_region region = ttp_region_of(memory_bytes);
    struct tool_source_lines *view = ttp_region_take(&region, 1, sizeof *view);
    struct tool_source_lines none = {.options.memory_bytes = memory_bytes, .err = err};
    *out = NULL;
    if (view == NULL)
        return tool_lines_fail(&none, TTAPE_E_LIMIT,
                               "lines need more memory than their limit of %llu bytes",
                               (unsigned long long)memory_bytes);
    *view = (struct tool_source_lines){.region = region,
                                       .options = *options,
                                       .reader = reader,
                                       .err = err,
                                       .has_second = options->with != NULL};
    view->options.memory_bytes = memory_bytes;
    view->is_all = options->chosen == NULL && options->call == NULL && !options->has_range &&
                   options->streams == NULL && !view->has_second;
    ttape_reader_get_info(reader, &view->info);
    ttape_status status = make_lines(view);
    if (status != TTAPE_OK)
        tool_source_lines_close(view);
    else
        *out = view;
    return status;
}

void tool_source_lines_close(struct tool_source_lines *lines)
{
    if (lines == NULL)
        return;
    tool_lines_close_code(lines);
    for (size_t k = 0; k < 2; k++)
        ttape_passes_close(lines->counts[k].made);
    struct ttp_region region = lines->region; /* the answer itself is in it */
    ttp_region_close(&region);
}

void tool_source_lines_get_info(const struct tool_source_lines *lines, struct tool_lines_info *info)
{
    *info = (struct tool_lines_info){.has_second = lines->has_second,
                                     .lists_calls = lines->line_sites != NULL,
                                     .is_joined = lines->is_joined};
    for (size_t k = 0; k < 2; k++) {
        info->call_count[k] = lines->counts[k].info.call_count;
        info->is_partial[k] = lines->counts[k].info.is_partial;
    }
}

const struct tool_source_line *tool_source_lines_get_rows(const struct tool_source_lines *lines,
                                                          size_t *count)
{
    *count = lines->line_count;
    return lines->lines;
}

const char *tool_source_lines_file(const struct tool_source_lines *lines, uint32_t file)
{
    return file < lines->files.count ? lines->files.list[file] : "";
}

const struct tool_lines_edge *tool_source_lines_get_edges(const struct tool_source_lines *lines,
                                                          size_t *count)
{
    *count = lines->edge_count;
    return lines->edges;
}

const ttape_passes_call *tool_source_lines_get_calls(const struct tool_source_lines *lines,
                                                     size_t *count)
{
    *count = lines->call_count;
    return lines->calls;
}
