/* Who can call whom, from the files of a program and its libraries. Functions are those that hooks
 * tell of; where no file has hooks (functions that are patched), all of them. With sees_bare so are
 * those of each file without hooks.
 *
 *     file --binary_module.c--> code, what each function's code does (code_flow.h): relations
 *          --binary_taken.c---> functions whose address data holds
 *          --known_calls.c----> calls that its debug information names
 *          --ci_files.c-------> calls that its compiler named
 *          --binary_strings.c-> which functions have to do with which strings
 *     relations of all files --binary_graph.c--> edges: functions without hooks are passed through
 */
#ifndef TOOL_BINARY_GRAPH_H
#define TOOL_BINARY_GRAPH_H

#include <tracetape/context.h>

#include "program/callgraph/code_flow.h"
#include "program/callgraph/edges.h"
#include "program/callgraph/known_calls.h"

/* A function of the machine's code: its module, and its number in the module's code. Numbers of all
 * modules follow each other. */
struct tool_machine {
    uint32_t first_relation; /* plus 1 */
    uint32_t stamp;          /* of the search that has met it */
    bool is_taken, is_followed, pointer_calls;
    bool is_seen; /* as a hooked one is: its file has no hooks */
};

enum tool_relation_kind {
    TOOL_RELATION_ENTERS, /* to: a hooked function */
    TOOL_RELATION_CALLS,  /* to: a machine function */
    TOOL_RELATION_POINTER,
    TOOL_RELATION_UNKNOWN /* to: a name, of what is in no file */
};
/* Something that a function does: a machine function before any hook has told of one, or a hooked
 * function. */
struct tool_relation {
    uint32_t next; /* of the same function, plus 1 */
    uint32_t to, edge_kinds;
    uint8_t kind;
};

struct tool_binary_module {
    const char *path;
    uint8_t *bytes;
    size_t size_bytes;
    struct tool_image image;
    struct tool_code code;
    uint64_t seed, start;
    uint64_t mapped; /* where its first page was, with ids that are addresses */
    uint32_t first_machine;
    bool has_hooks, is_open, is_mapped;
    uint32_t unknown_hooks, call_count;
    struct tool_known_calls known;
};

/* A hooked function: where it is, and its number in the edges. */
struct tool_hooked {
    uint32_t module, address, function, first_relation;
};

enum tool_binary_problem {
    TOOL_BINARY_NOT_OPENED, /* os_errno says why */
    TOOL_BINARY_NOT_READ,
    TOOL_BINARY_NO_FILE_OF_CALLS,
    TOOL_BINARY_NO_GRAPH,   /* from `line` on, the rest is left out */
    TOOL_BINARY_NOT_MAPPED, /* where a process had it is not known */
};
struct tool_binary_trouble {
    enum tool_binary_problem problem;
    const char *path;
    int os_errno;
    size_t line;
};

enum tool_binary_result { TOOL_BINARY_FINE, TOOL_BINARY_LOSS, TOOL_BINARY_CANNOT };

struct tool_strings; /* binary_strings.h */
struct tool_binary_graph {
    struct tool_edges *edges;
    struct tool_strings *strings; /* that code has to do with; NULL: nobody asks */
    ttape_context_ids ids;
    /* Where the process whose ids are addresses had a module of that build id, or of that path; set
     * it where that is known. */
    bool (*find_start)(const void *context, ttape_string path, ttape_string build_id,
                       uint64_t *start);
    const void *find_context;
    /* Is told what went wrong with a file; set it where somebody wants to know. */
    void (*tell)(const struct tool_binary_trouble *trouble);
    struct tool_binary_module **modules;
    size_t module_count, module_capacity;
    struct tool_machine *machines;
    size_t machine_count, machine_capacity;
    struct tool_hooked *hooked;
    size_t hooked_count, hooked_capacity;
    struct ttp_key_map hooked_by_place; /* module << 32 | address */
    struct tool_relation *relations;
    size_t relation_count, relation_capacity;
    struct ttp_key_map relation_by_what;
    const char **names; /* of what is called and in no file so far */
    size_t name_count, name_capacity;
    struct ttp_key_map by_call;   /* machine << 32 | machine that it calls: relation, plus 1 */
    struct ttp_key_map by_symbol; /* by hash of the name: machine plus 1, of several UINT32_MAX */
    uint32_t ci_files;
    struct ttp_key_map name_by_hash, exported; /* by hash of the name: number, machine plus 1 */
    uint32_t stamp;                            /* of the search that is made now */
    uint64_t steps_left;
    bool all_functions;           /* no file has hooks */
    struct tool_symbols *symbols; /* reads debug information, or NULL */
    bool sees_bare;      /* set it: functions of files without hooks are seen beside hooked ones */
    bool names_pointers; /* set it: edges through pointers are left to makes_pointer_calls and
                            is_taken of their ends, and edges lead to what no file has */
};

