/* The execution tree as the command shows it:
 *
 *   verb_tree.c -> tree_open.c (what --open names) -> tree_build.c (walks, filters) -> items
 *                            -> tree_mostly.c (what is in brackets)
 *                            -> tree_fold.c (repeated siblings once)
 *                            -> tree_pack.c (few bytes for those that may be left out)
 *               -> tree_choose.c (the largest, the rest in brackets) -> tree_source.c (where
 *                  functions are written) -> tree_print.c, tree_json.c */
#ifndef TOOL_TREE_VIEW_H
#define TOOL_TREE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/tree.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/io/input.h"
#include "tools/values/value_search.h"

#define TOOL_TREE_DEPTH_MOST 4096u /* levels below the topmost item */

#define TOOL_TREE_MOSTLY 3u /* functions that a bracket names */
#define TOOL_TREE_RANKED 8u /* functions of a bracket that it can be joined with another by */

enum tool_item_kind {
    TOOL_ITEM_NODE,    /* a stream or a frame; with a count, so many equal ones */
    TOOL_ITEM_PARTS,   /* parts side by side: work that is local to partitions, pruned */
    TOOL_ITEM_SEQUENCE /* its children, one after the other, `count` times */
};

#define TOOL_TREE_NAMES_MOST 64u /* functions that one bracket counts by themselves */

/* What is in a bracket of a function (by site); of threads, of a stream. */
struct tool_short_name {
    uint32_t number;
    uint64_t count;
    int64_t time_ns;
};

/* Siblings that are left out as too short, together. */
struct tool_shorts {
    uint64_t count, event_count, call_count; /* events and calls: as far as they are known */
    int64_t time_ns;
    struct tool_short_name *names; /* the first TOOL_TREE_NAMES_MOST functions */
    size_t name_count, name_capacity;
};

struct tool_item {
    enum tool_item_kind kind;
    uint32_t largest; /* parts: where in the tree's list its functions are, plus one; 0: nowhere */
    ttape_node node;  /* sums, where there are several */
    uint64_t count;   /* nodes: how many; sequences: how often */
    uint64_t hash, shape; /* tree_fold.c: of what makes items equal, with and without the count */
    int64_t time_ns;      /* what is shown: of the range only */
    bool is_cut;          /* by the range: no more than time_ns is known */
    bool deeper;          /* has children that --depth, or the bound of work, leaves out */
    bool repeats;         /* tree_fold.c: can be equal to others */
    bool is_sum;          /* of several */
    uint64_t open_count;  /* calls of it that are open at the end */
    bool is_apart;        /* tree_fold.c: others stand between those that it counts */
    int64_t busy_ns;      /* tree_choose.c: of its time, what is not in waiting functions */
    bool is_shell;        /* only on the way to what was opened: nothing but its name is known */
    struct tool_shorts shorts;  /* of its children */
    struct tool_packed *packed; /* children before these: tree_pack.c */
    size_t loose;               /* items below it that are not packed */
    struct tool_item *children;
    size_t child_count, child_capacity;
};

/* The largest functions of parts, and what part of all own time each has. */
struct tool_tree_largest {
    uint32_t sites[TOOL_TREE_RANKED], count;
    float shares[TOOL_TREE_RANKED];
    uint64_t all;        /* what they are shares of */
    bool of_all_threads; /* of these partitions: they have others, too */
};

struct tool_tree_mostly {
    struct tool_tree_largest *list;
    size_t count, capacity;
    /* sums over the partitions of the bracket that is being made */
    uint64_t *weights, all; /* by site */
    uint32_t *sites, site_count;
    uint32_t *on_way;   /* by site: how often it is open below the bracket */
    uint64_t row_count; /* work so far */
};

/* tree_build.c: nodes of a walk come in rows, those below a local call before it. */
#define TOOL_TREE_ROW 64u

struct tool_tree_level {
    struct tool_item parent; /* of the calls at this level whose caller has not come yet */
    size_t below;            /* items there are below it, at most */
};

