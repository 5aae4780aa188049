/* Lines out of one buffer that grows to the longest line and no further than the limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/io/lines.h"

#define FIRST_BYTES (64u * 1024u)

void tool_lines_open(struct tool_lines *lines, int fd, const void *head, size_t head_bytes)
{
    size_t capacity = head_bytes > FIRST_BYTES ? head_bytes : FIRST_BYTES;
    *lines = (struct tool_lines){.fd = fd, .capacity = capacity, .end = head_bytes};
    lines->buffer = tool_allocate(capacity + 1, 1);
    if (head_bytes > 0)
        memcpy(lines->buffer, head, head_bytes);
}

void tool_lines_close(struct tool_lines *lines)
{
    free(lines->buffer);
    lines->buffer = NULL;
}

/* Reads more behind what is there; false when nothing more comes. */
static bool fill_buffer(struct tool_lines *lines)
{
    if (lines->ended)
        return false;
    if (lines->at > 0) {
        memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
        lines->buffer_offset += lines->at;
        lines->end -= lines->at;
        lines->at = 0;
    }
    if (lines->end == lines->capacity) {
        lines->capacity *= 2;
        lines->buffer = tool_reallocate(lines->buffer, lines->capacity + 1, 1);
    }
    ssize_t got;
    do {
        got = read(lines->fd, lines->buffer + lines->end, lines->capacity - lines->end);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        lines->failed_errno = got < 0 ? errno : 0;
        lines->ended = true;
        return false;
    }
    lines->end += (size_t)got;
    return true;
}

/* Hands out [at, at + size) and moves on past it and `skip` more bytes. */
static bool hand_out(struct tool_lines *lines, struct tool_line *line, size_t size, size_t skip)
{
    line->text = lines->buffer + lines->at;
    line->offset = lines->buffer_offset + lines->at;
    line->size_bytes = size;
    line->number++;
    lines->at += size + skip;
    if (line->size_bytes > 0 && line->text[size - 1] == '\r')
        line->size_bytes--;
    line->text[line->size_bytes] = '\0';
    return true;
}

/* Drops what is left of an overlong line. */
static void skip_rest(struct tool_lines *lines)
{
    while (lines->skipping) {
        char *end = memchr(lines->buffer + lines->at, '\n', lines->end - lines->at);
        if (end != NULL) {
            lines->at = (size_t)(end - lines->buffer) + 1;
            lines->skipping = false;
            return;
        }
        lines->at = lines->end;
        if (!fill_buffer(lines))
            lines->skipping = false;
    }
}

bool tool_lines_next(struct tool_lines *lines, struct tool_line *line)
{
    skip_rest(lines);
    size_t searched = 0;
    line->too_long = false;
    for (;;) {
        size_t have = lines->end - lines->at;
        char *start = lines->buffer + lines->at;
        char *end = have > searched ? memchr(start + searched, '\n', have - searched) : NULL;
        if (end != NULL)
            return hand_out(lines, line, (size_t)(end - start), 1);
        if (have >= TOOL_LINE_MAX) {
            line->too_long = true;
            lines->skipping = true;
            return hand_out(lines, line, have, 0);
        }
        searched = have;
        if (!fill_buffer(lines))
            return have > 0 && lines->failed_errno == 0 && hand_out(lines, line, have, 0);
    }
}

char *tool_word(char **at)
{
    char *word = *at + strspn(*at, " \t");
    if (*word == '\0')
        return NULL;
    char *end = word + strcspn(word, " \t");
    *at = end + (*end != '\0');
    *end = '\0';
    return word;
}

const char *tool_after(const char *text, const char *key)
{
    size_t length = strlen(key);
    return strncmp(text, key, length) == 0 ? text + length : NULL;
}
