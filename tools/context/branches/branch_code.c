/* A function's blocks that tell, by its machine code: calls of a coverage callback between the
 * function's own hooks, and which of them may be the next. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/ordered.h"
#include "program/binary/plan_code.h"
#include "program/elf/elf_head.h"
#include "program/symbols/symbols.h"
#include "tools/command/tool.h"
#include "tools/context/branches/branch_view.h"
#include "tools/io/debug_files.h"

#define NONE        UINT32_MAX
#define CALL_BYTES  5u
#define CODE_BYTES  65536u              /* of a function, in which blocks have numbers */
#define INLINED_MAX 8u                  /* functions with hooks in each other */
#define STEPS_MOST  (UINT64_C(1) << 26) /* from block to block */
#define EDGES_MOST  (UINT64_C(1) << 24)

enum event { NOTHING, TELLS, ENTERS, LEAVES };

/* Code without a branch in it, at most one event, at its end. */
struct piece {
    uint32_t start, end, next[2];
    uint32_t block;    /* TELLS: its number among those */
    uint32_t callback; /* whom it calls */
    enum event event;
    bool has_any_next; /* a jump through a register */
};

struct reading {
    struct tool_plan_code file;
    struct tool_symbols *symbols;
    struct tool_symbols_module *module;
    struct piece *pieces; /* by address */
    size_t piece_count, piece_capacity;
    uint32_t *any; /* pieces that something may lead to, other than what is seen */
    size_t any_count;
    uint32_t function; /* of the code */
    struct tool_branch_function *into;
    uint32_t *edges;
    size_t edge_count, edge_capacity;
    uint64_t steps_left;
};

/* -- the file -- */

static const char *open_code(struct reading *r, const char *path)
{
    const char *reason = NULL;
    int fd = tool_elf_open_file(NULL, path, &reason);
    if (fd < 0)
        return reason;
    reason = tool_plan_code_open(&r->file, fd, tool_code_open_whole);
    if (reason == NULL && !tool_code_find_ways(&r->file.code))
        reason = "it would take too much memory";
    (void)close(fd);
    return reason;
}

static void open_symbols(struct reading *r, const char *path)
{
    static const struct tool_symbols_options plain;
    const struct tool_image *image = r->file.image;
    r->symbols = tool_symbols_make(&plain);
    r->module = tool_symbols_module_open(
        r->symbols, (ttape_string){path, strlen(path)},
        (ttape_string){(const char *)image->build_id, image->build_id_bytes});
}

/* -- which function -- */

struct search {
    struct reading *reading;
    const char *name;
    uint32_t found, count;
};

/* The whole name, or the one in front of its arguments. */
static bool is_name(ttape_string name, const char *wanted)
{
    size_t size = strlen(wanted);
    return name.size_bytes >= size && memcmp(name.data, wanted, size) == 0 &&
           (name.size_bytes == size || name.data[size] == '(');
}

static void take_name(void *context, size_t number, const struct tool_symbol *found)
{
    struct search *search = context;
    const struct tool_function *function = &search->reading->file.code.functions[number];
    bool is_raw = function->name != NULL && strcmp(function->name, search->name) == 0;
    if (function->parent != number || (!is_raw && !is_name(found->name, search->name)))
        return;
    search->found = (uint32_t)number;
    search->count++;
}

static const char *find_function(struct reading *r, const char *name)
{
    const struct tool_code *code = &r->file.code;
    struct search search = {.reading = r, .name = name};
    if (name[0] == '0' && name[1] == 'x') {
        char *end;
        uint64_t address = strtoull(name, &end, 16);
        size_t at = *end != '\0' || address > UINT32_MAX
                        ? code->function_count
                        : tool_code_function_at(code, (uint32_t)address);
        if (at == code->function_count)
            return "no function is there";
        r->function = code->functions[at].parent;
        return NULL;
    }
    struct tool_symbols_query *queries = tool_allocate(code->function_count + 1, sizeof *queries);
    for (size_t i = 0; i < code->function_count; i++)
        queries[i] =
            (struct tool_symbols_query){.elf_address = code->functions[i].start, .entry = true};
    (void)tool_symbols_find_all(r->symbols, r->module, queries, code->function_count, take_name,
                                &search);
    free(queries);
    (void)tool_symbols_warn(r->module);
    r->function = search.found;
    return search.count == 0  ? "it has no function of that name"
           : search.count > 1 ? "several functions have that name: give 0xADDRESS"
                              : NULL;
}

/* -- pieces of code -- */

