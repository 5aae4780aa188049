/* Which modules are patched: the command's own, by its path or by the link that was typed, its own
 * libraries, and those that patterns name. */
#include "tools/record/engines/record_patch.h"

#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "program/elf/elf_needed.h"
#include "tools/io/target.h"

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && tool_same_file(&x, &y));
}

static bool is_linked(const struct tool_record_patch *patch, const char *module_path)
{
    return patch->link != NULL && is_same_file(patch->link, module_path);
}

bool tool_record_patch_owns(const struct tool_record_patch *patch, const char *module_path)
{
    for (char **library = patch->own; library != NULL && *library != NULL; library++)
        if (is_same_file(*library, module_path))
            return true;
    return false;
}

bool tool_record_patch_is_command(const struct tool_record_patch *patch, const char *module_path)
{
    return patch->only != NULL && is_same_file(patch->only, module_path);
}

const char *tool_record_patch_called(const struct tool_record_patch *patch, const char *module_path)
{
    return ttp_base_name(is_linked(patch, module_path) ? patch->link : module_path);
}

static bool match(const struct tool_record_patch *patch, const struct tool_patterns *patterns,
                  const char *module_path)
{
    return tool_patterns_match(patterns, module_path) ||
           (patterns->count != 0 && is_linked(patch, module_path) &&
            tool_patterns_match(patterns, patch->link));
}

bool tool_record_patch_covers(const struct tool_record_patch *patch, const char *module_path)
{
    if (patch->rules.function.count == 0 ||
        (patch->only != NULL && !tool_record_patch_is_command(patch, module_path) &&
         !tool_record_patch_owns(patch, module_path)))
        return false;
    if (patch->marks.given && patch->only == NULL && patch->module->count == 0 &&
        !tool_elf_is_program(module_path)) /* it is asked about for its marks */
        return false;
    return (patch->module->count == 0 || match(patch, patch->module, module_path)) &&
           !match(patch, patch->no_module, module_path);
}
