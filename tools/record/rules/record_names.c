/* What was expected is kept until the next lot comes. The recorder asks in the same order, so that
 * looking goes on where it stopped. */
#include "tools/record/rules/record_names.h"
#include "tools/io/debug_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_head.h"
#include "program/symbols/name_advice.h"
#include "tools/command/tool.h"
#include "tools/record/modules/record_image.h"
#include "tools/record/modules/record_modules.h"

#define PATH_SHOWN 1024u

struct tool_expected {
    const struct tool_symbols_module *module;
    uint64_t elf_address;
    struct tool_symbol found; /* its texts are ours */
};

/* One message, not one a module. Of a stripped one it comes at the end, as it is advice. */
static void warn(struct tool_record_names *names, struct tool_symbols_module *opened,
                 const ttape_site *site, const ttape_module *module)
{
    enum tool_symbols_state state = tool_symbols_module_state(opened);
    if (names->has_warned)
        return;
    if (state == TOOL_SYMBOLS_FAILED) {
        names->has_warned = tool_symbols_warn(opened);
    } else if (tool_symbols_module_is_stripped(opened) && module->path.size_bytes <= PATH_SHOWN) {
        names->stripped = tool_copy_text(module->path.data, module->path.size_bytes);
        names->stripped_offset = site->address - module->start;
        names->not_fetched = tool_symbols_module_not_fetched(opened);
        names->has_warned = true;
    }
}

void tool_record_names_say(const struct tool_record_names *names)
{
    const char *path = names->stripped, *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (path == NULL)
        return;
    char *advice = names->not_fetched != NULL
                       ? tool_copy_text(names->not_fetched, strlen(names->not_fetched))
                       : tool_name_advice((ttape_string){path, strlen(path)}, names->asks_servers);
    tool_message("'%s' is stripped (%.64s+0x%" PRIx64 "): %s", path,
                 slash != NULL ? slash + 1 : path, names->stripped_offset,
                 advice != NULL ? advice : "");
    free(advice);
}

static void fetch(struct tool_record_names *names, const char *path)
{
    struct tool_elf_head head;
    if (tool_elf_head_of(NULL, path, &head) == NULL)
        (void)tool_symbols_module_open(
            names->symbols, (ttape_string){path, strlen(path)},
            (ttape_string){(const char *)head.build_id, head.build_id_bytes});
}

bool tool_record_names_ahead(struct tool_record_names *names, const char *command,
                             tool_record_wants wants, const void *context)
{
    char *program = names->asks_servers ? tool_record_image(command) : NULL;
    char **modules = program != NULL ? tool_record_modules(program) : NULL;
    for (size_t i = 0; modules != NULL && modules[i] != NULL; i++)
        if (i == 0 || wants(context, modules[i]))
            fetch(names, modules[i]);
    if (modules != NULL)
        tool_record_modules_free(modules);
    free(program);
    return tool_symbols_end_fetching(names->symbols);
}

static struct tool_symbols_module *open_module(struct tool_record_names *names,
                                               const ttape_module *module)
{
    return tool_symbols_module_open(names->symbols, module->path, module->build_id);
}

static bool to_query(const struct tool_symbols_module *opened, const ttape_module *module,
                     uint64_t address, struct tool_symbols_query *query)
{
    const struct tool_elf_head *head = tool_symbols_module_head(opened);
    return head != NULL &&
           tool_elf_address_in_module(head, module->start, address, &query->elf_address);
}

bool tool_record_elf_address(struct tool_record_names *names, const ttape_site *site,
                             const ttape_module *module, uint64_t *elf_address)
{
    struct tool_symbols_query query = {.entry = false};
    if (!to_query(open_module(names, module), module, site->address, &query))
        return false;
    *elf_address = query.elf_address;
    return true;
}

uint64_t tool_record_size(struct tool_record_names *names, const ttape_site *site,
                          const ttape_module *module)
{
    struct tool_symbol found = {0};
    struct tool_symbols_query query = {.entry = true};
    if (module == NULL || names->symbols == NULL || site->kind != TTAPE_SITE_FUNCTION)
        return 0;
    struct tool_symbols_module *opened = open_module(names, module);
    bool is_known = to_query(opened, module, site->address, &query) &&
                    tool_symbols_find(names->symbols, opened, &query, &found);
    return is_known ? found.size_bytes : 0;
}

static void forget_names(struct tool_record_names *names)
{
    for (size_t i = 0; i < names->expected_count; i++) {
        free((void *)(uintptr_t)names->expected[i].found.name.data);
        free((void *)(uintptr_t)names->expected[i].found.file.data);
    }
    names->expected_count = names->next = 0;
}

static ttape_string keep_text(ttape_string text)
{
    return (ttape_string){tool_copy_text(text.data, text.size_bytes), text.size_bytes};
}

