/* What an ELF file says about itself in its first pages: kind, loaded segments, build id; and from
 * there between addresses of a running process and addresses of the file.
 *
 *   recorded address --(mapping of /proc/PID/maps)--> file offset --(segment)--> ELF address
 *   recorded address - module start + lowest segment's page                 -->  ELF address
 *
 * Plain bounded reads without a library: cheap and safe enough for the recorder's own process,
 * whatever the file holds. "ELF address" is a virtual address as the file's symbols give it. */
#ifndef TOOL_ELF_HEAD_H
#define TOOL_ELF_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#define TOOL_ELF_LOADS_MAX      64u /* loaded segments that are looked at; real files have 2 to 9 */
#define TOOL_BUILD_ID_BYTES_MAX 64u
#define TOOL_ELF_FIXED          2u  /* type of a file that is always mapped at its own addresses */
#define TOOL_ELF_X86_64         62u /* machine */
#define TOOL_ELF_PAGE           4096u /* what F-SIT-10 rounds to, on every machine */

/* A segment that is mapped (PT_LOAD). */
struct tool_elf_load {
    uint64_t offset, file_bytes, address, memory_bytes;
    bool executable;
};

struct tool_elf_head {
    bool is_64, is_big_endian;
    bool has_interpreter; /* a loader that loads libraries; else an executable is static */
    uint16_t type;        /* TOOL_ELF_FIXED, or 3: position independent or a library */
    uint16_t machine;     /* 62: x86-64, 183: AArch64, ... */
    uint32_t load_count;
    struct tool_elf_load loads[TOOL_ELF_LOADS_MAX];
    uint32_t build_id_bytes; /* 0: it has none */
    uint8_t build_id[TOOL_BUILD_ID_BYTES_MAX];
};

/* Opens a regular file for reading; never waits for a FIFO and opens no device. With a root
 * (NULL: none) the path is looked up inside that folder, links and ".." included. Returns the
 * descriptor, or -1 with *reason (static text). */
int tool_elf_open_file(const char *root, const char *path, const char **reason);

/* False: it cannot be read, or ends before. */
bool tool_elf_read_exactly(int fd, uint64_t offset, void *buffer, size_t size_bytes);

/* Reads the head of an open file. Returns NULL, or why it cannot be used (static text). */
const char *tool_elf_head_read(int fd, struct tool_elf_head *head);

/* The same for files that are never loaded: nothing but the build id is sure to be there. */
const char *tool_elf_id_read(int fd, struct tool_elf_head *head);

/* Opens, reads, closes. */
const char *tool_elf_head_of(const char *root, const char *path, struct tool_elf_head *head);

/* A line of /proc/PID/maps: the address range starts at `start` with the file's byte `offset`. One
 * with code, or the file's first: others may be meant for two segments that share a page of it. */
struct tool_elf_mapping {
    uint64_t start, offset;
    bool executable;
};

/* The ELF address of `address` in that mapping; false: no segment is mapped like this. */
bool tool_elf_address_in_mapping(const struct tool_elf_head *head,
                                 const struct tool_elf_mapping *mapping, uint64_t address,
                                 uint64_t *elf_address);

/* The ELF address of an address in a module with that start. */
bool tool_elf_address_in_module(const struct tool_elf_head *head, uint64_t module_start,
                                uint64_t address, uint64_t *elf_address);

/* The page of the lowest segment: what a module's start stands for. False: there is none. */
bool tool_elf_lowest_page(const struct tool_elf_head *head, uint64_t *elf_address);

#endif
