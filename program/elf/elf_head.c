/* ELF heads by hand: both word sizes, both byte orders, every number checked before it is used. */
#define _GNU_SOURCE /* syscall, O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program/elf/elf_head.h"

#ifndef SYS_openat2 /* older headers */
#define SYS_openat2 437
#endif

#define IDENT_BYTES     16u
#define HEADER_MAX      64u
#define ENTRY_MAX       64u /* a program or section header */
#define ENTRIES_MAX     65535u
#define NOTES_MAX       16384u /* bytes of one run of notes that are searched */
#define NOTE_RUNS_MAX   64u
#define NOTE_HEAD_BYTES 12u
#define TYPE_DYNAMIC    3u
#define SEGMENT_LOAD    1u
#define SEGMENT_LOADER  3u /* the path of what loads it */
#define SEGMENT_NOTE    4u
#define SECTION_NOTE    7u
#define NOTE_BUILD_ID   3u
#define FLAG_EXECUTE    1u

struct elf_reading {
    int fd;
    uint64_t file_bytes;
    uint32_t note_runs; /* looked at so far */
    struct tool_elf_head *head;
};

/* A table of program or section headers. */
struct elf_table {
    uint64_t offset;
    uint32_t count, entry_bytes;
};

bool tool_elf_read_exactly(int fd, uint64_t offset, void *buffer, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t got = pread(fd, (char *)buffer + done, size_bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool read_range(const struct elf_reading *elf, uint64_t offset, void *buffer,
                       size_t size_bytes)
{
    return offset <= elf->file_bytes && size_bytes <= elf->file_bytes - offset &&
           tool_elf_read_exactly(elf->fd, offset, buffer, size_bytes);
}

static uint64_t number(const struct elf_reading *elf, const uint8_t *at, unsigned size_bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size_bytes; i++) {
        unsigned from = elf->head->is_big_endian ? i : size_bytes - 1 - i;
        value = value << 8 | at[from];
    }
    return value;
}

/* A field that is 4 or 8 bytes wide, at one place in small files and another in wide ones. */
static uint64_t word(const struct elf_reading *elf, const uint8_t *entry, unsigned small,
                     unsigned wide)
{
    return elf->head->is_64 ? number(elf, entry + wide, 8) : number(elf, entry + small, 4);
}

/* Looks for the build id in a run of notes: name size, size, type, name, content, each padded. */
static void search_notes(struct elf_reading *elf, uint64_t offset, uint64_t size_bytes,
                         uint64_t alignment)
{
    uint8_t notes[NOTES_MAX];
    uint64_t align = alignment == 8 ? 8 : 4;
    if (offset > elf->file_bytes || elf->note_runs++ >= NOTE_RUNS_MAX)
        return;
    uint64_t left = elf->file_bytes - offset;
    left = left < size_bytes ? left : size_bytes;
    left = left < NOTES_MAX ? left : NOTES_MAX;
    if (!read_range(elf, offset, notes, (size_t)left))
        return;
    for (const uint8_t *note = notes; left >= NOTE_HEAD_BYTES;) {
        uint64_t name_bytes = number(elf, note, 4), content_bytes = number(elf, note + 4, 4);
        uint64_t content = (NOTE_HEAD_BYTES + name_bytes + align - 1) / align * align;
        uint64_t next = (content + content_bytes + align - 1) / align * align;
        if (content + content_bytes > left)
            return;
        if (number(elf, note + 8, 4) == NOTE_BUILD_ID && name_bytes == 4 && content_bytes > 0 &&
            content_bytes <= TOOL_BUILD_ID_BYTES_MAX &&
            memcmp(note + NOTE_HEAD_BYTES, "GNU", 4) == 0) {
            memcpy(elf->head->build_id, note + content, (size_t)content_bytes);
            elf->head->build_id_bytes = (uint32_t)content_bytes;
            return;
        }
        if (next >= left)
            return;
        note += next;
        left -= next;
    }
}

static bool read_entry(const struct elf_reading *elf, const struct elf_table *table, uint32_t index,
                       uint8_t entry[ENTRY_MAX], unsigned wanted)
{
    return table->entry_bytes >= wanted &&
           read_range(elf, table->offset + (uint64_t)index * table->entry_bytes, entry, wanted);
}

static void take_load(const struct elf_reading *elf, const uint8_t *entry)
{
    struct tool_elf_head *head = elf->head;
    struct tool_elf_load load = {
        .offset = word(elf, entry, 4, 8),
        .address = word(elf, entry, 8, 16),
        .file_bytes = word(elf, entry, 16, 32),
        .memory_bytes = word(elf, entry, 20, 40),
        .executable = (number(elf, entry + (head->is_64 ? 4 : 24), 4) & FLAG_EXECUTE) != 0};
    uint64_t end;
    bool fits = !__builtin_add_overflow(load.offset, load.file_bytes, &end) &&
                end <= UINT64_MAX - TOOL_ELF_PAGE &&
                !__builtin_add_overflow(load.address, load.memory_bytes, &end) &&
                end <= UINT64_MAX - TOOL_ELF_PAGE;
    if (fits && load.memory_bytes > 0 && head->load_count < TOOL_ELF_LOADS_MAX)
        head->loads[head->load_count++] = load;
}

static void read_segments(struct elf_reading *elf, const struct elf_table *table)
{
    unsigned wanted = elf->head->is_64 ? 56 : 32;
    uint8_t entry[ENTRY_MAX];
    for (uint32_t i = 0; i < table->count && read_entry(elf, table, i, entry, wanted); i++) {
        uint64_t type = number(elf, entry, 4);
        elf->head->has_interpreter |= type == SEGMENT_LOADER;
        if (type == SEGMENT_LOAD) {
            take_load(elf, entry);
        } else if (type == SEGMENT_NOTE && elf->head->build_id_bytes == 0) {
            search_notes(elf, word(elf, entry, 4, 8), word(elf, entry, 16, 32),
                         word(elf, entry, 28, 48));
        }
    }
}

/* Sections come first: in a file of debug information alone the segments' offsets are stale. */
static void read_note_sections(struct elf_reading *elf, const struct elf_table *table)
{
    unsigned wanted = elf->head->is_64 ? 64 : 40;
    uint8_t entry[ENTRY_MAX];
    for (uint32_t i = 0; i < table->count && elf->head->build_id_bytes == 0 &&
                         read_entry(elf, table, i, entry, wanted);
         i++) {
        if (number(elf, entry + 4, 4) == SECTION_NOTE) {
            search_notes(elf, word(elf, entry, 16, 24), word(elf, entry, 20, 32),
                         word(elf, entry, 32, 48));
        }
    }
}

/* The tables' places; counts that do not fit 16 bits stand in the first section header. */
static void find_tables(const struct elf_reading *elf, const uint8_t *header,
                        struct elf_table *segments, struct elf_table *sections)
{
    unsigned tail = elf->head->is_64 ? 54 : 42;
    *segments = (struct elf_table){.offset = word(elf, header, 28, 32),
                                   .entry_bytes = (uint32_t)number(elf, header + tail, 2),
                                   .count = (uint32_t)number(elf, header + tail + 2, 2)};
    *sections = (struct elf_table){.offset = word(elf, header, 32, 40),
                                   .entry_bytes = (uint32_t)number(elf, header + tail + 4, 2),
                                   .count = (uint32_t)number(elf, header + tail + 6, 2)};
    uint8_t entry[ENTRY_MAX];
    unsigned wanted = elf->head->is_64 ? 64 : 40;
    if (sections->offset == 0 || !read_entry(elf, sections, 0, entry, wanted)) {
        sections->count = 0;
    } else if (sections->count == 0) {
        uint64_t count = word(elf, entry, 20, 32);
        sections->count = count < ENTRIES_MAX ? (uint32_t)count : ENTRIES_MAX;
    }
}

static const char *read_head(int fd, bool id_only, struct tool_elf_head *head)
{
    static const unsigned char magic[4] = {0x7F, 'E', 'L', 'F'};
    struct stat status;
    uint8_t header[HEADER_MAX] = {0};
    struct elf_table segments, sections;
    *head = (struct tool_elf_head){0};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return "not a regular file";
    struct elf_reading elf = {.fd = fd, .file_bytes = (uint64_t)status.st_size, .head = head};
    if (!read_range(&elf, 0, header, IDENT_BYTES) || memcmp(header, magic, sizeof(magic)) != 0)
        return "not an ELF file";
    head->is_64 = header[4] == 2;
    head->is_big_endian = header[5] == 2;
    if ((header[4] != 1 && header[4] != 2) || (header[5] != 1 && header[5] != 2))
        return "not an ELF file of a known kind";
    if (!read_range(&elf, 0, header, head->is_64 ? 64 : 52))
        return "it ends inside its ELF header";
    head->type = (uint16_t)number(&elf, header + 16, 2);
    head->machine = (uint16_t)number(&elf, header + 18, 2);
    if (!id_only && head->type != TOOL_ELF_FIXED && head->type != TYPE_DYNAMIC)
        return "neither an executable nor a shared library";
    find_tables(&elf, header, &segments, &sections);
    read_note_sections(&elf, &sections);
    read_segments(&elf, &segments);
    return id_only || head->load_count > 0 ? NULL : "no part of it is ever loaded";
}

const char *tool_elf_head_read(int fd, struct tool_elf_head *head)
{
    return read_head(fd, false, head);
}

const char *tool_elf_id_read(int fd, struct tool_elf_head *head)
{
    return read_head(fd, true, head);
}

static const char *reason_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR: return "no such file";
    case EACCES:
    case EPERM: return "permission denied";
    case ELOOP: return "too many symbolic links";
    case ENAMETOOLONG: return "its name is too long";
    case EMFILE:
    case ENFILE: return "too many open files";
    default: return "cannot be opened";
    }
}

