/* Line tables. Units (what was compiled at once) are found by their address ranges, read from
 * the units themselves: the index section that would be quicker is not there with clang. A
 * unit's lines are decoded when an address in it is asked for; as libdw keeps them, everything
 * is dropped now and then. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "base/ordered.h"
#include "program/binary/dies.h"
#include "program/binary/elf_symbols.h"
#include "program/process/child.h"

#define LINES_KEPT 4000000u /* about 200 MB */

/* A range of addresses of a unit. */
struct unit_range {
    uint64_t start, end;
    Dwarf_Off die;
    bool counted; /* its lines are among those that are kept */
    enum { UNASKED, PLAIN, OPTIMIZED } code;
};

struct tool_elf_lines {
    const struct tool_elf_file *file;
    Dwarf *dwarf, *shared;
    struct tool_elf_file shared_file;
    struct unit_range *ranges;
    uint64_t *ends; /* the greatest end of ranges [0, i] */
    size_t count, capacity, lines_kept;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct unit_range *one = a, *two = b;
    if (one->start != two->start)
        return one->start < two->start ? -1 : 1;
    return one->die < two->die ? -1 : one->die > two->die;
}

/* libdw fails alike where something is wrong with the file and where it has no memory: that must
 * not pass for a module without lines. */
static bool failed(void)
{
    int error = dwarf_errno();
    if (error != 0 && strcmp(dwarf_errmsg(error), "out of memory") == 0)
        tool_child_give_up();
    return true;
}

static Dwarf *open_lines(const struct tool_elf_file *file)
{
    Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (dwarf == NULL)
        (void)failed();
    return dwarf;
}

static void add_unit(struct tool_elf_lines *lines, Dwarf_Off offset)
{
    Dwarf_Die die;
    Dwarf_Addr base, start, end;
    /* Again, because here libdw calls the file wrong where it had no memory for the unit. */
    if (dwarf_offdie(lines->dwarf, offset, &die) == NULL && failed() &&
        dwarf_offdie(lines->dwarf, offset, &die) == NULL)
        return;
    int tag = dwarf_tag(&die);
    if (tag == DW_TAG_invalid)
        (void)failed();
    if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
        return;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
        if (start < end) {
            tool_child_grow((void **)&lines->ranges, &lines->capacity, lines->count + 1,
                            sizeof(struct unit_range));
            lines->ranges[lines->count++] =
                (struct unit_range){.start = start, .end = end, .die = offset};
        }
    }
    (void)failed(); /* without memory there are no ranges, which is no failure */
}

