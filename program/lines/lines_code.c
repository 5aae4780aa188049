/* Blocks of code, of the modules that told of some. What tells is a call in the code: those that
 * block sites lie in show whom they call, and all calls of the same callback are blocks, also those
 * that never ran. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "program/elf/elf_head.h"
#include "program/lines/lines_inside.h"

#define TABLE_ENTRIES_MAX 65536u /* of a function's tables of places */
#define FIRST_BLOCKS_MAX  8      /* before one that tells, at a function's begin */

/* -- modules -- */

static const char *read_code(struct tool_lines_module *module, const ttape_module *from)
{
    const char *reason = NULL;
    struct tool_elf_head head;
    int fd = tool_elf_open_file(NULL, module->path, &reason);
    if (fd < 0)
        return reason;
    reason = tool_elf_head_read(fd, &head);
    uint64_t page = 0;
    if (reason == NULL && !tool_elf_lowest_page(&head, &page))
        reason = "it has nothing that is loaded";
    if (reason == NULL && from->build_id.size_bytes != 0 &&
        (from->build_id.size_bytes != head.build_id_bytes ||
         memcmp(from->build_id.data, head.build_id, head.build_id_bytes) != 0))
        reason = "it is another build than the one that was recorded";
    module->move = from->start - page;
    if (reason == NULL)
        reason = tool_plan_code_open(&module->file, fd, tool_code_open_whole);
    if (reason == NULL && !tool_code_find_ways(&module->file.code))
        reason = "it would take too much memory";
    (void)close(fd);
    return reason;
}

static struct tool_lines_module *module_of(struct tool_source_lines *view, uint32_t number)
{
    for (size_t i = 0; i < view->module_count; i++)
        if (view->modules[i].number == number)
            return &view->modules[i];
    return NULL;
}

static bool add_module(struct tool_source_lines *view, uint32_t number)
{
    ttape_module from;
    struct ttp_region *region = &view->region;
    if (ttape_reader_get_module(view->reader, number, &from) != TTAPE_OK)
        return false;
    struct tool_lines_module *module = ttp_region_add(
        region, &view->modules, &view->module_count, &view->module_capacity, sizeof *view->modules);
    char *path = ttp_region_copy(region, from.path.data, from.path.size_bytes);
    if (module == NULL || path == NULL)
        return false;
    module->number = number;
    module->path = path;
    const char *reason = read_code(module, &from);
    if (reason != NULL) {
        if (view->options.trouble != NULL)
            view->options.trouble(view->options.context, path, reason, true);
        return false;
    }
    size_t count = module->file.code.function_count;
    module->functions = ttp_region_take(region, count + 1, sizeof *module->functions);
    module->pieces = ttp_region_take(region, count + 1, sizeof *module->pieces);
    for (size_t i = 0; !region->is_short && i < count; i++) {
        module->functions[i] = TOOL_LINES_NONE;
        if (module->file.code.functions[i].parent != i)
            module->pieces[module->piece_count++] = (uint32_t)i;
    }
    return true;
}

/* -- blocks of a function -- */

/* Calls by which blocks tell: where they lead, or where the address that they go to lies. */
struct tellers {
    uint64_t places[8];
    size_t count;
};

static uint64_t place_of(const struct tool_instruction *at)
{
    return at->kind == TOOL_CODE_CALL_INDIRECT ? (uint64_t)1 << 32 | at->target : at->target;
}

static bool is_telling(const struct tellers *tellers, const struct tool_instruction *at)
{
    if (!tool_instruction_is_call(at))
        return false;
    for (size_t i = 0; i < tellers->count; i++)
        if (tellers->places[i] == place_of(at))
            return true;
    return false;
}

static bool ends_block(const struct tool_instruction *at)
{
    return at->kind == TOOL_CODE_JUMP || at->kind == TOOL_CODE_JUMP_INDIRECT ||
           at->kind == TOOL_CODE_BRANCH || at->kind == TOOL_CODE_LOOP ||
           at->kind == TOOL_CODE_RETURN || at->kind == TOOL_CODE_STOP;
}

