#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/io/target.h"
#include "tools/record/record_output.h"

/* The command's file is the first in the search path that can be executed. */
static bool find_command(const char *name, struct stat *found)
{
    const char *at = getenv("PATH");
    bool has_slash = strchr(name, '/') != NULL;
    if (has_slash || at == NULL)
        return has_slash && stat(name, found) == 0;
    for (bool is_last = false; !is_last;) {
        size_t length = strcspn(at, ":");
        size_t room = length + strlen(name) + 3;
        char *path = tool_allocate(room, 1);
        snprintf(path, room, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? at : ".", name);
        bool is_found =
            stat(path, found) == 0 && S_ISREG(found->st_mode) && access(path, X_OK) == 0;
        free(path);
        if (is_found)
            return true;
        is_last = at[length] == '\0';
        at += length + 1;
    }
    return false;
}

bool tool_record_is_command(const char *output, const char *command)
{
    struct stat there, found;
    return stat(output, &there) == 0 && find_command(command, &found) &&
           tool_same_file(&there, &found);
}
