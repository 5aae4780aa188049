/* From blocks to lines. A block that does not tell (compilers leave some out, where others say the
 * same) ran as those did that it alone leads to, or else as those that lead to it alone. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "program/lines/lines_inside.h"
#include "program/symbols/symbols.h"

#define HOOK_INSTRUCTIONS 4u /* that give a hook its arguments */
#define ROUNDS_MAX        16 /* of blocks that are known by others that are */

/* How often a block ran in each choice, and whether it ever did. */
struct ran {
    uint64_t count[2];
    bool is_sure[2]; /* of the count; else it is the least that it can be */
    bool is_known, ran_elsewhere;
};

/* One function, while its lines are counted. */
struct counting {
    struct tool_source_lines *view;
    const struct tool_lines_function *function;
    const struct tool_code *code;
    struct ran *blocks;       /* of the function, from its first on */
    struct tool_lines_at *at; /* by instruction of `queries` */
    bool *is_hook;            /* by instruction: it calls the function's exit hook */
    struct tool_symbols_query *queries;
    size_t query_count;
    size_t *called; /* by question of a target: the instruction that calls it */
    const struct tool_symbols_query *targets;
    struct tool_lines_hooks hooks;
    struct tool_lines_leaves leaves;
    struct tool_lines_before before;
};

/* -- blocks -- */

static struct ran *ran_at(const struct counting *c, uint32_t block)
{
    bool is_in = block >= c->function->first && block < c->function->last;
    return is_in ? &c->blocks[block - c->function->first] : NULL;
}

static void count_told(const struct counting *c)
{
    const struct tool_source_lines *view = c->view;
    for (size_t i = c->function->first; i < c->function->last; i++) {
        const struct tool_code_block *block = &view->blocks[i];
        struct ran *ran = &c->blocks[i - c->function->first];
        *ran = (struct ran){.is_known = block->tells, .is_sure = {true, true}};
        if (block->site == TOOL_LINES_NONE)
            continue;
        ran->ran_elsewhere = true;
        for (size_t k = 0; k < 1 + (size_t)view->has_second; k++)
            ran->count[k] = view->counts[k].by_site[block->site];
    }
}

static void add_ran(struct ran *to, const struct ran *from)
{
    to->count[0] += from->count[0];
    to->count[1] += from->count[1];
    to->ran_elsewhere = to->ran_elsewhere || from->ran_elsewhere;
}

/* Which blocks lead to each. */
static bool list_before(struct counting *c)
{
    struct ttp_region *region = &c->view->region;
    const struct tool_lines_function *function = c->function;
    size_t count = function->last - function->first;
    const struct tool_code_block *blocks = c->view->blocks + function->first;
    c->before.function = function;
    c->before.first = ttp_region_take(region, count + 2, sizeof *c->before.first);
    c->before.list = ttp_region_take(region, 2 * count + 1, sizeof *c->before.list);
    if (region->is_short)
        return false;
    for (int pass = 0; pass < 2; pass++) { /* how many there are, two places further; which */
        for (size_t i = 0; i < 2 * count; i++) {
            uint32_t next = blocks[i / 2].next[i % 2];
            if (ran_at(c, next) == NULL || (i % 2 == 1 && next == blocks[i / 2].next[0]))
                continue;
            size_t *at = &c->before.first[next - function->first + 1];
            if (pass == 0)
                at[1]++;
            else
                c->before.list[(*at)++] = (uint32_t)(function->first + i / 2);
        }
        for (size_t i = 1; pass == 0 && i <= count; i++)
            c->before.first[i + 1] += c->before.first[i];
    }
    return true;
}

static size_t count_before(const struct counting *c, uint32_t block)
{
    size_t number = block - c->function->first;
    return c->before.first[number + 1] - c->before.first[number];
}

/* Does one block lead to it, and nothing else? */
static bool has_one_before(const struct counting *c, uint32_t block)
{
    return count_before(c, block) == 1 && !c->view->blocks[block].is_odd;
}

