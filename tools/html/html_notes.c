/* Names as the command makes them (a page cannot demangle), source files, and the lines of some
 * functions: those that were chosen, or those with most time of their own. */
#include "tools/html/html_notes.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/report.h>

#include "base/names/text_map.h"
#include "tools/html/html.h"
#include "tools/html/page_files.h"

#define NAME_BYTES        4096u
#define SOURCE_BYTES_MOST (UINT64_C(32) << 20) /* of all files together */
#define FUNCTIONS_USUAL   10u
#define FUNCTIONS_MOST    100u

static void put_note(struct html_notes *notes, enum html_note_kind kind, uint32_t site,
                     ttape_string text)
{
    uint32_t size_bytes = (uint32_t)text.size_bytes;
    char head[HTML_NOTE_HEAD_BYTES] = {(char)kind};
    for (uint32_t i = 0; i < 4; i++) {
        head[1 + i] = (char)(site >> 8 * i & 0xff);
        head[5 + i] = (char)(size_bytes >> 8 * i & 0xff);
    }
    tool_output_bytes(&notes->text, head, sizeof head);
    tool_output_bytes(&notes->text, text.data, size_bytes);
}

/* No note is needed where the reader would make the same name. */
static void put_name(struct html_notes *notes, const ttape_reader *reader, enum html_note_kind kind,
                     uint32_t site, ttape_string text)
{
    char own[NAME_BYTES];
    size_t length = ttape_site_name(reader, site, own, sizeof own);
    if (text.size_bytes > 0 &&
        (length >= sizeof own || length != text.size_bytes || memcmp(own, text.data, length) != 0))
        put_note(notes, kind, site, text);
}

static void put_names(struct html_notes *notes, const struct tool_site_names *names)
{
    for (uint32_t i = 0; i < names->site_count; i++) {
        put_name(notes, names->reader, HTML_NOTE_NAME, i, tool_site_text(names, i));
        put_name(notes, names->reader, HTML_NOTE_FULL_NAME, i, tool_site_full(names, i));
    }
}

/* ---- sources and lines: of functions that ran ---- */

static void put_source(struct html_notes *notes, const struct html_options *options,
                       ttape_string file)
{
    ttape_error err = {0};
    char *text = NULL;
    size_t size_bytes = 0;
    if (view_read_source(options->sources, file, &text, &size_bytes, &err) != TTAPE_OK)
        return;
    if (notes->source_bytes + size_bytes <= SOURCE_BYTES_MOST) {
        put_note(notes, HTML_NOTE_PATH, 0, file);
        put_note(notes, HTML_NOTE_TEXT, 0, (ttape_string){text, size_bytes});
        notes->source_count++;
        notes->source_bytes += size_bytes;
    }
    free(text);
}

static void put_lines(struct html_notes *notes, const struct tool_input *cut,
                      struct tool_site_names *names, uint32_t site)
{
    struct view_asking asking = {.reader = cut->reader, .names = names};
    ttape_error err = {0};
    char *json = NULL;
    size_t size_bytes = 0;
    if (view_count_lines(&asking, NULL, site, &json, &size_bytes, &err) != TTAPE_OK)
        return;
    put_note(notes, HTML_NOTE_LINES, site, (ttape_string){json, size_bytes});
    notes->line_count++;
    free(json);
}

static int by_self(const void *a, const void *b)
{
    const ttape_report_row *one = a, *other = b;
    return one->self_ns != other->self_ns ? (one->self_ns < other->self_ns ? 1 : -1)
           : one->site != other->site     ? (one->site < other->site ? -1 : 1)
                                          : 0;
}

static void put_sources(struct html_notes *notes, const struct html_options *options,
                        const struct tool_input *cut, struct tool_site_names *names)
{
    regex_t wanted;
    ttape_error err = {0};
    ttape_report *report;
    uint32_t count = 0, most = options->function != NULL ? FUNCTIONS_MOST : FUNCTIONS_USUAL;
    const ttape_report_options how = {.size = sizeof how};
    bool has_regex = options->function != NULL &&
                     regcomp(&wanted, options->function, REG_EXTENDED | REG_NOSUB) == 0;
    if (ttape_report_make(&report, cut->reader, &how, &err) == TTAPE_OK) {
        const ttape_report_row *made = ttape_report_get_rows(report, &count);
        ttape_report_row *rows = tool_allocate(count, sizeof *rows);
        memcpy(rows, made, count * sizeof *rows);
        qsort(rows, count, sizeof *rows, by_self);
        struct ttp_region region = ttp_region_of(UINT64_MAX);
        struct ttp_text_map files = {0}; /* that were looked for */
        for (uint32_t i = 0; i < count; i++) {
            ttape_site site;
            bool is_new;
            if (ttape_reader_get_site(cut->reader, rows[i].site, &site) != TTAPE_OK ||
                site.file.size_bytes == 0)
                continue;
            (void)ttp_text_map_at(&region, &files, site.file.data, site.file.size_bytes, &is_new);
            if (is_new)
                put_source(notes, options, site.file);
            if (notes->line_count < most &&
                (!has_regex || tool_site_matches(names, rows[i].site, &wanted)))
                put_lines(notes, cut, names, rows[i].site);
        }
        ttp_region_close(&region);
        free(rows);
        ttape_report_close(report);
    }
    if (has_regex)
        regfree(&wanted);
}

void html_notes_make(struct html_notes *notes, const struct html_options *options,
                     const struct tool_input *cut, const char *trace_name)
{
    struct tool_site_names names;
    *notes = (struct html_notes){0};
    tool_output_open(&notes->text, -1);
    tool_site_names_open_as(&names, cut->reader, options->names);
    put_note(notes, HTML_NOTE_TRACE, 0, (ttape_string){trace_name, strlen(trace_name)});
    put_names(notes, &names);
    if (options->with_source)
        put_sources(notes, options, cut, &names);
    tool_site_names_close(&names);
}

void html_notes_close(struct html_notes *notes) { free(notes->text.data); }
