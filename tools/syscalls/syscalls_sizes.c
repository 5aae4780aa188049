/* How long the calls of each function took, for percentiles: counts by size. A class is a 32nd of a
 * power of two wide, so a percentile is at most 3 % below what it is. */
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/syscalls/syscalls_view.h"

#define EXACT_BITS     6u /* below 64 each duration is its own class */
#define PART_BITS      5u
#define CLASSES        ((1u << EXACT_BITS) + ((63u - EXACT_BITS) << PART_BITS))
#define FUNCTIONS_MOST 4096u /* that have counts; a file may have any number */

static unsigned class_of(int64_t duration_ns)
{
    uint64_t value = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    if (value < UINT64_C(1) << EXACT_BITS)
        return (unsigned)value;
    unsigned top = 63u - (unsigned)__builtin_clzll(value);
    unsigned part = (unsigned)(value >> (top - PART_BITS)) & ((1u << PART_BITS) - 1);
    return (1u << EXACT_BITS) + ((top - EXACT_BITS) << PART_BITS) + part;
}

static int64_t least_of(unsigned class)
{
    if (class < 1u << EXACT_BITS)
        return class;
    class -= 1u << EXACT_BITS;
    unsigned top = EXACT_BITS + (class >> PART_BITS), part = class & ((1u << PART_BITS) - 1);
    return (int64_t)(UINT64_C(1) << top | (uint64_t)part << (top - PART_BITS));
}

void tool_sys_sizes_add(struct tool_sys_sizes *sizes, uint32_t function, int64_t duration_ns)
{
    if (function >= sizes->count)
        return;
    uint64_t **counts = &sizes->counts[function];
    if (*counts == NULL && sizes->used == FUNCTIONS_MOST)
        return;
    if (*counts == NULL) {
        *counts = tool_allocate(CLASSES, sizeof(**counts));
        sizes->used++;
    }
    (*counts)[class_of(duration_ns)]++;
}

bool tool_sys_sizes_at(const struct tool_sys_sizes *sizes, uint32_t function, double share,
                       int64_t *duration_ns)
{
    const uint64_t *counts = function < sizes->count ? sizes->counts[function] : NULL;
    uint64_t all = 0, before = 0;
    if (counts == NULL)
        return false;
    for (unsigned i = 0; i < CLASSES; i++)
        all += counts[i];
    double exact = share * (double)all;
    uint64_t rank = (uint64_t)exact;
    rank -= rank > 0 && (double)rank >= exact; /* rounded up, and counted from one */
    for (unsigned i = 0; i < CLASSES; i++) {
        before += counts[i];
        if (before > rank) {
            *duration_ns = least_of(i);
            return true;
        }
    }
    return false;
}

void tool_sys_sizes_grow(struct tool_sys_sizes *sizes, uint32_t to)
{
    if (to <= sizes->count)
        return;
    uint64_t **grown = tool_allocate(to, sizeof(*grown));
    for (uint32_t i = 0; i + 1 < sizes->count; i++)
        grown[i] = sizes->counts[i];
    if (sizes->count > 0)
        grown[to - 1] = sizes->counts[sizes->count - 1];
    free(sizes->counts);
    sizes->counts = grown;
    sizes->count = to;
}

void tool_sys_sizes_close(struct tool_sys_sizes *sizes)
{
    for (uint32_t i = 0; i < sizes->count; i++)
        free(sizes->counts[i]);
    free(sizes->counts);
    *sizes = (struct tool_sys_sizes){0};
}
