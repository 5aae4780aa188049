/* Lines are broken at blanks; a word that is wider than the terminal stays whole. */
#include "tools/command/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/output.h"
#include "tools/command/tool.h"

/* What of the text goes into a line with so much room. */
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
        size_t length =
            columns == 0 || size_bytes <= room ? size_bytes : find_break(text, size_bytes, room);
        tool_output_bytes(out, text, length);
        tool_output_text(out, "\n");
        for (; length < size_bytes && text[length] == ' '; length++)
            continue;
        text += length;
        size_bytes -= length;
        is_first = false;
    }
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
