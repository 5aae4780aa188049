/* Which functions of a stack can have printed a text of a log: those whose code has to do with
 * strings of it.
 *
 *     strings by function (program/callgraph/strings.h) --tool_printers_open--> printers
 *     a text --tool_printers_look--> strings that may have printed it
 *     a stack --tool_printers_judge--> how much of the text its last functions have
 *
 * The innermost function is the one that asked for its value: it has the string; or it is a
 * helper, and one of the functions around it called the next one with the string. */
#ifndef TOOL_TEXT_PRINTERS_H
#define TOOL_TEXT_PRINTERS_H

#include "base/escape.h"
#include "program/callgraph/strings.h"
#include "tools/command/tool_map.h"
#include "tools/context/text/text_match.h"

#define TOOL_PRINTERS_DEEP                                                                         \
    4u /* functions of a stack that are looked at, the innermost and others */

struct tool_printers {
    struct tool_strings strings;
    struct ttp_key_map function_by_id; /* that values are made of: the edges' number, plus 1 */
    size_t function_count;
    char **names;          /* of the edges' functions; NULL: none is known */
    struct tool_text text; /* that is looked at; a copy */
    char *bytes;
    size_t bytes_capacity, marks_capacity;
    uint8_t *marks[2]; /* by byte of the text: enum strength */
    struct tool_string_matched {
        uint32_t stamp[2]; /* by enum tool_text_how */
        struct tool_text_found found[2];
    } * matched; /* by string */
    uint32_t stamp;
};

/* What a stack's functions have of a text. */
struct tool_printed {
    uint32_t score;          /* the more, the likelier; 0: nothing */
    uint32_t bytes;          /* of the text */
    uint32_t at;             /* number of the function in the stack that has most of it, and */
    struct tool_text string; /* by which line of a string */
};

/* Of a graph that was joined, whose strings are settled; takes these. */
void tool_printers_open(struct tool_printers *printers, struct tool_strings *strings,
                        const struct tool_edges *edges);
void tool_printers_close(struct tool_printers *printers);

void tool_printers_look(struct tool_printers *printers, const char *text, size_t size_bytes);
/* Of the text at hand, and a stack, outermost first, without its last `skipped` functions. */
struct tool_printed tool_printers_judge(struct tool_printers *printers, const uint64_t *ids,
                                        uint32_t depth, uint32_t skipped, enum tool_text_how how);

/* Each function with its own part of the text at hand: `printed.at` is the edges' number. */
typedef void (*tool_printers_take)(void *context, const struct tool_printed *printed);
void tool_printers_each(struct tool_printers *printers, enum tool_text_how how,
                        tool_printers_take take, void *context);

/* A string's beginning, escaped. */
#define TOOL_PRINTED_MOST  120u
#define TOOL_PRINTED_BYTES (TOOL_PRINTED_MOST * TTP_ESCAPE_MAX + 1)
const char *tool_printers_string(struct tool_text string, char text[TOOL_PRINTED_BYTES]);

/* By the edges' functions: it may be the innermost one. NULL: the text is nobody's. To be freed. */
bool *tool_printers_ends(struct tool_printers *printers);

#endif
