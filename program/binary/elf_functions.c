/* Functions, of DWARF: which lines each was written in, from its name's to the last one that code
 * of it is of; and copies of inlined ones: where the code of each is, where it is entered, and
 * which line called it. A unit's are read when one of them is asked for. */
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/ordered.h"
#include "program/binary/dies.h"
#include "program/binary/elf_symbols.h"
#include "program/binary/inlined_calls.h"
#include "program/process/child.h"

struct listing {
    tool_elf_take_inlined take;
    void *context;
};

/* False: no more are wanted. */
static bool take_one(struct listing *listing, Dwarf_Die *unit, Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    struct tool_elf_inlined inlined = {.name = tool_die_linked_name(die)};
    inlined.line = tool_die_call_line(unit, die, &inlined.file);
    if (inlined.name == NULL)
        return true;
    ptrdiff_t at = 0;
    if (dwarf_entrypc(die, &inlined.entry) != 0) /* it has ranges, and none is said to be first */
        inlined.entry = dwarf_ranges(die, 0, &base, &start, &end) > 0 ? start : 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        inlined.start = start;
        inlined.end = end;
        if (start < end && !listing->take(listing->context, &inlined))
            return false;
    }
    return true;
}

static bool look_for_inlined(void *context, Dwarf_Die *unit, Dwarf_Die *die)
{
    return dwarf_tag(die) != DW_TAG_inlined_subroutine || take_one(context, unit, die);
}

void tool_elf_inlined_list(struct tool_elf_lines *lines, tool_elf_take_inlined take, void *context)
{
    struct listing listing = {take, context};
    Dwarf *dwarf = tool_elf_lines_dwarf(lines);
    if (dwarf != NULL)
        tool_dies_walk(dwarf, look_for_inlined, &listing);
}

/* -- which function code is of -- */

/* A function's code, or that of a copy of an inlined one. */
struct owner {
    Dwarf_Off die, origin; /* origin: what all copies are copies of; 0: none */
    uint64_t entry;
    uint32_t file, line; /* where it is written; file: in `files`, NONE: not known */
    uint32_t last;       /* the last line of it that code is of */
    uint32_t bound;      /* that is before this one */
    bool is_copy;
};

/* A range of it. */
struct piece {
    uint64_t start, end;
    uint32_t owner, depth;
};

/* Those of what was compiled at once. */
struct unit {
    Dwarf_Off die;
    struct owner *owners;
    size_t owner_count, owner_capacity;
    struct piece *pieces; /* by start; what holds others comes first */
    size_t piece_count, piece_capacity;
    struct owner **copies; /* those that are, by entry; outer ones first */
    size_t copy_count;
    bool has_lines; /* of its owners the last lines are known */
    char **files;
    size_t file_count, file_capacity;
};

struct tool_elf_functions {
    struct tool_elf_lines *lines;
    struct unit *units; /* by die */
    size_t count, capacity;
    uint32_t dies_left;
};

#define NONE UINT32_MAX

static uint32_t file_number(struct unit *unit, const char *path)
{
    if (path == NULL)
        return NONE;
    for (size_t i = unit->file_count; i-- > 0;)
        if (strcmp(unit->files[i], path) == 0)
            return (uint32_t)i;
    tool_child_grow((void **)&unit->files, &unit->file_capacity, unit->file_count + 1,
                    sizeof(char *));
    unit->files[unit->file_count] = tool_child_copy_text(path, strlen(path));
    return (uint32_t)unit->file_count++;
}

static Dwarf_Off origin_of(Dwarf_Die *die)
{
    Dwarf_Die origin;
    return tool_die_refers(die, DW_AT_abstract_origin, &origin) ? dwarf_dieoffset(&origin) : 0;
}

