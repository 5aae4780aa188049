/* What files of this room share: lines_answer.h says what comes from where. All memory is the
 * answer's region; what does not fit leaves region.is_short, and the answer is thrown away. */
#ifndef TOOL_LINES_INSIDE_H
#define TOOL_LINES_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names/text_map.h"
#include "base/region.h"
#include "program/binary/plan_code.h"
#include "program/lines/lines_answer.h"

#define TOOL_LINES_NONE TTAPE_NONE

/* A basic block of a module's code: [start, end). */
struct tool_code_block {
    uint32_t start, end;
    uint32_t site;           /* of the trace; TOOL_LINES_NONE: the trace has none, it never ran */
    uint32_t next[2];        /* blocks that it may go on with; TOOL_LINES_NONE */
    size_t first, last;      /* its instructions: [first, last) */
    size_t table, table_end; /* blocks that a table of places leads to: in the view's `targets` */
    uint32_t told_at;        /* the callback's call */
    bool tells;              /* it has one */
    bool is_entry;           /* the function begins with it */
    bool is_first;           /* it tells before the function's enter hook */
    bool is_tail;            /* behind the function's exit hook: it runs when the call is over */
    bool has_other_way;      /* a jump through a register, or out of the function */
    bool is_open;            /* it ends with a jump through a register or memory */
    bool is_odd; /* something else than the ways of other blocks may lead to it: a table */
};

/* A function with blocks; its pieces (.cold) are of it. */
struct tool_lines_function {
    uint32_t module;    /* in `modules` */
    uint32_t code;      /* index of the main piece in the module's code */
    size_t first, last; /* blocks: [first, last), by address, of all pieces */
    uint32_t site;      /* its own, of the trace; TOOL_LINES_NONE: it has none */
    bool is_wanted;     /* its lines are shown */
    bool has_guests; /* others are inlined in it that have calls of their own: blocks are theirs */
};

/* A range of a copy of an inlined function. */
struct tool_lines_copy {
    uint64_t start, end, entry; /* of the file; entry: the same for all ranges of the copy */
    uint32_t around;            /* the copy that it lies in, or TOOL_LINES_NONE */
    uint32_t name;              /* in the view's `copied` */
};

/* A module of the trace with block sites. */
struct tool_lines_module {
    uint32_t number; /* of the trace */
    struct tool_plan_code file;
    uint64_t move;       /* a recorded address less this is an address of the file */
    uint32_t *functions; /* by function of its code: index in the view's, or TOOL_LINES_NONE */
    uint32_t *pieces;    /* functions of its code that belong to another one */
    size_t piece_count;
    struct tool_lines_copy *copies; /* by start, the longer one first */
    size_t copy_count, copy_capacity;
    bool has_copies; /* they were asked for */
    char *path;
};

/* Where a site of the trace lies. */
struct tool_lines_place {
    uint32_t function; /* in the view's; TOOL_LINES_NONE */
    uint32_t block;    /* of a block site; TOOL_LINES_NONE */
    bool is_block;     /* it is one */
};

struct tool_lines_pairs {
    const ttape_passes_pair *list;
    uint32_t count;
};

/* What was counted of a choice of calls. */
struct tool_lines_counts {
    ttape_passes *made;
    const uint64_t *by_site;
    ttape_passes_info info;
    struct tool_lines_pairs left;  /* a block, and the call in it that did not return; in order */
    struct tool_lines_pairs edges; /* what followed what; in order */
};

/* Passes of a block, as far as they are known. */
struct tool_lines_pass {
    uint64_t count; /* at least */
    bool is_sure;   /* and no more */
};

/* What an instruction says of a line; until they are joined. */
struct tool_lines_row {
    struct tool_source_line line;
    uint32_t function; /* in `functions` */
    uint32_t jump;     /* it is a jump there and nothing else; 0: it is more */
    uint64_t copy;     /* the entry of the copy of an inlined function; 0: none */
    bool ran_elsewhere;
};

/* Texts, each once, and their numbers. */
struct tool_lines_texts {
    char **list;
    size_t count, capacity;
    struct ttp_text_map numbers;
};

