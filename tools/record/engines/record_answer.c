/* The function of a process's C library that unwinders ask whose code something is. In a static
 * program it is one of its own. */
#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_exports.h"
#include "tools/command/tool.h"
#include "tools/record/engines/record_asked.h"
#include "tools/record/engines/record_join.h"

static const char finder[] = "_dl_find_object", iterator[] = "dl_iterate_phdr";

static void ignore_name(void *context, const char *name, uint32_t start)
{
    (void)context;
    (void)name;
    (void)start;
}

static void choose_finder(struct tool_record_joined *module, uint32_t function)
{
    module->chosen->finds = function + 1;
    ((uint64_t *)(module->chosen + 1))[function / 64] |= UINT64_C(1) << function % 64;
}

/* Notes in the choice which function of the plan it is; false: it is none. */
static bool mark_finder(struct tool_record_joined *module, struct tool_record_asked *asked)
{
    uint32_t count = module->given.head.function_count;
    uint64_t *bits = tool_allocate(count / 64 + 1, sizeof *bits);
    (void)tool_record_asked_choose(asked, module->path, &module->given, bits, ignore_name, NULL);
    for (uint32_t i = 0; i < count && module->chosen->finds == 0; i++)
        if ((bits[i / 64] >> i % 64 & 1) != 0)
            choose_finder(module, i);
    free(bits);
    return module->chosen->finds != 0;
}

bool tool_record_is_answer(ttape_string name)
{
    return name.size_bytes == sizeof finder - 1 &&
           memcmp(name.data, finder, sizeof finder - 1) == 0;
}

/* Nobody has it for others: the executable's symbols may name it. */
static bool mark_named(struct tool_record_joined *executable)
{
    if (executable == NULL || executable->finds == 0)
        return false;
    choose_finder(executable, executable->finds - 1);
    return true;
}

struct unwinding {
    bool unwinds, iterates;
};

static void note_export(void *context, const char *name, uint64_t elf_address)
{
    static const char *const steps[] = {"_ULx86_64_step", "_Ux86_64_step", "_Unwind_Backtrace"};
    struct unwinding *u = context;
    (void)elf_address;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        u->unwinds |= strcmp(name, steps[i]) == 0;
}

static void note_asked(void *context, const char *name, uint64_t elf_address)
{
    struct unwinding *u = context;
    (void)elf_address;
    u->iterates |= strcmp(name, iterator) == 0;
}

/* The first library that unwinds and looks through all modules for that, as libunwind does: it does
 * not ask. NULL: there is none. */
static const char *find_iterating(char *const *loaded)
{
    for (; *loaded != NULL; loaded++) {
        struct unwinding u = {0};
        tool_elf_asked(*loaded, note_asked, &u);
        if (u.iterates)
            tool_elf_exported(*loaded, note_export, &u);
        if (u.unwinds)
            return *loaded;
    }
    return NULL;
}

bool tool_record_answer_add(struct tool_record_join *join, struct tool_record_patch *patch)
{
    struct tool_record_asked asked = {.called = &patch->called};
    const char *path = NULL, *iterating = find_iterating(patch->loaded);
    if (iterating != NULL)
        join->unasked = tool_copy_text(iterating, strlen(iterating));
    tool_record_asked_put(&asked, finder);
    for (char **loaded = patch->loaded; *loaded != NULL && path == NULL; loaded++)
        if (tool_record_asked_any(&asked, *loaded))
            path = *loaded;
    struct tool_record_joined *module = path == NULL ? NULL : tool_record_join_module(join, path);
    if (path != NULL && module == NULL && tool_record_join_add(join, patch, &asked, path) == NULL)
        module = tool_record_join_module(join, path);
    bool is_marked = path == NULL ? mark_named(tool_record_join_module(join, patch->loaded[0]))
                                  : module != NULL && mark_finder(module, &asked);
    tool_record_asked_close(&asked);
    return is_marked;
}