static bool ends_piece(const struct tool_instruction *at)
{
    return at->kind == TOOL_CODE_JUMP || at->kind == TOOL_CODE_JUMP_INDIRECT ||
           at->kind == TOOL_CODE_BRANCH || at->kind == TOOL_CODE_LOOP ||
           at->kind == TOOL_CODE_RETURN || at->kind == TOOL_CODE_STOP || at->kind == TOOL_CODE_CALL;
}

static void add_piece(struct reading *r, size_t first, size_t last)
{
    const struct tool_instruction *all = r->file.code.instructions;
    const struct tool_instruction *end = &all[last - 1];
    tool_grow((void **)&r->pieces, &r->piece_capacity, r->piece_count + 1, sizeof *r->pieces);
    r->pieces[r->piece_count++] =
        (struct piece){.start = all[first].address,
                       .end = end->address + end->length,
                       .next = {NONE, NONE},
                       .block = NONE,
                       .callback = end->kind == TOOL_CODE_CALL ? end->target : NONE,
                       .has_any_next = end->kind == TOOL_CODE_JUMP_INDIRECT};
}

/* Calls end a piece, too: whom they call is asked later. */
static void cut(struct reading *r, const struct tool_function *function)
{
    const struct tool_code *code = &r->file.code;
    size_t first = function->first, end = function->first + function->count;
    for (size_t i = function->first; i < end; i++) {
        const struct tool_instruction *at = &code->instructions[i];
        if (i > first && (tool_code_is_marked(code, at->address) || ends_piece(at - 1) ||
                          at[-1].address + at[-1].length != at->address)) {
            add_piece(r, first, i);
            first = i;
        }
    }
    if (first < end)
        add_piece(r, first, end);
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *one = a, *other = b;
    return one->start < other->start ? -1 : one->start > other->start;
}

static uint32_t piece_at(const struct reading *r, uint32_t address)
{
    struct ttp_bisect s = {.end = r->piece_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, r->pieces[s.middle].start < address);
    return s.first < r->piece_count && r->pieces[s.first].start == address ? (uint32_t)s.first
                                                                           : NONE;
}

static const struct tool_instruction *last_of(const struct reading *r, const struct piece *piece)
{
    const struct tool_code *code = &r->file.code;
    size_t function = tool_code_function_at(code, piece->start);
    const struct tool_instruction *from = &code->instructions[code->functions[function].first];
    struct ttp_bisect s = {.end = code->functions[function].count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, from[s.middle].address + from[s.middle].length < piece->end);
    return &from[s.first];
}

static void link_pieces(struct reading *r)
{
    r->any = tool_allocate(r->piece_count + 1, sizeof *r->any);
    for (size_t i = 0; i < r->piece_count; i++) {
        struct piece *piece = &r->pieces[i];
        const struct tool_instruction *last = last_of(r, piece);
        bool jumps = last->kind == TOOL_CODE_JUMP || last->kind == TOOL_CODE_BRANCH ||
                     last->kind == TOOL_CODE_LOOP;
        bool stops = last->kind == TOOL_CODE_JUMP || last->kind == TOOL_CODE_JUMP_INDIRECT ||
                     last->kind == TOOL_CODE_RETURN || last->kind == TOOL_CODE_STOP;
        if (!stops && i + 1 < r->piece_count && r->pieces[i + 1].start == piece->end)
            piece->next[0] = (uint32_t)i + 1;
        if (jumps)
            piece->next[1] = piece_at(r, last->target);
        if (tool_code_is_marked(&r->file.code, piece->start))
            r->any[r->any_count++] = (uint32_t)i;
        r->into->has_unsure |= piece->has_any_next;
    }
}

/* -- whom calls call -- */

static void take_called(void *context, size_t number, const struct tool_symbol *found)
{
    struct reading *r = context;
    struct piece *piece = &r->pieces[number];
    if (piece->callback == NONE)
        return;
    static const struct {
        const char *name;
        enum event event;
    } known[] = {{"__sanitizer_cov_trace_pc", TELLS},
                 {"__sanitizer_cov_trace_pc_guard", TELLS},
                 {"__cyg_profile_func_enter", ENTERS},
                 {"__cyg_profile_func_exit", LEAVES}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = strlen(known[i].name);
        ttape_string name = found->name;
        if (name.size_bytes >= size && memcmp(name.data, known[i].name, size) == 0 &&
            (name.size_bytes == size || name.data[size] == '@'))
            piece->event = known[i].event;
    }
}

static void find_events(struct reading *r)
{
    struct tool_symbols_query *queries = tool_allocate(r->piece_count + 1, sizeof *queries);
    for (size_t i = 0; i < r->piece_count; i++)
        queries[i].elf_address =
            r->pieces[i].callback == NONE ? r->pieces[i].start : r->pieces[i].callback;
    (void)tool_symbols_find_all(r->symbols, r->module, queries, r->piece_count, take_called, r);
    free(queries);
}