static void add_pieces(struct unit *unit, Dwarf_Die *die, bool is_copy, uint32_t depth)
{
    Dwarf_Addr base, start, end, entry = 0;
    ptrdiff_t at = 0;
    int line = 0;
    size_t before = unit->piece_count;
    uint32_t owner = (uint32_t)unit->owner_count;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        if (start >= end)
            continue;
        tool_child_grow((void **)&unit->pieces, &unit->piece_capacity, unit->piece_count + 1,
                        sizeof(struct piece));
        unit->pieces[unit->piece_count++] = (struct piece){start, end, owner, depth};
    }
    if (unit->piece_count == before)
        return;
    if (dwarf_entrypc(die, &entry) != 0) /* it has ranges, and none is said to be first */
        entry = unit->pieces[before].start;
    if (dwarf_decl_line(die, &line) != 0 || line < 0)
        line = 0;
    tool_child_grow((void **)&unit->owners, &unit->owner_capacity, unit->owner_count + 1,
                    sizeof(struct owner));
    unit->owners[unit->owner_count++] =
        (struct owner){.die = dwarf_dieoffset(die),
                       .origin = origin_of(die),
                       .entry = entry,
                       .file = line > 0 ? file_number(unit, dwarf_decl_file(die)) : NONE,
                       .line = (uint32_t)line,
                       .last = (uint32_t)line,
                       .is_copy = is_copy};
}

static void read_pieces(struct tool_elf_functions *functions, struct unit *unit, Dwarf_Die *parent,
                        uint32_t depth)
{
    Dwarf_Die die;
    uint32_t *left = &functions->dies_left;
    bool goes_on = depth < TOOL_DIES_DEPTH_MAX && tool_die_first(parent, &die, left);
    for (; goes_on; goes_on = tool_die_next(&die, left)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
            add_pieces(unit, &die, tag == DW_TAG_inlined_subroutine, depth);
        if (tool_die_holds_code(tag))
            read_pieces(functions, unit, &die, depth + 1);
    }
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *one = a, *two = b;
    if (one->start != two->start)
        return one->start < two->start ? -1 : 1;
    if (one->end != two->end)
        return one->end > two->end ? -1 : 1;
    return one->depth < two->depth ? -1 : one->depth > two->depth;
}

/* -- their lines -- */

/* A row within a function's own code. Where the name's line is not said (lambdas), the function's
 * first row has it. */
static void take_line(struct unit *unit, struct owner *owner, Dwarf_Line *row, uint64_t at)
{
    int line = 0;
    const char *file = dwarf_linesrc(row, NULL, NULL);
    if (file == NULL || dwarf_lineno(row, &line) != 0 || line <= 0)
        return;
    if (owner->file == NONE && !owner->is_copy && at == owner->entry) {
        owner->file = file_number(unit, file);
        owner->line = owner->last = (uint32_t)line;
    }
    bool is_more = owner->file != NONE && (uint32_t)line > owner->last;
    if (is_more && (uint32_t)line < owner->bound && strcmp(file, unit->files[owner->file]) == 0)
        owner->last = (uint32_t)line;
}

/* A row is the innermost piece's around it. */
static void read_rows(struct tool_elf_functions *functions, struct unit *unit, uint64_t address)
{
    struct Dwarf_Lines_s *rows;
    size_t row_count, next = 0, open_count = 0;
    uint32_t open[TOOL_DIES_DEPTH_MAX];
    if (!tool_elf_lines_rows(functions->lines, address, &rows, &row_count))
        return;
    for (size_t i = 0; i < row_count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(rows, i);
        Dwarf_Addr at;
        bool ends = true;
        if (row == NULL || dwarf_lineaddr(row, &at) != 0)
            continue;
        for (; next < unit->piece_count && unit->pieces[next].start <= at; next++) {
            while (open_count > 0 &&
                   unit->pieces[open[open_count - 1]].end <= unit->pieces[next].start)
                open_count--;
            if (open_count < TOOL_DIES_DEPTH_MAX)
                open[open_count++] = (uint32_t)next;
        }
        while (open_count > 0 && unit->pieces[open[open_count - 1]].end <= at)
            open_count--;
        if (open_count > 0 && dwarf_lineendsequence(row, &ends) == 0 && !ends)
            take_line(unit, &unit->owners[unit->pieces[open[open_count - 1]].owner], row, at);
    }
}

