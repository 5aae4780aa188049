/* What `context` knows: the values that are asked for, and the stacks that were found to have them.
 *
 *   command line, log -> wanted values
 *   dictionary, recording -> answers, each a stack, told apart by its functions' ids
 *                         -> text, JSON, or the log with them in it */
#ifndef TOOL_CONTEXT_VIEW_H
#define TOOL_CONTEXT_VIEW_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/context.h>

#include "tools/callgraph/module_map.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/command/tool_map.h"
#include "tools/context/text/text_printers.h"

#define TOOL_CONTEXT_ANY_DEPTH   UINT32_MAX
#define TOOL_CONTEXT_ANSWERS_MAX 64u /* of one value that are kept; more are counted */

struct tool_context_answer {
    uint64_t *ids; /* outermost function first */
    char **names;  /* escaped */
    uint32_t depth;
    bool is_in_dictionary, is_in_recording;
    uint64_t entered; /* in the recording, so often, and first: */
    uint32_t first_stream;
    uint64_t first_event;
    int64_t first_ns;       /* from the recording's start */
    bool is_searched;       /* found in a graph of calls: */
    uint32_t news, unknown; /* its calls that no trace shows; of these, that no graph has */
    uint32_t cost;
    bool may_leave;     /* its last function calls through pointers, to what may have no hooks */
    uint32_t reentry;   /* its first function that only code of no file calls back; 0: none */
    bool is_xor;        /* an even number of equal calls is none in its value; */
    bool is_any_times;  /* nothing says how often a recursion turned but that */
    uint64_t *shortest; /* of such a one: tool_context_shortest */
    uint32_t shortest_depth;
    uint32_t number;             /* in the order of what was found */
    struct tool_printed printed; /* of the text that was given last */
};

struct tool_context_wanted {
    uint64_t value;
    uint32_t depth; /* TOOL_CONTEXT_ANY_DEPTH: any */
    uint32_t next;  /* with the same value, or TTAPE_NONE */
    struct tool_context_answer *answers;
    size_t answer_count, answer_capacity;
    uint64_t more;   /* answers that are not kept */
    uint64_t looked; /* suffixes that a search looked at */
    bool has_text;   /* a text was given, and */
    size_t without;  /* so many of the answers, the last ones, have nothing of it: others do */
};

struct tool_contexts {
    struct tool_context_wanted *wanted;
    size_t count, capacity;
    struct ttp_key_map by_value;    /* the last one with that value, plus 1 */
    struct tool_printers *printers; /* who can print what; NULL: nobody asks */
    regex_t *form; /* of values in a log, as --value says; NULL: as ttape_context_text writes */
};

#define TOOL_CONTEXT_DEPTHS_MAX 64u /* of one value: no program says so many */

/* The number of the wanted value, which is added where it is new. With too many depths of one
 * value, it is left out, and another one's number is returned. */
size_t tool_context_add(struct tool_contexts *contexts, uint64_t value, uint32_t depth);
/* VALUE/DEPTH, or VALUE, with or without 0x. */
bool tool_context_parse(const char *text, size_t size_bytes, uint64_t *value, uint32_t *depth);
/* The first wanted one with that value, or NULL; `next` leads to the others. */
struct tool_context_wanted *tool_context_find(struct tool_contexts *contexts, uint64_t value);
/* The answer of that stack, which is new where it has no names yet; NULL: there are too many. */
struct tool_context_answer *tool_context_answer(struct tool_context_wanted *wanted,
                                                const uint64_t *ids, uint32_t depth);
/* The same of a stack by XOR whose depth nobody knows: stacks that differ in how often a recursion
 * turned, by even numbers, are one answer. */
struct tool_context_answer *tool_context_answer_any_times(struct tool_context_wanted *wanted,
                                                          const uint64_t *ids, uint32_t depth);
void tool_contexts_close(struct tool_contexts *contexts);

/* dictionary_file.c: answers of a dictionary's file. Both return a tool_exit; what failed has
 * been reported. */
struct tool_debug_files;
int tool_context_read_dictionary(struct tool_contexts *contexts, const char *path,
                                 const struct tool_debug_files *debug);
/* context_recording.c */
struct tool_context_recording {
    const char *path;
    ttape_context_operation operation;
    ttape_context_ids ids;
    const struct tool_module_map *map; /* of the process whose ids are addresses; NULL: not known */
    enum tool_name_style names;
    uint64_t memory_bytes;
};
int tool_context_read_recording(struct tool_contexts *contexts,
                                const struct tool_context_recording *recording);

/* context_graph.c: answers of a search in what traces show of calls, for values that have none. */
struct tool_context_graph {
    struct tool_files traces, binaries;
    uint32_t news_most;
    const char *text;                  /* that the values stand in; or NULL */
    struct tool_context_recording how; /* operation, ids, names, memory */
};
int tool_context_search(struct tool_contexts *contexts, const struct tool_context_graph *graph);

/* context_text.c: of stacks with one value, those whose functions can print a text come first. */
void tool_context_narrow(struct tool_contexts *contexts, struct tool_context_wanted *wanted,
                         const char *text, size_t size_bytes);
/* Which functions can print a text, of all binaries. Returns a tool_exit. */
int tool_context_print_printers(struct tool_contexts *contexts, const char *text, bool json,
                                struct tool_output *out);
/* How many answers are shown. */
static inline size_t tool_context_shown(const struct tool_context_wanted *wanted)
{
    return wanted->answer_count - wanted->without;
}

/* context_print.c */
const char *tool_context_certainty(const struct tool_context_wanted *wanted);
void tool_context_text(const struct tool_contexts *contexts, struct tool_output *out);
void tool_context_json(const struct tool_contexts *contexts, struct tool_output *out);

/* context_log.c: values that a log has; the log with what they stand for. Both return a tool_exit.
 */
struct tool_context_writes; /* context_writes.h */
/* A regular expression: its first group is a value, or all of it is, and its second one a depth. */
int tool_context_set_form(struct tool_contexts *contexts, const char *text);
int tool_context_scan_log(struct tool_contexts *contexts, int fd);
int tool_context_annotate(struct tool_contexts *contexts, struct tool_context_writes *writes,
                          int fd, struct tool_output *out);

#endif