/* -- blocks -- */

/* As the runtime counts: every byte that could be such a call (spec/context.md, 6). */
static void number_blocks(struct reading *r)
{
    uint32_t start = r->file.code.functions[r->function].start, number = 0;
    size_t available, next = 0;
    const uint8_t *bytes = tool_image_at(r->file.image, start, &available);
    if (bytes == NULL)
        return;
    for (size_t at = 0; at + CALL_BYTES <= available && at + CALL_BYTES <= CODE_BYTES; at++) {
        uint32_t end = start + (uint32_t)at + CALL_BYTES;
        while (next < r->piece_count &&
               (r->pieces[next].event != TELLS || r->pieces[next].end < end))
            next++;
        if (next == r->piece_count)
            return;
        bool is_call =
            bytes[at] == 0xE8 && end + tool_le32(bytes + at + 1) == r->pieces[next].callback;
        if (r->pieces[next].end == end && r->pieces[next].block != NONE)
            r->into->blocks[r->pieces[next].block].number = number;
        number += is_call;
    }
}

static void take_place(void *context, size_t number, const struct tool_symbol *found)
{
    struct tool_branch_block *block = &((struct tool_branch_function *)context)->blocks[number];
    if (found->file.size_bytes == 0 || found->file.size_bytes > 4096 || block->place != NULL)
        return;
    size_t room = found->file.size_bytes * TTP_ESCAPE_MAX + 16;
    block->place = tool_allocate(room, 1);
    size_t size =
        ttp_escape(block->place, TTP_ESCAPE_TERMINAL, found->file.data, found->file.size_bytes);
    (void)snprintf(block->place + size, room - size, ":%" PRIu32, found->line);
}

static void list_blocks(struct reading *r)
{
    struct tool_branch_function *into = r->into;
    uint32_t count = 0;
    uint64_t *ids = tool_allocate(r->piece_count + 1, sizeof *ids);
    struct tool_symbols_query *queries = tool_allocate(r->piece_count + 1, sizeof *queries);
    into->blocks = tool_allocate(r->piece_count + 1, sizeof *into->blocks);
    for (size_t i = 0; i < r->piece_count; i++) {
        if (r->pieces[i].event != TELLS)
            continue;
        uint32_t id = r->pieces[i].end - 1;
        into->blocks[count] = (struct tool_branch_block){.id = id, .number = TOOL_BRANCH_NO_NUMBER};
        queries[count].elf_address = r->pieces[i].end; /* the call has the line before it */
        ids[count] = id;
        r->pieces[i].block = count++;
    }
    into->graph.ids = ids;
    into->graph.count = count;
    (void)tool_symbols_find_all(r->symbols, r->module, queries, count, take_place, into);
    free(queries);
    number_blocks(r);
}

/* -- which may come next -- */

/* From a piece on, `depth` functions with hooks being open, this one counted: each block of this
 * one's own that comes first. */
struct spread {
    struct reading *reading;
    uint32_t *seen; /* by piece and depth: the turn in which it was */
    uint32_t *work; /* pieces and depths to look at */
    size_t work_count;
    uint32_t turn;
    bool is_unsure; /* a jump through a register was met */
};

static void spread_to(struct spread *s, uint32_t piece, uint32_t depth)
{
    if (piece == NONE || depth > INLINED_MAX)
        return;
    uint32_t at = piece * (INLINED_MAX + 1) + depth;
    if (s->seen[at] == s->turn)
        return;
    s->seen[at] = s->turn;
    s->work[s->work_count++] = at;
}

static void spread_behind(struct spread *s, const struct piece *piece, uint32_t depth)
{
    spread_to(s, piece->next[0], depth);
    spread_to(s, piece->next[1], depth);
    s->is_unsure |= piece->has_any_next;
    for (size_t i = 0; piece->has_any_next && i < s->reading->any_count; i++)
        spread_to(s, s->reading->any[i], depth);
}

static bool look_at(struct spread *s, uint32_t at)
{
    struct reading *r = s->reading;
    const struct piece *piece = &r->pieces[at / (INLINED_MAX + 1)];
    uint32_t depth = at % (INLINED_MAX + 1);
    uint64_t cost = piece->has_any_next ? r->any_count + 1 : 1;
    if (r->steps_left < cost || r->edge_count >= EDGES_MOST)
        return false;
    r->steps_left -= cost;
    if (piece->event == TELLS && depth == 1) {
        tool_grow((void **)&r->edges, &r->edge_capacity, r->edge_count + 1, sizeof *r->edges);
        r->edges[r->edge_count++] = piece->block;
        return true;
    }
    depth += piece->event == ENTERS;
    if (piece->event == LEAVES && depth-- <= 1)
        return true; /* the call is over */
    spread_behind(s, piece, depth);
    return true;
}

