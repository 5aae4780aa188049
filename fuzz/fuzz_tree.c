/* Trees as hashes of what a walk through them sees. */
#include "fuzz_tree.h"

#define NODES_MOST  300u
#define DEPTH_MOST  40u
#define LEVELS_MOST 5u
#define LEVELS_ROOM 16u

struct walking {
    ttape_tree *tree;
    uint32_t mode, left;
    uint64_t hash;
};

/* The same nodes, several levels at once. */
static void walk_levels(struct walking *w, const ttape_node_id *id)
{
    ttape_tree_walk *below;
    ttape_node nodes[LEVELS_ROOM];
    uint32_t depths[LEVELS_ROOM];
    size_t count;
    if (ttape_tree_walk_open(&below, w->tree, id, w->mode, NULL) != TTAPE_OK)
        return;
    for (uint32_t round = 0; round < 8; round++) {
        ttape_status status = ttape_tree_walk_next_nodes(below, LEVELS_MOST, nodes, depths,
                                                         LEVELS_ROOM, &count, NULL);
        if (status == TTAPE_END)
            break;
        for (size_t i = 0; status == TTAPE_OK && i < count; i++) {
            FUZZ_REQUIRE(depths[i] >= 1 && depths[i] <= LEVELS_MOST);
            w->hash = fuzz_hash(w->hash, &nodes[i].id, sizeof nodes[i].id);
            w->hash = fuzz_hash(w->hash, &nodes[i].time_ns, sizeof nodes[i].time_ns);
        }
    }
    ttape_tree_walk_close(below);
}

static void walk(struct walking *w, const ttape_node_id *id, uint32_t depth)
{
    ttape_tree_walk *children;
    ttape_node node;
    uint32_t errors = 0;
    if (depth == 0 || ttape_tree_walk_open(&children, w->tree, id, w->mode, NULL) != TTAPE_OK)
        return;
    while (w->left > 0 && errors < 50) {
        ttape_status status = ttape_tree_walk_next(children, &node, NULL);
        if (status == TTAPE_END)
            break;
        w->left--;
        errors += status != TTAPE_OK;
        if (status != TTAPE_OK)
            continue;
        FUZZ_REQUIRE(node.id.kind != TTAPE_NODE_TRACE);
        w->hash = fuzz_hash(w->hash, &node.id, sizeof node.id);
        w->hash = fuzz_hash(w->hash, &node.time_ns, sizeof node.time_ns);
        if (node.id.kind != TTAPE_NODE_FRAME || w->left % 16 == 0)
            walk_levels(w, &node.id);
        walk(w, &node.id, depth - 1);
    }
    ttape_tree_walk_close(children);
}

uint64_t fuzz_tree_hash(ttape_reader *reader, uint32_t mode, uint32_t jobs, uint64_t cache_bytes)
{
    const ttape_tree_options options = {
        .size = sizeof options, .cache_bytes = cache_bytes, .jobs = jobs};
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    struct walking w = {.mode = mode, .left = NODES_MOST};
    if (ttape_tree_open(&w.tree, reader, &options, NULL) != TTAPE_OK)
        return 0;
    walk(&w, &trace, DEPTH_MOST);
    ttape_tree_close(w.tree);
    return w.hash;
}
