/* Values that are asked for, and their answers. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/options.h"
#include "tools/context/context_turns.h"

#define HEX_DIGITS_MAX 16u

bool tool_context_parse(const char *text, size_t size_bytes, uint64_t *value, uint32_t *depth)
{
    size_t at = size_bytes > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
    size_t start = at;
    *value = 0;
    *depth = TOOL_CONTEXT_ANY_DEPTH;
    for (; at < size_bytes && tool_hex_digit(text[at]) >= 0; at++)
        *value = *value << 4 | (uint64_t)tool_hex_digit(text[at]);
    if (at == start || at - start > HEX_DIGITS_MAX)
        return false;
    if (at == size_bytes)
        return true;
    uint64_t number = 0;
    if (text[at++] != '/' || at == size_bytes)
        return false;
    for (; at < size_bytes && text[at] >= '0' && text[at] <= '9'; at++) {
        number = number * 10 + (uint64_t)(text[at] - '0');
        if (number >= TOOL_CONTEXT_ANY_DEPTH)
            return false;
    }
    *depth = (uint32_t)number;
    return at == size_bytes;
}

size_t tool_context_add(struct tool_contexts *contexts, uint64_t value, uint32_t depth)
{
    uint32_t *last = tool_map_at(&contexts->by_value, value, 0), next = TTAPE_NONE;
    if (*last != 0) {
        uint32_t depths = 0;
        next = *last - 1;
        for (uint32_t i = next; i != TTAPE_NONE; i = contexts->wanted[i].next, depths++)
            if (contexts->wanted[i].depth == depth)
                return i;
        if (depths >= TOOL_CONTEXT_DEPTHS_MAX)
            return next;
    }
    tool_grow((void **)&contexts->wanted, &contexts->capacity, contexts->count + 1,
              sizeof *contexts->wanted);
    contexts->wanted[contexts->count] =
        (struct tool_context_wanted){.value = value, .depth = depth, .next = next};
    *last = (uint32_t)++contexts->count;
    return contexts->count - 1;
}

struct tool_context_wanted *tool_context_find(struct tool_contexts *contexts, uint64_t value)
{
    uint32_t last = ttp_key_map_find(&contexts->by_value, value, 0);
    return last == 0 ? NULL : &contexts->wanted[last - 1];
}

static struct tool_context_answer make_tree(const uint64_t *ids, uint32_t depth)
{
    struct tool_context_answer answer = {.ids = tool_allocate((size_t)depth + 1, sizeof *ids),
                                         .names =
                                             tool_allocate((size_t)depth + 1, sizeof *answer.names),
                                         .depth = depth};
    memcpy(answer.ids, ids, depth * sizeof *ids);
    return answer;
}

static void clear(struct tool_context_answer *answer)
{
    for (uint32_t i = 0; i < answer->depth; i++)
        free(answer->names[i]);
    free(answer->names);
    free(answer->ids);
    free(answer->shortest);
}

struct tool_context_answer *tool_context_answer(struct tool_context_wanted *wanted,
                                                const uint64_t *ids, uint32_t depth)
{
    for (size_t i = 0; i < wanted->answer_count; i++)
        if (wanted->answers[i].depth == depth &&
            memcmp(wanted->answers[i].ids, ids, depth * sizeof *ids) == 0)
            return &wanted->answers[i];
    if (wanted->answer_count == TOOL_CONTEXT_ANSWERS_MAX) {
        wanted->more++;
        return NULL;
    }
    tool_grow((void **)&wanted->answers, &wanted->answer_capacity, wanted->answer_count + 1,
              sizeof *wanted->answers);
    struct tool_context_answer *answer = &wanted->answers[wanted->answer_count++];
    *answer = make_tree(ids, depth);
    return answer;
}

struct tool_context_answer *tool_context_answer_any_times(struct tool_context_wanted *wanted,
                                                          const uint64_t *ids, uint32_t depth)
{
    uint64_t *shortest = tool_allocate((size_t)depth + 1, sizeof *shortest);
    uint32_t size = tool_context_shortest(ids, depth, shortest);
    struct tool_context_answer *answer = NULL;
    for (size_t i = 0; i < wanted->answer_count && answer == NULL; i++)
        if (wanted->answers[i].shortest_depth == size && wanted->answers[i].shortest != NULL &&
            memcmp(wanted->answers[i].shortest, shortest, size * sizeof *ids) == 0)
            answer = &wanted->answers[i];
    if (answer != NULL && tool_context_recursions(answer->ids, answer->depth) >=
                              tool_context_recursions(ids, depth)) {
        free(shortest);
        return answer;
    }
    if (answer != NULL) { /* in the new one a recursion shows */
        struct tool_context_answer kept = *answer;
        *answer = make_tree(ids, depth);
        answer->cost = kept.cost;
        answer->news = kept.news;
        answer->unknown = kept.unknown;
        clear(&kept);
    } else {
        answer = tool_context_answer(wanted, ids, depth);
    }
    if (answer != NULL) {
        answer->shortest = shortest;
        answer->shortest_depth = size;
        answer->is_any_times = true;
    } else {
        free(shortest);
    }
    return answer;
}

void tool_contexts_close(struct tool_contexts *contexts)
{
    if (contexts->form != NULL)
        regfree(contexts->form);
    free(contexts->form);
    for (size_t i = 0; i < contexts->count; i++) {
        struct tool_context_wanted *wanted = &contexts->wanted[i];
        for (size_t a = 0; a < wanted->answer_count; a++)
            clear(&wanted->answers[a]);
        free(wanted->answers);
    }
    if (contexts->printers != NULL)
        tool_printers_close(contexts->printers);
    free(contexts->wanted);
    tool_map_close(&contexts->by_value);
}
