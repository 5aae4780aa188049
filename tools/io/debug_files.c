#include "tools/io/debug_files.h"

#include <sys/stat.h>

#include "program/symbols/debuginfod.h"
#include "program/symbols/name_advice.h"
#include "tools/command/tool.h"

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

void tool_debug_files_apply(const struct tool_debug_files *debug, struct tool_symbols_options *into)
{
    into->debug_folders = debug->folders;
    into->debug_folder_count = debug->folder_count;
    into->debuginfod = debug->debuginfod;
}
