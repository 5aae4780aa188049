/* Relocations say what the words of the linker's table are. */
#include <stdlib.h>

#include "program/binary/code/code_links.h"

#define RELOCATION_BYTES 24u
#define RELOCATION_DATA  6u /* R_X86_64_GLOB_DAT */
#define RELOCATION_STUB  7u /* R_X86_64_JUMP_SLOT */
#define STUB_LENGTH_MAX  16u

static int compare_slots(const void *a, const void *b)
{
    const struct tool_code_slot *one = a, *other = b;
    return one->address < other->address ? -1 : one->address > other->address;
}

static bool add_slots(struct tool_code *code, struct tool_code_links *links,
                      const struct tool_image_part *part)
{
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES) {
        const uint8_t *entry = part->bytes + at;
        uint32_t type = tool_le32(entry + 8);
        void *array = links->slots;
        if (type != RELOCATION_DATA && type != RELOCATION_STUB)
            continue;
        if (!tool_bounded_grow(&code->memory, &array, &links->capacity, links->count + 1,
                               sizeof *links->slots))
            return false;
        links->slots = array;
        links->slots[links->count++] =
            (struct tool_code_slot){(uint32_t)tool_le64(entry), tool_le32(entry + 12)};
    }
    return true;
}

bool tool_code_links_open(struct tool_code *code, struct tool_code_links *links)
{
    *links = (struct tool_code_links){0};
    bool fits = add_slots(code, links, &code->image->relocations) &&
                add_slots(code, links, &code->image->stub_relocations);
    if (fits && links->count > 0)
        qsort(links->slots, links->count, sizeof *links->slots, compare_slots);
    return fits;
}

void tool_code_links_close(struct tool_code_links *links)
{
    free(links->slots);
    *links = (struct tool_code_links){0};
}

bool tool_code_link_at(const struct tool_code *code, const struct tool_code_links *links,
                       uint32_t address, struct tool_image_symbol *symbol)
{
    const struct tool_image *image = code->image;
    struct tool_code_slot wanted = {.address = address};
    if (links->count == 0)
        return false;
    const struct tool_code_slot *found =
        bsearch(&wanted, links->slots, links->count, sizeof wanted, compare_slots);
    return found != NULL && tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names,
                                                 found->symbol, symbol);
}

bool tool_code_stub_at(const struct tool_code *code, uint32_t address, uint32_t *slot)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    struct tool_instruction next;
    available = available < STUB_LENGTH_MAX ? available : STUB_LENGTH_MAX;
    for (size_t at = 0; bytes != NULL && at < available; at += next.length) {
        if (!tool_decode(bytes + at, available - at, address + (uint32_t)at, &next))
            return false;
        *slot = next.target;
        if (next.kind == TOOL_CODE_JUMP_INDIRECT)
            return next.has_place;
        if (next.kind != TOOL_CODE_FIXED)
            return false;
    }
    return false;
}

bool tool_code_is_stubs(const struct tool_code *code, const struct tool_code_links *links,
                        const struct tool_function *function)
{
    struct tool_image_symbol symbol;
    uint32_t slot;
    const struct ttp_plan_row *row = tool_code_row_at(code, function->start + STUB_LENGTH_MAX);
    return (row != NULL && row->cfa_kind == TTP_PLAN_CFA_PLT &&
            function->end - function->start > STUB_LENGTH_MAX) ||
           (function->name == NULL && tool_code_stub_at(code, function->start, &slot) &&
            tool_code_link_at(code, links, slot, &symbol));
}
