/* Functions whose address the file's data holds: by relocations, and in a program at a fixed place
 * by words that look so. */
#include <string.h>

#include "tools/callgraph/binaries/binary_graph.h"

#define RELOCATION_BYTES    24u
#define RELATIVE_RELOCATION 8u
#define SYMBOL_RELOCATION   1u

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

static void hold_word(void *context, uint64_t address)
{
    const struct taking *taking = context;
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

void tool_binary_taken(struct tool_binary_graph *graph, uint32_t module)
{
    struct taking taking = {graph, module};
    const struct tool_image *image = &graph->modules[module]->image;
    hold_relocations(&taking);
    tool_image_packed_places(&image->packed, hold_word, &taking);
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
