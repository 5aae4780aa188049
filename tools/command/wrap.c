/* Lines are broken at blanks; a word that is wider than the terminal stays whole. */
#include "tools/command/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/command/output.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"

/* What of the text goes into a line with room for so many bytes of it. */
static size_t find_break(const char *text, size_t size, size_t room)
{
    size_t at = room;
    while (at > 0 && text[at] != ' ')
        at--;
    if (at > 0)
        return at;
    const char *blank = memchr(text, ' ', size);
    return blank != NULL ? (size_t)(blank - text) : size;
}

void tool_put_wrapped(struct tool_output *out, const char *text, size_t size_bytes, size_t at,
                      size_t blanks, unsigned columns)
{
    bool is_first = true;
    while (is_first || size_bytes > 0) {
        if (!is_first)
            tool_output_printf(out, "%*s", (int)blanks, "");
        size_t room = is_first ? at : blanks;
        room = columns > room ? columns - room : 0;
        size_t length = columns == 0 ? size_bytes : ttp_text_cut(text, size_bytes, room);
        if (length < size_bytes)
            length = find_break(text, size_bytes, length);
        tool_output_bytes(out, text, length);
        tool_output_text(out, "\n");
        for (; length < size_bytes && text[length] == ' '; length++)
            continue;
        text += length;
        size_bytes -= length;
        is_first = false;
    }
}

static void put_line(const struct tool_folding *folding, const char *text, size_t size_bytes,
                     unsigned columns)
{
    size_t lead = 0;
    struct tool_output *out = folding->out;
    while (lead < size_bytes && text[lead] == ' ')
        lead++;
    if (columns == 0 || ttp_text_columns(text, size_bytes) <= columns) {
        tool_output_bytes(out, text, size_bytes);
        tool_output_text(out, "\n");
        return;
    }
    tool_output_bytes(out, text, lead);
    tool_put_wrapped(out, text + lead, size_bytes - lead, lead,
                     lead > 0 && lead + 2 < folding->blanks ? folding->blanks : lead + 2, columns);
}

struct tool_folding tool_folding_open(struct tool_output *out, size_t blanks)
{
    struct tool_folding folding = {.out = out, .into = *out, .blanks = blanks};
    tool_output_open(out, -1);
    return folding;
}

void tool_folding_close(struct tool_folding *folding)
{
    struct tool_output text = *folding->out;
    unsigned columns = tool_terminal_columns();
    *folding->out = folding->into;
    for (size_t at = 0, length; at < text.size_bytes; at += length + 1) {
        const char *end = memchr(text.data + at, '\n', text.size_bytes - at);
        length = end != NULL ? (size_t)(end - text.data) - at : text.size_bytes - at;
        put_line(folding, text.data + at, length, columns);
    }
    free(text.data);
}

static bool is_wide(const char *text, unsigned columns)
{
    for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (columns != 0 && length > columns)
            return true;
    }
    return false;
}

void tool_put_paragraphs(struct tool_output *out, const char *text, unsigned columns)
{
    char *copy = tool_copy_text(text, strlen(text));
    bool joins = is_wide(text, columns);
    for (char *at = copy; joins && *at != '\0'; at++)
        if (*at == '\n' && at > copy && at[-1] != '\n' && at[1] != '\0' && at[1] != '\n' &&
            at[1] != ' ')
            *at = ' ';
    for (const char *line = copy; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        tool_put_wrapped(out, line, length, 0, strspn(line, " "), columns);
        line += length + (line[length] == '\n');
    }
    free(copy);
}