/* False: memory is short, as it is where the edges' pool says so later. It is the edges' memory. */
bool tool_binary_graph_open(struct tool_binary_graph *graph, struct tool_edges *edges,
                            ttape_context_ids ids);
void tool_binary_graph_close(struct tool_binary_graph *graph);
/* Before files are added: their debug information is read, too. */
void tool_binary_graph_use_debug(struct tool_binary_graph *graph);
/* Reads a file. Returns NULL, or why it cannot be used (static text). */
const char *tool_binary_graph_add(struct tool_binary_graph *graph, const char *path);
/* The same, if it has that build id. */
const char *tool_binary_graph_add_build(struct tool_binary_graph *graph, const char *path,
                                        ttape_string build_id);
/* The same, or of a folder, and those in it, all files whose build ids the map has. */
const char *tool_binary_graph_add_any(struct tool_binary_graph *graph, const char *path);
/* When all files are there: what the compiler said of their calls (gcc -fcallgraph-info), in a
 * file, or in a folder with those in it; in files beside the binary that are called after it.
 * What failed has been told. */
enum tool_binary_result tool_binary_graph_add_ci(struct tool_binary_graph *graph, const char *path);
enum tool_binary_result tool_binary_graph_add_ci_beside(struct tool_binary_graph *graph,
                                                        const char *path);
/* Edges of all files, when all are there. False: it is too much; what there is so far stays. */
bool tool_binary_graph_join(struct tool_binary_graph *graph);

/* -- for each other -- */
void tool_binary_taken(struct tool_binary_graph *graph, uint32_t module);
uint64_t tool_binary_name_hash(struct tool_binary_graph *graph, const char *name,
                               size_t size_bytes);
/* Another source says that a machine function calls another one. */
void tool_binary_called(struct tool_binary_graph *graph, uint32_t from, uint32_t to,
                        uint32_t edge_kinds);
/* Words of data that are addresses: by relocations, and in a program at a fixed place all words,
 * which may be numbers. */
typedef void (*tool_binary_take_pointer)(void *context, uint64_t place, uint64_t target);
void tool_binary_pointers(const struct tool_image *image, tool_binary_take_pointer take,
                          void *context);
/* Where all functions are hooked: the edges' function of a machine's. */
uint32_t tool_binary_function_of(struct tool_binary_graph *graph, uint32_t machine);
/* The function that a name of what is elsewhere stands for; TTAPE_NONE: none. */
uint32_t tool_binary_named(struct tool_binary_graph *graph, uint32_t name);
/* The machine function that has that symbol; TTAPE_NONE: none has. */
uint32_t tool_binary_exported(struct tool_binary_graph *graph, ttape_string symbol);
/* The id of what no file has, by its symbol: with names_pointers, edges lead there. */
uint64_t tool_binary_outside_id(struct tool_binary_graph *graph, ttape_string symbol);
struct tool_hooked *tool_binary_hooked(struct tool_binary_graph *graph, uint32_t module,
                                       uint32_t address);
static inline uint32_t tool_binary_machine(const struct tool_binary_graph *graph, uint32_t module,
                                           uint32_t number)
{
    return graph->modules[module]->first_machine + number;
}
/* The machine function that begins there; TTAPE_NONE: none. */
uint32_t tool_binary_machine_at(const struct tool_binary_graph *graph, uint32_t module,
                                uint64_t address);

#endif
