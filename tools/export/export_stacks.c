/* The tree, its runs, and their merge.
 *
 *   run: record record ...   in depth-first order, labels ascending; a record is one stack:
 *   record: depth (u32) | label (u32) | weight (u64)   its other labels are those of the last
 *                                                      records of the depths below */
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "tools/command/tool.h"
#include "tools/export/export_stacks.h"

#define FIRST_SLOTS  4096u
#define READ_RECORDS 2048u

struct record {
    uint32_t depth, label;
    uint64_t weight;
};

void tool_stacks_open(struct tool_stacks *stacks)
{
    *stacks = (struct tool_stacks){
        .limit = TOOL_STACKS_NODES, .scratch = {.fd = -1}, .secret = ttp_secret_key()};
    stacks->slots = tool_allocate(FIRST_SLOTS, sizeof(uint32_t));
    stacks->slot_count = FIRST_SLOTS;
    tool_grow((void **)&stacks->nodes, &stacks->node_capacity, 1, sizeof(struct tool_stacks_node));
    stacks->nodes[0] = (struct tool_stacks_node){0};
    stacks->node_count = 1;
}

void tool_stacks_close(struct tool_stacks *stacks)
{
    tool_scratch_close(&stacks->scratch);
    free(stacks->nodes);
    free(stacks->slots);
    *stacks = (struct tool_stacks){.scratch = {.fd = -1}};
}

/* ---- the tree ---- */

static uint32_t *find_slot(const struct tool_stacks *stacks, uint32_t parent, uint32_t label)
{
    size_t mask = stacks->slot_count - 1;
    size_t at = (size_t)ttp_secret_hash((uint64_t)parent << 32 | label, stacks->secret) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t node = stacks->slots[at];
        if (node == 0 ||
            (stacks->nodes[node].parent == parent && stacks->nodes[node].label == label))
            return &stacks->slots[at];
    }
}

static void grow_slots(struct tool_stacks *stacks)
{
    free(stacks->slots);
    stacks->slot_count *= 2;
    stacks->slots = tool_allocate(stacks->slot_count, sizeof(uint32_t));
    for (uint32_t i = 1; i < stacks->node_count; i++)
        *find_slot(stacks, stacks->nodes[i].parent, stacks->nodes[i].label) = i;
}

uint32_t tool_stacks_child(struct tool_stacks *stacks, uint32_t parent, uint32_t label)
{
    uint32_t *slot = find_slot(stacks, parent, label);
    if (*slot != 0)
        return *slot;
    uint32_t node = stacks->node_count++;
    tool_grow((void **)&stacks->nodes, &stacks->node_capacity, stacks->node_count,
              sizeof(struct tool_stacks_node));
    stacks->nodes[node] = (struct tool_stacks_node){.parent = parent, .label = label};
    *slot = node;
    if ((size_t)stacks->node_count * 2 > stacks->slot_count)
        grow_slots(stacks);
    return node;
}

/* ---- depth-first ---- */

struct ordered_node {
    uint32_t parent, label, number;
};

static int compare_nodes(const void *a, const void *b)
{
    const struct ordered_node *one = a, *two = b;
    if (one->parent != two->parent)
        return one->parent < two->parent ? -1 : 1;
    return one->label < two->label ? -1 : one->label > two->label;
}

/* Nodes in memory: a stack of ranges of siblings. */
static void walk_tree(const struct tool_stacks *stacks, tool_stacks_visitor visit, void *context)
{
    uint32_t count = stacks->node_count - 1;
    struct ordered_node *order = tool_allocate((size_t)count + 1, sizeof(*order));
    uint32_t *first = tool_allocate((size_t)stacks->node_count + 1, sizeof(uint32_t));
    uint32_t *place = tool_allocate((size_t)count + 1, sizeof(uint32_t));
    uint32_t *end = tool_allocate((size_t)count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct tool_stacks_node *node = &stacks->nodes[i + 1];
        order[i] = (struct ordered_node){node->parent, node->label, i + 1};
        first[node->parent + 1]++;
    }
    for (uint32_t i = 0; i < stacks->node_count; i++)
        first[i + 1] += first[i];
    if (count > 0)
        qsort(order, count, sizeof(*order), compare_nodes);
    uint32_t depth = 0;
    place[0] = 0;
    end[0] = first[1];
    for (;;) {
        if (place[depth] == end[depth]) {
            if (depth == 0)
                break;
            depth--;
            continue;
        }
        uint32_t node = order[place[depth]++].number;
        visit(context, depth, stacks->nodes[node].label, stacks->nodes[node].weight);
        if (first[node] != first[node + 1]) {
            depth++;
            place[depth] = first[node];
            end[depth] = first[node + 1];
        }
    }
    free(order);
    free(first);
    free(place);
    free(end);
}

/* ---- runs ---- */

