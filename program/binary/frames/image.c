/* ELF for x86-64, from bytes: header, segments, sections, dynamic section, notes. */
#include <elf.h>
#include <string.h>

#include "program/binary/frames/image.h"

#define HEADER_BYTES  64u
#define SEGMENT_BYTES 56u
#define SECTION_BYTES 64u
#define PACKED_EACH   8u
#define SYMBOL_BYTES  24u
#define NOTE_HEAD     12u
#define NOTES_MAX     1024u /* notes of one run that are looked at */
#define TYPE_PACKED   36u   /* DT_RELR: not in older elf.h */
#define PACKED_BYTES  35u

static struct tool_image_part part_at(const struct tool_image *image, uint64_t offset,
                                      uint64_t size_bytes, uint64_t address)
{
    if (offset >= image->size_bytes || size_bytes > image->size_bytes - offset || size_bytes == 0)
        return (struct tool_image_part){0};
    return (struct tool_image_part){image->bytes + offset, (size_t)size_bytes, address};
}

const uint8_t *tool_image_at(const struct tool_image *image, uint64_t address, size_t *available)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct tool_image_segment *segment = &image->segments[i];
        uint64_t into = address - segment->address;
        if (address >= segment->address && into < segment->file_bytes) {
            *available = (size_t)(segment->file_bytes - into);
            return image->bytes + segment->offset + into;
        }
    }
    *available = 0;
    return NULL;
}

bool tool_image_is_code(const struct tool_image *image, uint64_t address)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct tool_image_segment *segment = &image->segments[i];
        if (segment->executable && address >= segment->address &&
            address - segment->address < segment->file_bytes)
            return true;
    }
    return false;
}

/* What is loaded at [address, address + size_bytes), if all of it is in the file. */
static struct tool_image_part loaded_part(const struct tool_image *image, uint64_t address,
                                          uint64_t size_bytes)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(image, address, &available);
    if (bytes == NULL || size_bytes == 0 || size_bytes > available)
        return (struct tool_image_part){0};
    return (struct tool_image_part){bytes, (size_t)size_bytes, address};
}

static void read_notes(struct tool_image *image, struct tool_image_part notes, uint64_t alignment)
{
    size_t align = alignment == 8 ? 8 : 4, at = 0;
    for (unsigned i = 0; i < NOTES_MAX && notes.size_bytes - at >= NOTE_HEAD; i++) {
        const uint8_t *note = notes.bytes + at;
        uint64_t name_bytes = tool_le32(note), content_bytes = tool_le32(note + 4);
        uint64_t content = (NOTE_HEAD + name_bytes + align - 1) / align * align;
        uint64_t next = (content + content_bytes + align - 1) / align * align;
        if (content + content_bytes > notes.size_bytes - at)
            return;
        if (tool_le32(note + 8) == NT_GNU_BUILD_ID && name_bytes == 4 &&
            memcmp(note + NOTE_HEAD, "GNU", 4) == 0 && content_bytes <= TOOL_IMAGE_BUILD_ID_MAX) {
            memcpy(image->build_id, note + content, (size_t)content_bytes);
            image->build_id_bytes = (uint32_t)content_bytes;
            return;
        }
        if (next >= notes.size_bytes - at)
            return;
        at += (size_t)next;
    }
}

/* Returns NULL, or why the file cannot be used: code that is not looked at may lead anywhere. */
static const char *take_segment(struct tool_image *image, const uint8_t *entry)
{
    struct tool_image_segment segment = {.offset = tool_le64(entry + 8),
                                         .address = tool_le64(entry + 16),
                                         .file_bytes = tool_le64(entry + 32),
                                         .executable = (tool_le32(entry + 4) & PF_X) != 0,
                                         .writable = (tool_le32(entry + 4) & PF_W) != 0};
    uint64_t memory_bytes = tool_le64(entry + 40), last;
    if (memory_bytes == 0)
        return NULL;
    if (image->segment_count == TOOL_IMAGE_SEGMENTS_MAX)
        return "more than 64 parts of it are loaded";
    /* zeros behind the file's bytes hold nothing to look at, and may lie anywhere */
    if (__builtin_add_overflow(segment.address, segment.file_bytes, &last) ||
        last > TOOL_IMAGE_ADDRESS_MAX ||
        __builtin_add_overflow(segment.address, memory_bytes, &last))
        return "a part of it has addresses above 4 GiB, which plans cannot name";
    if (segment.offset > image->size_bytes)
        segment.offset = image->size_bytes; /* a file that ends too early has less of it */
    if (segment.file_bytes > image->size_bytes - segment.offset)
        segment.file_bytes = image->size_bytes - segment.offset;
    if (segment.executable) {
        uint32_t start = (uint32_t)segment.address;
        uint32_t end = (uint32_t)(segment.address + segment.file_bytes);
        bool is_first = image->code_end == 0;
        image->code_start = is_first || start < image->code_start ? start : image->code_start;
        image->code_end = end > image->code_end ? end : image->code_end;
    }
    image->segments[image->segment_count++] = segment;
    return NULL;
}