static void keep_found(void *context, size_t number, const struct tool_symbol *found)
{
    struct tool_record_names *names = context;
    struct tool_symbol *kept = &names->expected[number].found;
    *kept = *found;
    kept->name = keep_text(found->name);
    kept->file = keep_text(found->file);
    names->expected_count = number + 1;
}

void tool_record_expect(struct tool_record_names *names, const ttape_module *module,
                        const uint64_t *addresses, size_t count)
{
    struct tool_symbols_module *opened = open_module(names, module);
    struct tool_symbols_query *queries = tool_allocate(count, sizeof *queries);
    size_t asked = 0;
    forget_names(names);
    tool_grow((void **)&names->expected, &names->expected_capacity, count, sizeof *names->expected);
    for (size_t i = 0; i < count; i++) {
        queries[asked] = (struct tool_symbols_query){.entry = 1};
        if (!to_query(opened, module, addresses[i], &queries[asked]))
            continue;
        names->expected[asked] =
            (struct tool_expected){.module = opened, .elf_address = queries[asked].elf_address};
        asked++;
    }
    (void)tool_symbols_find_all(names->symbols, opened, queries, asked, keep_found, names);
    free(queries);
}

static bool find_expected(struct tool_record_names *names, const struct tool_symbols_module *opened,
                          uint64_t elf_address, struct tool_symbol *found)
{
    for (size_t i = names->next; i < names->expected_count; i++)
        if (names->expected[i].module == opened && names->expected[i].elf_address == elf_address) {
            names->next = i + 1;
            *found = names->expected[i].found;
            return true;
        }
    return false;
}

/* Compilers number variables of functions: "table.3". */
static size_t without_number(ttape_string name)
{
    size_t size = name.size_bytes;
    while (size > 0 && name.data[size - 1] >= '0' && name.data[size - 1] <= '9')
        size--;
    return size > 1 && size < name.size_bytes && name.data[size - 1] == '.' ? size - 1
                                                                            : name.size_bytes;
}

/* "f", "&variable+16": pointers that no symbol has stay numbers. A call site has its line, too. */
static void name_target(struct tool_record_names *names, ttape_site *site,
                        const ttape_module *module)
{
    struct tool_symbol found;
    struct tool_symbols_query query = {.data = site->kind == TTAPE_SITE_TARGET};
    struct tool_symbols_module *opened = open_module(names, module);
    if (!to_query(opened, module, site->address, &query) ||
        !tool_symbols_find(names->symbols, opened, &query, &found) || found.name.size_bytes == 0 ||
        found.name.size_bytes > sizeof(names->target) - 32)
        return;
    if (found.is_data)
        found.name.size_bytes = without_number(found.name);
    uint64_t behind = query.elf_address - found.start;
    int size = snprintf(names->target, sizeof(names->target), "%s%.*s", found.is_data ? "&" : "",
                        (int)found.name.size_bytes, found.name.data);
    if (behind != 0)
        size += snprintf(names->target + size, sizeof(names->target) - (size_t)size, "+%" PRIu64,
                         behind);
    site->symbol = (ttape_string){names->target, (size_t)size};
    if (site->kind == TTAPE_SITE_CALL) {
        site->file = found.file;
        site->line = found.line;
    }
}

void tool_record_name(struct tool_record_names *names, ttape_site *site, const ttape_module *module)
{
    struct tool_symbol found;
    ttape_string asked = {"", 0};
    struct tool_symbols_query query = {.entry = site->kind == TTAPE_SITE_FUNCTION};
    if (module == NULL)
        return;
    if (site->kind == TTAPE_SITE_TARGET || site->kind == TTAPE_SITE_CALL) {
        name_target(names, site, module);
        return;
    }
    struct tool_symbols_module *opened = open_module(names, module);
    bool has_query = to_query(opened, module, site->address, &query);
    if (has_query && query.entry != 0 && names->copies != NULL &&
        tool_record_copies_find(names->copies, module->build_id, query.elf_address, site)) {
        if (site->file.data != NULL)
            return;
        asked = site->symbol;
    }
    bool is_known =
        has_query &&
        ((query.entry != 0 && find_expected(names, opened, query.elf_address, &found)) ||
         tool_symbols_find(names->symbols, opened, &query, &found));
    if (!is_known || found.name.size_bytes == 0)
        warn(names, opened, site, module);
    if (!is_known)
        return;
    site->symbol = asked.size_bytes != 0 ? asked : found.name;
    site->file = found.file;
    site->line = found.line;
}

void tool_record_names_close(struct tool_record_names *names)
{
    forget_names(names);
    free(names->expected);
    free(names->stripped);
    tool_symbols_close(names->symbols);
}