static bool empty_work(struct spread *s)
{
    while (s->work_count != 0)
        if (!look_at(s, s->work[--s->work_count]))
            return false;
    return true;
}

static bool connect(struct reading *r)
{
    struct tool_branch_graph *graph = &r->into->graph;
    uint32_t *first = tool_allocate((size_t)graph->count + 2, sizeof *first);
    size_t rooms = r->piece_count * (INLINED_MAX + 1) + 1;
    struct spread s = {.reading = r,
                       .seen = tool_allocate(rooms, sizeof *s.seen),
                       .work = tool_allocate(rooms, sizeof *s.work),
                       .turn = 1};
    uint32_t start = piece_at(r, r->file.code.functions[r->function].start);
    graph->first = first;
    spread_to(&s, start, 0);
    bool is_done = empty_work(&s);
    graph->start_count = (uint32_t)r->edge_count;
    r->into->starts_unsure = s.is_unsure;
    for (size_t i = 0; i < r->piece_count && is_done; i++) {
        if (r->pieces[i].event != TELLS)
            continue;
        first[r->pieces[i].block] = (uint32_t)r->edge_count - graph->start_count;
        s.turn++;
        s.is_unsure = false;
        spread_behind(&s, &r->pieces[i], 1);
        is_done = empty_work(&s);
        r->into->blocks[r->pieces[i].block].is_unsure = s.is_unsure;
    }
    first[graph->count] = (uint32_t)r->edge_count - graph->start_count;
    free(s.seen);
    free(s.work);
    graph->starts = r->edges;
    graph->next = r->edges == NULL ? NULL : r->edges + graph->start_count;
    return is_done;
}

/* -- all of it -- */

/* sub or and of a register from the stack pointer: 48 29 /r, 48 2b /r with rsp. */
static bool moves_stack(const struct reading *r)
{
    const struct tool_code *code = &r->file.code;
    const struct tool_function *function = &code->functions[r->function];
    for (size_t i = 0; i < function->count; i++) {
        const struct tool_instruction *at = &code->instructions[function->first + i];
        size_t available;
        const uint8_t *bytes = tool_image_at(code->image, at->address, &available);
        if (bytes != NULL && available >= 3 && at->length == 3 && (bytes[0] & 0xfb) == 0x48 &&
            ((bytes[1] == 0x29 && (bytes[2] & 0xc7) == 0xc4) ||
             (bytes[1] == 0x2b && (bytes[2] & 0xf8) == 0xe0)))
            return true;
    }
    return false;
}

static const char *read_function(struct reading *r, const char *name)
{
    const struct tool_code *code = &r->file.code;
    const char *why = find_function(r, name);
    if (why != NULL)
        return why;
    for (size_t i = 0; i < code->function_count; i++)
        if (code->functions[i].parent == r->function)
            cut(r, &code->functions[i]);
    qsort(r->pieces, r->piece_count, sizeof *r->pieces, compare_pieces);
    link_pieces(r);
    find_events(r);
    bool enters = false;
    for (size_t i = 0; i < r->piece_count; i++)
        enters |= r->pieces[i].event == ENTERS;
    list_blocks(r);
    r->into->moves_stack = moves_stack(r);
    if (!enters || r->into->graph.count == 0)
        return "its code has no hooks or no blocks: it is built with -finstrument-functions and "
               "-fsanitize-coverage=trace-pc, and not stripped";
    return connect(r) ? NULL : "its code is too large";
}

int tool_branch_open(struct tool_branch_function *function, const char *path, const char *name)
{
    struct reading r = {.into = function, .steps_left = STEPS_MOST};
    *function = (struct tool_branch_function){0};
    const char *why = open_code(&r, path);
    if (why == NULL) {
        open_symbols(&r, path);
        why = read_function(&r, name);
        tool_symbols_close(r.symbols);
    }
    function->graph.starts = r.edges;
    size_t size = strlen(name);
    function->name = tool_allocate(size * TTP_ESCAPE_MAX + 1, 1);
    function->name[ttp_escape(function->name, TTP_ESCAPE_TERMINAL, name, size)] = '\0';
    free(r.pieces);
    free(r.any);
    tool_plan_code_close(&r.file);
    return why == NULL ? TOOL_OK : tool_fail("'%s': '%s': %s", path, name, why);
}

void tool_branch_close(struct tool_branch_function *function)
{
    for (uint32_t i = 0; function->blocks != NULL && i < function->graph.count; i++)
        free(function->blocks[i].place);
    free(function->blocks);
    free((void *)function->graph.ids);
    free((void *)function->graph.first);
    free((void *)function->graph.starts);
    free(function->name);
}