struct tool_tree_rows {
    ttape_node nodes[TOOL_TREE_ROW];
    uint32_t depths[TOOL_TREE_ROW];
    struct tool_tree_level *levels;
    size_t level_capacity;
};

/* The lines that a function was written in. */
struct tool_tree_source {
    char *file;           /* NULL: not known */
    uint32_t first, last; /* 0: not known */
};

struct tool_tree {
    const struct tool_input *input;
    ttape_reader *reader;
    struct tool_value_search values;
    ttape_tree *tree;
    const struct tool_selection *selection;
    struct tool_site_names names;
    uint32_t depth; /* levels below an item that is shown */
    int64_t min_ns;
    /* Shown are the items with the most time, this many, and as many of the most time that is no
     * waiting; 0: those that are not shorter than min_ns. */
    uint32_t largest_count;
    bool only_long; /* of a large trace: in a bracket is also what only crosses its edge */
    bool full, fold, has_times, has_starters;
    struct tool_tree_source *sources; /* by site; NULL: they were not asked for */
    bool shows_partitions; /* brackets say which partitions they are, not what is in them */
    struct tool_tree_mostly mostly;
    struct tool_tree_rows *rows;
    struct tool_item *items; /* the topmost ones */
    size_t item_count, item_capacity;
    struct tool_shorts shorts; /* streams */
    uint8_t *waiting;          /* by site: tree_choose.c; NULL: nothing was chosen yet */
    int status;                /* TOOL_OK, or the worst that happened */
    uint64_t error_count;
    uint64_t work_most; /* events to look at: then nothing more is opened */
    bool is_bounded;    /* calls were left out for that */
};

/* Appends an item to a list. */
struct tool_item *tool_item_add(struct tool_item **list, size_t *count, size_t *capacity);
/* Frees what items hold and the list. */
void tool_items_close(struct tool_item *items, size_t count);
/* Frees what one item holds. */
void tool_item_clear(struct tool_item *item);
/* Adds a node's numbers to an item's, but for what is left out below it. */
void tool_item_sum(struct tool_item *to, const struct tool_item *from);

/* ---- tree_build.c ---- */

/* All selected streams. */
void tool_tree_build_streams(struct tool_tree *view);
/* One node and what is below it; `opened`: with what is local to where it begins and ends. Appended
 * to a list. */
void tool_tree_build_node(struct tool_tree *view, const ttape_node *node, bool opened,
                          struct tool_item **list, size_t *count, size_t *capacity);
void tool_tree_rows_close(struct tool_tree *view);
/* Reports a failed call; true: go on with what comes after it. */
bool tool_tree_go_on(struct tool_tree *view, const ttape_error *err);
/* A thousandth of the longest item, where --min-time is not given. */
int64_t tool_tree_usual_min(int64_t longest_ns);
/* Cuts an item to the selected range; false: it is outside of it. */
bool tool_tree_cut(const struct tool_tree *view, struct tool_item *item);

/* ---- tree_mostly.c ---- */

/* A partition more of an item of parts; is_new: its first. */
void tool_tree_add_mostly(struct tool_tree *view, struct tool_item *item, bool is_new,
                          uint32_t partition);
/* What comes is below this node, or no longer. */
void tool_tree_step_in(struct tool_tree *view, const ttape_node *node, bool is_in);
/* Puts an item, and what is below it, into the item of parts before it. */
void tool_tree_join(struct tool_tree *view, struct tool_item *parts, const struct tool_item *item);
/* The first TOOL_TREE_MOSTLY of an item of parts; none: an empty one. */
struct tool_tree_largest tool_tree_get_largest(const struct tool_tree *view,
                                               const struct tool_item *item);
void tool_tree_mostly_close(struct tool_tree *view);

/* ---- tree_fold.c ---- */

/* Equal neighbours, and equal sequences of neighbours, become one with a count. Children first. */
void tool_items_fold(struct tool_item *items, size_t *count);
/* Equal siblings become one wherever they stand, at the first one's place; sequences go. */
void tool_items_gather(struct tool_item **items, size_t *count, size_t *capacity);