static const char *read_segments(struct tool_image *image, struct tool_image_part *dynamic,
                                 uint64_t *frames_head)
{
    const char *reason = NULL;
    uint64_t table = tool_le64(image->bytes + 32);
    uint32_t count = tool_le16(image->bytes + 56), each = tool_le16(image->bytes + 54);
    for (uint32_t i = 0; each >= SEGMENT_BYTES && i < count && reason == NULL; i++) {
        struct tool_image_part part = part_at(image, table + (uint64_t)i * each, SEGMENT_BYTES, 0);
        if (part.bytes == NULL)
            break;
        const uint8_t *entry = part.bytes;
        uint64_t offset = tool_le64(entry + 8), size_bytes = tool_le64(entry + 32);
        switch (tool_le32(entry)) {
        case PT_LOAD: reason = take_segment(image, entry); break;
        case PT_DYNAMIC: *dynamic = part_at(image, offset, size_bytes, 0); break;
        case PT_INTERP: image->has_interpreter = true; break;
        case PT_GNU_EH_FRAME: *frames_head = tool_le64(entry + 16); break;
        case PT_NOTE: {
            struct tool_image_part notes = part_at(image, offset, size_bytes, 0);
            if (notes.bytes != NULL && image->build_id_bytes == 0)
                read_notes(image, notes, tool_le64(entry + 48));
            break;
        }
        default: break;
        }
    }
    return reason;
}

/* The section number `i`; false: there is none. */
static bool section_at(const struct tool_image *image, uint32_t i, const uint8_t **entry)
{
    uint64_t table = tool_le64(image->bytes + 40);
    uint32_t each = tool_le16(image->bytes + 58);
    if (table == 0 || each < SECTION_BYTES)
        return false;
    *entry = part_at(image, table + (uint64_t)i * each, SECTION_BYTES, 0).bytes;
    return *entry != NULL;
}

static struct tool_image_part section_bytes(const struct tool_image *image, const uint8_t *entry)
{
    if (tool_le32(entry + 4) == SHT_NOBITS)
        return (struct tool_image_part){0};
    return part_at(image, tool_le64(entry + 24), tool_le64(entry + 32), tool_le64(entry + 16));
}

/* Names end in a zero: what is behind the last one is no name. */
static void trim_names(struct tool_image_part *names)
{
    while (names->size_bytes > 0 && names->bytes[names->size_bytes - 1] != 0)
        names->size_bytes--;
}

/* Static programs may be without the index that leads to their call frame information. */
static void take_named(struct tool_image *image, const struct tool_image_part *names,
                       const uint8_t *entry)
{
    const struct {
        const char *name;
        struct tool_image_part *part;
    } wanted[] = {{".eh_frame", &image->frames},
                  {"__rseq_cs", &image->sequences},
                  {"__rseq_cs_ptr_array", &image->sequence_pointers}};
    uint32_t name = tool_le32(entry);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t size_bytes = strlen(wanted[i].name) + 1;
        if (name < names->size_bytes && names->size_bytes - name >= size_bytes &&
            memcmp(names->bytes + name, wanted[i].name, size_bytes) == 0)
            *wanted[i].part = section_bytes(image, entry);
    }
}

/* Symbol tables, and what a loader does not need either. */
static void read_sections(struct tool_image *image)
{
    struct tool_image_part section_names = {0};
    const uint8_t *entry, *names;
    if (section_at(image, tool_le16(image->bytes + 62), &entry))
        section_names = section_bytes(image, entry);
    uint32_t count = tool_le16(image->bytes + 60);
    if (count == 0 && section_at(image, 0, &entry)) {
        uint64_t many = tool_le64(entry + 32);
        count = many < TOOL_IMAGE_SECTIONS_MAX ? (uint32_t)many : TOOL_IMAGE_SECTIONS_MAX;
    }
    for (uint32_t i = 0; i < count && section_at(image, i, &entry); i++) {
        uint32_t type = tool_le32(entry + 4);
        take_named(image, &section_names, entry);
        if ((type != SHT_SYMTAB && type != SHT_DYNSYM) ||
            !section_at(image, tool_le32(entry + 40), &names))
            continue;
        struct tool_image_part symbols = section_bytes(image, entry);
        struct tool_image_part strings = section_bytes(image, names);
        if (symbols.bytes == NULL)
            continue;
        trim_names(&strings);
        if (type == SHT_SYMTAB) {
            image->symbols = symbols;
            image->symbol_names = strings;
        } else {
            image->dynamic_symbols = symbols;
            image->dynamic_names = strings;
        }
    }
}

