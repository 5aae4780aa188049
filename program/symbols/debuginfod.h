/* Debug files from debuginfod servers: fetched by the build id into the cache that all clients of
 * debuginfod share, where tool_elf_find_debug looks.
 *
 *   caller                          child
 *   build id             -------->  libdebuginfod asks the servers in DEBUGINFOD_URLS
 *                        <--------  bytes so far
 *                        <--------  it is in the cache, or why not
 *
 * This file is the door to libdebuginfod. Nothing is asked but where the user wants it: a server
 * learns what runs here. */
#ifndef TOOL_DEBUGINFOD_H
#define TOOL_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are there servers to ask? */
bool tool_debuginfod_has_servers(void);

/* The cache that clients share; NULL: there is no folder for it. The caller frees it. */
char *tool_debuginfod_cache(void);

/* Who is told how far a fetch is; NULL: nobody. */
struct tool_fetching {
    void (*begin)(const char *path); /* of the program or library whose debug file it is */
    void (*update)(uint64_t done_bytes, uint64_t total_bytes);
    void (*end)(void);
};

/* Waits until the debug file is in the cache. A server that is silent for half a minute is given
 * up. Returns NULL, or why it is not there
 * (static text). *is_silent: nobody can be asked, so that there is no use in asking again. */
const char *tool_debuginfod_fetch(const void *build_id, size_t build_id_bytes, const char *path,
                                  const struct tool_fetching *told, bool *is_silent);

#endif
