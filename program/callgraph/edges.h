/* Who calls whom in one build of a program: as traces of it show, and as its binaries say.
 * Functions are known by where they are in their module, so that traces of any number of runs, on
 * any machine, and binaries add up.
 *
 *     traces --edges_seen.c--> functions, contexts (each stack once), edges with weights
 */
#ifndef TOOL_EDGES_H
#define TOOL_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/context.h>
#include <tracetape/reader.h>

#include "base/region.h"

#define TOOL_EDGES_OUTSIDE 0u /* the function that calls whoever is outermost */

/* How an edge is known; bits. */
enum tool_edge_kind {
    TOOL_EDGE_SEEN = 1,     /* a trace shows it */
    TOOL_EDGE_DIRECT = 2,   /* an instruction names the callee */
    TOOL_EDGE_INLINED = 4,  /* the callee's code is in the caller's: hooks tell of it */
    TOOL_EDGE_LINKED = 8,   /* the linker finds the callee, perhaps in another module */
    TOOL_EDGE_TAIL = 16,    /* by a jump: a function without hooks that is gone is between */
    TOOL_EDGE_POINTER = 32, /* through a pointer: the callee's address is taken somewhere */
    TOOL_EDGE_OUTSIDE = 64, /* by code that is not there, which was given the callee's address */
    /* another source says so, too, or alone: */
    TOOL_EDGE_DEBUG = 128,   /* debug information: what the instruction calls */
    TOOL_EDGE_COMPILER = 256 /* the compiler's file of calls (gcc -fcallgraph-info) */
};
#define TOOL_EDGE_SURE (TOOL_EDGE_DIRECT | TOOL_EDGE_INLINED | TOOL_EDGE_LINKED)

struct tool_edge_function {
    uint64_t key; /* its stable id */
    uint64_t id;  /* what values are made of: the same, or an address */
    char *name;   /* escaped */
    uint64_t weight;
    uint32_t module; /* of those that binaries have, plus 1 */
    bool makes_pointer_calls, is_taken;
};

struct tool_edge {
    uint32_t from, to, kinds;
    uint64_t weight; /* of the contexts that have it; 0: none was seen */
    uint64_t last;   /* contexts whose last call it is */
};

/* A stack that was seen: the one around it, and a function. The first one is empty. */
struct tool_edge_context {
    uint32_t around, function;
    uint64_t entered;
    uint64_t weight; /* with those in it */
};

struct tool_edges {
    struct ttp_region region; /* of what is here, and of what adds to it */
    struct tool_edge lost;    /* where memory is short */
    struct tool_edge_function *functions;
    size_t function_count, function_capacity;
    struct ttp_key_map by_key;
    struct tool_edge *edges;
    size_t edge_count, edge_capacity;
    struct ttp_key_map by_ends;
    struct tool_edge_context *contexts;
    size_t context_count, context_capacity, contexts_most;
    struct ttp_key_map by_place;
};

/* contexts_most: of stacks; where there are more, their edges count still. False: memory is short.
 * Where that is so later (region.is_short), numbers and edges that are returned mean nothing, and
 * all of it is to be thrown away. */
bool tool_edges_open(struct tool_edges *edges, size_t contexts_most, uint64_t memory_bytes);
void tool_edges_close(struct tool_edges *edges);

/* The number of a function by its stable id, which is new where it has no name. */
uint32_t tool_edges_function(struct tool_edges *edges, uint64_t key);
/* The edge, which is new where it has no kinds. It lives until the next call. */
struct tool_edge *tool_edges_edge(struct tool_edges *edges, uint32_t from, uint32_t to);
/* NULL: there is none. */
const struct tool_edge *tool_edges_find(const struct tool_edges *edges, uint32_t from, uint32_t to);
/* The stack of that function in another one; TTAPE_NONE: there are too many. */
uint32_t tool_edges_context(struct tool_edges *edges, uint32_t around, uint32_t function);

/* Weights of functions and edges, of all contexts; once, when all are there. */
void tool_edges_weigh(struct tool_edges *edges);

/* The seed of a module's stable ids. */
uint64_t tool_module_seed(const ttape_module *module);

#endif
