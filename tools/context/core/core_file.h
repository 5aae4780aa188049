/* A core dump, as memory that can be read. It may come from anywhere: each count and offset in it
 * is looked at before it is used.
 *
 *   notes     threads (NT_PRSTATUS), what is mapped from files (NT_FILE), the process (NT_PRPSINFO)
 *   segments  memory; what a dump leaves out, and a file of the right build has, is read there */
#ifndef TOOL_CORE_FILE_H
#define TOOL_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/elf/elf_head.h"

struct tool_symbols_module;

/* Registers as a core dump has them. */
enum tool_core_register {
    TOOL_CORE_RBP = 4,
    TOOL_CORE_RIP = 16,
    TOOL_CORE_RSP = 19,
    TOOL_CORE_FS_BASE = 21,
    TOOL_CORE_REGISTERS = 27
};

struct tool_core_load {
    uint64_t start, bytes, file_bytes, offset;
};

struct tool_core_mapping {
    uint64_t start, end, offset;
    const char *path;
    uint32_t module; /* TOOL_CORE_NONE: of none */
};
#define TOOL_CORE_NONE UINT32_MAX

/* A file that code was mapped from. */
struct tool_core_module {
    const char *path; /* as the dump has it */
    uint64_t start;
    bool has_calls;          /* some are in it */
    bool has_head;           /* the dump has its first page: */
    uint32_t build_id_bytes; /* 0: it has none */
    uint8_t build_id[TOOL_BUILD_ID_BYTES_MAX];
    /* core_modules.c: once it was looked for */
    bool is_looked_for, is_verified;
    int fd;           /* -1: it is not there, and that is why: */
    const char *why;  /* static text */
    const char *file; /* that was opened */
    struct tool_elf_head head;
    struct tool_symbols_module *symbols;
};

struct tool_core_thread {
    uint32_t id;
    uint32_t signal; /* 0: none */
    uint64_t registers[TOOL_CORE_REGISTERS];
};

struct tool_core {
    const char *path;
    int fd;
    uint64_t file_bytes;
    bool is_cut;
    uint32_t process_id;
    char program[17];
    struct tool_core_load *loads; /* by address */
    size_t load_count;
    struct tool_core_thread *threads;
    size_t thread_count, thread_capacity;
    struct tool_core_mapping *mappings; /* by address */
    size_t mapping_count;
    struct tool_core_module *modules;
    size_t module_count, module_capacity;
    uint8_t *notes;
    uint64_t notes_bytes;
    char *const *binaries; /* that are given */
    size_t binary_count;
};

/* Returns a tool_exit; what failed has been reported. Close it in any case. */
int tool_core_open(struct tool_core *core, const char *path);
void tool_core_close(struct tool_core *core);

/* All of it, or false. */
bool tool_core_read(struct tool_core *core, uint64_t address, void *buffer, uint64_t bytes);
bool tool_core_word(struct tool_core *core, uint64_t address, uint64_t *word);
/* What the dump itself has. */
bool tool_core_read_own(struct tool_core *core, uint64_t address, void *buffer, uint64_t bytes);

/* The next note at *at, which is 0 at first. False: there are no more. */
struct tool_core_note {
    uint32_t type, bytes;
    const uint8_t *data;
    bool is_gnu; /* of the owner GNU; else CORE, or another one */
};
bool tool_core_note(const uint8_t *notes, uint64_t bytes, uint64_t *at,
                    struct tool_core_note *note);
uint64_t tool_core_number(const uint8_t *at, uint32_t bytes);

/* core_modules.c */
void tool_core_list_modules(struct tool_core *core, const struct tool_core_note *files);
const struct tool_core_mapping *tool_core_mapping(const struct tool_core *core, uint64_t address);
/* NULL: the address is in none. */
struct tool_core_module *tool_core_module_at(struct tool_core *core, uint64_t address);
/* Looks for its file once; false: it is not there, in the right build. */
bool tool_core_find_file(struct tool_core *core, struct tool_core_module *module);
/* For a process of its own, whose descriptors were closed. */
void tool_core_open_again(struct tool_core *core);

#endif
