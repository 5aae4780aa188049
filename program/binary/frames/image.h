/* An ELF file for x86-64 that lies in memory as it is on disk: its segments, symbols, relocations,
 * call frame information. Nothing is copied and nothing is believed: each place is checked against
 * the file's end before it is read.
 *
 *     address (as symbols have it) --(segment)--> bytes in the file
 *
 * Pure: no file, no allocation. The bytes must outlive the image. */
#ifndef TOOL_IMAGE_H
#define TOOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_IMAGE_SEGMENTS_MAX 64u
#define TOOL_IMAGE_SECTIONS_MAX 65535u
#define TOOL_IMAGE_DYNAMIC_MAX  4096u       /* entries of the dynamic section that are looked at */
#define TOOL_IMAGE_ADDRESS_MAX  0xfffff800u /* above it, 32 bits do not name what is near a place */
#define TOOL_IMAGE_BUILD_ID_MAX 32u
#define TOOL_IMAGE_MACHINE      62u /* x86-64 */

/* Little-endian numbers at any place. */
static inline uint16_t tool_le16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t tool_le32(const uint8_t *at)
{
    return (uint32_t)tool_le16(at) | (uint32_t)tool_le16(at + 2) << 16;
}
static inline uint64_t tool_le64(const uint8_t *at)
{
    return tool_le32(at) | (uint64_t)tool_le32(at + 4) << 32;
}

/* Bytes of the file, and the address of the first where they are loaded (0: not). */
struct tool_image_part {
    const uint8_t *bytes; /* NULL: there is none */
    size_t size_bytes;
    uint64_t address;
};

struct tool_image_segment {
    uint64_t address, offset, file_bytes;
    bool executable, writable;
};

struct tool_image {
    const uint8_t *bytes;
    size_t size_bytes;
    bool has_interpreter; /* it is linked at its start: a program */
    bool is_dynamic;
    bool is_fixed; /* it is always loaded at its own addresses: nothing says where they are used */
    uint32_t segment_count;
    struct tool_image_segment segments[TOOL_IMAGE_SEGMENTS_MAX]; /* that are loaded */
    uint32_t code_start, code_end; /* lowest and highest address of executable segments */
    uint32_t build_id_bytes;       /* 0: none, or one that is too long */
    uint8_t build_id[TOOL_IMAGE_BUILD_ID_MAX];
    uint64_t entry;
    /* Symbols (24 bytes each) and their names; relocations (24 bytes each) of data and of the
     * linker's table of functions; packed relative ones (8 bytes each). */
    struct tool_image_part symbols, symbol_names, dynamic_symbols, dynamic_names;
    struct tool_image_part relocations, stub_relocations, packed;
    struct tool_image_part frames; /* .eh_frame, to the end of its section or segment */
    /* Descriptors of restartable sequences (struct rseq_cs), and pointers to such. */
    struct tool_image_part sequences, sequence_pointers;
    const uint64_t *lines; /* a bit for each byte of code: a line begins there; NULL: not known. It
                            * is set by, and belongs to, who has opened the image */
};

/* Returns NULL, or why the file cannot be used (static text). */
const char *tool_image_open(struct tool_image *image, const uint8_t *bytes, size_t size_bytes);

/* What is in the file for `address`, up to the end of its segment; NULL: nothing. */
const uint8_t *tool_image_at(const struct tool_image *image, uint64_t address, size_t *available);

/* Is it in an executable segment's bytes? */
bool tool_image_is_code(const struct tool_image *image, uint64_t address);

struct tool_image_symbol {
    const char *name; /* it ends in the file; "" */
    uint64_t address, size_bytes;
    uint8_t type, binding;
    uint16_t section; /* 0: it is not defined here */
};

/* Each place that packed relocations tell of, in their order. */
void tool_image_packed_places(const struct tool_image_part *packed,
                              void (*take)(void *context, uint64_t place), void *context);

/* The symbol `number` of a table; false: there is no such one. */
bool tool_image_symbol_at(const struct tool_image_part *symbols,
                          const struct tool_image_part *names, size_t number,
                          struct tool_image_symbol *symbol);

#endif
