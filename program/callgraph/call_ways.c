/* Calls through a pointer are not in the list of edges, which would be as long as callers times
 * functions whose address is taken: both ends say it. */
#include "program/callgraph/call_ways.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "program/callgraph/binary_graph.h"
#include "program/elf/elf_head.h"

/* Of the memory, for files as they are, and for each byte of their code; a second at 256 MiB. */
#define MEMORY_USUAL (UINT64_C(256) << 20)
#define FILE_SHARE   4u
#define CODE_SHARE   64u

struct tool_call_ways {
    struct tool_edges edges;
    struct tool_binary_graph binaries;
    struct ttp_key_map modules;     /* by seed: 1 where its file is there, 2 where it is not */
    const struct tool_edge **tails; /* edges by a jump */
    size_t tail_count;
    uint64_t file_left, code_left; /* bytes */
};

struct tool_call_ways *tool_call_ways_open(uint64_t memory_bytes, uint64_t most_bytes)
{
    struct tool_call_ways *ways = calloc(1, sizeof *ways);
    if (ways == NULL)
        return NULL;
    uint64_t memory = memory_bytes != 0 ? memory_bytes : MEMORY_USUAL;
    ways->file_left = memory / FILE_SHARE;
    ways->code_left = memory / CODE_SHARE;
    if (tool_edges_open(&ways->edges, 1, most_bytes) &&
        tool_binary_graph_open(&ways->binaries, &ways->edges, TTAPE_CONTEXT_IDS_STABLE)) {
        ways->binaries.names_pointers = true;
        ways->binaries.sees_bare = true; /* they are in the trace: they were patched */
        return ways;
    }
    tool_call_ways_close(ways);
    return NULL;
}

void tool_call_ways_close(struct tool_call_ways *ways)
{
    tool_binary_graph_close(&ways->binaries);
    tool_edges_close(&ways->edges);
    free(ways);
}

static uint64_t code_bytes(const struct tool_elf_head *head)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < head->load_count; i++)
        bytes += head->loads[i].executable ? head->loads[i].file_bytes : 0;
    return bytes;
}

/* Is it of that build, and small enough? One without a build id may be another build's. */
static bool is_meant(struct tool_call_ways *ways, const char *path, const ttape_module *module)
{
    struct tool_elf_head head;
    struct stat status;
    if (!tool_decode_is_there() || module->build_id.size_bytes == 0 ||
        strlen(path) != module->path.size_bytes || tool_elf_head_of(NULL, path, &head) != NULL ||
        head.build_id_bytes != module->build_id.size_bytes ||
        memcmp(head.build_id, module->build_id.data, head.build_id_bytes) != 0 ||
        stat(path, &status) != 0 || (uint64_t)status.st_size > ways->file_left ||
        code_bytes(&head) > ways->code_left)
        return false;
    ways->file_left -= (uint64_t)status.st_size;
    ways->code_left -= code_bytes(&head);
    return true;
}

static bool read_module(struct tool_call_ways *ways, const ttape_module *module)
{
    char *path = ttp_region_copy(&ways->edges.region, module->path.data, module->path.size_bytes);
    bool is_there = path != NULL && is_meant(ways, path, module) &&
                    tool_binary_graph_add_build(&ways->binaries, path, module->build_id) == NULL;
    ttp_region_give(&ways->edges.region, path);
    return is_there;
}

bool tool_call_ways_add(struct tool_call_ways *ways, const ttape_module *module)
{
    uint32_t *state =
        ttp_region_at(&ways->edges.region, &ways->modules, tool_module_seed(module), 0);
    if (*state == 0)
        *state = read_module(ways, module) ? 1 : 2;
    return *state == 1;
}

bool tool_call_ways_join(struct tool_call_ways *ways)
{
    const struct tool_edges *edges = &ways->edges;
    (void)tool_binary_graph_join(&ways->binaries);
    ways->tails = ttp_region_take(&ways->edges.region, edges->edge_count + 1, sizeof *ways->tails);
    if (ways->tails == NULL)
        return false;
    for (size_t i = 0; i < edges->edge_count; i++)
        if ((edges->edges[i].kinds & TOOL_EDGE_TAIL) != 0)
            ways->tails[ways->tail_count++] = &edges->edges[i];
    return !edges->region.is_short;
}

/* The caller calls a function that goes on with a jump to the callee, and is gone then. */
static bool is_by_tail(const struct tool_call_ways *ways, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < ways->tail_count; i++)
        if (ways->tails[i]->to == to &&
            tool_edges_find(&ways->edges, from, ways->tails[i]->from) != NULL)
            return true;
    return false;
}

static enum tool_call_way find_way(const struct tool_call_ways *ways, uint32_t from, uint32_t to)
{
    const struct tool_edges *edges = &ways->edges;
    const struct tool_edge *edge = tool_edges_find(edges, from, to);
    uint32_t kinds = edge != NULL ? edge->kinds : 0;
    bool by_pointer = (kinds & (TOOL_EDGE_POINTER | TOOL_EDGE_OUTSIDE)) != 0 ||
                      (edges->functions[from].makes_pointer_calls && edges->functions[to].is_taken);
    if ((kinds & TOOL_EDGE_SURE) != 0 && by_pointer)
        return TOOL_WAY_EITHER;
    if (by_pointer)
        return TOOL_WAY_POINTER;
    if ((kinds & TOOL_EDGE_TAIL) != 0 || (kinds == 0 && is_by_tail(ways, from, to)))
        return TOOL_WAY_TAIL;
    return (kinds & (TOOL_EDGE_DIRECT | TOOL_EDGE_LINKED)) != 0 ? TOOL_WAY_NAMED
           : (kinds & TOOL_EDGE_INLINED) != 0                   ? TOOL_WAY_INLINED
                                                                : TOOL_WAY_UNKNOWN;
}

/* What a symbol stands for, be it in a file or not. */
static uint32_t find_named(struct tool_call_ways *ways, ttape_string symbol)
{
    uint32_t machine = tool_binary_exported(&ways->binaries, symbol);
    if (machine != TTAPE_NONE)
        return tool_binary_function_of(&ways->binaries, machine);
    return ttp_key_map_find(&ways->edges.by_key, tool_binary_outside_id(&ways->binaries, symbol),
                            TTAPE_NONE);
}

enum tool_call_way tool_call_way(struct tool_call_ways *ways, uint64_t from_id, uint64_t to_id,
                                 ttape_string symbol)
{
    const struct tool_edges *edges = &ways->edges;
    uint32_t from = ttp_key_map_find(&edges->by_key, from_id, TTAPE_NONE);
    uint32_t to = ttp_key_map_find(&edges->by_key, to_id, TTAPE_NONE);
    uint32_t named = find_named(ways, symbol);
    enum tool_call_way way = TOOL_WAY_UNKNOWN, by_name = TOOL_WAY_UNKNOWN;
    if (from != TTAPE_NONE && to != TTAPE_NONE)
        way = find_way(ways, from, to);
    /* A function that is chosen when the program is loaded has its address taken: by a pointer, it
     * seems. */
    if (from != TTAPE_NONE && named != TTAPE_NONE &&
        (way == TOOL_WAY_UNKNOWN || way == TOOL_WAY_POINTER))
        by_name = find_way(ways, from, named);
    return by_name != TOOL_WAY_UNKNOWN ? by_name : way;
}
