/* Functions whose address the file's data holds: by relocations, and in a program at a fixed place
 * by words that look so. */
#include <string.h>

#include "tools/callgraph/binaries/binary_graph.h"

#define RELOCATION_BYTES    24u
#define RELATIVE_RELOCATION 8u
#define SYMBOL_RELOCATION   1u
#define PACKED_EACH         8u

struct taking {
    struct tool_binary_graph *graph;
    uint32_t module;
};

static void hold(const struct taking *taking, uint64_t address)
{
    uint32_t machine = tool_binary_machine_at(taking->graph, taking->module, address);
    if (machine != TTAPE_NONE)
        taking->graph->machines[machine].is_taken = true;
}

static void hold_word(const struct taking *taking, uint64_t address)
{
    size_t available;
    const uint8_t *bytes =
        tool_image_at(&taking->graph->modules[taking->module]->image, address, &available);
    if (bytes != NULL && available >= 8)
        hold(taking, tool_le64(bytes));
}

static void hold_relocations(const struct taking *taking)
{
    const struct tool_image *image = &taking->graph->modules[taking->module]->image;
    const struct tool_image_part *part = &image->relocations;
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES) {
        uint32_t kind = tool_le32(part->bytes + at + 8), number = tool_le32(part->bytes + at + 12);
        struct tool_image_symbol symbol;
        if (kind == RELATIVE_RELOCATION)
            hold(taking, tool_le64(part->bytes + at + 16));
        else if (kind == SYMBOL_RELOCATION &&
                 tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names, number,
                                      &symbol) &&
                 symbol.section != 0)
            hold(taking, symbol.address);
    }
}

/* Packed: an address, then bits for the 63 words behind it, and so on. */
static void hold_packed(const struct taking *taking)
{
    const struct tool_image_part *part = &taking->graph->modules[taking->module]->image.packed;
    uint64_t next = 0;
    for (size_t at = 0; part->size_bytes - at >= PACKED_EACH; at += PACKED_EACH) {
        uint64_t entry = tool_le64(part->bytes + at);
        if ((entry & 1) == 0) {
            hold_word(taking, entry);
            next = entry + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if ((entry >> bit & 1) != 0)
                hold_word(taking, next + (bit - 1) * 8);
        next += 63 * 8;
    }
}

void tool_binary_taken(struct tool_binary_graph *graph, uint32_t module)
{
    const struct taking taking = {graph, module};
    const struct tool_image *image = &graph->modules[module]->image;
    hold_relocations(&taking);
    hold_packed(&taking);
    for (uint32_t i = 0; image->is_fixed && i < image->segment_count; i++) {
        const struct tool_image_segment *segment = &image->segments[i];
        const uint8_t *bytes = image->bytes + segment->offset;
        if (segment->executable)
            continue;
        for (uint64_t at = (8 - segment->address % 8) % 8; at + 8 <= segment->file_bytes; at += 8)
            if (tool_le64(bytes + at) != image->entry) /* the file's own head has that */
                hold(&taking, tool_le64(bytes + at));
    }
}