/* Sets what makes an item equal to others; its children's are set. */
void tool_item_describe(struct tool_item *item);
/* Returns the hash of a list of children, from 0 on, with one more. */
uint64_t tool_hash_child(uint64_t hash, const struct tool_item *child);

/* ---- tree_pack.c ---- */

/* The first `count` children of an item, which are folded, become bytes. Those that are packed
 * already stand before them. */
void tool_pack(struct tool_item *parent, size_t count);
void tool_unpack(struct tool_item *parent);
uint64_t tool_packed_count(const struct tool_packed *packed);
uint64_t tool_packed_hash(const struct tool_packed *packed);

/* Packed children one by one, each of which is the caller's; afterwards the parent has none. */
struct tool_unpacking {
    struct tool_packed *from;
    size_t at;
    uint64_t left;
};
struct tool_unpacking tool_unpack_begin(struct tool_item *parent);
/* False: there is none left. To be called until then. */
bool tool_unpack_next(struct tool_unpacking *unpacking, struct tool_item *item);

/* ---- tree_choose.c ---- */

/* Whether an item is shorter than min_ns. */
bool tool_tree_is_short(const struct tool_tree *view, const struct tool_item *item);
/* Puts an item into a bracket; `times`: how often the bracket's parent stands for. */
void tool_shorts_add(struct tool_shorts *shorts, const struct tool_item *item, uint64_t times);
void tool_shorts_sum(struct tool_shorts *to, const struct tool_shorts *from);
/* The functions of a bracket that had the most time; returns how many. */
size_t tool_shorts_largest(const struct tool_shorts *shorts,
                           const struct tool_short_name *out[TOOL_TREE_MOSTLY]);
/* Folds siblings, and gathers them where they are many and the largest are to be shown. */
void tool_tree_fold(const struct tool_tree *view, struct tool_item *parent);
/* Leaves the largest items below one whose children are not all there yet: what is left out could
 * not be shown at the end. Returns how many are left. */
size_t tool_tree_trim(struct tool_tree *view, struct tool_item *parent);
/* Leaves what is to be shown of all. */
void tool_tree_choose(struct tool_tree *view);

/* ---- tree_open.c ---- */

/* Builds what `what` names: a node ("s0p3", "s0e17"; `with_way`: below the calls that lead to the
 * call of that number), a time ("+1.5s"), a path ("main/run[2]"). Returns a tool_exit. */
int tool_tree_open(struct tool_tree *view, const char *what, bool has_min, bool with_way);
/* The longest selected call of a function, and those that lead to it. Returns a tool_exit. */
int tool_tree_find(struct tool_tree *view, const char *name, uint32_t jobs, bool has_min);
/* Writes a node's name; `at` has room for 64 bytes. Returns its length. */
size_t tool_put_node(char *at, const ttape_node_id *id);

/* ---- tree_starter.c ---- */

/* Looks whether starters are to be told: some are recorded, and finding them costs little beside
 * the rest. Names are open. */
void tool_tree_find_starters(struct tool_tree *view, bool decodes_anyway);
/* The id of the thread that started a stream's. False: it is not known. Decodes its beginning. */
bool tool_tree_starter(const struct tool_tree *view, uint32_t stream, uint64_t *tid);

/* ---- tree_source.c ---- */

/* Reads the source sections of the functions that are shown from their modules' debug information;
 * where that is not there, the trace tells their first lines. */
void tool_tree_find_sources(struct tool_tree *view);
/* Of an item: NULL, where nothing is known, or nobody asked. */
const struct tool_tree_source *tool_tree_source(const struct tool_tree *view,
                                                const struct tool_item *item);
void tool_tree_sources_close(struct tool_tree *view);

/* ---- tree_values.c ---- */

/* A single call, as the search for its values takes it; false: the item is none. */
bool tool_tree_value_call(const struct tool_item *item, struct tool_value_call *call);

/* ---- tree_print.c, tree_json.c ---- */

void tool_tree_print(struct tool_tree *view, struct tool_output *out);
void tool_tree_json(struct tool_tree *view, struct tool_output *out);

#endif
