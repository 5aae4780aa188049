/* A module: its own file where that is there and right, its separate debug file where that knows
 * more.
 *
 *   symbols   .symtab, else that of the debug file, else the embedded one and .dynsym together
 *   lines     the file's own DWARF, else that of the debug file
 *
 * A debug file may have been linked for other addresses than the file that was prelinked after
 * it: everything is moved by the difference of their lowest segments. */
#include <string.h>

#include "program/binary/elf_symbols.h"

static bool same_id(const struct tool_elf_head *head, const uint8_t *build_id,
                    size_t build_id_bytes)
{
    return head->build_id_bytes == build_id_bytes &&
           memcmp(head->build_id, build_id, build_id_bytes) == 0;
}

static uint64_t move_between(const struct tool_elf_head *from, const struct tool_elf_head *to)
{
    uint64_t from_page, to_page;
    bool known = tool_elf_lowest_page(from, &from_page) && tool_elf_lowest_page(to, &to_page);
    return known ? to_page - from_page : 0;
}

/* What the file itself has. */
static bool take_main(struct tool_elf_module *module, const struct tool_elf_where *where,
                      bool with_lines)
{
    bool found = tool_elf_table_add(&module->table, &module->main_file, false, 0);
    if (with_lines)
        module->lines = tool_elf_lines_open(where, &module->main_file, &module->missing);
    return found;
}

static void take_debug(struct tool_elf_module *module, const struct tool_elf_where *where,
                       bool with_lines, bool *found)
{
    uint64_t move = move_between(&module->debug.head, module->head);
    if (!*found) {
        *found = tool_elf_table_add(&module->table, &module->debug, false, move);
        module->are_names_of_debug = *found;
    }
    if (with_lines && module->lines == NULL) {
        module->lines = tool_elf_lines_open(where, &module->debug, &module->missing);
        module->lines_move = move;
        module->are_lines_of_debug = module->lines != NULL;
    }
}

/* The poor man's symbols: what other files link to, and what was packed into the file. */
static bool take_dynamic(struct tool_elf_module *module)
{
    bool found = tool_elf_find_embedded(&module->main_file, &module->embedded) &&
                 tool_elf_table_add(&module->table, &module->embedded, false, 0);
    return tool_elf_table_add(&module->table, &module->main_file, true, 0) || found;
}

const char *tool_elf_module_open(struct tool_elf_module *module, const struct tool_elf_where *where,
                                 const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                 bool with_lines)
{
    *module = (struct tool_elf_module){0};
    bool found = false, found_debug = false;
    const char *reason = tool_elf_file_open(&module->main_file, where->root, path);
    if (reason == NULL && build_id_bytes > 0 &&
        !same_id(&module->main_file.head, build_id, build_id_bytes)) {
        reason = "it is another build than the one that was recorded";
        tool_elf_file_close(&module->main_file);
    }
    if (reason == NULL) {
        build_id = module->main_file.head.build_id;
        build_id_bytes = module->main_file.head.build_id_bytes;
        module->head = &module->main_file.head;
        found = take_main(module, where, with_lines);
    }
    if (!found || (with_lines && module->lines == NULL)) {
        found_debug = tool_elf_find_debug(where, &module->main_file, build_id, build_id_bytes,
                                          &module->debug);
    }
    if (reason != NULL && !found_debug)
        return reason;
    if (found_debug) {
        module->head = reason == NULL ? module->head : &module->debug.head;
        take_debug(module, where, with_lines, &found);
    }
    if (reason == NULL) {
        module->is_stripped = !found;
        found = found || take_dynamic(module);
        if (module->is_stripped)
            tool_elf_table_add_main(&module->table, &module->main_file);
        tool_elf_table_add_stubs(&module->table, &module->main_file);
    }
    tool_elf_table_settle(&module->table);
    if (module->lines != NULL)
        module->functions = tool_elf_functions_open(module->lines);
    return found ? NULL : "it is stripped: it has no symbols";
}

const struct tool_elf_table *tool_elf_module_data(struct tool_elf_module *module)
{
    struct tool_elf_table *data = &module->data;
    if (data->of_data)
        return data;
    data->of_data = true;
    bool found =
        module->main_file.elf != NULL && tool_elf_table_add(data, &module->main_file, false, 0);
    if (!found && module->debug.elf != NULL)
        found = tool_elf_table_add(data, &module->debug, false,
                                   move_between(&module->debug.head, module->head));
    if (!found && module->main_file.elf != NULL)
        (void)tool_elf_table_add(data, &module->main_file, true, 0);
    tool_elf_table_settle(data);
    return data;
}

void tool_elf_module_close(struct tool_elf_module *module)
{
    tool_elf_functions_close(module->functions);
    tool_elf_lines_close(module->lines);
    tool_elf_table_close(&module->table);
    tool_elf_table_close(&module->data);
    tool_elf_file_close(&module->embedded);
    tool_elf_file_close(&module->debug);
    tool_elf_file_close(&module->main_file);
    *module = (struct tool_elf_module){0};
}