static const struct tool_instruction *instruction_at(const struct tool_code *code, uint32_t address)
{
    size_t f = tool_code_function_at(code, address);
    if (f == code->function_count)
        return NULL;
    const size_t end = code->functions[f].first + code->functions[f].count;
    struct ttp_bisect s = {.first = code->functions[f].first, .end = end};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(
            &s,
            code->instructions[s.middle].address + code->instructions[s.middle].length <= address);
    const struct tool_instruction *at = &code->instructions[s.first];
    return s.first < end && at->address <= address ? at : NULL;
}

static void add_block(struct tool_source_lines *view, const struct tool_code *code, size_t first,
                      size_t last, const struct tellers *tellers)
{
    const struct tool_instruction *end = &code->instructions[last - 1];
    struct tool_code_block *block = ttp_region_add(&view->region, &view->blocks, &view->block_count,
                                                   &view->block_capacity, sizeof *view->blocks);
    if (block == NULL)
        return;
    *block = (struct tool_code_block){.start = code->instructions[first].address,
                                      .end = end->address + end->length,
                                      .site = TOOL_LINES_NONE,
                                      .next = {TOOL_LINES_NONE, TOOL_LINES_NONE},
                                      .first = first,
                                      .last = last};
    for (size_t i = first; i < last && !block->tells; i++)
        if (is_telling(tellers, &code->instructions[i])) {
            block->tells = true;
            block->told_at = code->instructions[i].address;
        }
}

/* Where something leads, or behind a jump; and each callback has a block of its own. */
static void cut_piece(struct tool_source_lines *view, const struct tool_code *code,
                      const struct tool_function *piece, const struct tellers *tellers)
{
    size_t first = piece->first, end = piece->first + piece->count;
    bool has_told = false;
    for (size_t i = piece->first; i < end; i++) {
        const struct tool_instruction *at = &code->instructions[i];
        bool tells = is_telling(tellers, at);
        bool begins =
            i > first && (tool_code_is_marked(code, at->address) || (tells && has_told) ||
                          ends_block(at - 1) || at[-1].address + at[-1].length != at->address);
        if (begins) {
            add_block(view, code, first, i, tellers);
            first = i;
            has_told = false;
        }
        has_told = has_told || tells;
    }
    if (first < end)
        add_block(view, code, first, end, tellers);
}

static uint32_t block_at(const struct tool_source_lines *view,
                         const struct tool_lines_function *function, uint32_t address)
{
    struct ttp_bisect s = {.first = function->first, .end = function->last};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, view->blocks[s.middle].end <= address);
    bool is_in = s.first < function->last && view->blocks[s.first].start <= address;
    return is_in ? (uint32_t)s.first : TOOL_LINES_NONE;
}

static void link_blocks(struct tool_source_lines *view, const struct tool_lines_function *function)
{
    const struct tool_code *code = &view->modules[function->module].file.code;
    for (size_t i = function->first; i < function->last; i++) {
        struct tool_code_block *block = &view->blocks[i];
        const struct tool_instruction *last = &code->instructions[block->last - 1];
        bool jumps = last->kind == TOOL_CODE_JUMP || last->kind == TOOL_CODE_BRANCH ||
                     last->kind == TOOL_CODE_LOOP;
        bool goes_on = !ends_block(last) || (jumps && last->kind != TOOL_CODE_JUMP);
        if (goes_on && i + 1 < function->last && view->blocks[i + 1].start == block->end)
            block->next[0] = (uint32_t)i + 1;
        if (jumps)
            block->next[1] = block_at(view, function, last->target);
        block->is_open = last->kind == TOOL_CODE_JUMP_INDIRECT;
        block->has_other_way = last->kind == TOOL_CODE_JUMP_INDIRECT ||
                               last->kind == TOOL_CODE_RETURN || last->kind == TOOL_CODE_STOP ||
                               (jumps && block->next[1] == TOOL_LINES_NONE);
    }
}

