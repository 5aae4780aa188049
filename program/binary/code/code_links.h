/* The linker's table of addresses of what is elsewhere, and its stubs, which jump through it. */
#ifndef TOOL_CODE_LINKS_H
#define TOOL_CODE_LINKS_H

#include "program/binary/code/code.h"

/* A word of the table, and which symbol's address it gets. */
struct tool_code_slot {
    uint32_t address, symbol;
};
struct tool_code_links {
    struct tool_code_slot *slots; /* sorted by address */
    size_t count, capacity;
};

/* False: memory is short. Close it in any case. */
bool tool_code_links_open(struct tool_code *code, struct tool_code_links *links);
void tool_code_links_close(struct tool_code_links *links);

/* The symbol whose address is in a word of the table; false: it is no such word. */
bool tool_code_link_at(const struct tool_code *code, const struct tool_code_links *links,
                       uint32_t address, struct tool_image_symbol *symbol);

/* Is there a stub: a jump through memory, perhaps behind an endbr64? */
bool tool_code_stub_at(const struct tool_code *code, uint32_t address, uint32_t *slot);

/* A range of stubs: its rows say so behind the first one, or it has no name and begins with one. */
bool tool_code_is_stubs(const struct tool_code *code, const struct tool_code_links *links,
                        const struct tool_function *function);

#endif
