/* The marks of a file, by its sections: the notes are in none of its segments. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/frames/image.h"
#include "program/binary/marks/marks.h"
#include "program/elf/elf_sections.h"

#define SYMBOL_BYTES      24u
#define SYMBOLS_BYTES_MAX ((size_t)64 << 20)
#define SECTION_ADDRESS   16u /* in a section's head */
#define NOTE_BYTES_MIN    44u

struct table {
    uint8_t *symbols;
    char *names;
    size_t count, names_bytes;
};

struct tool_marks_file {
    uint8_t *notes;
    struct table tables[2]; /* of symbols: all, and those that others may use */
};

static void read_table(const struct tool_elf_sections *sections, const char *symbols,
                       const char *names, struct table *table)
{
    size_t bytes;
    table->symbols = tool_elf_section_copy(sections, symbols, SYMBOLS_BYTES_MAX, &bytes);
    table->count = bytes / SYMBOL_BYTES;
    table->names = tool_elf_section_copy(sections, names, SYMBOLS_BYTES_MAX, &table->names_bytes);
    if (table->names == NULL || table->symbols == NULL)
        table->count = 0;
}

static bool find_symbol(void *context, ttape_string name, uint64_t *address)
{
    const struct tool_marks_file *file = context;
    for (size_t t = 0; t < 2; t++) {
        const struct table *table = &file->tables[t];
        for (size_t i = 0; i < table->count; i++) {
            const uint8_t *symbol = table->symbols + i * SYMBOL_BYTES;
            size_t at = tool_le32(symbol);
            bool is_defined = tool_le16(symbol + 6) != 0;
            if (!is_defined || at >= table->names_bytes ||
                strncmp(table->names + at, name.data, name.size_bytes) != 0 ||
                table->names[at + name.size_bytes] != '\0')
                continue;
            *address = tool_le64(symbol + 8);
            return *address != 0;
        }
    }
    return false;
}

static void keep(void *context, const struct tool_mark *mark)
{
    struct tool_marks *marks = context;
    if (marks->count < marks->capacity)
        marks->items[marks->count++] = *mark;
}

static int compare(const void *a, const void *b)
{
    const struct tool_mark *one = a, *other = b;
    return (one->address > other->address) - (one->address < other->address);
}

/* Whether any value names a symbol: few do, and tables of symbols are large. */
static bool has_names(const struct tool_marks *marks)
{
    struct ttp_mark_value values[TTP_MARK_VALUES_MAX];
    for (size_t i = 0; i < marks->count; i++) {
        uint32_t count = tool_mark_values(marks->items[i].arguments, NULL, NULL, values);
        for (uint32_t n = 0; n < count; n++)
            if (values[n].kind == TTP_MARK_UNKNOWN)
                return true;
    }
    return false;
}

static bool read_marks(struct tool_marks *marks, const struct tool_elf_sections *sections)
{
    size_t bytes;
    const uint8_t *base = tool_elf_section_find(sections, ".stapsdt.base");
    marks->file = calloc(1, sizeof *marks->file);
    if (marks->file == NULL)
        return false;
    marks->file->notes =
        tool_elf_section_copy(sections, ".note.stapsdt", TOOL_MARKS_BYTES_MAX, &bytes);
    marks->capacity = bytes / NOTE_BYTES_MIN + 1;
    marks->items = calloc(marks->capacity, sizeof *marks->items);
    if (marks->file->notes == NULL || marks->items == NULL)
        return false;
    tool_mark_notes(marks->file->notes, bytes, base == NULL ? 0 : tool_le64(base + SECTION_ADDRESS),
                    keep, marks);
    if (marks->count > 0)
        qsort(marks->items, marks->count, sizeof *marks->items, compare);
    if (has_names(marks)) {
        read_table(sections, ".symtab", ".strtab", &marks->file->tables[0]);
        read_table(sections, ".dynsym", ".dynstr", &marks->file->tables[1]);
    }
    return true;
}

bool tool_marks_open(struct tool_marks *marks, const char *path)
{
    struct tool_elf_sections sections;
    bool fits = true;
    *marks = (struct tool_marks){.count = 0};
    if (tool_elf_sections_open(&sections, path) &&
        tool_elf_section_bytes(&sections, ".note.stapsdt") != 0)
        fits = read_marks(marks, &sections);
    tool_elf_sections_close(&sections);
    return fits;
}

uint32_t tool_marks_values(const struct tool_marks *marks, const struct tool_mark *mark,
                           struct ttp_mark_value values[TTP_MARK_VALUES_MAX])
{
    return tool_mark_values(mark->arguments, find_symbol, marks->file, values);
}

void tool_marks_close(struct tool_marks *marks)
{
    for (size_t t = 0; marks->file != NULL && t < 2; t++) {
        free(marks->file->tables[t].symbols);
        free(marks->file->tables[t].names);
    }
    if (marks->file != NULL)
        free(marks->file->notes);
    free(marks->file);
    free(marks->items);
    *marks = (struct tool_marks){.count = 0};
}
