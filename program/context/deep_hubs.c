/* Hubs: functions without which no recursion is left. */
#include <string.h>

#include "program/context/deep.h"

/* Calls within what is left. */
struct trimming {
    const struct tool_edges *edges;
    bool only_seen, *is_gone;
    uint32_t *ins, *outs;
};

static bool counts(const struct trimming *trimming, const struct tool_edge *edge)
{
    return (!trimming->only_seen || (edge->kinds & TOOL_EDGE_SEEN) != 0) &&
           edge->from != TOOL_EDGES_OUTSIDE && !trimming->is_gone[edge->from] &&
           !trimming->is_gone[edge->to];
}

/* Takes out what is in no recursion. */
static void trim(struct trimming *trimming)
{
    const struct tool_edges *edges = trimming->edges;
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (size_t i = 0; i < edges->function_count; i++)
            trimming->ins[i] = trimming->outs[i] = 0;
        for (size_t i = 0; i < edges->edge_count; i++)
            if (counts(trimming, &edges->edges[i])) {
                trimming->outs[edges->edges[i].from]++;
                trimming->ins[edges->edges[i].to]++;
            }
        for (size_t i = 0; i < edges->function_count; i++)
            if (!trimming->is_gone[i] && (trimming->ins[i] == 0 || trimming->outs[i] == 0))
                trimming->is_gone[i] = is_more = true;
    }
}

void tool_deep_choose_hubs(struct ttp_region *region, bool *hubs, const struct tool_edges *edges)
{
    size_t count = edges->function_count;
    if (edges->context_count <= 1) { /* no table holds what goes round in all that may be called */
        memset(hubs, 1, count * sizeof *hubs);
        return;
    }
    struct trimming trimming = {.edges = edges,
                                .only_seen = edges->context_count > 1,
                                .is_gone = ttp_region_take(region, count + 1, sizeof(bool)),
                                .ins = ttp_region_take(region, count + 1, sizeof(uint32_t)),
                                .outs = ttp_region_take(region, count + 1, sizeof(uint32_t))};
    while (!region->is_short) {
        size_t best = count;
        double most = -1;
        trim(&trimming);
        for (size_t i = 0; i < count; i++) {
            double score = (double)trimming.ins[i] * trimming.outs[i] /
                           (1 + (double)edges->functions[i].weight);
            if (!trimming.is_gone[i] && score > most) {
                most = score;
                best = i;
            }
        }
        if (best == count)
            break;
        hubs[best] = trimming.is_gone[best] = true;
    }
    for (size_t i = 0; i < edges->edge_count; i++)
        if (edges->edges[i].from == TOOL_EDGES_OUTSIDE)
            hubs[edges->edges[i].to] = true; /* short stacks */
    ttp_region_give(region, trimming.is_gone);
    ttp_region_give(region, trimming.ins);
    ttp_region_give(region, trimming.outs);
}