/* Passes of a block that came to its end. */
static struct ran whole_passes(const struct counting *c, uint32_t block, const struct ran *ran)
{
    struct ran whole = *ran;
    for (size_t k = 0; k < 1 + (size_t)c->view->has_second; k++) {
        uint64_t left = tool_lines_left_before(&c->leaves, block, SIZE_MAX, k);
        whole.count[k] -= left < ran->count[k] ? left : ran->count[k];
    }
    return whole;
}

/* How often a block led to another: all its passes, where it leads nowhere else; those that did not
 * go the other way, where nothing but this block leads there. */
static struct ran edge_passes(const struct counting *c, uint32_t from, uint32_t to)
{
    const struct tool_code_block *block = &c->view->blocks[from];
    struct ran unknown = {.is_known = false}, edge = whole_passes(c, from, ran_at(c, from));
    uint32_t other = block->next[0] == to ? block->next[1] : block->next[0];
    if (!edge.is_known || block->has_other_way)
        return unknown;
    if (other == TOOL_LINES_NONE || other == to)
        return edge;
    const struct ran *away = ran_at(c, other);
    if (away == NULL || !away->is_known || !has_one_before(c, other))
        return unknown;
    for (size_t k = 0; k < 1 + (size_t)c->view->has_second; k++) {
        edge.count[k] -= away->count[k] < edge.count[k] ? away->count[k] : edge.count[k];
        if (edge.count[k] == 0 && edge.ran_elsewhere && !c->view->is_all)
            return unknown; /* of the other calls only whether it ran is known, not how often */
    }
    edge.ran_elsewhere = edge.count[0] > 0 || edge.count[1] > 0;
    return edge;
}

/* What told before and behind says of those that do not tell how often they ran in the choice; of
 * other calls it says only that they ran there where all are chosen. */
static void take_followed(const struct counting *c)
{
    struct tool_source_lines *view = c->view;
    size_t size = c->function->last - c->function->first;
    struct tool_lines_pass *passes = ttp_region_take(&view->region, size + 1, sizeof *passes);
    if (passes == NULL)
        return;
    for (size_t i = 0; i < size; i++)
        c->blocks[i].is_known = true;
    for (size_t k = 0; k < 1 + (size_t)view->has_second; k++) {
        for (size_t i = 0; i < size; i++)
            passes[i].count =
                view->blocks[c->function->first + i].tells ? c->blocks[i].count[k] : 0;
        for (size_t i = 0; i < c->leaves.count; i++) {
            const struct tool_lines_leave *leave = &c->leaves.list[i];
            uint64_t *count = &passes[leave->from - c->function->first].count;
            *count -= leave->count[k] < *count ? leave->count[k] : *count;
        }
        tool_lines_follow(view, &c->before, &c->leaves, k, passes);
        for (size_t i = 0; i < size; i++) {
            struct ran *ran = &c->blocks[i];
            if (view->blocks[c->function->first + i].tells)
                continue;
            ran->count[k] = passes[i].count;
            ran->ran_elsewhere = ran->ran_elsewhere || passes[i].count > 0;
            ran->is_sure[k] = passes[i].is_sure;
            ran->is_known = ran->is_known && passes[i].is_sure;
        }
    }
    for (size_t i = 0; i < size; i++)
        if (!view->blocks[c->function->first + i].tells)
            c->blocks[i].is_known =
                c->blocks[i].is_known && (view->is_all || c->blocks[i].ran_elsewhere);
    ttp_region_give(&view->region, passes);
}

/* All ways that lead to a block, added up. */
static bool find_before(const struct counting *c, uint32_t block, struct ran *sum)
{
    size_t number = block - c->function->first;
    *sum = (struct ran){.is_known = true, .is_sure = {true, true}};
    for (size_t i = c->before.first[number]; i < c->before.first[number + 1]; i++) {
        struct ran edge = edge_passes(c, c->before.list[i], block);
        if (!edge.is_known)
            return false;
        add_ran(sum, &edge);
    }
    return count_before(c, block) > 0 && !c->view->blocks[block].is_odd;
}

