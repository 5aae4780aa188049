/* May a program have printed a text, or a part of it, by a string of its code? The string is a
 * format of printf, of fmt (std::format, spdlog), or plain: what stands in it is in the text, in
 * order, and between what its conversions can put there. Pure.
 *
 *     string --> lines --> literal bytes and gaps --> where they are in the text */
#ifndef TOOL_TEXT_MATCH_H
#define TOOL_TEXT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_TEXT_STRING_MOST 4096u /* bytes of a string that are looked at */
#define TOOL_TEXT_LETTERS     3u    /* a string with fewer says nothing */
#define TOOL_TEXT_CUT_LEAST   8u    /* bytes of a string that a text ends in */

enum tool_text_how {
    TOOL_TEXT_WHOLE, /* the string is in the text, or the text is in what it prints */
    TOOL_TEXT_CUT    /* or the text ends within what it prints */
};

struct tool_text {
    const char *bytes;
    size_t size_bytes;
};

struct tool_text_found {
    uint32_t bytes; /* of the text that stand in the string as well; 0: it did not print it */
    struct tool_text line; /* of the string */
};

/* `marks`: a byte for each of the text, set for those that stand in the string; or NULL. */
struct tool_text_found tool_text_match(struct tool_text string, struct tool_text text,
                                       enum tool_text_how how, uint8_t *marks);

#endif
