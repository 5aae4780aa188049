#include "tools/io/debug_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "program/symbols/debuginfod.h"
#include "program/symbols/name_advice.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"

#define SHOWN_COLUMNS 40

bool tool_parse_debug_folder(const char *text, void *into)
{
    struct tool_debug_files *debug = into;
    if (debug->folder_count == TOOL_DEBUG_FOLDERS_MAX || text[0] == '\0')
        return false;
    debug->folders[debug->folder_count++] = text;
    return true;
}

int tool_check_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode)
               ? TOOL_OK
               : tool_fail("'%s' is no folder", path);
}

int tool_debug_files_check(const struct tool_debug_files *debug, const char *verb)
{
    for (size_t i = 0; i < debug->folder_count; i++) {
        int status = tool_check_folder(debug->folders[i]);
        if (status != TOOL_OK)
            return status;
    }
    if (debug->debuginfod && !tool_debuginfod_has_servers())
        return tool_usage(verb,
                          "--debuginfod asks the servers in DEBUGINFOD_URLS, which names "
                          "none: try DEBUGINFOD_URLS=%s",
                          tool_debuginfod_server());
    return TOOL_OK;
}

struct tool_symbols *tool_symbols_make(const struct tool_symbols_options *options)
{
    struct tool_symbols *symbols = tool_symbols_open(options);
    if (symbols == NULL)
        tool_out_of_memory();
    return symbols;
}

bool tool_symbols_warn(struct tool_symbols_module *module)
{
    const char *path, *reason = tool_symbols_module_trouble(module, &path);
    if (reason != NULL)
        tool_message("no symbols of '%.1024s%s': %s", path, strlen(path) > 1024 ? "..." : "",
                     reason);
    return tool_symbols_module_state(module) != TOOL_SYMBOLS_READY;
}

/* ---- fetching ---- */

static void begin_fetch(const char *path)
{
    char line[SHOWN_COLUMNS * TTP_ESCAPE_MAX + 48], escaped[SHOWN_COLUMNS * TTP_ESCAPE_MAX];
    const char *name = ttp_base_name(path);
    size_t size = ttp_escape(escaped, TTP_ESCAPE_TERMINAL, name, strnlen(name, SHOWN_COLUMNS));
    (void)snprintf(line, sizeof line, "debug file of %.*s", (int)size, escaped);
    tool_progress_start(line);
}

static void update_fetch(uint64_t done_bytes, uint64_t total_bytes)
{
    tool_progress_update(done_bytes, total_bytes, 0);
}

void tool_debug_files_apply(const struct tool_debug_files *debug, struct tool_symbols_options *into)
{
    into->debug_folders = debug->folders;
    into->debug_folder_count = debug->folder_count;
    into->debuginfod = debug->debuginfod;
    into->fetching = (struct tool_fetching){begin_fetch, update_fetch, tool_progress_stop};
}