/* Adds up what this block goes on with, where nothing else leads there. */
static bool find_behind(const struct counting *c, uint32_t block, struct ran *sum)
{
    const struct tool_code_block *from = &c->view->blocks[block];
    *sum = (struct ran){.is_known = true, .is_sure = {true, true}};
    bool is_any = false;
    for (size_t k = 0; k < 2; k++) {
        uint32_t next = from->next[k];
        if (next == TOOL_LINES_NONE || (k == 1 && next == from->next[0]))
            continue;
        const struct ran *ran = ran_at(c, next);
        if (ran == NULL || !ran->is_known || !has_one_before(c, next))
            return false;
        add_ran(sum, ran);
        is_any = true;
    }
    return is_any && !from->has_other_way;
}

/* What comes behind says more: a pass that ends within a block is none of those. */
static bool infer_by(const struct counting *c, bool by_behind)
{
    bool is_any = false;
    for (size_t i = c->function->first; i < c->function->last; i++) {
        struct ran sum, *ran = ran_at(c, (uint32_t)i);
        if (ran->is_known)
            continue;
        bool is_told =
            by_behind ? find_behind(c, (uint32_t)i, &sum) : find_before(c, (uint32_t)i, &sum);
        if (is_told)
            *ran = sum;
        is_any = is_any || is_told;
    }
    return is_any;
}

static void infer(const struct counting *c)
{
    bool is_new = true;
    for (int round = 0; round < ROUNDS_MAX && is_new; round++) {
        is_new = infer_by(c, true);
        is_new = is_new || infer_by(c, false);
    }
}

/* -- lines -- */

uint32_t tool_lines_number(struct tool_source_lines *view, struct tool_lines_texts *texts,
                           ttape_string text)
{
    bool is_new;
    uint32_t *number =
        ttp_text_map_at(&view->region, &texts->numbers, text.data, text.size_bytes, &is_new);
    if (is_new) {
        char *copy = ttp_region_copy(&view->region, text.data, text.size_bytes);
        char **added = ttp_region_add(&view->region, &texts->list, &texts->count, &texts->capacity,
                                      sizeof *texts->list);
        if (copy == NULL || added == NULL)
            return 0;
        *added = copy;
        *number = (uint32_t)(texts->count - 1);
    }
    return *number;
}

static void take_at(void *context, size_t number, const struct tool_symbol *found)
{
    struct counting *c = context;
    bool is_known = found->file.size_bytes > 0 && found->line > 0;
    c->at[number].file =
        is_known ? tool_lines_number(c->view, &c->view->files, found->file) : TOOL_LINES_NONE;
    c->at[number].line = found->line;
    c->at[number].begins = found->begins;
    c->at[number].is_joined = found->is_optimized;
}

static void take_target(void *context, size_t number, const struct tool_symbol *found)
{
    static const char hook[] = "__cyg_profile_func_exit";
    const size_t common = sizeof "__cyg_profile_func_" - 1;
    struct counting *c = context;
    bool is_any =
        found->name.size_bytes >= sizeof hook - 1 && memcmp(found->name.data, hook, common) == 0;
    uint64_t target = c->targets[number].elf_address;
    c->is_hook[c->called[number]] = is_any && memcmp(found->name.data, hook, sizeof hook - 1) == 0;
    if (is_any && !tool_lines_is_hook(&c->hooks, target) &&
        c->hooks.count < sizeof c->hooks.places / sizeof *c->hooks.places)
        c->hooks.places[c->hooks.count++] = target;
}

/* Whom the calls call. */
static void ask_targets(struct counting *c, struct tool_symbols_module *asked)
{
    struct ttp_region *region = &c->view->region;
    size_t count = 0, query = 0;
    struct tool_symbols_query *queries =
        ttp_region_take(region, c->query_count + 1, sizeof *queries);
    c->called = ttp_region_take(region, c->query_count + 1, sizeof *c->called);
    c->is_hook = ttp_region_take(region, c->query_count + 1, sizeof *c->is_hook);
    if (region->is_short)
        return;
    for (size_t i = c->function->first; i < c->function->last; i++)
        for (size_t k = c->view->blocks[i].first; k < c->view->blocks[i].last; k++, query++) {
            if (c->code->instructions[k].kind != TOOL_CODE_CALL)
                continue;
            queries[count].elf_address = c->code->instructions[k].target;
            c->called[count++] = query;
        }
    c->targets = queries;
    (void)tool_symbols_find_all(c->view->options.symbols, asked, queries, count, take_target, c);
    ttp_region_give(region, queries);
    ttp_region_give(region, c->called);
}

