/* What recording itself cost, by the trace: the shortest call is little but the hooks in it. */
#ifndef TOOL_HOOK_COST_H
#define TOOL_HOOK_COST_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

struct tool_hook_cost {
    bool is_known; /* recorded by us, with exact times, and some call was short */
    uint64_t hook_ns, cost_ns;
    double share; /* of the time in functions */
};

#define TOOL_HOOK_WORDS_BYTES 128u

void tool_hook_cost_find(struct tool_hook_cost *cost, ttape_reader *reader);
/* "at least 10 ns an event: 1.2 ms, 3 % of the time in functions"; returns `text`. */
const char *tool_hook_cost_words(const struct tool_hook_cost *cost,
                                 char text[TOOL_HOOK_WORDS_BYTES]);

/* Whether half of a function's own time is hooks, or more. */
bool tool_is_mostly_hook(const struct tool_hook_cost *cost, uint64_t call_count, int64_t self_ns);

#endif
