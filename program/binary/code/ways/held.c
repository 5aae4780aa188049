/* Addresses that data holds once a file is loaded: by relocations; by words as they stand in files
 * at fixed places, where nothing says which of them are addresses. Symbols are addresses that
 * anybody may ask for. */
#include <stdlib.h>

#include "program/binary/code/ways/ways.h"

#define RELOCATION_BYTES  24u
#define RELOCATION_NO     0u
#define RELOCATION_MODULE 16u /* and 17, 18: of thread-local storage; 36: its descriptors */
#define RELOCATION_OFFSET 18u
#define RELOCATION_DESC   36u

/* What a relocation puts into its place: an address of this file, by its addend, or by a symbol of
 * this file's own; 0: none. */
static uint64_t held_by(const struct tool_image *image, const uint8_t *relocation)
{
    struct tool_image_symbol symbol;
    uint32_t type = tool_le32(relocation + 8), number = tool_le32(relocation + 12);
    uint64_t addend = tool_le64(relocation + 16);
    if (type == RELOCATION_NO || (type >= RELOCATION_MODULE && type <= RELOCATION_OFFSET) ||
        type == RELOCATION_DESC)
        return 0;
    if (number == 0)
        return addend;
    if (!tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names, number, &symbol) ||
        symbol.section == 0)
        return 0;
    return symbol.address + addend;
}

static void mark_held(struct tool_code *code, uint64_t address)
{
    size_t available;
    if (!tool_code_holds(code, address))
        return;
    tool_code_set_entered(code, address);
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    size_t bit = bytes != NULL ? (size_t)(bytes - code->image->bytes) : 0;
    if (bytes != NULL)
        code->bases[bit / 64] |= (uint64_t)1 << bit % 64;
}

static void mark_relocations(struct tool_code *code, const struct tool_image_part *part)
{
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES)
        mark_held(code, held_by(code->image, part->bytes + at));
}

static void mark_word(void *context, uint64_t address)
{
    struct tool_code *code = context;
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    if (bytes != NULL && available >= 8)
        mark_held(code, tool_le64(bytes));
}

/* Words of 64 bits at any byte, as constants may be in one segment with the code; words of 32 bits
 * in data, where they lead to the start of an instruction. */
static void mark_words(struct tool_code *code, const struct tool_image_segment *segment)
{
    const uint8_t *bytes = code->image->bytes + segment->offset;
    for (uint64_t at = 0; at + 4 <= segment->file_bytes; at++) {
        uint32_t low = tool_le32(bytes + at);
        if (!tool_code_holds(code, low))
            continue;
        bool is_whole = at + 8 <= segment->file_bytes && tool_le32(bytes + at + 4) == 0;
        if (is_whole || (!segment->executable && tool_code_instruction_at(code, low) != NULL))
            mark_held(code, low);
    }
}

static void mark_symbols(struct tool_code *code, const struct tool_image_part *symbols,
                         const struct tool_image_part *names)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++)
        if (symbol.section != 0)
            tool_code_set_entered(code, symbol.address);
}

void tool_held_mark(struct tool_code *code)
{
    const struct tool_image *image = code->image;
    mark_relocations(code, &image->relocations);
    mark_relocations(code, &image->stub_relocations);
    tool_image_packed_places(&image->packed, mark_word, code);
    for (uint32_t i = 0; image->is_fixed && i < image->segment_count; i++)
        mark_words(code, &image->segments[i]);
    mark_symbols(code, &image->symbols, &image->symbol_names);
    mark_symbols(code, &image->dynamic_symbols, &image->dynamic_names);
}

/* ---- words by their places ---- */

static int compare_words(const void *a, const void *b)
{
    const struct tool_held_word *one = a, *other = b;
    return one->place < other->place ? -1 : one->place > other->place;
}

struct adding {
    struct tool_code *code;
    struct tool_held_words *words;
    bool fits;
};

static void add_word(struct adding *adding, uint64_t place, uint64_t word)
{
    void *array = adding->words->all;
    adding->fits =
        adding->fits && tool_bounded_grow(&adding->code->memory, &array, &adding->words->capacity,
                                          adding->words->count + 1, sizeof *adding->words->all);
    adding->words->all = array;
    if (adding->fits)
        adding->words->all[adding->words->count++] = (struct tool_held_word){place, word};
}

static void add_packed(void *context, uint64_t place)
{
    struct adding *adding = context;
    size_t available;
    const uint8_t *bytes = tool_image_at(adding->code->image, place, &available);
    if (bytes != NULL && available >= 8)
        add_word(adding, place, tool_le64(bytes));
}

bool tool_held_open(struct tool_code *code, struct tool_held_words *words)
{
    const struct tool_image_part *part = &code->image->relocations;
    *words = (struct tool_held_words){0};
    struct adding adding = {code, words, true};
    for (size_t at = 0; adding.fits && part->size_bytes - at >= RELOCATION_BYTES;
         at += RELOCATION_BYTES)
        add_word(&adding, tool_le64(part->bytes + at), held_by(code->image, part->bytes + at));
    tool_image_packed_places(&code->image->packed, add_packed, &adding);
    if (words->count > 0)
        qsort(words->all, words->count, sizeof *words->all, compare_words);
    return adding.fits;
}

uint64_t tool_held_at(const struct tool_code *code, const struct tool_held_words *words,
                      uint64_t place)
{
    struct tool_held_word wanted = {.place = place};
    const struct tool_held_word *found =
        words->count == 0
            ? NULL
            : bsearch(&wanted, words->all, words->count, sizeof wanted, compare_words);
    if (found != NULL)
        return found->word;
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    return bytes != NULL && available >= 8 ? tool_le64(bytes) : 0;
}

void tool_held_close(struct tool_held_words *words)
{
    free(words->all);
    *words = (struct tool_held_words){0};
}