static void tell_trouble(const struct tool_source_lines *view, struct tool_symbols_module *module)
{
    const char *path, *reason = tool_symbols_module_trouble(module, &path);
    if (reason != NULL && view->options.trouble != NULL)
        view->options.trouble(view->options.context, path, reason, false);
}

/* Instructions of all blocks, in their order. */
static void ask(struct counting *c)
{
    struct ttp_region *region = &c->view->region;
    struct tool_symbols *symbols = c->view->options.symbols;
    struct tool_lines_module *module = &c->view->modules[c->function->module];
    const struct tool_image *image = module->file.image;
    size_t count = 0;
    for (size_t i = c->function->first; i < c->function->last; i++)
        count += c->view->blocks[i].last - c->view->blocks[i].first;
    c->queries = ttp_region_take(region, count + 1, sizeof *c->queries);
    c->at = ttp_region_take(region, count + 1, sizeof *c->at);
    if (region->is_short)
        return;
    for (size_t i = c->function->first; i < c->function->last; i++)
        for (size_t k = c->view->blocks[i].first; k < c->view->blocks[i].last; k++) {
            c->at[c->query_count].file = TOOL_LINES_NONE;
            c->queries[c->query_count++] =
                (struct tool_symbols_query){.elf_address = c->code->instructions[k].address};
        }
    struct tool_symbols_module *asked = tool_symbols_module_open(
        symbols, (ttape_string){module->path, strlen(module->path)},
        (ttape_string){(const char *)image->build_id, image->build_id_bytes});
    (void)tool_symbols_find_all(symbols, asked, c->queries, c->query_count, take_at, c);
    tool_lines_list_copies(c->view, module, asked);
    ask_targets(c, asked);
    tell_trouble(c->view, asked);
}

/* A callback that is told its place (trace-pc-guard) gets the address right before its call; up to
 * there it has the line of the block's end, even where that line is elsewhere. */
static bool is_guard(const struct counting *c, const struct tool_code_block *block, size_t k)
{
    const struct tool_instruction *at = &c->code->instructions[k];
    bool is_after = k > block->first && at[-1].is_address && at[-1].kind == TOOL_CODE_PLAIN;
    size_t call = k; /* address, or address and sum, and the call */
    if (at->kind == TOOL_CODE_PLAIN)
        call =
            at->is_address && k + 1 < block->last && at[1].kind == TOOL_CODE_PLAIN ? k + 2 : k + 1;
    bool is_two = k > block->first + 1 && at[-2].is_address && at[-1].kind == TOOL_CODE_PLAIN;
    return block->tells && call < block->last &&
           c->code->instructions[call].address == block->told_at &&
           (at->is_address || is_after || (call == k && is_two));
}

/* What compilers put in for us has the line of whatever was before it, but where the block's own
 * begins there: the call that tells of the block, and, of a few instructions each, the call of the
 * exit hook. The enter hook has the function's own. */
static bool is_ours(const struct counting *c, const struct tool_code_block *block, size_t k,
                    size_t query)
{
    const struct tool_instruction *at = &c->code->instructions[k];
    bool tells = block->tells && at->address == block->told_at;
    for (size_t i = 0; i <= HOOK_INSTRUCTIONS && k + i < block->last; i++) {
        if (c->is_hook[query + i])
            return true;
        if (c->code->instructions[k + i].kind != TOOL_CODE_PLAIN)
            break;
    }
    return is_guard(c, block, k) ||
           (tells && (block->last - block->first > 1 || !c->at[query].begins));
}

/* Compares whole parts of a path. */
static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), end_size = strlen(end);
    return size >= end_size && strcmp(path + size - end_size, end) == 0 &&
           (size == end_size || path[size - end_size - 1] == '/' || end[0] == '/');
}