static int compare_written(const void *a, const void *b)
{
    const struct owner *one = *(struct owner *const *)a, *two = *(struct owner *const *)b;
    if (one->file != two->file)
        return one->file < two->file ? -1 : 1;
    return one->line < two->line ? -1 : one->line > two->line;
}

/* Owners by where they are written. To be freed. */
static struct owner **sort_written(struct unit *unit)
{
    struct owner **order = tool_child_allocate(unit->owner_count + 1, sizeof *order);
    for (size_t i = 0; i < unit->owner_count; i++)
        order[i] = &unit->owners[i];
    qsort(order, unit->owner_count, sizeof *order, compare_written);
    return order;
}

/* Compilers let lines of a host begin within the copy of what they inlined: a copy has none behind
 * where the next function begins. */
static void bound_copies(struct unit *unit)
{
    struct owner **order = sort_written(unit), *next = NULL;
    for (size_t i = unit->owner_count; i-- > 0;) {
        bool is_last = i + 1 == unit->owner_count || order[i + 1]->file != order[i]->file;
        if (is_last)
            next = NULL;
        else if (order[i + 1]->line != order[i]->line)
            next = order[i + 1];
        order[i]->bound = order[i]->is_copy && next != NULL ? next->line : UINT32_MAX;
    }
    free(order);
}

/* What was written once has the same lines, into however many pieces compilers split it. What is
 * not inlined tells best. */
static void join_lines(struct unit *unit)
{
    struct owner **order = sort_written(unit);
    for (size_t i = 0, end; i < unit->owner_count; i = end) {
        uint32_t last[2] = {0};
        for (end = i; end < unit->owner_count && compare_written(&order[i], &order[end]) == 0;
             end++) {
            uint32_t *to = &last[order[end]->is_copy];
            *to = order[end]->last > *to ? order[end]->last : *to;
        }
        for (size_t k = i; k < end; k++)
            order[k]->last = last[0] > 0 ? last[0] : last[1];
    }
    free(order);
}

static int compare_origins(const void *a, const void *b)
{
    const struct owner *one = *(struct owner *const *)a, *two = *(struct owner *const *)b;
    if (one->origin != two->origin)
        return one->origin < two->origin ? -1 : 1;
    bool is_first = one->file != NONE && !one->is_copy,
         is_second = two->file != NONE && !two->is_copy;
    return is_first == is_second ? 0 : is_first ? -1 : 1;
}

/* Copies of what has no line in its name are written where its own code is. */
static void place_copies(struct unit *unit)
{
    struct owner **order = sort_written(unit);
    if (unit->owner_count > 0)
        qsort(order, unit->owner_count, sizeof *order, compare_origins);
    const struct owner *first = NULL;
    for (size_t i = 0; i < unit->owner_count; i++) {
        first = first != NULL && first->origin == order[i]->origin ? first : order[i];
        if (order[i]->origin == 0 || order[i]->file != NONE)
            continue;
        order[i]->file = first->file;
        order[i]->line = first->line;
        order[i]->last = first->last;
    }
    free(order);
}

/* -- copies -- */

static int compare_entries(const void *a, const void *b)
{
    const struct owner *one = *(struct owner *const *)a, *two = *(struct owner *const *)b;
    if (one->entry != two->entry)
        return one->entry < two->entry ? -1 : 1;
    return one < two ? -1 : one > two; /* outer ones come first in the debug information */
}

static void sort_copies(struct unit *unit)
{
    unit->copies = tool_child_allocate(unit->owner_count + 1, sizeof *unit->copies);
    for (size_t i = 0; i < unit->owner_count; i++)
        if (unit->owners[i].is_copy)
            unit->copies[unit->copy_count++] = &unit->owners[i];
    qsort(unit->copies, unit->copy_count, sizeof *unit->copies, compare_entries);
}

/* -- units -- */

