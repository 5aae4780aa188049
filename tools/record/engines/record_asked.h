/* Functions of libraries that a process's own code calls: what its modules ask for, and libraries
 * have. */
#ifndef TOOL_RECORD_ASKED_H
#define TOOL_RECORD_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/binary/patch_file.h"
#include "tools/record/modules/record_copies.h"
#include "tools/record/rules/record_rules.h"

struct tool_asked_name {
    char *name;
    size_t place; /* among those that were put, from 0 */
};

struct tool_record_asked {
    struct tool_asked_name *names; /* sorted, from the first question on */
    size_t count, capacity;
    bool is_sorted;
    const struct tool_patterns *called; /* of these names; none: all */
};

void tool_record_asked_put(struct tool_record_asked *asked, const char *name);
/* What that module asks for. */
void tool_record_asked_add(struct tool_record_asked *asked, const char *path);
/* Whether that library has any of it. */
bool tool_record_asked_any(struct tool_record_asked *asked, const char *path);
/* Sets the bits of those functions of the library's plan, and says each name and where it starts.
 * Returns how many they are. */
typedef void (*tool_record_take_asked)(void *context, const char *name, uint32_t start);
uint32_t tool_record_asked_choose(struct tool_record_asked *asked, const char *path,
                                  const struct tool_patch_given *given, uint64_t *bits,
                                  tool_record_take_asked take, void *context);
/* They are called what is asked for first, as where a program is recorded from its start. */
void tool_record_asked_name(struct tool_record_asked *asked, const char *path,
                            const struct tool_patch_given *given, struct tool_record_copies *names);
void tool_record_asked_close(struct tool_record_asked *asked);

#endif
