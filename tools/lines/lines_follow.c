/* Passes of blocks that do not tell: compilers leave the callback out where a block is empty, as
 * that of `break` is. What told before it and behind it is known, in its order. So it ran as often
 * as the one followed the other, where all ways from the one to the other lead through it; and
 * nobody knows where some ways do and others don't, or where a table may lead to it.
 *
 *     A tells --+--> J --+--> X tells      J: as often as X followed A, as A can reach X
 *               |                              through J only
 *               +------------> Y tells */
#include <stdlib.h>
#include <string.h>

#include "tools/lines/lines_view.h"

#define WAYS_MAX  64u /* from one block, that are told apart */
#define STEPS_MAX 32u /* blocks of one such way */
/* Of a function, blocks that ways lead through: more is given up, as only hostile code has it. */
#define WORK_MAX 4000000u

/* A way from a block that tells over others to the next one, or out of the function: to NONE. */
struct way {
    uint32_t to, count;
    uint32_t steps[STEPS_MAX];
};

struct following {
    const struct tool_lines *view;
    const struct tool_lines_function *function;
    const struct tool_lines_counts *counts;
    struct tool_lines_pass *passes;
    const uint32_t *before; /* as tool_lines_follow() has them */
    const size_t *before_first;
    struct way ways[WAYS_MAX + 1];
    size_t way_count;
    bool is_whole;   /* these are all ways */
    bool is_open;    /* and one ends with a jump to nobody knows where */
    bool *is_marked; /* by block, for one walk through them */
    uint32_t *stack; /* of such a walk */
    uint64_t work;
};

bool tool_lines_is_edge(const struct tool_lines *view, const struct tool_lines_pair *pair)
{
    return view->places[pair->from].is_block && view->places[pair->to].is_block;
}

static const struct tool_code_block *block_of(const struct following *f, uint32_t block)
{
    return &f->view->blocks[block];
}

static struct tool_lines_pass *pass_of(const struct following *f, uint32_t block)
{
    return &f->passes[block - f->function->first];
}

static bool is_in(const struct following *f, uint32_t block)
{
    return block != TOOL_LINES_NONE && block >= f->function->first && block < f->function->last;
}

/* -- ways -- */

static void add_way(struct following *f, const uint32_t *steps, uint32_t count, uint32_t to)
{
    if (f->way_count == WAYS_MAX) {
        f->is_whole = false;
        return;
    }
    struct way *way = &f->ways[f->way_count++];
    way->to = to;
    way->count = count;
    memcpy(way->steps, steps, count * sizeof *steps);
}

/* Depth first, over blocks that do not tell: `turns` is which of a step's ways comes next. */
static void find_ways(struct following *f, uint32_t from)
{
    uint32_t steps[STEPS_MAX];
    uint8_t turns[STEPS_MAX + 1] = {0};
    uint32_t depth = 0;
    f->way_count = 0;
    f->is_whole = true;
    f->is_open = false;
    for (bool is_over = false; !is_over && f->is_whole; f->work++) {
        const struct tool_code_block *at = block_of(f, depth > 0 ? steps[depth - 1] : from);
        uint8_t turn = turns[depth]++;
        if (turn > 2) { /* all ways of this one are done */
            is_over = depth == 0;
            depth -= !is_over;
            continue;
        }
        if (turn == 2) {
            f->is_open = f->is_open || at->is_open;
            if (at->has_other_way && !at->is_open)
                add_way(f, steps, depth, TOOL_LINES_NONE);
            continue;
        }
        uint32_t next = at->next[turn];
        if (!is_in(f, next) || (turn == 1 && next == at->next[0]))
            continue;
        if (block_of(f, next)->tells) {
            add_way(f, steps, depth, next);
        } else if (depth == STEPS_MAX) {
            f->is_whole = false;
        } else {
            for (uint32_t i = 0; i < depth; i++)
                f->is_whole = f->is_whole && steps[i] != next; /* it goes in a circle */
            steps[depth++] = next;
            turns[depth] = 0;
        }
    }
}

static bool has_step(const struct way *way, uint32_t block)
{
    for (uint32_t i = 0; i < way->count; i++)
        if (way->steps[i] == block)
            return true;
    return false;
}

/* Passes from a block to another one, over the ways that are there. */
static void take_ways(const struct following *f, uint32_t to, uint64_t count)
{
    for (size_t i = 0; i < f->way_count; i++)
        for (uint32_t k = 0; f->ways[i].to == to && k < f->ways[i].count; k++) {
            uint32_t step = f->ways[i].steps[k];
            bool is_on_all = true, is_first = true;
            for (size_t n = 0; n < f->way_count; n++)
                if (f->ways[n].to == to && n != i) {
                    bool has = has_step(&f->ways[n], step);
                    is_on_all = is_on_all && has;
                    is_first = is_first && !(has && n < i);
                }
            if (!is_on_all)
                pass_of(f, step)->is_sure = false;
            else if (is_first)
                pass_of(f, step)->count += count;
        }
}

static bool has_way(const struct following *f, uint32_t to)
{
    for (size_t i = 0; i < f->way_count; i++)
        if (f->ways[i].to == to)
            return true;
    return false;
}

/* -- what may have been on the way -- */

static void push(struct following *f, size_t *count, uint32_t block)
{
    if (!is_in(f, block) || block_of(f, block)->tells || f->is_marked[block - f->function->first])
        return;
    f->is_marked[block - f->function->first] = true;
    f->stack[(*count)++] = block;
}