static void list_units(struct tool_elf_lines *lines)
{
    Dwarf_Off offset = 0, next;
    size_t header_bytes;
    while (dwarf_nextcu(lines->dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0 &&
           next > offset) {
        add_unit(lines, offset + header_bytes);
        offset = next;
    }
    if (lines->count > 0) {
        qsort(lines->ranges, lines->count, sizeof(struct unit_range), compare_ranges);
        lines->ends = tool_child_allocate(lines->count, sizeof(uint64_t));
    }
    uint64_t end = 0;
    for (size_t i = 0; i < lines->count; i++) {
        end = lines->ranges[i].end > end ? lines->ranges[i].end : end;
        lines->ends[i] = end;
    }
}

static void note_missing(struct tool_elf_missing *missing, const void *id, ssize_t id_bytes)
{
    if (id_bytes > 0 && (size_t)id_bytes <= sizeof(missing->build_id)) {
        missing->build_id_bytes = (uint32_t)id_bytes;
        memcpy(missing->build_id, id, (size_t)id_bytes);
    }
}

/* A file whose debug information lives partly in another one is used with that, or not at all:
 * libdw would open whatever the file names. */
static bool open_shared(struct tool_elf_lines *lines, const struct tool_elf_where *where,
                        struct tool_elf_missing *missing)
{
    const char *name;
    const void *id;
    ssize_t id_bytes = dwelf_dwarf_gnu_debugaltlink(lines->dwarf, &name, &id);
    if (id_bytes == 0)
        return true;
    if (lines->shared_file.elf == NULL &&
        (id_bytes < 0 || !tool_elf_find_shared(where, lines->file, name, id, (size_t)id_bytes,
                                               &lines->shared_file))) {
        note_missing(missing, id, id_bytes);
        return false;
    }
    if (lines->shared == NULL)
        lines->shared = open_lines(&lines->shared_file);
    if (lines->shared != NULL)
        dwarf_setalt(lines->dwarf, lines->shared);
    return lines->shared != NULL;
}

struct tool_elf_lines *tool_elf_lines_open(const struct tool_elf_where *where,
                                           const struct tool_elf_file *file,
                                           struct tool_elf_missing *missing)
{
    struct tool_elf_lines *lines = tool_child_allocate(1, sizeof(struct tool_elf_lines));
    lines->file = file;
    lines->dwarf = open_lines(file);
    if (lines->dwarf != NULL && open_shared(lines, where, missing))
        list_units(lines);
    if (lines->count == 0) {
        tool_elf_lines_close(lines);
        return NULL;
    }
    return lines;
}

void tool_elf_lines_close(struct tool_elf_lines *lines)
{
    if (lines == NULL)
        return;
    if (lines->dwarf != NULL)
        (void)dwarf_end(lines->dwarf);
    if (lines->shared != NULL)
        (void)dwarf_end(lines->shared);
    tool_elf_file_close(&lines->shared_file);
    free(lines->ranges);
    free(lines->ends);
    free(lines);
}

/* The innermost range around an address. */
static struct unit_range *find_range(const struct tool_elf_lines *lines, uint64_t address)
{
    struct ttp_bisect s = {.end = lines->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, lines->ranges[s.middle].start <= address);
    while (s.first-- > 0 && lines->ends[s.first] > address)
        if (lines->ranges[s.first].end > address)
            return &lines->ranges[s.first];
    return NULL;
}

bool tool_elf_lines_unit(struct tool_elf_lines *lines, uint64_t address, uint64_t *offset)
{
    const struct unit_range *range = find_range(lines, address);
    *offset = range != NULL ? range->die : 0;
    return range != NULL;
}

struct Dwarf *tool_elf_lines_dwarf(struct tool_elf_lines *lines) { return lines->dwarf; }

static void drop_kept(struct tool_elf_lines *lines)
{
    (void)dwarf_end(lines->dwarf);
    lines->dwarf = open_lines(lines->file);
    if (lines->dwarf != NULL && lines->shared != NULL)
        dwarf_setalt(lines->dwarf, lines->shared);
    lines->lines_kept = 0;
    for (size_t i = 0; i < lines->count; i++)
        lines->ranges[i].counted = false;
}

/* Rows [0, *count) with addresses at or before `address`: the last one, and where its equals
 * begin. */
static bool find_rows(Dwarf_Lines *rows, size_t count, uint64_t address, size_t *first,
                      size_t *last)
{
    struct ttp_bisect s = {.end = count};
    Dwarf_Addr found = 0, at;
    while (ttp_bisect_next(&s)) {
        if (dwarf_lineaddr(dwarf_onesrcline(rows, s.middle), &at) != 0)
            return false;
        found = at <= address ? at : found;
        ttp_bisect_turn(&s, at <= address);
    }
    if (s.first == 0)
        return false;
    *last = *first = s.first - 1;
    while (*first > 0 && dwarf_lineaddr(dwarf_onesrcline(rows, *first - 1), &at) == 0 &&
           at == found)
        (*first)--;
    return true;
}

static bool take_row(Dwarf_Line *row, const char **file, uint32_t *line)
{
    bool ends = true;
    int number = 0;
    if (row == NULL || dwarf_lineendsequence(row, &ends) != 0 || ends ||
        dwarf_lineno(row, &number) != 0 || number <= 0)
        return false;
    *file = dwarf_linesrc(row, NULL, NULL);
    *line = (uint32_t)number;
    return *file != NULL;
}

bool tool_elf_lines_rows(struct tool_elf_lines *lines, uint64_t address,
                         struct Dwarf_Lines_s **rows, size_t *count)
{
    struct unit_range *range = find_range(lines, address);
    Dwarf_Die die;
    if (range != NULL && !range->counted && lines->lines_kept > LINES_KEPT)
        drop_kept(lines);
    if (range == NULL || lines->dwarf == NULL ||
        (dwarf_offdie(lines->dwarf, range->die, &die) == NULL && failed()) ||
        (dwarf_getsrclines(&die, rows, count) != 0 && failed()))
        return false;
    lines->lines_kept += range->counted ? 0 : *count;
    range->counted = true;
    return true;
}

bool tool_elf_lines_find(struct tool_elf_lines *lines, uint64_t address, bool entry,
                         const char **file, uint32_t *line, bool *begins)
{
    Dwarf_Lines *rows;
    size_t count, first, last;
    Dwarf_Addr at;
    *begins = false;
    if (!tool_elf_lines_rows(lines, address, &rows, &count) ||
        !find_rows(rows, count, address, &first, &last))
        return false;
    for (size_t i = 0; i <= last - first; i++)
        if (take_row(dwarf_onesrcline(rows, entry ? first + i : last - i), file, line)) {
            *begins = dwarf_lineaddr(dwarf_onesrcline(rows, last), &at) == 0 && at == address;
            return true;
        }
    return false;
}

/* -- optimised code -- */

/* The last of its levels, as gcc writes them into its own name; 0: it says none. */
static char level_of(const char *producer)
{
    char level = 0;
    for (const char *at = producer; (at = strstr(at, " -O")) != NULL; at += 3)
        level = at[3] == ' ' || at[3] == '\0' ? '1' : at[3];
    return level;
}

/* A function all of whose calls are described: clang does so when it optimises, and does not say
 * what it was told. */
static bool describes_calls(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_subprogram && (dwarf_hasattr(die, DW_AT_call_all_calls) != 0 ||
                                                   dwarf_hasattr(die, DW_AT_GNU_all_call_sites));
}

static bool has_described_calls(Dwarf_Die *around, uint32_t level)
{
    Dwarf_Die die;
    int more = dwarf_child(around, &die);
    for (; more == 0; more = dwarf_siblingof(&die, &die))
        if (describes_calls(&die) ||
            (dwarf_tag(&die) == DW_TAG_namespace && level < TOOL_DIES_DEPTH_MAX &&
             has_described_calls(&die, level + 1)))
            return true;
    return more < 0 && !failed();
}

static bool is_optimized(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));
    char level = producer != NULL ? level_of(producer) : 0;
    if (level != 0 || (producer != NULL && strncmp(producer, "GNU ", 4) == 0))
        return level != 0 && level != '0' && level != 'g';
    return has_described_calls(unit, 0);
}

bool tool_elf_lines_optimized(struct tool_elf_lines *lines, uint64_t address)
{
    struct unit_range *range = find_range(lines, address);
    Dwarf_Die unit;
    if (range == NULL || lines->dwarf == NULL)
        return false;
    if (range->code == UNASKED) {
        if (dwarf_offdie(lines->dwarf, range->die, &unit) == NULL && failed())
            return false;
        range->code = is_optimized(&unit) ? OPTIMIZED : PLAIN;
    }
    return range->code == OPTIMIZED;
}
