#define _GNU_SOURCE /* memmem */
#include "program/binary/elf_hooks.h"

#include <stdlib.h>
#include <string.h>

#include "program/binary/frames/image.h"
#include "program/binary/plans/plan_module.h"
#include "program/elf/elf_sections.h"

#define COMMENT_BYTES 4096u /* of .comment that are looked at */

typedef bool (*is_wanted)(const struct tool_image_symbol *symbol);

static bool is_hook(const struct tool_image_symbol *symbol)
{
    const char *name = symbol->name;
    static const char hooks[] = "__cyg_profile_func_", own[] = "ttape_rt_";
    return strncmp(name, hooks, sizeof hooks - 1) == 0 || strncmp(name, own, sizeof own - 1) == 0;
}

static bool is_stub(const struct tool_image_symbol *symbol)
{
    return strcmp(symbol->name, "ttape_rt_block") == 0;
}

/* Of another module: a C library has them all itself. */
static bool is_counter(const struct tool_image_symbol *symbol)
{
    return symbol->section == 0 &&
           (strcmp(symbol->name, "mcount") == 0 || strcmp(symbol->name, "_mcount") == 0 ||
            strcmp(symbol->name, "__fentry__") == 0);
}

static bool names_any(const struct tool_image_part *symbols, const struct tool_image_part *names,
                      is_wanted wanted)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++)
        if (wanted(&symbol))
            return true;
    return false;
}

/* 1: it has such a symbol, 0: none, -1: it cannot be read. */
static int has_symbol(const char *path, is_wanted wanted)
{
    struct tool_plan_input input;
    struct tool_image *image = malloc(sizeof *image);
    int has = -1;
    if (tool_plan_input_open(&input, path) == NULL && image != NULL &&
        tool_image_open(image, input.bytes, input.size_bytes) == NULL)
        has = names_any(&image->dynamic_symbols, &image->dynamic_names, wanted) ||
              names_any(&image->symbols, &image->symbol_names, wanted);
    tool_plan_input_close(&input);
    free(image);
    return has;
}

bool tool_elf_has_hooks(const char *path) { return has_symbol(path, is_hook) == 1; }

bool tool_elf_keeps_blocks(const char *path)
{
    struct tool_elf_sections sections;
    bool has_blocks = tool_elf_sections_open(&sections, path) &&
                      tool_elf_section_find(&sections, "__sancov_guards") != NULL;
    tool_elf_sections_close(&sections);
    return has_blocks && has_symbol(path, is_stub) == 0;
}

bool tool_elf_has_pads(const char *path)
{
    struct tool_elf_sections sections;
    bool has_pads = tool_elf_sections_open(&sections, path) &&
                    (tool_elf_section_find(&sections, "__patchable_function_entries") != NULL ||
                     tool_elf_section_find(&sections, "xray_instr_map") != NULL);
    tool_elf_sections_close(&sections);
    return has_pads || has_symbol(path, is_counter) == 1;
}

/* What compilers say of themselves there begins with their names. */
static bool says(const struct tool_elf_sections *sections, const char *word)
{
    char text[COMMENT_BYTES];
    size_t bytes = tool_elf_section_read(sections, ".comment", text, sizeof text);
    return memmem(text, bytes, word, strlen(word)) != NULL;
}

enum tool_elf_language tool_elf_language_of(const char *path)
{
    enum tool_elf_language language = TOOL_LANGUAGE_OTHER;
    struct tool_elf_sections sections;
    if (tool_elf_sections_open(&sections, path)) {
        if (tool_elf_section_find(&sections, ".go.buildinfo") != NULL ||
            tool_elf_section_find(&sections, ".gopclntab") != NULL)
            language = TOOL_LANGUAGE_GO;
        else if (says(&sections, "rustc version"))
            language = TOOL_LANGUAGE_RUST;
    }
    tool_elf_sections_close(&sections);
    return language;
}
