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

#include "base/ordered.h"
#include "program/lines/lines_inside.h"

#define WAYS_MAX  512u /* from one block, that are told apart */
#define STEPS_MAX 32u  /* blocks of one such way */
/* Of a function, blocks that ways lead through: more is given up, as only hostile code has it. */
#define WORK_MAX 4000000u

/* A way from a block that tells over others to the next one, or out of the function: to NONE. */
struct way {
    uint32_t to, count;
    uint32_t steps[STEPS_MAX];
};

/* A way up to one of its steps. */
struct part {
    const struct way *way;
    uint32_t count;
};

struct following {
    const struct tool_source_lines *view;
    const struct tool_lines_function *function;
    const struct tool_lines_counts *counts;
    const struct tool_lines_leaves *leaves;
    size_t choice;
    struct tool_lines_pass *passes;
    const uint32_t *before; /* as tool_lines_follow() has them */
    const size_t *before_first;
    struct way ways[WAYS_MAX];
    size_t way_count;
    struct part parts[WAYS_MAX]; /* of those, for one count */
    bool is_whole;               /* these are all ways */
    bool *is_marked;             /* by block, for one walk through them */
    uint32_t *stack;             /* of such a walk */
    uint64_t work;
};

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

bool tool_lines_leads(const struct tool_source_lines *view, uint32_t block, size_t turn,
                      uint32_t *next)
{
    const struct tool_code_block *at = &view->blocks[block];
    if (turn < 2) {
        bool is_there = at->next[turn] != TOOL_LINES_NONE;
        bool is_same = turn == 1 && at->next[1] == at->next[0];
        *next = is_there && !is_same ? at->next[turn] : TOOL_LINES_SAME;
    } else if (turn == 2) {
        bool is_last = at->next[0] == TOOL_LINES_NONE && at->next[1] == TOOL_LINES_NONE;
        bool ends = (at->has_other_way || is_last) && at->table == at->table_end;
        *next = ends ? TOOL_LINES_NONE : TOOL_LINES_SAME;
    } else if (turn - 3 < at->table_end - at->table) {
        *next = view->targets[at->table + turn - 3];
    } else {
        return false;
    }
    return true;
}

/* Depth first, over blocks that do not tell: `turns` is which of a step's ways comes next. */
static void find_ways(struct following *f, uint32_t from)
{
    uint32_t steps[STEPS_MAX], next;
    size_t turns[STEPS_MAX + 1] = {0};
    uint32_t depth = 0;
    f->way_count = 0;
    f->is_whole = true;
    for (bool is_over = false; !is_over && f->is_whole; f->work++) {
        uint32_t at = depth > 0 ? steps[depth - 1] : from;
        if (!tool_lines_leads(f->view, at, turns[depth]++, &next)) {
            is_over = depth == 0;
            depth -= !is_over;
        } else if (next == TOOL_LINES_NONE || (is_in(f, next) && block_of(f, next)->tells)) {
            add_way(f, steps, depth, next);
        } else if (is_in(f, next)) {
            f->is_whole = depth < STEPS_MAX;
            for (uint32_t i = 0; i < depth; i++)
                f->is_whole = f->is_whole && steps[i] != next; /* it goes in a circle */
            if (f->is_whole) {
                steps[depth++] = next;
                turns[depth] = 0;
            }
        }
    }
}

/* Where on a way a block is; its count: nowhere. */
static uint32_t step_of(const struct way *way, uint32_t block)
{
    uint32_t i = 0;
    while (i < way->count && way->steps[i] != block)
        i++;
    return i;
}

/* Passes over one of some ways, each up to a step: whatever is on all of them was passed. */
static void take_steps(struct following *f, const struct part *parts, size_t part_count,
                       uint64_t count)
{
    f->work += part_count * part_count;
    for (size_t i = 0; i < part_count; i++)
        for (uint32_t k = 0; k < parts[i].count; k++) {
            uint32_t step = parts[i].way->steps[k];
            size_t others = 0;
            for (size_t n = 0; n < part_count; n++)
                others += step_of(parts[n].way, step) < parts[n].count;
            if (others < part_count)
                pass_of(f, step)->is_sure = false;
            else if (i == 0)
                pass_of(f, step)->count += count;
        }
}

/* From a block to the next one that tells, or out of the function. */
static void take_ways(struct following *f, uint32_t to, uint64_t count)
{
    size_t part_count = 0;
    for (size_t i = 0; i < f->way_count; i++)
        if (f->ways[i].to == to)
            f->parts[part_count++] = (struct part){&f->ways[i], f->ways[i].count};
    f->work += f->way_count;
    take_steps(f, f->parts, part_count, count);
}