/* -- blocks that tables lead to -- */

/* A function's blocks, while its tables are read. */
struct tables {
    struct tool_source_lines *view;
    const struct tool_lines_function *function;
    const struct tool_code *code;
    uint32_t entries_left;
};

/* A place in the function, by a table; false: it is outside. */
static bool add_target(const struct tables *t, uint64_t target)
{
    struct tool_source_lines *view = t->view;
    uint32_t block =
        target <= UINT32_MAX ? block_at(view, t->function, (uint32_t)target) : TOOL_LINES_NONE;
    if (block == TOOL_LINES_NONE)
        return false;
    view->blocks[block].is_odd = true;
    uint32_t *added = ttp_region_add(&view->region, &view->targets, &view->target_count,
                                     &view->target_capacity, sizeof *view->targets);
    if (added != NULL)
        *added = block;
    return added != NULL;
}

/* Distances from the table itself, or addresses, until something lies outside of the function or
 * another table begins. */
static void read_table(struct tables *t, uint32_t place)
{
    for (uint32_t each = 4; each <= 8; each += 4) {
        for (uint64_t at = place; t->entries_left > 0; at += each) {
            size_t available;
            const uint8_t *bytes =
                at <= UINT32_MAX ? tool_image_at(t->code->image, (uint32_t)at, &available) : NULL;
            if (bytes == NULL || available < each ||
                (at > place && tool_code_is_taken(t->code, (uint32_t)at)) ||
                !add_target(t, each == 8 ? tool_le64(bytes)
                                         : place + (uint64_t)(int64_t)(int32_t)tool_le32(bytes)))
                break;
            t->entries_left--;
        }
    }
}

