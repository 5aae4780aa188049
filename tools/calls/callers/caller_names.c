#include "tools/calls/callers/caller_names.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define PERIOD_MOST   8u
#define REPEATS_LEAST 3u
#define PARTS_MOST    60u
#define SAME_LEAST    2u

size_t tool_find_repeats(size_t at, size_t count,
                         bool (*is_equal)(const void *context, size_t a, size_t b),
                         const void *context, size_t *period)
{
    for (size_t p = 1; p <= PERIOD_MOST && p <= at; p++) {
        size_t end = at;
        while (end < count && is_equal(context, end, end - p))
            end++;
        size_t size = (end - at) / p * p;
        if (size < p * REPEATS_LEAST)
            continue;
        *period = p;
        return size;
    }
    *period = 0;
    return 0;
}

void tool_callers_open(struct tool_callers *callers)
{
    *callers = (struct tool_callers){0};
    tool_output_open(&callers->names, -1);
}

void tool_callers_close(struct tool_callers *callers)
{
    free(callers->names.data);
    free(callers->ends);
    *callers = (struct tool_callers){0};
}

void tool_callers_begin(struct tool_callers *callers)
{
    callers->names.size_bytes = 0;
    callers->count = 0;
}

void tool_callers_add(struct tool_callers *callers, const char *name)
{
    tool_grow((void **)&callers->ends, &callers->capacity, callers->count + 1,
              sizeof *callers->ends);
    tool_output_text(&callers->names, name);
    callers->ends[callers->count++] = callers->names.size_bytes;
}

static size_t start_of(const struct tool_callers *callers, size_t at)
{
    return at > 0 ? callers->ends[at - 1] : 0;
}

static bool is_same_name(const struct tool_callers *a, size_t at, const struct tool_callers *b,
                         size_t to)
{
    size_t from_a = start_of(a, at), from_b = start_of(b, to), size = a->ends[at] - from_a;
    return size == b->ends[to] - from_b &&
           memcmp(a->names.data + from_a, b->names.data + from_b, size) == 0;
}

static bool is_equal(const void *context, size_t a, size_t b)
{
    return is_same_name(context, a, context, b);
}

static size_t put_from(const struct tool_callers *callers, size_t i, struct tool_output *text)
{
    for (size_t parts = 0; i < callers->count && parts < PARTS_MOST; i++, parts++) {
        size_t from = start_of(callers, i), period;
        tool_output_text(text, parts > 0 ? " < " : "");
        tool_output_bytes(text, callers->names.data + from, callers->ends[i] - from);
        size_t size = tool_find_repeats(i + 1, callers->count, is_equal, callers, &period);
        if (period == 1)
            tool_output_printf(text, " x %zu", size + 1);
        else if (period > 1)
            tool_output_printf(text, " < (these %zu %zu more times)", period, size / period);
        i += size;
    }
    return i < callers->count ? callers->count - i : 0;
}

size_t tool_callers_put(const struct tool_callers *callers, struct tool_output *text)
{
    return put_from(callers, 0, text);
}

size_t tool_callers_put_below(const struct tool_callers *callers, const struct tool_callers *above,
                              size_t columns, struct tool_output *text)
{
    size_t same = 0, all = callers->names.size_bytes + callers->count * strlen(" < ");
    while (same + 1 < callers->count && same < above->count &&
           is_same_name(callers, same, above, same))
        same++;
    if (all <= columns || same < SAME_LEAST)
        same = 0;
    if (same > 0)
        tool_output_printf(text, "(%zu as above) < ", same);
    return put_from(callers, same, text);
}
