#include "program/binary/elf_exports.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "program/binary/frames/image.h"
#include "program/binary/plans/plan_module.h"

static bool is_asked(const struct tool_image_symbol *symbol)
{
    bool may_be = symbol->type == STT_FUNC || symbol->type == STT_NOTYPE;
    return may_be && symbol->section == SHN_UNDEF;
}

static bool is_exported(const struct tool_image_symbol *symbol)
{
    return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->binding != STB_LOCAL;
}

static void list(const char *path, bool (*is_it)(const struct tool_image_symbol *),
                 tool_elf_take_export take, void *context)
{
    struct tool_plan_input input;
    struct tool_image_symbol symbol;
    struct tool_image *image = malloc(sizeof *image);
    if (tool_plan_input_open(&input, path) == NULL && image != NULL &&
        tool_image_open(image, input.bytes, input.size_bytes) == NULL)
        for (size_t i = 0;
             tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names, i, &symbol); i++)
            if (symbol.name[0] != '\0' && is_it(&symbol))
                take(context, symbol.name, symbol.address);
    tool_plan_input_close(&input);
    free(image);
}

void tool_elf_asked(const char *path, tool_elf_take_export take, void *context)
{
    list(path, is_asked, take, context);
}

void tool_elf_exported(const char *path, tool_elf_take_export take, void *context)
{
    list(path, is_exported, take, context);
}