static int compare_targets(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

/* Targets from `first` on, each once. */
static void end_targets(struct tool_source_lines *view, size_t first, struct tool_code_block *block)
{
    size_t kept = first;
    if (view->target_count > first)
        qsort(view->targets + first, view->target_count - first, sizeof *view->targets,
              compare_targets);
    for (size_t i = first; i < view->target_count; i++)
        if (i == first || view->targets[i] != view->targets[kept - 1])
            view->targets[kept++] = view->targets[i];
    view->target_count = kept;
    block->table = first;
    block->table_end = kept;
}

/* A block that ends with a jump to a chosen place has its table before it, or else may lead to
 * whatever in the function has its address somewhere. */
static void read_tables(struct tool_source_lines *view, const struct tool_lines_function *function)
{
    struct tables t = {view, function, &view->modules[function->module].file.code,
                       TABLE_ENTRIES_MAX};
    const struct tool_code *code = t.code;
    bool is_open = false;
    for (size_t i = function->first; i < function->last; i++) {
        size_t first = view->target_count;
        for (size_t k = view->blocks[i].first; view->blocks[i].is_open && k < view->blocks[i].last;
             k++)
            if (code->instructions[k].is_table || code->instructions[k].is_address)
                read_table(&t, code->instructions[k].target);
        end_targets(view, first, &view->blocks[i]);
        is_open = is_open || view->blocks[i].is_open;
    }
    size_t first = view->target_count;
    for (size_t i = function->first; i < function->last && is_open; i++) {
        bool is_taken = tool_code_is_taken(code, view->blocks[i].start);
        view->blocks[i].is_odd = view->blocks[i].is_odd || t.entries_left == 0 || is_taken;
        if (is_taken && i > function->first)
            (void)add_target(&t, view->blocks[i].start);
    }
    for (size_t i = function->first; i < function->last; i++)
        if (view->blocks[i].is_open && view->blocks[i].table == view->blocks[i].table_end) {
            view->blocks[i].table = first;
            view->blocks[i].table_end = view->target_count;
        }
}

/* Blocks that tell before any other: what leads to them from the function's begin does not tell. */
static void mark_firsts(struct tool_source_lines *view, const struct tool_lines_function *function)
{
    uint32_t at = block_at(
        view, function, view->modules[function->module].file.code.functions[function->code].start);
    for (int i = 0; i < FIRST_BLOCKS_MAX && at != TOOL_LINES_NONE; i++) {
        struct tool_code_block *block = &view->blocks[at];
        block->is_entry = i == 0;
        block->is_first = block->tells;
        at = block->tells ? TOOL_LINES_NONE : block->next[0];
    }
}

static size_t count_calls(const struct tool_code *code, const struct tool_code_block *block)
{
    size_t calls = 0;
    for (size_t k = block->first; k < block->last; k++)
        calls += tool_instruction_is_call(&code->instructions[k]);
    return calls;
}

/* A return with no call after the exit hook: the hook was the function's last call. */
static void mark_tails(struct tool_source_lines *view, const struct tool_lines_function *function)
{
    const struct tool_code *code = &view->modules[function->module].file.code;
    for (size_t i = function->first; i < function->last; i++) {
        struct tool_code_block *block = &view->blocks[i];
        size_t calls = count_calls(code, block);
        bool returns = code->instructions[block->last - 1].kind == TOOL_CODE_RETURN;
        for (size_t k = 0; k < 2 && !returns && calls == 1; k++) {
            uint32_t next = block->next[k];
            returns = next != TOOL_LINES_NONE && !view->blocks[next].tells &&
                      count_calls(code, &view->blocks[next]) == 0 &&
                      code->instructions[view->blocks[next].last - 1].kind == TOOL_CODE_RETURN;
        }
        block->is_tail = block->tells && returns && calls == 1;
    }
}

static int compare_blocks(const void *a, const void *b)
{
    const struct tool_code_block *one = a, *other = b;
    return one->start < other->start ? -1 : one->start > other->start;
}

static uint32_t add_function(struct tool_source_lines *view, struct tool_lines_module *module,
                             uint32_t number, const struct tellers *tellers)
{
    const struct tool_code *code = &module->file.code;
    uint32_t parent = code->functions[number].parent;
    if (module->functions[parent] != TOOL_LINES_NONE)
        return module->functions[parent];
    struct tool_lines_function *function =
        ttp_region_add(&view->region, &view->functions, &view->function_count,
                       &view->function_capacity, sizeof *view->functions);
    if (function == NULL)
        return TOOL_LINES_NONE;
    *function = (struct tool_lines_function){.module = (uint32_t)(module - view->modules),
                                             .code = parent,
                                             .first = view->block_count,
                                             .site = TOOL_LINES_NONE};
    cut_piece(view, code, &code->functions[parent], tellers);
    for (size_t i = 0; i < module->piece_count; i++)
        if (code->functions[module->pieces[i]].parent == parent)
            cut_piece(view, code, &code->functions[module->pieces[i]], tellers);
    function->last = view->block_count;
    if (view->region.is_short) /* some blocks are not there */
        return TOOL_LINES_NONE;
    if (function->last > function->first)
        qsort(view->blocks + function->first, function->last - function->first,
              sizeof *view->blocks, compare_blocks);
    link_blocks(view, function);
    mark_tails(view, function);
    read_tables(view, function);
    mark_firsts(view, function);
    return module->functions[parent] = (uint32_t)(function - view->functions);
}

/* -- sites -- */

/* The site's address in its module's file; NULL: its module is not open. */
static struct tool_lines_module *find_site(struct tool_source_lines *view, const ttape_site *site,
                                           uint32_t *address)
{
    struct tool_lines_module *module =
        site->module == TTAPE_NONE ? NULL : module_of(view, site->module);
    uint64_t at = module == NULL ? 0 : site->address - module->move;
    *address = (uint32_t)at;
    return module != NULL && module->functions != NULL && at <= UINT32_MAX ? module : NULL;
}

static void learn_teller(struct tool_source_lines *view, const ttape_site *site,
                         struct tellers *tellers)
{
    uint32_t address;
    const struct tool_lines_module *module = find_site(view, site, &address);
    const struct tool_instruction *at =
        module == NULL ? NULL : instruction_at(&module->file.code, address);
    if (at != NULL && tool_instruction_is_call(at) && !is_telling(tellers, at) &&
        tellers->count < sizeof tellers->places / sizeof *tellers->places)
        tellers->places[tellers->count++] = place_of(at);
}

static void place_site(struct tool_source_lines *view, uint32_t number, const ttape_site *site,
                       const struct tellers *tellers)
{
    uint32_t address;
    struct tool_lines_module *module = find_site(view, site, &address);
    if (module == NULL)
        return;
    size_t function = tool_code_function_at(&module->file.code, address);
    if (function == module->file.code.function_count)
        return;
    struct tool_lines_place *place = &view->places[number];
    place->function = add_function(view, module, (uint32_t)function, tellers);
    if (place->function == TOOL_LINES_NONE)
        return;
    if (site->kind != TTAPE_SITE_BLOCK) {
        struct tool_lines_function *of = &view->functions[place->function];
        if (address == module->file.code.functions[of->code].start)
            of->site = number;
        return;
    }
    place->block = block_at(view, &view->functions[place->function], address);
    if (place->block != TOOL_LINES_NONE)
        view->blocks[place->block].site = number;
}

/* Where the sites of one module lie. */
static void place_sites(struct tool_source_lines *view, const struct tool_lines_module *module)
{
    ttape_site site;
    struct tellers tellers = {.count = 0}; /* each module has callbacks of its own */
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; !view->region.is_short && i < view->info.site_count; i++) {
            bool is_here = ttape_reader_get_site(view->reader, i, &site) == TTAPE_OK &&
                           site.module == module->number;
            if (is_here && pass == 0 && site.kind == TTAPE_SITE_BLOCK)
                learn_teller(view, &site, &tellers);
            else if (is_here && pass == 1 &&
                     (site.kind == TTAPE_SITE_BLOCK || site.kind == TTAPE_SITE_FUNCTION))
                place_site(view, i, &site, &tellers);
        }
}