/* The unit that has an address; read when it is asked for first. NULL: none has it. */
static struct unit *unit_of(struct tool_elf_functions *functions, uint64_t address)
{
    uint64_t offset;
    Dwarf_Die die;
    struct ttp_bisect s = {.end = functions->count};
    if (!tool_elf_lines_unit(functions->lines, address, &offset))
        return NULL;
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, functions->units[s.middle].die < offset);
    if (s.first < functions->count && functions->units[s.first].die == offset)
        return &functions->units[s.first];
    tool_child_grow((void **)&functions->units, &functions->capacity, functions->count + 1,
                    sizeof(struct unit));
    struct unit *unit = &functions->units[s.first];
    memmove(unit + 1, unit, (functions->count++ - s.first) * sizeof *unit);
    *unit = (struct unit){.die = offset};
    Dwarf *dwarf = tool_elf_lines_dwarf(functions->lines);
    if (dwarf != NULL && dwarf_offdie(dwarf, offset, &die) != NULL)
        read_pieces(functions, unit, &die, 0);
    if (unit->piece_count > 0)
        qsort(unit->pieces, unit->piece_count, sizeof *unit->pieces, compare_pieces);
    sort_copies(unit);
    return unit;
}

struct tool_elf_functions *tool_elf_functions_open(struct tool_elf_lines *lines)
{
    struct tool_elf_functions *functions = tool_child_allocate(1, sizeof *functions);
    functions->lines = lines;
    functions->dies_left = TOOL_DIES_MAX;
    return functions;
}

void tool_elf_functions_close(struct tool_elf_functions *functions)
{
    for (size_t i = 0; functions != NULL && i < functions->count; i++) {
        struct unit *unit = &functions->units[i];
        for (size_t k = 0; k < unit->file_count; k++)
            free(unit->files[k]);
        free(unit->files);
        free(unit->owners);
        free(unit->pieces);
        free(unit->copies);
    }
    if (functions != NULL)
        free(functions->units);
    free(functions);
}

/* -- questions -- */

/* The outermost copy that is entered there; NULL: none. */
static const struct owner *copy_at(const struct unit *unit, uint64_t address)
{
    struct ttp_bisect s = {.end = unit->copy_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, unit->copies[s.middle]->entry < address);
    bool is_it = s.first < unit->copy_count && unit->copies[s.first]->entry == address;
    return is_it ? unit->copies[s.first] : NULL;
}

/* The function, no copy, whose code is there; NULL: none. */
static const struct owner *function_at(const struct unit *unit, uint64_t address)
{
    struct ttp_bisect s = {.end = unit->piece_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, unit->pieces[s.middle].start <= address);
    while (s.first-- > 0) {
        const struct piece *piece = &unit->pieces[s.first];
        const struct owner *owner = &unit->owners[piece->owner];
        if (!owner->is_copy)
            return address < piece->end ? owner : NULL;
    }
    return NULL;
}

static bool take_first(void *context, const struct tool_elf_inlined *inlined)
{
    *(struct tool_elf_inlined *)context = *inlined;
    return false;
}

bool tool_elf_inlined_at(struct tool_elf_functions *functions, uint64_t address,
                         struct tool_elf_inlined *inlined)
{
    Dwarf_Die die, unit_die;
    const struct unit *unit = unit_of(functions, address);
    const struct owner *copy = unit != NULL ? copy_at(unit, address) : NULL;
    struct listing listing = {.take = take_first, .context = inlined};
    Dwarf *dwarf = tool_elf_lines_dwarf(functions->lines);
    return copy != NULL && dwarf != NULL && dwarf_offdie(dwarf, copy->die, &die) != NULL &&
           dwarf_offdie(dwarf, unit->die, &unit_die) != NULL &&
           !take_one(&listing, &unit_die, &die);
}

bool tool_elf_section_at(struct tool_elf_functions *functions, uint64_t address, bool is_copy,
                         struct tool_elf_section *section)
{
    struct unit *unit = unit_of(functions, address);
    if (unit == NULL)
        return false;
    if (!unit->has_lines) {
        unit->has_lines = true;
        bound_copies(unit);
        read_rows(functions, unit, address);
        join_lines(unit);
        place_copies(unit);
    }
    const struct owner *owner = is_copy ? copy_at(unit, address) : function_at(unit, address);
    if (owner == NULL || owner->file == NONE)
        return false;
    *section = (struct tool_elf_section){
        .file = unit->files[owner->file], .first = owner->line, .last = owner->last};
    return true;
}
