/* The ways that no branch shows, one after another: marks first, as groups' registers are followed
 * from mark to mark. */
#include "program/binary/code/ways/ways.h"

static bool find_in(struct tool_code *code, const struct tool_groups *groups,
                    struct tool_jumps *jumps)
{
    for (uint32_t i = 0; i < code->function_count; i++)
        if (groups->first[i] == i && !tool_jumps_follow(jumps, i))
            return false;
    tool_tables_rest(code);
    return tool_unknown_mark(code, groups);
}

bool tool_code_find_ways(struct tool_code *code)
{
    struct tool_groups groups = {0};
    struct tool_jumps jumps = {0};
    bool fits = tool_hidden_mark(code) && tool_groups_open(code, &groups) &&
                tool_jumps_open(code, &groups, &jumps) && find_in(code, &groups, &jumps) &&
                tool_rseq_mark(code);
    tool_closed_sort(code);
    tool_jumps_close(&jumps);
    tool_groups_close(&groups);
    return fits;
}
