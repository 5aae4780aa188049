/* The functions and blocks that a place is in, by debug information, and their variables. */
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "tools/context/core/core_scope.h"

#define CHAIN_MOST 1024

static Dwarf_Die *find_unit(struct tool_core_at *at)
{
    Dwarf_Die *unit = dwfl_module_addrdie(at->module, at->pc, &at->bias);
    if (unit != NULL && dwarf_haspc(unit, at->pc - at->bias) > 0)
        return unit;
    unit =
        NULL; /* clang makes no table of addresses, and another's may be the one that was found */
    while ((unit = dwfl_module_nextcu(at->module, unit, &at->bias)) != NULL)
        if (dwarf_haspc(unit, at->pc - at->bias) > 0)
            return unit;
    return NULL;
}

static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool tool_core_scopes_open(struct tool_core_scopes *scopes, struct tool_core_at *at)
{
    Dwarf_Die *unit = find_unit(at), *found = NULL;
    if (unit == NULL || dwarf_getscopes(unit, at->pc - at->bias, &found) <= 0)
        return false;
    /* What is around an inlined function there is where it was written; here, where it is. */
    int count = dwarf_getscopes_die(&found[0], &scopes->chain);
    free(found);
    if (count <= 0)
        return false;
    scopes->count = 0;
    for (int i = 0; i < count && i < CHAIN_MOST; i++)
        if (dwarf_tag(&scopes->chain[i]) == DW_TAG_subprogram) {
            scopes->count = (uint32_t)i + 1;
            at->function = scopes->chain[i];
            return true;
        }
    free(scopes->chain);
    return false;
}

void tool_core_scopes_close(struct tool_core_scopes *scopes) { free(scopes->chain); }

/* Behind a point compilers say what they made of a function. */
static bool is_called(Dwarf_Die *die, const char *symbol)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL)
        name = dwarf_formstring(&attribute);
    if (name == NULL)
        name = dwarf_diename(die);
    size_t size = name == NULL ? 0 : strlen(name);
    return size != 0 && strncmp(name, symbol, size) == 0 &&
           (symbol[size] == '\0' || symbol[size] == '.');
}

bool tool_core_scopes_find(const struct tool_core_scopes *scopes, const struct tool_core_at *at,
                           uint32_t from, const char *symbol, uint64_t function, uint32_t *found)
{
    for (uint32_t i = from; i > 0; i--) {
        Dwarf_Die *die = &scopes->chain[i - 1];
        if (!is_function(die))
            continue;
        bool is_own = dwarf_tag(die) == DW_TAG_subprogram && function >= at->bias &&
                      dwarf_haspc(die, function - at->bias) > 0;
        if (!is_own && (symbol == NULL || !is_called(die, symbol)))
            continue;
        *found = i - 1;
        return true;
    }
    return false;
}

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &word) != 0)
        return false;
    *number = word;
    return true;
}

static const char *file_of(Dwarf_Die *die, uint64_t number)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_diecu(die, &unit, NULL, NULL) == NULL ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count)
        return NULL;
    return dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

void tool_core_scopes_line(const struct tool_core_scopes *scopes, const struct tool_core_at *at,
                           uint32_t function, struct tool_core_text *out)
{
    const char *file = NULL;
    uint64_t line = 0, number = 0;
    for (uint32_t i = function; i > 0; i--) /* it is where it calls the next one further in */
        if (is_function(&scopes->chain[i - 1])) {
            if (number_of(&scopes->chain[i - 1], DW_AT_call_line, &line) &&
                number_of(&scopes->chain[i - 1], DW_AT_call_file, &number))
                file = file_of(&scopes->chain[i - 1], number);
            if (file != NULL)
                tool_core_put(out, "%.400s:%u", file, (unsigned)line);
            return;
        }
    Dwarf_Die unit, *function_die = &scopes->chain[scopes->count - 1];
    Dwarf_Line *row = dwarf_diecu(function_die, &unit, NULL, NULL) == NULL
                          ? NULL
                          : dwarf_getsrc_die(&unit, at->pc - at->bias);
    int there = 0;
    file = row == NULL ? NULL : dwarf_linesrc(row, NULL, NULL);
    if (file != NULL && dwarf_lineno(row, &there) == 0 && there > 0)
        tool_core_put(out, "%.400s:%d", file, there);
}

static void list_children(Dwarf_Die *scope, struct tool_core_at *at, uint32_t *left,
                          tool_core_take take, void *context)
{
    Dwarf_Die die;
    int next = dwarf_child(scope, &die);
    for (; next == 0 && *left != 0; next = dwarf_siblingof(&die, &die)) {
        int tag = dwarf_tag(&die);
        const char *name = dwarf_diename(&die);
        if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || name == NULL ||
            dwarf_hasattr(&die, DW_AT_declaration) ||
            (tag == DW_TAG_variable && dwarf_hasattr_integrate(&die, DW_AT_artificial)))
            continue;
        struct tool_core_text text = {.size = 0};
        struct tool_core_place place = tool_core_find_place(at, &die);
        tool_core_put_value(&text, at->core, &die, &place);
        take(context, name, text.text);
        --*left;
    }
}

void tool_core_scopes_list(const struct tool_core_scopes *scopes, struct tool_core_at *at,
                           uint32_t function, tool_core_take take, void *context)
{
    uint32_t left = TOOL_CORE_LOCALS_MOST;
    list_children(&scopes->chain[function], at, &left, take, context);
    for (uint32_t i = function; i > 0 && !is_function(&scopes->chain[i - 1]); i--)
        list_children(&scopes->chain[i - 1], at, &left, take, context);
}
