/* A range of code, while windows are found in it. */
#ifndef TOOL_PATCH_PLACE_H
#define TOOL_PATCH_PLACE_H

#include "tools/binary/patch/patchable.h"

struct tool_patch_place {
    struct tool_patch *patch;
    size_t range;
    const struct tool_instruction *all; /* of the range: they follow each other */
    size_t count;
    uint32_t limit;     /* what fills up behind the range ends there at the latest */
    uint32_t free_from; /* the window before ends there */
    uint32_t least;     /* bytes that a window needs */
    bool is_computed;   /* its function has a jump whose targets are not known */
    bool is_parted;     /* an exit has no part in the entry's window */
};

/* The instructions [from, to], and what fills up behind. */
struct tool_patch_window {
    size_t from, to;
    uint32_t bytes;
};

/* The window of an entry at instruction `from`, with the exit at its end where there is one. */
enum ttp_patch_reason tool_patch_find_entry(const struct tool_patch_place *place, size_t from,
                                            struct tool_patch_window *window);
/* The window of the exit at instruction `at`. */
enum ttp_patch_reason tool_patch_find_exit(const struct tool_patch_place *place, size_t at,
                                           struct tool_patch_window *window);

/* A window of two to four bytes for the exit at instruction `at`, and that of a host in its reach.
 * False: there is none. */
bool tool_patch_find_relay(const struct tool_patch_place *place, size_t at,
                           struct tool_patch_window *window, struct tool_patch_window *host);

#endif
