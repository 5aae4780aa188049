#include "tools/binary/patch_lines.h"

#include <elfutils/libdw.h>
#include <stdlib.h>

#define LINES_KEPT 1000000u /* by libdw: about 50 MB */

struct line_starts {
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_CU *unit; /* of the last table */
    size_t kept;
    tool_take_line take;
    void *context;
};

static void take_lines(struct line_starts *s, Dwarf_Lines *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address = 0;
        bool begins = false, ends = true;
        int number = 0;
        if (dwarf_linebeginstatement(line, &begins) != 0 || dwarf_lineaddr(line, &address) != 0 ||
            dwarf_lineendsequence(line, &ends) != 0 || dwarf_lineno(line, &number) != 0 ||
            !begins || ends || number <= 0)
            continue;
        const char *file = dwarf_linesrc(line, NULL, NULL);
        s->take(s->context, address, file != NULL ? file : "", (uint32_t)number);
    }
    s->kept += count;
}

/* libdw keeps what it has decoded: it begins anew now and then. */
static bool make_room(struct line_starts *s)
{
    if (s->dwarf != NULL && s->kept < LINES_KEPT)
        return true;
    if (s->dwarf != NULL)
        (void)dwarf_end(s->dwarf);
    s->kept = 0;
    s->unit = NULL;
    s->dwarf = dwarf_begin_elf(s->elf, DWARF_C_READ, NULL);
    return s->dwarf != NULL;
}

/* Calls `take` as tool_patch_lines_each does, of an ELF file in memory. */
static void each_line(uint8_t *bytes, size_t size_bytes, tool_take_line take, void *context)
{
    struct line_starts s = {.take = take, .context = context};
    Dwarf_Off offset = 0, next;
    Dwarf_Lines *lines;
    size_t count;
    (void)elf_version(EV_CURRENT);
    s.elf = elf_memory((char *)bytes, size_bytes);
    while (s.elf != NULL && make_room(&s) &&
           dwarf_next_lines(s.dwarf, offset, &next, &s.unit, NULL, NULL, &lines, &count) == 0) {
        if (lines != NULL)
            take_lines(&s, lines, count);
        offset = next;
    }
    if (s.dwarf != NULL)
        (void)dwarf_end(s.dwarf);
    if (s.elf != NULL)
        (void)elf_end(s.elf);
}

/* -- bits -- */

struct lines {
    uint64_t *bits;
    uint32_t start, end; /* of code */
};

static void take_line(void *context, uint64_t address, const char *file, uint32_t line)
{
    const struct lines *lines = context;
    (void)file;
    (void)line;
    if (address >= lines->start && address < lines->end)
        lines->bits[(address - lines->start) / 64] |= (uint64_t)1 << (address - lines->start) % 64;
}

uint64_t *tool_patch_lines_read(const struct tool_image *image, const struct tool_plan_input *input)
{
    struct lines lines = {.start = image->code_start, .end = image->code_end};
    lines.bits = calloc((size_t)(lines.end - lines.start) / 64 + 1, sizeof *lines.bits);
    if (lines.bits == NULL)
        return NULL;
    each_line(input->bytes, input->size_bytes, take_line, &lines);
    return lines.bits;
}

void tool_patch_lines_each(const char *path, tool_take_line take, void *context)
{
    struct tool_plan_input input;
    if (tool_plan_input_open(&input, path) == NULL)
        each_line(input.bytes, input.size_bytes, take, context);
    tool_plan_input_close(&input);
}