static int open_beneath(int folder, const char *path, int flags)
{
    if (folder == AT_FDCWD)
        return open(path, flags);
    struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) { /* an older kernel: links may lead out */
        path += strspn(path, "/");
        fd = openat(folder, path, flags);
    }
    return fd;
}

int tool_elf_open_file(const char *root, const char *path, const char **reason)
{
    struct stat status;
    int folder = AT_FDCWD, fd = -1;
    if (root != NULL) {
        folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0) {
            *reason = reason_of(errno);
            return -1;
        }
    }
    /* A look before the real open: opening a device can do things. */
    int look = open_beneath(folder, path, O_PATH | O_CLOEXEC);
    bool regular = look >= 0 && fstat(look, &status) == 0 && S_ISREG(status.st_mode);
    *reason = look < 0 ? reason_of(errno) : "not a regular file";
    if (regular) {
        fd = open_beneath(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        *reason = fd < 0 ? reason_of(errno) : NULL;
    }
    if (look >= 0)
        close(look);
    if (folder >= 0)
        close(folder);
    return fd;
}

const char *tool_elf_head_of(const char *root, const char *path, struct tool_elf_head *head)
{
    const char *reason;
    *head = (struct tool_elf_head){0};
    int fd = tool_elf_open_file(root, path, &reason);
    if (fd >= 0) {
        reason = tool_elf_head_read(fd, head);
        close(fd);
    }
    return reason;
}

