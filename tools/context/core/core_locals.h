/* What locals of open calls hold, as far as debug information says where they are.
 *
 *   dump, frames --> helper process: libdw walks the stack, finds variables, reads them
 *                <-- lines, each of a frame; or its death, which costs locals and nothing else */
#ifndef TOOL_CORE_LOCALS_H
#define TOOL_CORE_LOCALS_H

#include "tools/context/core/core_stacks.h"

#define TOOL_CORE_TEXT_MOST 480u

struct tool_core_local {
    char *name, *text; /* as they are: escape them. No name: words about the frame, or the thread */
    uint32_t next;     /* of the same frame, or TOOL_CORE_NONE */
    bool is_line;      /* text: the source's file and line */
};

struct tool_core_locals {
    struct tool_core_local *all;
    size_t count, capacity;
    const char *why; /* they are not all there; NULL: they are */
};

void tool_core_read_locals(struct tool_core_state *state, struct tool_core_locals *locals);
void tool_core_locals_close(struct tool_core_locals *locals);

/* From the helper: this, and then name and text. */
struct tool_core_wire {
    uint32_t calls, frame; /* numbers; TOOL_CORE_NONE: of the thread as a whole */
    uint32_t is_line;
    uint32_t name_bytes, text_bytes;
};
/* core_unwind.c: all that the helper does. */
void tool_core_walk(struct tool_core_state *state, int fd);

#endif