/* From a block to a call in one that does not tell, which did not return. */
static void take_leave(struct following *f, uint32_t block, uint64_t count)
{
    size_t part_count = 0;
    for (size_t i = 0; i < f->way_count; i++) {
        uint32_t step = step_of(&f->ways[i], block);
        if (step < f->ways[i].count)
            f->parts[part_count++] = (struct part){&f->ways[i], step + 1};
    }
    f->work += f->way_count;
    take_steps(f, f->parts, part_count, count);
}

static bool has_way(const struct following *f, uint32_t to)
{
    for (size_t i = 0; i < f->way_count; i++)
        if (f->ways[i].to == to)
            return true;
    return false;
}

/* -- what may have been on the way -- */

static void push_block(struct following *f, size_t *count, uint32_t block)
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
    for (uint32_t at = from, is_first = true;; is_first = false) {
        uint32_t next;
        for (size_t turn = 0; tool_lines_leads(f->view, at, turn, &next); turn++)
            push_block(f, &count, next);
        if (!is_first)
            pass_of(f, at)->is_sure = false;
        if (count == 0)
            return;
        at = f->stack[--count];
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
        push_block(f, &count, f->before[i]);
    bool is_any = false;
    for (size_t at = 0; at < count; at++) {
        uint32_t block = f->stack[at];
        size_t n = block - f->function->first;
        is_any = is_any || block_of(f, block)->is_odd ||
                 (is_jump && tool_code_is_marked(code, block_of(f, block)->start));
        for (size_t i = f->before_first[n]; i < f->before_first[n + 1]; i++)
            push_block(f, &count, f->before[i]);
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
    struct ttp_bisect s = {.end = f->counts->edges.count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, f->counts->edges.list[s.middle].from < site);
    return s.first;
}

/* `passes`: of the block, all that came to its end; those that went to others are none of the
 * function's end. */
static void take_pair(struct following *f, const ttape_passes_pair *pair, uint64_t *passes)
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
    for (size_t i = first_pair(f, site);
         i < f->counts->edges.count && f->counts->edges.list[i].from == site; i++)
        take_pair(f, &f->counts->edges.list[i], &passes);
    for (size_t i = 0; i < f->leaves->count; i++)
        if (f->leaves->list[i].from == from && f->leaves->list[i].block != from)
            take_leave(f, f->leaves->list[i].block, f->leaves->list[i].count[f->choice]);
    if (passes > 0 && f->is_whole)
        take_ways(f, TOOL_LINES_NONE, passes);
    if (!f->is_whole)
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

void tool_lines_find_guests(struct tool_source_lines *view)
{
    for (size_t k = 0; k < 1 + (size_t)view->has_second; k++)
        for (size_t i = 0; i < view->counts[k].edges.count; i++) {
            const ttape_passes_pair *pair = &view->counts[k].edges.list[i];
            uint32_t from = view->places[pair->from].function;
            uint32_t to = view->places[pair->to].function;
            if (from != to && to != TOOL_LINES_NONE)
                view->functions[to].has_guests = true;
            if (from != to && from != TOOL_LINES_NONE)
                view->functions[from].has_guests = true;
        }
}

void tool_lines_follow(struct tool_source_lines *view, const struct tool_lines_before *before,
                       const struct tool_lines_leaves *leaves, size_t choice,
                       struct tool_lines_pass *passes)
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
    struct ttp_region *region = &view->region;
    struct following *f = ttp_region_take(region, 1, sizeof *f);
    if (f == NULL)
        return;
    *f = (struct following){.view = view,
                            .function = function,
                            .counts = &view->counts[choice],
                            .leaves = leaves,
                            .choice = choice,
                            .passes = passes,
                            .before = before->list,
                            .before_first = before->first,
                            .is_marked = ttp_region_take(region, size + 1, sizeof *f->is_marked),
                            .stack = ttp_region_take(region, size + 1, sizeof *f->stack)};
    if (!region->is_short)
        follow_begin(f);
    for (size_t i = function->first; !region->is_short && i < function->last && f->work < WORK_MAX;
         i++) {
        const struct tool_code_block *block = &view->blocks[i];
        if (block->tells && block->site != TOOL_LINES_NONE)
            follow_from(f, (uint32_t)i, block->site, passes[i - function->first].count);
    }
    if (f->work >= WORK_MAX || function->has_guests)
        doubt_all(f);
    ttp_region_give(region, f->is_marked);
    ttp_region_give(region, f->stack);
    ttp_region_give(region, f);
}
