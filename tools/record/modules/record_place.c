#include "tools/record/modules/record_place.h"

#include <string.h>

struct tool_record_place tool_record_place_of(ttape_string build_id, uint64_t elf_address)
{
    struct tool_record_place place = {.elf_address = elf_address};
    size_t size_bytes =
        build_id.size_bytes < sizeof place.build_id ? build_id.size_bytes : sizeof place.build_id;
    if (size_bytes > 0)
        memcpy(place.build_id, build_id.data, size_bytes);
    return place;
}

int tool_record_place_compare(const void *a, const void *b)
{
    const struct tool_record_place *one = a, *other = b;
    int order = memcmp(one->build_id, other->build_id, sizeof one->build_id);
    return order != 0
               ? order
               : (one->elf_address > other->elf_address) - (one->elf_address < other->elf_address);
}
