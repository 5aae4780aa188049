/* What the symbol helper says of a file may be forged: addresses are looked up, and names compared,
 * nothing more. */
#include "program/callgraph/known_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "program/symbols/symbols.h"

static void take_call(void *context, const struct tool_symbols_inlined *call)
{
    struct tool_known_calls *known = context;
    size_t size = call->name.size_bytes;
    if (call->end > UINT32_MAX || call->entry > UINT32_MAX ||
        known->name_bytes + size >= UINT32_MAX)
        return;
    if (!ttp_region_grow(known->region, &known->calls, &known->capacity, known->count + 1,
                         sizeof *known->calls) ||
        !ttp_region_grow(known->region, &known->names, &known->name_capacity,
                         known->name_bytes + size + 1, 1))
        return;
    known->calls[known->count++] =
        (struct tool_known_call){.place = call->start != 0 ? call->start * 2 : call->end * 2 + 1,
                                 .callee = (uint32_t)call->entry,
                                 .name = (uint32_t)known->name_bytes};
    if (size != 0)
        memcpy(known->names + known->name_bytes, call->name.data, size);
    known->names[known->name_bytes + size] = '\0';
    known->name_bytes += size + 1;
}

static int compare_calls(const void *a, const void *b)
{
    const struct tool_known_call *one = a, *other = b;
    return one->place < other->place ? -1 : one->place > other->place;
}

void tool_known_calls_read(struct tool_known_calls *known, struct tool_symbols *symbols,
                           ttape_string path, ttape_string build_id)
{
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, path, build_id);
    (void)tool_symbols_calls_list(symbols, module, take_call, known);
    tool_symbols_module_release(symbols, module);
    if (known->count > 1)
        qsort(known->calls, known->count, sizeof *known->calls, compare_calls);
}

static const struct tool_known_call *find_call(const struct tool_known_calls *known, uint64_t place)
{
    struct ttp_bisect s = {.end = known->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, known->calls[s.middle].place < place);
    return s.first < known->count && known->calls[s.first].place == place ? &known->calls[s.first]
                                                                          : NULL;
}

const struct tool_known_call *tool_known_call_at(const struct tool_known_calls *known,
                                                 uint32_t start, uint32_t end)
{
    const struct tool_known_call *found = find_call(known, (uint64_t)end * 2 + 1);
    return found != NULL ? found : find_call(known, (uint64_t)start * 2);
}