ttape_status tool_lines_open_code(struct tool_source_lines *view)
{
    ttape_site site;
    bool has_blocks = false, is_any = false;
    view->places =
        ttp_region_take(&view->region, (uint64_t)view->info.site_count + 1, sizeof *view->places);
    for (uint32_t i = 0; !view->region.is_short && i < view->info.site_count; i++) {
        view->places[i] = (struct tool_lines_place){TOOL_LINES_NONE, TOOL_LINES_NONE, false};
        if (ttape_reader_get_site(view->reader, i, &site) != TTAPE_OK ||
            site.kind != TTAPE_SITE_BLOCK)
            continue;
        has_blocks = view->places[i].is_block = true;
        if (site.module != TTAPE_NONE && module_of(view, site.module) == NULL)
            is_any = add_module(view, site.module) || is_any;
    }
    if (view->region.is_short)
        return TTAPE_E_LIMIT;
    if (!has_blocks)
        return tool_lines_fail(
            view, TTAPE_E_NOT_FOUND,
            "there are no basic blocks: build the program with "
            "-finstrument-functions -fsanitize-coverage=trace-pc and `pkg-config "
            "--libs tracetape-blocks`");
    if (!is_any)
        return tool_lines_fail(view, TTAPE_E_NOT_FOUND, "the code of its blocks is not there");
    for (size_t m = 0; m < view->module_count; m++)
        place_sites(view, &view->modules[m]);
    return view->region.is_short ? TTAPE_E_LIMIT : TTAPE_OK;
}

void tool_lines_close_code(struct tool_source_lines *view)
{
    for (size_t i = 0; i < view->module_count; i++)
        tool_plan_code_close(&view->modules[i].file);
}
