/* Functions whose address the file's data holds: by relocations, and in a program at a fixed place
 * by words that look so. */
#include <string.h>

#include "program/callgraph/binary_graph.h"

#define RELOCATION_BYTES    24u
#define RELATIVE_RELOCATION 8u
#define SYMBOL_RELOCATION   1u

struct taking {
    struct tool_binary_graph *graph;
    uint32_t module;
};

static void hold_address(void *context, uint64_t place, uint64_t address)
{
    const struct taking *taking = context;
    (void)place;
    if (address == taking->graph->modules[taking->module]->image.entry &&
        taking->graph->modules[taking->module]->image.is_fixed)
        return; /* the file's own head has that */
    uint32_t machine = tool_binary_machine_at(taking->graph, taking->module, address);
    if (machine != TTAPE_NONE)
        taking->graph->machines[machine].is_taken = true;
}

/* -- pointers of data -- */

struct pointing {
    const struct tool_image *image;
    tool_binary_take_pointer take;
    void *context;
};

static void take_word(void *context, uint64_t place)
{
    const struct pointing *pointing = context;
    size_t available;
    const uint8_t *bytes = tool_image_at(pointing->image, place, &available);
    if (bytes != NULL && available >= 8)
        pointing->take(pointing->context, place, tool_le64(bytes));
}

static void take_relocations(const struct pointing *pointing)
{
    const struct tool_image *image = pointing->image;
    const struct tool_image_part *part = &image->relocations;
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES) {
        uint32_t kind = tool_le32(part->bytes + at + 8), number = tool_le32(part->bytes + at + 12);
        uint64_t place = tool_le64(part->bytes + at), addend = tool_le64(part->bytes + at + 16);
        struct tool_image_symbol symbol;
        if (kind == RELATIVE_RELOCATION)
            pointing->take(pointing->context, place, addend);
        else if (kind == SYMBOL_RELOCATION &&
                 tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names, number,
                                      &symbol) &&
                 symbol.section != 0)
            pointing->take(pointing->context, place, symbol.address + addend);
    }
}

void tool_binary_pointers(const struct tool_image *image, tool_binary_take_pointer take,
                          void *context)
{
    struct pointing pointing = {image, take, context};
    take_relocations(&pointing);
    tool_image_packed_places(&image->packed, take_word, &pointing);
    for (uint32_t i = 0; image->is_fixed && i < image->segment_count; i++) {
        const struct tool_image_segment *segment = &image->segments[i];
        const uint8_t *bytes = image->bytes + segment->offset;
        if (segment->executable)
            continue;
        for (uint64_t at = (8 - segment->address % 8) % 8; at + 8 <= segment->file_bytes; at += 8)
            take(context, segment->address + at, tool_le64(bytes + at));
    }
}

void tool_binary_taken(struct tool_binary_graph *graph, uint32_t module)
{
    struct taking taking = {graph, module};
    tool_binary_pointers(&graph->modules[module]->image, hold_address, &taking);
}