static void read_dynamic(struct tool_image *image, struct tool_image_part dynamic)
{
    uint64_t at[TYPE_PACKED + 1] = {0};
    for (size_t i = 0; i < TOOL_IMAGE_DYNAMIC_MAX && (i + 1) * 16 <= dynamic.size_bytes; i++) {
        uint64_t tag = tool_le64(dynamic.bytes + i * 16);
        if (tag == DT_NULL)
            break;
        if (tag <= TYPE_PACKED)
            at[tag] = tool_le64(dynamic.bytes + i * 16 + 8);
    }
    image->relocations = loaded_part(image, at[DT_RELA], at[DT_RELASZ]);
    image->stub_relocations = loaded_part(image, at[DT_JMPREL], at[DT_PLTRELSZ]);
    image->packed = loaded_part(image, at[TYPE_PACKED], at[PACKED_BYTES]);
    /* Without sections: linkers put the names right behind the symbols. */
    if (image->dynamic_symbols.bytes == NULL && at[DT_STRTAB] > at[DT_SYMTAB]) {
        image->dynamic_symbols = loaded_part(image, at[DT_SYMTAB], at[DT_STRTAB] - at[DT_SYMTAB]);
        image->dynamic_names = loaded_part(image, at[DT_STRTAB], at[DT_STRSZ]);
        trim_names(&image->dynamic_names);
    }
}

/* .eh_frame by its sorted index, as the unwinder finds it. */
static void find_frames(struct tool_image *image, uint64_t frames_head)
{
    size_t available;
    const uint8_t *head = tool_image_at(image, frames_head, &available);
    const uint8_t relative_32 = 0x1b; /* from its own place, signed: what all linkers write */
    if (head == NULL || available < 8 || head[0] != 1 || head[1] != relative_32)
        return;
    uint64_t address = frames_head + 4 + (uint64_t)(int64_t)(int32_t)tool_le32(head + 4);
    const uint8_t *frames = tool_image_at(image, address, &available);
    if (frames != NULL)
        image->frames = (struct tool_image_part){frames, available, address};
}

const char *tool_image_open(struct tool_image *image, const uint8_t *bytes, size_t size_bytes)
{
    static const uint8_t magic[4] = {0x7F, 'E', 'L', 'F'};
    struct tool_image_part dynamic = {0};
    uint64_t frames_head = 0;
    *image = (struct tool_image){.bytes = bytes, .size_bytes = size_bytes};
    if (size_bytes < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return "not an ELF file";
    if (size_bytes < HEADER_BYTES)
        return "it ends inside its ELF header";
    if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB ||
        tool_le16(bytes + 18) != TOOL_IMAGE_MACHINE)
        return "it is not for x86-64";
    if (tool_le16(bytes + 16) != ET_EXEC && tool_le16(bytes + 16) != ET_DYN)
        return "neither an executable nor a shared library";
    image->entry = tool_le64(bytes + 24);
    image->is_fixed = tool_le16(bytes + 16) == ET_EXEC;
    const char *reason = read_segments(image, &dynamic, &frames_head);
    if (reason != NULL)
        return reason;
    if (image->segment_count == 0)
        return "no part of it is ever loaded";
    read_sections(image);
    image->is_dynamic = dynamic.bytes != NULL;
    if (image->is_dynamic)
        read_dynamic(image, dynamic);
    if (frames_head != 0)
        find_frames(image, frames_head);
    return NULL;
}

/* An address, then bits for the 63 words behind it, and so on. */
void tool_image_packed_places(const struct tool_image_part *packed,
                              void (*take)(void *context, uint64_t place), void *context)
{
    uint64_t next = 0;
    for (size_t at = 0; packed->size_bytes - at >= PACKED_EACH; at += PACKED_EACH) {
        uint64_t entry = tool_le64(packed->bytes + at);
        if ((entry & 1) == 0) {
            take(context, entry);
            next = entry + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if ((entry >> bit & 1) != 0)
                take(context, next + (bit - 1) * 8);
        next += 63 * 8;
    }
}

bool tool_image_symbol_at(const struct tool_image_part *symbols,
                          const struct tool_image_part *names, size_t number,
                          struct tool_image_symbol *symbol)
{
    if (number >= symbols->size_bytes / SYMBOL_BYTES)
        return false;
    const uint8_t *entry = symbols->bytes + number * SYMBOL_BYTES;
    uint32_t name = tool_le32(entry);
    *symbol = (struct tool_image_symbol){.name = "",
                                         .address = tool_le64(entry + 8),
                                         .size_bytes = tool_le64(entry + 16),
                                         .type = entry[4] & 15,
                                         .binding = entry[4] >> 4,
                                         .section = tool_le16(entry + 6)};
    if (name < names->size_bytes)
        symbol->name = (const char *)names->bytes + name;
    return true;
}
