/* Where a function is, whatever process has it: the build of its module, and its place there. */
#ifndef TOOL_RECORD_PLACE_H
#define TOOL_RECORD_PLACE_H

#include <stdint.h>

#include <tracetape/types.h>

#include "program/elf/elf_head.h"

struct tool_record_place {
    uint8_t build_id[TOOL_BUILD_ID_BYTES_MAX]; /* zero-padded */
    uint64_t elf_address;
};

struct tool_record_place tool_record_place_of(ttape_string build_id, uint64_t elf_address);
/* As qsort has it; of structs that begin with a place, too. */
int tool_record_place_compare(const void *a, const void *b);

#endif
