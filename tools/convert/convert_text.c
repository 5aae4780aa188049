/* The converter for the plain text raw form: one line, one definition or event (spec/raw-text.md).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/command/progress.h"
#include "tools/convert/raw_text.h"

#define PROGRESS_LINES 4096u
#define PROBE_LINES    64u /* of which one must be of this form */
#define PROBE_BYTES    256u

static const struct {
    const char *word;
    tool_text_verb run;
} directives[] = {{"process", tool_text_process},
                  {"thread", tool_text_thread},
                  {"module", tool_text_module},
                  {"symbol", tool_text_symbol},
                  {"meta", tool_text_meta}};

bool tool_text_is_line(const char *line)
{
    line += strspn(line, " \t");
    size_t size = strcspn(line, " \t\r");
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
        if (strlen(directives[i].word) == size && memcmp(line, directives[i].word, size) == 0)
            return true;
    const char *next = line + size + strspn(line + size, " \t");
    return (isdigit((unsigned char)*line) || *line == '+' || *line == '-') &&
           isdigit((unsigned char)*next);
}

/* Text has no zero byte, and some line near its beginning is one of this form, if any line says
 * something. */
static bool probe_input(const struct tool_conversion *conversion)
{
    size_t at = 0;
    char line[PROBE_BYTES];
    bool is_empty = true;
    if (!tool_conversion_is_text(conversion))
        return false;
    for (unsigned count = 0;
         count < PROBE_LINES && tool_conversion_next_line(conversion, &at, line, sizeof(line));) {
        size_t blanks = strspn(line, " \t\r");
        if (line[blanks] == '\0' || line[blanks] == '#')
            continue;
        bool is_cut = at > TOOL_HEAD_BYTES; /* the line goes on behind what was read */
        if (tool_text_is_line(line) || (is_cut && is_empty))
            return true;
        is_empty = false;
        count++;
    }
    return is_empty;
}

static ttape_status take_line(struct tool_text *text, struct tool_line *line)
{
    char *at = line->text;
    struct tool_token first;
    at += strspn(at, " \t");
    if (line->too_long)
        return tool_text_refuse(text, "the line is too long");
    if (*at == '\0' || *at == '#') {
        return line->text + line->size_bytes == at || *at == '#'
                   ? TTAPE_OK
                   : tool_text_refuse(text, "a zero byte");
    }
    if (strlen(line->text) != line->size_bytes)
        return tool_text_refuse(text, "a zero byte");
    if (tool_next_token(&at, &first) != TTAPE_OK)
        return tool_text_refuse(text, "a quoted word is not closed or has a wrong escape");
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
        if (!first.quoted && strcmp(first.text, directives[i].word) == 0)
            return directives[i].run(text, &at);
    if (isalpha((unsigned char)first.text[0]))
        return tool_text_refuse(text, "neither a time nor a known directive");
    return tool_text_event(text, &first, &at);
}

/* Returns TOOL_OK to go on. */
static int refuse_line(struct tool_text *text, const struct tool_line *line)
{
    struct tool_conversion *conversion = text->conversion;
    if (conversion->strict) {
        return tool_fail("'%s': line %llu: %s", conversion->input, (unsigned long long)line->number,
                         text->problem);
    }
    tool_conversion_warn(conversion, "line %llu skipped: %s", (unsigned long long)line->number,
                         text->problem);
    return TOOL_OK;
}

static int take_lines(struct tool_text *text, struct tool_lines *lines)
{
    struct tool_conversion *conversion = text->conversion;
    struct tool_line line = {0};
    struct stat status;
    uint64_t total =
        fstat(lines->fd, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    while (tool_lines_next(lines, &line)) {
        text->line_number = line.number;
        ttape_status result = take_line(text, &line);
        int refused = result == TTAPE_E_CORRUPT ? refuse_line(text, &line) : TOOL_OK;
        if (refused != TOOL_OK)
            return refused;
        if (result != TTAPE_OK && result != TTAPE_E_CORRUPT)
            return tool_conversion_fail(conversion, &text->err);
        if (line.number % PROGRESS_LINES == 0)
            tool_progress_update(line.offset, total, text->event_count);
    }
    if (lines->failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(lines->failed_errno));
    if (tool_text_flush(text) != TTAPE_OK)
        return tool_conversion_fail(conversion, &text->err);
    if (conversion->warning_count > 0 && text->event_count == 0)
        return tool_fail("'%s' holds no event that could be used", conversion->input);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static void close_text(struct tool_text *text)
{
    for (size_t i = 0; i < text->stream_count; i++)
        free(text->streams[i].open.frames);
    tool_names_close(&text->threads);
    tool_names_close(&text->processes);
    tool_names_close(&text->sites);
    tool_names_close(&text->calls);
    free(text->places);
    free(text->streams);
    free(text->modules);
    free(text);
}

static int convert_text(struct tool_conversion *conversion)
{
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    struct ttp_hash content = {0};
    ttp_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status != TOOL_OK)
        return status;
    struct tool_text *text = tool_allocate(1, sizeof(*text));
    text->conversion = conversion;
    text->writer = conversion->writer;
    text->last_process = TTAPE_NONE;
    ttape_string source = {"raw text", 8};
    if (ttape_writer_set_text(text->writer, "source", source, &text->err) != TTAPE_OK)
        status = tool_conversion_fail(conversion, &text->err);
    struct tool_lines lines;
    tool_lines_open(&lines, conversion->fd, conversion->head, conversion->head_bytes);
    status = status == TOOL_OK ? take_lines(text, &lines) : status;
    tool_lines_close(&lines);
    close_text(text);
    return status;
}

const struct tool_converter tool_converter_text = {.name = "text",
                                                   .summary = "tracetape's plain text raw form",
                                                   .probe = probe_input,
                                                   .run = convert_text};
