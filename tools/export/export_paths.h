/* Paths of system calls, and what frames are called in outputs that have no modules beside them. */
#ifndef TOOL_EXPORT_PATHS_H
#define TOOL_EXPORT_PATHS_H

#include "tools/calls/name_table.h"
#include "tools/export/export.h"

/* Zeroed is empty. */
struct tool_export_path {
    uint32_t *sites; /* of its frames, outermost first; TTAPE_NONE: further out is not known */
    uint32_t count;
    size_t capacity;
};

void tool_export_path_read(const struct tool_export *export, uint32_t path,
                           struct tool_export_path *into);
void tool_export_path_close(struct tool_export_path *path);
/* The path that led to a site; 0: it has none, or it is TTAPE_NONE. */
uint32_t tool_export_path_of(const struct tool_export *export, uint32_t site);

/* The symbol; without one the module and where in it, or the address. `room` may hold it. */
#define TOOL_EXPORT_PLACE_BYTES 96u
ttape_string tool_export_place(const struct tool_export *export, const ttape_site *site,
                               char room[TOOL_EXPORT_PLACE_BYTES]);
/* Adds "outermost > ... > innermost" of a path, escaped. */
void tool_export_put_path(const struct tool_export *export, const struct tool_export_path *path,
                          struct tool_buffer *text);
/* A function's frames are at many places, and a call has many paths: the first site of that name.
 * TTAPE_NONE stays what it is. */
uint32_t tool_export_same_name(const struct tool_export *export, struct tool_names *names,
                               uint32_t site);

#endif
