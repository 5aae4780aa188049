/* The inside of the user's side of symbols. */
#ifndef TOOL_SYMBOLS_INSIDE_H
#define TOOL_SYMBOLS_INSIDE_H

#include "base/region.h"
#include "program/process/child.h"
#include "program/symbols/symbols.h"
#include "program/symbols/symbols_wire.h"

#define AHEAD_BYTES 32768u

struct tool_symbols_module {
    char *path; /* as it came, for messages */
    size_t path_bytes;
    char *file; /* where it is looked for */
    char *build_id;
    uint32_t build_id_bytes;
    uint32_t number;
    uint32_t generation; /* of the helper that has it open; 0: none */
    enum tool_symbols_state state;
    bool is_told, is_stripped, has_head;
    bool was_fetched, was_shared_fetched; /* or tried to be */
    const char *not_fetched;              /* why; NULL: nothing failed */
    enum tool_symbols_from names_from, lines_from;
    char debug_path[TOOL_WIRE_SHOWN];
    struct tool_elf_head head;
    char reason[TOOL_WIRE_REASON];
};

struct tool_symbols {
    struct tool_symbols_options options;
    struct tool_child helper;
    uint32_t generation; /* of the last helper, from 1 */
    uint32_t deaths;
    struct tool_symbols_module **modules;
    size_t count, capacity;
    struct ttp_key_map by_name; /* numbers of modules */
    struct tool_symbols_module none;
    struct ttp_region region; /* of what is told of modules */
    char name[TOOL_WIRE_NAME_MAX], file[TOOL_WIRE_FILE_MAX];
    /* What that helper has sent, and nobody has asked for yet: answers come by the thousand. */
    uint32_t ahead_generation;
    size_t ahead_at, ahead_end;
    char ahead[AHEAD_BYTES];
};

/* symbols_fetch.c: fetches what the module lacks, where that was asked for, once. True: it is worth
 * another look. */
bool tool_symbols_fetch_more(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             const struct tool_wire_opened *opened);

#endif
