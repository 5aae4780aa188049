#include "tools/binary/elf_hooks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/binary/frames/image.h"
#include "tools/binary/plan_store.h"

static bool is_hook(const char *name)
{
    static const char hooks[] = "__cyg_profile_func_", own[] = "ttape_rt_";
    return strncmp(name, hooks, sizeof hooks - 1) == 0 || strncmp(name, own, sizeof own - 1) == 0;
}

static bool names_hooks(const struct tool_image_part *symbols, const struct tool_image_part *names)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++)
        if (is_hook(symbol.name))
            return true;
    return false;
}

bool tool_elf_has_hooks(const char *path)
{
    char unused[TOOL_PLAN_NAME_BYTES];
    struct stat status;
    struct tool_plan_input input = {0};
    struct tool_image *image = malloc(sizeof *image);
    int fd = -1;
    bool has = image != NULL && tool_plan_module_open(path, "", &fd, &status, unused) == NULL &&
               tool_plan_module_read(fd, &status, &input) == NULL &&
               tool_image_open(image, input.bytes, input.size_bytes) == NULL &&
               (names_hooks(&image->dynamic_symbols, &image->dynamic_names) ||
                names_hooks(&image->symbols, &image->symbol_names));
    if (fd >= 0)
        (void)close(fd);
    tool_plan_input_close(&input);
    free(image);
    return has;
}
