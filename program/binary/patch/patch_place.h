/* A range of code, while windows are found in it. */
#ifndef TOOL_PATCH_PLACE_H
#define TOOL_PATCH_PLACE_H

#include "program/binary/patch/patchable.h"

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
    bool is_lineless;   /* windows are wanted within which no line begins */
};

/* The instructions [from, to], and what fills up behind. */
struct tool_patch_window {
    size_t from, to;
    uint32_t bytes;
    bool is_behind; /* of a mark, which is the last instruction: the others come first */
};

/* The window of an entry at instruction `from`, with the exit at its end where there is one. */
enum ttp_patch_reason tool_patch_find_entry(const struct tool_patch_place *place, size_t from,
                                            struct tool_patch_window *window);
/* The window of the exit at instruction `at`. */
enum ttp_patch_reason tool_patch_find_exit(const struct tool_patch_place *place, size_t at,
                                           struct tool_patch_window *window);

/* The window of an inlined function that is entered at instruction `from`. */
enum ttp_patch_reason tool_patch_find_inlined(const struct tool_patch_place *place, size_t from,
                                              struct tool_patch_window *window);

/* That of a mark whose nop is instruction `at`: as above, else with instructions in front. */
enum ttp_patch_reason tool_patch_find_mark(const struct tool_patch_place *place, size_t at,
                                           struct tool_patch_window *window);

/* patch_probes.c, for patch_inlined.c. */
void tool_patch_start_range(struct tool_patch *patch, size_t range, struct tool_patch_place *place);
/* The first instruction that does not lie in front of the address. */
size_t tool_patch_index_of(const struct tool_patch_place *place, uint32_t address);
/* Adds the probe of an entry; probes that cannot be say why. False: memory is short, or a table
 * would be too large. */
bool tool_patch_add_start(struct tool_patch_place *place, enum ttp_patch_kind kind,
                          const struct tool_patch_window *window);
bool tool_patch_add_reason(const struct tool_patch_place *place, enum ttp_patch_kind kind,
                           enum ttp_patch_reason reason, uint32_t address);
bool tool_patch_add_probe(struct tool_patch *patch, const struct ttp_patch_probe *probe);
bool tool_patch_add_function(struct tool_patch *patch, const struct ttp_patch_function *function);

/* A window of two to four bytes for the exit at instruction `at`, and that of a host in its reach.
 * False: there is none. */
bool tool_patch_find_relay(const struct tool_patch_place *place, size_t at,
                           struct tool_patch_window *window, struct tool_patch_window *host);
/* The window that ends with instruction `at`, where no other one is. False: there is none. */
bool tool_patch_find_free(const struct tool_patch_place *place, size_t at,
                          struct tool_patch_window *window);

/* patch_split.c: gives a return that has no window those of all ways to it, in place of probe
 * `number`; some may be found only, then that stays. False: memory is short, or a table would be
 * too large. */
bool tool_patch_split(struct tool_patch_place *place, size_t number);

/* patch_probes.c, for patch_split.c: a probe, whose window may be a short one, with a host.
 * *is_there: there was room. `kind` is of the exit; `returns`: the return behind the window or at
 * the branch's target, which is moved behind. False: as above. */
bool tool_patch_add_way(struct tool_patch_place *place, enum ttp_patch_kind kind, size_t at,
                        const struct tool_instruction *returns, struct ttp_patch_probe *probe,
                        bool *is_there);

#endif
