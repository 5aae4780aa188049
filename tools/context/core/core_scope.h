/* The inside of the helper: one place of a walked stack, and the variables there. */
#ifndef TOOL_CORE_SCOPE_H
#define TOOL_CORE_SCOPE_H

#include <elfutils/libdwfl.h>

#include "tools/command/tool.h"
#include "tools/context/core/core_locals.h"

#define TOOL_CORE_DWARF_REGISTERS 17u
#define TOOL_CORE_LOCALS_MOST     200u /* of one frame */

/* A frame of the machine's stack. */
struct tool_core_at {
    struct tool_core *core;
    Dwfl_Module *module;
    uint64_t pc; /* within the call that is under way */
    uint64_t registers[TOOL_CORE_DWARF_REGISTERS];
    bool known[TOOL_CORE_DWARF_REGISTERS];
    uint64_t cfa; /* the caller's stack pointer */
    bool has_cfa;
    Dwarf_Addr bias;
    Dwarf_Die function; /* whose frame base counts */
};

struct tool_core_text {
    char text[TOOL_CORE_TEXT_MOST];
    size_t size;
};
void tool_core_put(struct tool_core_text *out, const char *format, ...) TOOL_PRINTF(2, 3);

/* core_place.c: where a variable is. */
enum tool_core_place_kind { TOOL_CORE_NOWHERE, TOOL_CORE_IN_MEMORY, TOOL_CORE_AS_VALUE };
struct tool_core_place {
    enum tool_core_place_kind kind;
    uint64_t word;   /* the address, or the value */
    const char *why; /* nowhere */
};
struct tool_core_place tool_core_find_place(struct tool_core_at *at, Dwarf_Die *variable);

/* core_text.c */
void tool_core_put_value(struct tool_core_text *out, struct tool_core *core, Dwarf_Die *variable,
                         const struct tool_core_place *place);

/* core_scope.c: the functions that the place is in: one that the machine called, outermost, and
 * those that are inlined in each other there. */
struct tool_core_scopes {
    Dwarf_Die *chain; /* blocks and functions, innermost first */
    uint32_t count;
};
/* False: no debug information says so. Close it if it was true. */
bool tool_core_scopes_open(struct tool_core_scopes *scopes, struct tool_core_at *at);
void tool_core_scopes_close(struct tool_core_scopes *scopes);
/* Where in the chain the next function further in lies, whose symbol is called so (NULL: no name),
 * or whose code has the function's address: from `from` on, which is scopes->count at first. False:
 * there is none. */
bool tool_core_scopes_find(const struct tool_core_scopes *scopes, const struct tool_core_at *at,
                           uint32_t from, const char *symbol, uint64_t function, uint32_t *found);
/* "file:line" where that function is; "" where it is not known. */
void tool_core_scopes_line(const struct tool_core_scopes *scopes, const struct tool_core_at *at,
                           uint32_t function, struct tool_core_text *out);
/* Calls `take` for each of its variables. */
typedef void (*tool_core_take)(void *context, const char *name, const char *text);
void tool_core_scopes_list(const struct tool_core_scopes *scopes, struct tool_core_at *at,
                           uint32_t function, tool_core_take take, void *context);

#endif
