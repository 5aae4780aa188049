/* Where lines begin, of all line tables of a file in memory. */
#include "tools/binary/elf_line_starts.h"

#include <elfutils/libdw.h>

#define LINES_KEPT 1000000u /* by libdw: about 50 MB */

struct line_starts {
    Elf *elf;
    Dwarf *dwarf;
    size_t kept;
    tool_elf_take_line take;
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
    s->dwarf = dwarf_begin_elf(s->elf, DWARF_C_READ, NULL);
    return s->dwarf != NULL;
}

bool tool_elf_line_starts(uint8_t *bytes, size_t size_bytes, tool_elf_take_line take, void *context)
{
    struct line_starts s = {.take = take, .context = context};
    Dwarf_Off offset = 0, next;
    Dwarf_CU *unit;
    Dwarf_Lines *lines;
    size_t count;
    bool has_any = false;
    (void)elf_version(EV_CURRENT);
    s.elf = elf_memory((char *)bytes, size_bytes);
    while (s.elf != NULL && make_room(&s) &&
           dwarf_next_lines(s.dwarf, offset, &next, &unit, NULL, NULL, &lines, &count) == 0) {
        if (lines != NULL)
            take_lines(&s, lines, count);
        has_any = true;
        offset = next;
    }
    if (s.dwarf != NULL)
        (void)dwarf_end(s.dwarf);
    if (s.elf != NULL)
        (void)elf_end(s.elf);
    return has_any;
}
