/* Source text, and which of its lines ran. Both are of files of this machine, which this library
 * does not look for: the program that opened the view does, by two functions of its options. Text
 * is shown of files that the trace names, and of no others. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define LINES_USUAL 400u
#define LINES_MOST  4000u
#define PATH_BYTES  4096u

static bool same_bytes(ttape_string a, const char *bytes, size_t length)
{
    return a.size_bytes == length && memcmp(a.data, bytes, length) == 0;
}

/* The path without what leads up from the folder that it was compiled in: "../" and "./". */
static ttape_string without_ups(ttape_string path)
{
    for (;;) {
        size_t ups = path.size_bytes >= 3 && memcmp(path.data, "../", 3) == 0  ? 3
                     : path.size_bytes >= 2 && memcmp(path.data, "./", 2) == 0 ? 2
                                                                               : 0;
        if (ups == 0)
            return path;
        path.data += ups;
        path.size_bytes -= ups;
    }
}

static bool has_ups(ttape_string path)
{
    for (size_t i = 0; i + 4 <= path.size_bytes; i++)
        if (memcmp(path.data + i, "/../", 4) == 0)
            return true;
    return false;
}

/* The same path; or a full one of what the trace names from the folder that it was compiled in. */
static bool names(ttape_string file, ttape_string path)
{
    if (file.size_bytes == 0 || same_bytes(file, path.data, path.size_bytes))
        return file.size_bytes > 0;
    if (file.data[0] == '/' || path.data[0] != '/' || has_ups(path))
        return false;
    ttape_string rest = without_ups(file);
    size_t start = path.size_bytes - rest.size_bytes;
    return rest.size_bytes > 0 && rest.size_bytes < path.size_bytes &&
           path.data[start - 1] == '/' && same_bytes(rest, path.data + start, rest.size_bytes);
}

static bool is_named(const struct ttape_view *view, ttape_string path)
{
    ttape_site site;
    for (uint32_t i = 0; i < view->info.site_count; i++)
        if (ttape_reader_get_site(view->reader, i, &site) == TTAPE_OK && names(site.file, path))
            return true;
    return false;
}

static ttape_string take_line(ttape_string *text)
{
    const char *end = memchr(text->data, '\n', text->size_bytes);
    ttape_string line = {text->data, end != NULL ? (size_t)(end - text->data) : text->size_bytes};
    size_t taken = line.size_bytes + (end != NULL);
    text->data += taken;
    text->size_bytes -= taken;
    return line;
}

static void put_lines(struct ttape_view *view, ttape_string text, uint32_t first, uint32_t count)
{
    uint32_t number = 1;
    for (; number < first && text.size_bytes > 0; number++)
        (void)take_line(&text);
    ttp_view_number(view, "first", first);
    ttp_view_begin(view, "lines", '[');
    for (uint32_t i = 0; i < count && text.size_bytes > 0; i++)
        ttp_view_string(view, NULL, take_line(&text));
    ttp_view_end(view, ']');
    ttp_view_bool(view, "more", text.size_bytes > 0);
}

ttape_status ttp_view_source(struct ttape_view *view, const struct ttp_view_question *question,
                             ttape_error *err)
{
    char path[PATH_BYTES + 1];
    uint32_t first = 1, count = LINES_USUAL;
    ttape_string text, file = {path, ttp_view_take_text(question, "file", path, sizeof path)};
    TTP_TRY(ttp_view_take_number(question, "first", TTAPE_NONE, &first, err));
    TTP_TRY(ttp_view_take_number(question, "count", LINES_MOST, &count, err));
    if (file.size_bytes == 0 || file.size_bytes > PATH_BYTES || first == 0)
        return ttp_view_refuse(err, first == 0 ? "first" : "file", "is no file or line");
    if (!is_named(view, file))
        return ttp_view_refuse(err, "file", "is no file that the trace names");
    if (view->options.source == NULL)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no sources are shown");
    TTP_TRY(view->options.source(view->options.context, file, &text, err));
    ttp_view_string(view, "file", file);
    put_lines(view, text, first, count);
    return TTAPE_OK;
}

/* ---- lines ---- */

/* JSON of the program that opened the view: its ends of lines are between its members. */
static void put_json(struct ttape_view *view, const char *key, ttape_string json)
{
    ttp_view_begin(view, key, ' ');
    while (json.size_bytes > 0) {
        ttape_string line = take_line(&json);
        ttp_view_put(view, line.data, line.size_bytes);
    }
    ttp_view_end(view, ' ');
}

ttape_status ttp_view_lines(struct ttape_view *view, const struct ttp_view_question *question,
                            ttape_error *err)
{
    char call[TTP_VIEW_ID_BYTES];
    ttape_node_id id;
    ttape_string json;
    uint32_t site = TTAPE_NONE;
    bool has_call = ttp_view_has(question, "id");
    if (has_call)
        TTP_TRY(ttp_view_take_id(question, "id", &id, err));
    else
        TTP_TRY(ttp_view_take_site(view, question, &site, err));
    if (has_call)
        ttp_view_put_id(call, &id);
    if (view->options.lines == NULL)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no lines are counted");
    TTP_TRY(view->options.lines(view->options.context, has_call ? call : NULL, site, &json, err));
    put_json(view, "lines", json);
    return TTAPE_OK;
}