struct tool_source_lines {
    struct ttp_region region; /* the answer itself is its first block */
    struct tool_lines_options options;
    ttape_reader *reader;
    ttape_error *err; /* of the make */
    ttape_info info;
    bool is_all;      /* all calls are counted: nothing ran elsewhere */
    bool is_joined;   /* some code of the lines is optimised */
    bool *line_sites; /* by site: which have the wanted line; NULL: no line is wanted */
    struct tool_lines_module *modules;
    size_t module_count, module_capacity;
    struct tool_lines_function *functions;
    size_t function_count, function_capacity;
    struct tool_code_block *blocks;
    size_t block_count, block_capacity;
    uint32_t *targets; /* blocks, of tables of places */
    size_t target_count, target_capacity;
    struct tool_lines_place *places; /* by site */
    struct tool_lines_counts counts[2];
    bool has_second;
    struct tool_lines_texts files;
    struct tool_lines_texts copied; /* names of inlined functions */
    struct tool_lines_at *begins; /* by site: where a block begins; file TOOL_LINES_NONE: unknown */
    struct tool_lines_row *rows;
    size_t row_count, row_capacity;
    struct tool_source_line *lines; /* by file and line */
    size_t line_count, line_capacity;
    struct tool_lines_edge *edges;
    size_t edge_count, edge_capacity;
    ttape_passes_call *calls; /* in which the wanted line ran */
    size_t call_count, call_capacity;
};

/* lines_answer.c: fails with what is written there; the answer's error and status. */
ttape_status tool_lines_fail(const struct tool_source_lines *view, ttape_status status,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* lines_code.c: opens the modules of block sites; TTAPE_E_NOT_FOUND where there are no blocks, or
 * the code is not there. */
ttape_status tool_lines_open_code(struct tool_source_lines *view);
void tool_lines_close_code(struct tool_source_lines *view);

/* lines_passes.c: counts the blocks of the chosen calls (of `call` alone, where it is given). */
ttape_status tool_lines_count_passes(struct tool_source_lines *view,
                                     const struct tool_lines_call *call,
                                     struct tool_lines_counts *counts);

/* Which blocks of a function lead to its n-th: [first[n], first[n + 1]) of the list. */
struct tool_lines_before {
    const struct tool_lines_function *function;
    uint32_t *list;
    size_t *first;
};

/* Where calls of the compiler's hooks lead. */
struct tool_lines_hooks {
    uint64_t places[8];
    size_t count;
};
bool tool_lines_is_hook(const struct tool_lines_hooks *hooks, uint64_t target);

/* A call that did not return: how often, in each choice. */
struct tool_lines_leave {
    uint32_t from, block; /* from: what told last; block: that made it, which may be silent */
    size_t at;            /* the instruction; the block's last: it is not known */
    uint64_t count[2];
};
struct tool_lines_leaves {
    struct tool_lines_leave *list; /* by block and instruction */
    size_t count, capacity;
};

/* lines_leave.c: all of a function. */
void tool_lines_find_leaves(struct tool_source_lines *view,
                            const struct tool_lines_function *function,
                            const struct tool_lines_hooks *hooks, struct tool_lines_leaves *leaves);
/* Passes of a block that ended in a call of it before this instruction. */
uint64_t tool_lines_left_before(const struct tool_lines_leaves *leaves, uint32_t block,
                                size_t instruction, size_t choice);

/* lines_follow.c: the turn-th place that a block leads to: a block, perhaps of another function,
 * or TOOL_LINES_NONE out of the function, or TOOL_LINES_SAME for none. False: no more. */
#define TOOL_LINES_SAME (UINT32_MAX - 1)
bool tool_lines_leads(const struct tool_source_lines *view, uint32_t block, size_t turn,
                      uint32_t *next);
/* Passes of a function's blocks that do not tell. `passes`: by block, from the function's first on;
 * of those that tell what came to the end goes in, the others come out. */
void tool_lines_follow(struct tool_source_lines *view, const struct tool_lines_before *before,
                       const struct tool_lines_leaves *leaves, size_t choice,
                       struct tool_lines_pass *passes);
/* Marks functions whose blocks are not all of their own calls: has_guests. */
void tool_lines_find_guests(struct tool_source_lines *view);

/* lines_count.c: a text's number, which is added where it is new; without memory 0. */
uint32_t tool_lines_number(struct tool_source_lines *view, struct tool_lines_texts *texts,
                           ttape_string text);

/* lines_count.c: lines of the functions in which something was counted, and what came behind what;
 * where a line is wanted, which block sites have it. TTAPE_E_STATE: nobody waits any more. */
ttape_status tool_lines_count(struct tool_source_lines *view);
/* lines_copies.c: lists a module's, once. */
void tool_lines_list_copies(struct tool_source_lines *view, struct tool_lines_module *module,
                            struct tool_symbols_module *asked);
/* The innermost one around an address of the file; NULL. */
const struct tool_lines_copy *tool_lines_copy_at(const struct tool_lines_module *module,
                                                 uint64_t address);
/* lines_join.c: one row for each line. */
void tool_lines_join(struct tool_source_lines *view);

#endif
