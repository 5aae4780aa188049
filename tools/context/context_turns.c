/* From the outermost function on: the turn that covers most, of those the shortest. */
#include "tools/context/context_turns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

static uint32_t times_of(const uint64_t *ids, uint32_t left, uint32_t length)
{
    uint32_t same = 0;
    while (same + length < left && ids[same] == ids[same + length])
        same++;
    return same / length + 1;
}

uint32_t tool_context_turns(const uint64_t *ids, uint32_t depth, struct tool_context_turn *turns)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < depth; at += turns[count - 1].length * turns[count - 1].times) {
        struct tool_context_turn best = {.first = at, .length = 1, .times = 1};
        for (uint32_t length = 1; length <= TOOL_TURN_FUNCTIONS_MAX; length++) {
            uint32_t times = times_of(ids + at, depth - at, length);
            if (times > 1 && times * length > best.times * best.length)
                best = (struct tool_context_turn){at, length, times};
        }
        turns[count++] = best;
    }
    return count;
}

uint32_t tool_context_recursions(const uint64_t *ids, uint32_t depth)
{
    struct tool_context_turn *turns = tool_allocate((size_t)depth + 1, sizeof *turns);
    uint32_t count = tool_context_turns(ids, depth, turns), recursions = 0;
    for (uint32_t i = 0; i < count; i++)
        recursions += turns[i].times > 1;
    free(turns);
    return recursions;
}

uint32_t tool_context_shortest(const uint64_t *ids, uint32_t depth, uint64_t *into)
{
    struct tool_context_turn *turns = tool_allocate((size_t)depth + 1, sizeof *turns);
    uint32_t count = tool_context_turns(ids, depth, turns), size = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kept = turns[i].length * (2 - turns[i].times % 2);
        memcpy(into + size, ids + turns[i].first, kept * sizeof *into);
        size += kept;
    }
    free(turns);
    return size;
}

static void put_times(const struct tool_context_answer *answer, uint32_t times,
                      struct tool_output *out)
{
    const char *word = times % 2 == 0 ? "even" : "odd";
    if (answer->is_any_times)
        tool_output_printf(out, " × %s, up to %u", word, TOOL_TURN_TIMES_MAX - times % 2);
    else if (answer->is_xor)
        tool_output_printf(out, " × %" PRIu32 ", %s", times, word);
    else
        tool_output_printf(out, " × %" PRIu32, times);
}

void tool_context_put_stack(const struct tool_context_answer *answer, const char *before,
                            const char *between, struct tool_output *out)
{
    struct tool_context_turn *turns = tool_allocate((size_t)answer->depth + 1, sizeof *turns);
    uint32_t count = tool_context_turns(answer->ids, answer->depth, turns);
    for (uint32_t i = 0; i < count; i++) {
        const struct tool_context_turn *turn = &turns[i];
        tool_output_text(out, i != 0 ? between : "");
        tool_output_text(out, before);
        tool_output_text(out, turn->length > 1 ? "(" : "");
        for (uint32_t f = turn->first; f < turn->first + turn->length; f++) {
            tool_output_text(out, f != turn->first ? " > " : "");
            tool_output_text(out, answer->names[f] != NULL ? answer->names[f] : "?");
        }
        tool_output_text(out, turn->length > 1 ? ")" : "");
        if (turn->times > 1)
            put_times(answer, turn->times, out);
    }
    free(turns);
}