static void write_record(void *context, uint32_t depth, uint32_t label, uint64_t weight)
{
    struct tool_stacks *stacks = context;
    const struct record one = {depth, label, weight};
    if (!stacks->failed && !tool_scratch_write(&stacks->scratch, &one, sizeof(one)))
        stacks->failed = true;
}

/* A run that is read: where it stands, and the whole stack there. */
struct run_reader {
    struct tool_stacks *stacks;
    uint64_t offset, end;
    struct record *records;
    size_t at, count;
    uint32_t *path;
    size_t path_capacity;
    uint32_t depth; /* of the stack's last label */
    uint64_t weight;
    bool ended;
};

static void advance(struct run_reader *reader)
{
    if (reader->at == reader->count) {
        uint64_t left = (reader->end - reader->offset) / sizeof(struct record);
        reader->count = left < READ_RECORDS ? (size_t)left : READ_RECORDS;
        reader->at = 0;
        size_t bytes = reader->count * sizeof(struct record);
        if (reader->count == 0 ||
            !tool_scratch_read(&reader->stacks->scratch, reader->offset, reader->records, bytes)) {
            reader->stacks->failed = reader->stacks->failed || reader->count > 0;
            reader->ended = true;
            return;
        }
        reader->offset += bytes;
    }
    const struct record *next = &reader->records[reader->at++];
    reader->depth = next->depth;
    reader->weight = next->weight;
    tool_grow((void **)&reader->path, &reader->path_capacity, (size_t)next->depth + 1,
              sizeof(uint32_t));
    reader->path[next->depth] = next->label;
}

/* Below zero: a's stack comes first. */
static int compare_readers(const struct run_reader *a, const struct run_reader *b)
{
    uint32_t shared = a->depth < b->depth ? a->depth : b->depth;
    for (uint32_t i = 0; i <= shared; i++)
        if (a->path[i] != b->path[i])
            return a->path[i] < b->path[i] ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void merge_readers(struct run_reader *readers, unsigned count, tool_stacks_visitor visit,
                          void *context)
{
    bool same[TOOL_STACKS_RUNS];
    for (;;) {
        const struct run_reader *least = NULL;
        for (unsigned i = 0; i < count; i++) {
            int order = readers[i].ended ? 1
                        : least == NULL  ? -1
                                         : compare_readers(&readers[i], least);
            if (order < 0) {
                least = &readers[i];
                memset(same, 0, sizeof(same));
            }
            same[i] = order <= 0;
        }
        if (least == NULL)
            return;
        uint64_t weight = 0;
        for (unsigned i = 0; i < count; i++)
            weight += same[i] ? readers[i].weight : 0;
        visit(context, least->depth, least->path[least->depth], weight);
        for (unsigned i = 0; i < count; i++)
            if (same[i])
                advance(&readers[i]);
    }
}

static void merge_runs(struct tool_stacks *stacks, tool_stacks_visitor visit, void *context)
{
    struct run_reader readers[TOOL_STACKS_RUNS];
    for (unsigned i = 0; i < stacks->run_count; i++) {
        readers[i] =
            (struct run_reader){.stacks = stacks,
                                .offset = stacks->runs[i].offset,
                                .end = stacks->runs[i].end,
                                .records = tool_allocate(READ_RECORDS, sizeof(struct record))};
        advance(&readers[i]);
    }
    merge_readers(readers, stacks->run_count, visit, context);
    for (unsigned i = 0; i < stacks->run_count; i++) {
        free(readers[i].records);
        free(readers[i].path);
    }
}

void tool_stacks_spill(struct tool_stacks *stacks)
{
    if (stacks->scratch.fd < 0 && !tool_scratch_open(&stacks->scratch)) {
        stacks->failed = true;
        return;
    }
    uint64_t offset = stacks->scratch.size_bytes;
    walk_tree(stacks, write_record, stacks);
    stacks->runs[stacks->run_count++] =
        (struct tool_stacks_run){offset, stacks->scratch.size_bytes};
    if (stacks->run_count == TOOL_STACKS_RUNS) {
        offset = stacks->scratch.size_bytes;
        merge_runs(stacks, write_record, stacks);
        stacks->runs[0] = (struct tool_stacks_run){offset, stacks->scratch.size_bytes};
        stacks->run_count = 1;
    }
    memset(stacks->slots, 0, stacks->slot_count * sizeof(uint32_t));
    stacks->node_count = 1;
    stacks->nodes[0].weight = 0;
}

void tool_stacks_settle(struct tool_stacks *stacks)
{
    stacks->limit = TOOL_STACKS_NODES + stacks->node_count;
}

bool tool_stacks_visit(struct tool_stacks *stacks, tool_stacks_visitor visit, void *context)
{
    if (stacks->run_count == 0) {
        walk_tree(stacks, visit, context);
        return !stacks->failed;
    }
    tool_stacks_spill(stacks);
    if (!stacks->failed)
        merge_runs(stacks, visit, context);
    return !stacks->failed;
}
