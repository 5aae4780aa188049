/* Lines of source code that ran, in one call or in several, by the basic blocks of a recording.
 *
 *   verb_lines.c -> lines_code.c (modules: blocks of code, and which site each block has)
 *                -> lines_name.c (calls as trees name them)
 *                -> lines_passes.c (passes of blocks in the chosen calls, and which one came next:
 *                   tracetape/passes.h)
 *                -> lines_leave.c (calls that did not return)
 *                -> lines_follow.c (passes of blocks that do not tell, by what told around them)
 *                -> lines_count.c (blocks of the chosen functions -> lines, with counts)
 *                -> lines_copies.c (inlined functions)
 *                -> lines_join.c (one row for each line)
 *                -> lines_text.c, lines_json.c, lines_lcov.c
 *
 * A line ran as often as its block that ran most; all functions that have code of it, and all
 * copies of an inlined one, are added up.
 * Where a call within a block did not return (an exception, a jump, the end), what is behind it in
 * that block did not run that time. */
#ifndef TOOL_LINES_VIEW_H
#define TOOL_LINES_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/passes.h>
#include <tracetape/reader.h>
#include <tracetape/tree.h>

#include "program/binary/plan_code.h"
#include "tools/calls/name_table.h"
#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

#define TOOL_LINES_NONE UINT32_MAX

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
    uint64_t calls;                /* that were chosen */
    bool is_partial;               /* events are missing: what was not seen may have run */
    struct tool_lines_pairs left;  /* a block, and the call in it that did not return; in order */
    struct tool_lines_pairs edges; /* what followed what; in order */
};

/* Passes of a block, as far as they are known. */
struct tool_lines_pass {
    uint64_t count; /* at least */
    bool is_sure;   /* and no more */
};

struct tool_lines_at {
    uint32_t file, line;
    bool begins; /* a row of the line table starts there */
};

/* A line that ran (or did not) in calls of the first choice, and of the second. */
struct tool_line {
    uint32_t file, line; /* file: in `files` */
    uint32_t function;   /* in `functions`; until they are joined */
    uint32_t jump;       /* it is a jump there and nothing else; 0: it is more; the same */
    uint64_t copy;       /* the entry of the copy of an inlined function; 0: none; the same */
    const char *inlined; /* that function's name; NULL */
    uint64_t count[2];
    bool ran_elsewhere;
    bool is_known;   /* of all blocks of it whether they ran */
    bool is_sure[2]; /* and in the choice how often; else it may be more */
};

/* Calls in which a line ran, of a file whose path ends so. */
struct tool_lines_wanted {
    char *file; /* NULL: no line is wanted */
    uint32_t line;
};

/* Texts, each once, and their numbers. */
struct tool_lines_texts {
    char **list;
    size_t count, capacity;
    struct tool_names numbers;
};

struct tool_lines {
    const struct tool_input *input;
    ttape_reader *reader;
    const struct tool_selection *selection;
    struct tool_site_names names;
    ttape_info info;
    bool *chosen; /* by site: of functions that were asked for; NULL: all */
    bool wants_edges;
    bool is_all; /* all calls are counted: nothing ran elsewhere */
    struct tool_lines_wanted wanted;
    bool *line_sites;    /* by site: which these are; NULL: no line is wanted */
    const char *sources; /* a folder to look for source files in, too; or NULL */
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
    struct tool_line *lines;      /* by file and line */
    size_t line_count, line_capacity;
    ttape_passes_call *calls; /* in which the wanted line ran */
    size_t call_count, call_capacity;
    uint64_t damage_count;
    int status; /* TOOL_OK, or the worst that happened */
};

/* A call as the command line names it: by its enter, or as trees name one that goes from one
 * partition to the next. */
struct tool_lines_name {
    struct tool_call_id call; /* `given` either way */
    const char *text;
    ttape_node_id node;
    bool is_node;
};
/* lines_name.c: tool_lines_name, of an option. */
bool tool_lines_parse_call(const char *text, void *into);
/* Which call that is; TOOL_CANNOT, and says why: there is none, or it began before the file. */
int tool_lines_find_call(const struct tool_lines *view, const struct tool_lines_name *name,
                         struct tool_call_id *call);