/* From a block on nobody knows over which of those that do not tell it went. */
static void doubt_behind(struct following *f, uint32_t from)
{
    size_t count = 0, size = f->function->last - f->function->first;
    memset(f->is_marked, 0, size * sizeof *f->is_marked);
    f->work += size;
    push(f, &count, block_of(f, from)->next[0]);
    push(f, &count, block_of(f, from)->next[1]);
    while (count > 0) {
        uint32_t block = f->stack[--count];
        pass_of(f, block)->is_sure = false;
        push(f, &count, block_of(f, block)->next[0]);
        push(f, &count, block_of(f, block)->next[1]);
    }
}

/* Something led there that the code does not show: it may have come by a block that a table leads
 * to, or, where a call did not return, by any that something leads to. */
static void doubt_before(struct following *f, uint32_t to, bool is_jump)
{
    const struct tool_code *code = &f->view->modules[f->function->module].file.code;
    size_t count = 0, size = f->function->last - f->function->first;
    memset(f->is_marked, 0, size * sizeof *f->is_marked);
    f->work += size;
    for (size_t n = to - f->function->first, i = f->before_first[n]; i < f->before_first[n + 1];
         i++)
        push(f, &count, f->before[i]);
    bool is_any = false;
    for (size_t at = 0; at < count; at++) {
        uint32_t block = f->stack[at];
        size_t n = block - f->function->first;
        is_any = is_any || block_of(f, block)->is_odd ||
                 (is_jump && tool_code_is_marked(code, block_of(f, block)->start));
        for (size_t i = f->before_first[n]; i < f->before_first[n + 1]; i++)
            push(f, &count, f->before[i]);
    }
    for (size_t at = 0; is_any && at < count; at++)
        pass_of(f, f->stack[at])->is_sure = false;
}

static void doubt_all(const struct following *f)
{
    for (size_t i = f->function->first; i < f->function->last; i++)
        if (!f->view->blocks[i].tells)
            f->passes[i - f->function->first].is_sure = false;
}

/* -- pairs -- */

/* What followed a site; the first of it in `edges`. */
static size_t first_pair(const struct following *f, uint32_t site)
{
    size_t from = 0, end = f->counts->edges.count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (f->counts->edges.list[middle].from < site)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* `passes`: of the block, all that came to its end; those that went to others are none of the
 * function's end. */
static void take_pair(struct following *f, const struct tool_lines_pair *pair, uint64_t *passes)
{
    const struct tool_lines_place *to = &f->view->places[pair->to];
    uint64_t count = pair->count - pair->jumped, gone = to->is_block ? count : pair->jumped;
    *passes -= gone < *passes ? gone : *passes;
    if (!to->is_block)
        return;
    if (!is_in(f, to->block)) {
        doubt_all(f);
        return;
    }
    bool is_shown = f->is_whole && has_way(f, to->block);
    if (is_shown && count > 0)
        take_ways(f, to->block, count);
    if (pair->jumped > 0 || (!is_shown && count > 0))
        doubt_before(f, to->block, pair->jumped > 0);
}

/* Whatever followed one block, or the call's begin. */
static void follow_from(struct following *f, uint32_t from, uint32_t site, uint64_t passes)
{
    find_ways(f, from);
    bool is_doubtful = !f->is_whole || (f->is_open && !block_of(f, from)->is_open);
    for (size_t i = first_pair(f, site);
         i < f->counts->edges.count && f->counts->edges.list[i].from == site; i++)
        take_pair(f, &f->counts->edges.list[i], &passes);
    if (passes > 0 && f->is_whole)
        take_ways(f, TOOL_LINES_NONE, passes);
    if (is_doubtful)
        doubt_behind(f, from);
}

/* The call's begin, where the block that it begins with does not tell. */
static void follow_begin(struct following *f)
{
    const struct tool_lines_function *function = f->function;
    uint32_t first = (uint32_t)function->first;
    uint64_t passes = 0;
    while (first < function->last && !block_of(f, first)->is_entry)
        first++;
    if (first == function->last || block_of(f, first)->tells)
        return;
    for (size_t i = first_pair(f, function->site);
         i < f->counts->edges.count && f->counts->edges.list[i].from == function->site; i++)
        passes += f->counts->edges.list[i].count;
    pass_of(f, first)->count += passes;
    if (function->site != TOOL_LINES_NONE)
        follow_from(f, first, function->site, passes);
    else
        doubt_all(f);
}

void tool_lines_follow(const struct tool_lines *view, const struct tool_lines_before *before,
                       const struct tool_lines_counts *counts, struct tool_lines_pass *passes)
{
    const struct tool_lines_function *function = before->function;
    size_t size = function->last - function->first;
    bool has_silent = false;
    for (size_t i = 0; i < size; i++) {
        passes[i].is_sure = true;
        has_silent = has_silent || !view->blocks[function->first + i].tells;
    }
    if (!has_silent)
        return;
    struct following *f = tool_allocate(1, sizeof *f);
    *f = (struct following){.view = view,
                            .function = function,
                            .counts = counts,
                            .passes = passes,
                            .before = before->list,
                            .before_first = before->first,
                            .is_marked = tool_allocate(size + 1, sizeof *f->is_marked),
                            .stack = tool_allocate(size + 1, sizeof *f->stack)};
    follow_begin(f);
    for (size_t i = function->first; i < function->last && f->work < WORK_MAX; i++) {
        const struct tool_code_block *block = &view->blocks[i];
        if (block->tells && block->site != TOOL_LINES_NONE)
            follow_from(f, (uint32_t)i, block->site, passes[i - function->first].count);
    }
    if (f->work >= WORK_MAX)
        doubt_all(f);
    free(f->is_marked);
    free(f->stack);
    free(f);
}