static uint64_t page_down(uint64_t value) { return value & ~(uint64_t)(TOOL_ELF_PAGE - 1); }

static uint64_t page_up(uint64_t value) { return page_down(value + TOOL_ELF_PAGE - 1); }

/* How well a file offset fits a segment that is mapped from whole pages of the file; 0: not at all.
 * Neighbours may share a page of the file, which is then mapped twice: the mapping's rights and its
 * first byte tell which is meant. */
static int fit(const struct tool_elf_load *load, const struct tool_elf_mapping *mapping,
               uint64_t offset)
{
    if (load->file_bytes == 0 || offset < page_down(load->offset) ||
        offset >= page_up(load->offset + load->file_bytes))
        return 0;
    return 1 + 4 * (load->executable == mapping->executable) +
           2 * (page_down(load->offset) == mapping->offset) +
           (offset >= load->offset && offset - load->offset < load->file_bytes);
}

bool tool_elf_address_in_mapping(const struct tool_elf_head *head,
                                 const struct tool_elf_mapping *mapping, uint64_t address,
                                 uint64_t *elf_address)
{
    uint64_t offset = mapping->offset + (address - mapping->start);
    int best = 0;
    if (address < mapping->start || offset < mapping->offset)
        return false;
    for (uint32_t i = 0; i < head->load_count; i++) {
        const struct tool_elf_load *load = &head->loads[i];
        int how_well = fit(load, mapping, offset);
        if (how_well > best) {
            best = how_well;
            *elf_address = offset - load->offset + load->address;
        }
    }
    return best > 0;
}

bool tool_elf_lowest_page(const struct tool_elf_head *head, uint64_t *elf_address)
{
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; i < head->load_count; i++)
        lowest = head->loads[i].address < lowest ? head->loads[i].address : lowest;
    *elf_address = page_down(lowest);
    return head->load_count > 0;
}

bool tool_elf_address_in_module(const struct tool_elf_head *head, uint64_t module_start,
                                uint64_t address, uint64_t *elf_address)
{
    uint64_t lowest;
    if (address < module_start || !tool_elf_lowest_page(head, &lowest))
        return false;
    *elf_address = address - module_start + lowest;
    return true;
}