/* Where other blocks meet, the line of the one right before says nothing of what they have in
 * common. */
static bool is_jumped_to(const struct counting *c, uint32_t block)
{
    size_t number = block - c->function->first;
    bool goes_on = block > c->function->first && count_before(c, block) == 1 &&
                   c->before.list[c->before.first[number]] == block - 1;
    return block > c->function->first && !goes_on;
}

/* A block that is a jump and nothing else, behind another jump to the same place: of the same line,
 * as compilers have it where several ways end with the same `break`. */
static bool is_copy(const struct counting *c, const struct tool_code_block *block)
{
    const struct tool_instruction *at = &c->code->instructions[block->first];
    return block->last - block->first == 1 && block->first > 0 && at->kind == TOOL_CODE_JUMP &&
           at[-1].kind == TOOL_CODE_JUMP && at[-1].target == at->target &&
           at[-1].address + at[-1].length == at->address;
}

/* With the hooks, compilers put in that an exception leaves the function by its exit hook: a block
 * that goes on with a call of what does not return, with the line of whatever was before it. */
static bool is_cleanup(const struct counting *c, const struct tool_code_block *block,
                       size_t first_query)
{
    size_t last = block->last - 1;
    bool is_hook = false;
    for (size_t k = block->first; k < last; k++)
        is_hook = is_hook || c->is_hook[first_query + k - block->first];
    return is_hook && tool_instruction_is_call(&c->code->instructions[last]) &&
           (!block->tells || c->code->instructions[last].address != block->told_at);
}

/* `has_line`: what was before the block has one, and it goes on. Returns the same of what is
 * behind. */
static bool count_block(const struct counting *c, uint32_t number, size_t first_query,
                        bool has_line)
{
    struct tool_source_lines *view = c->view;
    const struct tool_code_block *block = &view->blocks[number];
    const struct ran *ran = ran_at(c, number);
    bool is_first = block->site != TOOL_LINES_NONE;
    bool is_same = is_copy(c, block);
    if (is_cleanup(c, block, first_query))
        return false;
    has_line = is_same || (has_line && !is_jumped_to(c, number));
    for (size_t k = block->first; k < block->last; k++) {
        size_t query = first_query + k - block->first;
        const struct tool_lines_at *at = &c->at[query];
        has_line = has_line || at->begins;
        if (at->file == TOOL_LINES_NONE || !has_line || is_ours(c, block, k, query))
            continue;
        if (is_first)
            view->begins[block->site] = *at;
        is_first = false;
        bool is_wanted =
            view->line_sites == NULL || (at->line == view->options.line &&
                                         ends_with(view->files.list[at->file], view->options.file));
        view->is_joined = view->is_joined || (is_wanted && at->is_joined);
        if (view->line_sites != NULL) { /* that is what is looked for */
            if (block->site != TOOL_LINES_NONE && is_wanted)
                view->line_sites[block->site] = true;
            continue;
        }
        bool is_jump = (at->begins || is_same) && c->code->instructions[k].kind == TOOL_CODE_JUMP;
        const struct tool_lines_copy *copy = tool_lines_copy_at(&view->modules[c->function->module],
                                                                c->code->instructions[k].address);
        struct tool_lines_row *row = ttp_region_add(&view->region, &view->rows, &view->row_count,
                                                    &view->row_capacity, sizeof *view->rows);
        if (row == NULL)
            return false;
        *row = (struct tool_lines_row){
            .line = {.file = at->file,
                     .line = at->line,
                     .inlined = copy != NULL ? view->copied.list[copy->name] : NULL,
                     .is_known = ran->is_known,
                     .is_joined = at->is_joined,
                     .is_sure = {ran->is_sure[0], ran->is_sure[1]}},
            .function = (uint32_t)(c->function - view->functions),
            .copy = copy != NULL ? copy->entry : 0,
            .jump = is_jump ? c->code->instructions[k].target : 0,
            .ran_elsewhere = ran->ran_elsewhere};
        for (size_t i = 0; i < 1 + (size_t)view->has_second; i++) {
            uint64_t left = tool_lines_left_before(&c->leaves, number, k, i);
            row->line.count[i] = ran->count[i] - (left < ran->count[i] ? left : ran->count[i]);
        }
    }
    return has_line;
}