/* lines_code.c: opens the modules of block sites; TOOL_CANNOT, and says why: there are no blocks,
 * or the code is not there. */
int tool_lines_open_code(struct tool_lines *view);
void tool_lines_close_code(struct tool_lines *view);

/* lines_passes.c: counts the blocks of the chosen calls (of `call` alone, where it is given). */
int tool_lines_walk(struct tool_lines *view, const struct tool_call_id *call,
                    struct tool_lines_counts *counts);
void tool_lines_counts_close(struct tool_lines_counts *counts);

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
void tool_lines_find_leaves(const struct tool_lines *view,
                            const struct tool_lines_function *function,
                            const struct tool_lines_hooks *hooks, struct tool_lines_leaves *leaves);
/* Passes of a block that ended in a call of it before this instruction. */
uint64_t tool_lines_left_before(const struct tool_lines_leaves *leaves, uint32_t block,
                                size_t instruction, size_t choice);

/* lines_follow.c: the turn-th place that a block leads to: a block, perhaps of another function,
 * or TOOL_LINES_NONE out of the function, or TOOL_LINES_SAME for none. False: no more. */
#define TOOL_LINES_SAME (UINT32_MAX - 1)
bool tool_lines_leads(const struct tool_lines *view, uint32_t block, size_t turn, uint32_t *next);
/* Passes of a function's blocks that do not tell. `passes`: by block, from the function's first on;
 * of those that tell what came to the end goes in, the others come out. */
void tool_lines_follow(const struct tool_lines *view, const struct tool_lines_before *before,
                       const struct tool_lines_leaves *leaves, size_t choice,
                       struct tool_lines_pass *passes);
/* Marks functions whose blocks are not all of their own calls: has_guests. */
void tool_lines_find_guests(struct tool_lines *view);
/* Is a pair two blocks, one after the other? */
bool tool_lines_is_edge(const struct tool_lines *view, const ttape_passes_pair *pair);

/* lines_count.c: a text's number, which is added where it is new. */
uint32_t tool_lines_number(struct tool_lines_texts *texts, ttape_string text);
void tool_lines_texts_close(struct tool_lines_texts *texts);

/* lines_count.c: lines of the functions in which something was counted. */
void tool_lines_count(struct tool_lines *view);
/* lines_copies.c: lists a module's, once. */
struct tool_symbols;
struct tool_symbols_module;
void tool_lines_list_copies(struct tool_lines *view, struct tool_lines_module *module,
                            struct tool_symbols *symbols, struct tool_symbols_module *asked);
/* The innermost one around an address of the file; NULL. */
const struct tool_lines_copy *tool_lines_copy_at(const struct tool_lines_module *module,
                                                 uint64_t address);
void tool_lines_copies_close(struct tool_lines *view);
/* lines_join.c: one row for each line. */
void tool_lines_join(struct tool_lines *view);
/* lines_count.c: which block sites have the wanted line. False: no block has it. */
bool tool_lines_find_line(struct tool_lines *view);
void tool_lines_count_close(struct tool_lines *view);

enum tool_lines_state { TOOL_LINE_RAN, TOOL_LINE_ELSEWHERE, TOOL_LINE_NEVER, TOOL_LINE_UNSEEN };
/* Of a line, in one of the two choices. */
enum tool_lines_state tool_lines_state(const struct tool_lines *view, const struct tool_line *line,
                                       size_t choice);
/* "ran", "elsewhere", "never", "unseen". */
const char *tool_lines_word(enum tool_lines_state state);

void tool_lines_text(struct tool_lines *view, struct tool_output *out);
void tool_lines_json(struct tool_lines *view, struct tool_output *out);
void tool_lines_lcov(struct tool_lines *view, struct tool_output *out);

#endif
