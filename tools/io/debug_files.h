/* Where debug files come from, as verbs are told: folders, and servers. A verb that names functions
 * lists TOOL_DEBUG_OPTIONS and keeps the answer in `debug` of its options. */
#ifndef TOOL_DEBUG_FILES_H
#define TOOL_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "program/symbols/symbols.h"

#define TOOL_DEBUG_FOLDERS_MAX 64u

struct tool_debug_files {
    const char *folders[TOOL_DEBUG_FOLDERS_MAX];
    size_t folder_count;
    bool debuginfod;
};

#define TOOL_DEBUG_OPTIONS                                                                         \
    {"debug-dir",                                                                                  \
     0,                                                                                            \
     "DIR",                                                                                        \
     "look for debug files in DIR first; may be given again",                                      \
     tool_parse_debug_folder,                                                                      \
     TOOL_AT(debug)},                                                                              \
    {                                                                                              \
        "debuginfod", 0, NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", NULL,      \
            TOOL_AT(debug.debuginfod)                                                              \
    }

bool tool_parse_debug_folder(const char *text, void *into); /* tool_debug_files */

/* As tool_symbols_open, or the end of the command. */
struct tool_symbols *tool_symbols_make(const struct tool_symbols_options *options);
/* Prints a warning that names the module, once per module; nothing when it is READY. Returns
 * whether it is not. */
bool tool_symbols_warn(struct tool_symbols_module *module);

/* Says what is wrong with them; TOOL_OK: nothing. */
int tool_check_folder(const char *path);
int tool_debug_files_check(const struct tool_debug_files *debug, const char *verb);
/* `into` borrows the folders. */
void tool_debug_files_apply(const struct tool_debug_files *debug,
                            struct tool_symbols_options *into);

#endif