static void count_blocks(struct counting *c)
{
    struct tool_source_lines *view = c->view;
    const struct tool_lines_function *function = c->function;
    if (view->line_sites == NULL) {
        count_told(c);
        tool_lines_find_leaves(view, function, &c->hooks, &c->leaves);
        take_followed(c);
        if (view->is_all || !function->has_guests)
            infer(c);
    }
    size_t query = 0;
    bool has_line = false;
    for (size_t i = function->first; !view->region.is_short && i < function->last; i++) {
        has_line = count_block(c, (uint32_t)i, query, has_line);
        query += view->blocks[i].last - view->blocks[i].first;
    }
}

static void count_function(struct tool_source_lines *view, uint32_t number)
{
    struct ttp_region *region = &view->region;
    const struct tool_lines_function *function = &view->functions[number];
    struct counting c = {.view = view,
                         .function = function,
                         .code = &view->modules[function->module].file.code,
                         .blocks = ttp_region_take(region, function->last - function->first + 1,
                                                   sizeof(struct ran))};
    ask(&c);
    if (list_before(&c))
        count_blocks(&c);
    ttp_region_give(region, c.blocks);
    ttp_region_give(region, c.queries);
    ttp_region_give(region, c.at);
    ttp_region_give(region, c.is_hook);
    ttp_region_give(region, c.leaves.list);
    ttp_region_give(region, c.before.list);
    ttp_region_give(region, c.before.first);
}

/* Functions in which a chosen call was, and those in which something was counted: code that was
 * inlined into others counts there. */
static void want_functions(struct tool_source_lines *view)
{
    for (uint32_t i = 0; i < view->info.site_count; i++) {
        bool is_any = view->line_sites != NULL;
        for (size_t k = 0; k < 1 + (size_t)view->has_second; k++)
            is_any = is_any || view->counts[k].by_site[i] > 0;
        if (is_any && view->places[i].function != TOOL_LINES_NONE)
            view->functions[view->places[i].function].is_wanted = true;
    }
}

/* Blocks alone: begins and ends of calls are none. */
static void list_edges(struct tool_source_lines *view)
{
    const struct tool_lines_pairs *pairs = &view->counts[0].edges;
    for (size_t i = 0; i < pairs->count; i++) {
        const ttape_passes_pair *pair = &pairs->list[i];
        if (!view->places[pair->from].is_block || !view->places[pair->to].is_block)
            continue;
        struct tool_lines_edge *edge = ttp_region_add(
            &view->region, &view->edges, &view->edge_count, &view->edge_capacity, sizeof *edge);
        if (edge == NULL)
            return;
        *edge = (struct tool_lines_edge){pair->from, pair->to, view->begins[pair->from],
                                         view->begins[pair->to], pair->count};
    }
}

ttape_status tool_lines_count(struct tool_source_lines *view)
{
    const ttape_watch *watch = view->options.watch;
    view->begins =
        ttp_region_take(&view->region, (uint64_t)view->info.site_count + 1, sizeof *view->begins);
    if (view->begins == NULL)
        return TTAPE_E_LIMIT;
    for (uint32_t i = 0; i < view->info.site_count; i++)
        view->begins[i].file = TOOL_LINES_NONE;
    want_functions(view);
    tool_lines_find_guests(view);
    for (uint32_t i = 0; !view->region.is_short && i < view->function_count; i++) {
        if (watch != NULL && !watch->goes_on(watch->context, i, view->function_count))
            return tool_lines_fail(view, TTAPE_E_STATE,
                                   "stopped: the caller does not want to go on");
        if (view->functions[i].is_wanted)
            count_function(view, i);
    }
    if (view->line_sites == NULL)
        tool_lines_join(view);
    if (view->line_sites == NULL && view->options.wants_edges)
        list_edges(view);
    ttp_region_give(&view->region, view->begins);
    view->begins = NULL;
    return view->region.is_short ? TTAPE_E_LIMIT : TTAPE_OK;
}
