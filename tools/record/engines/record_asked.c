#include "tools/record/engines/record_asked.h"

#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_exports.h"
#include "recorder/arena/special_names.h"
#include "tools/command/tool.h"

/* What is none at a program's start is none here. */
static bool is_special(const char *name)
{
    static const char *const names[] = {TTP_FRONTED_NAMES, TTP_SPECIAL_NAMES};
    static const char *const starts[] = {TTP_SPECIAL_STARTS};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static void add_name(void *context, const char *name, uint64_t elf_address)
{
    struct tool_record_asked *asked = context;
    (void)elf_address;
    if (is_special(name) ||
        (asked->called->count != 0 && !tool_patterns_match(asked->called, name)))
        return;
    tool_grow((void **)&asked->names, &asked->capacity, asked->count + 1, sizeof *asked->names);
    asked->names[asked->count++] = tool_copy_text(name, strlen(name));
    asked->is_sorted = false;
}

void tool_record_asked_add(struct tool_record_asked *asked, const char *path)
{
    tool_elf_asked(path, add_name, asked);
}

static int compare_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static bool is_among(struct tool_record_asked *asked, const char *name)
{
    if (!asked->is_sorted && asked->count != 0)
        qsort(asked->names, asked->count, sizeof *asked->names, compare_names);
    asked->is_sorted = true;
    return asked->count != 0 &&
           bsearch(&name, asked->names, asked->count, sizeof *asked->names, compare_names) != NULL;
}

struct choosing {
    struct tool_record_asked *asked;
    const struct tool_patch_given *given; /* NULL: it is only counted */
    uint64_t *bits;
    uint32_t count;
    tool_record_take_asked take;
    void *context;
};

static void choose(void *context, const char *name, uint64_t elf_address)
{
    struct choosing *c = context;
    if (!is_among(c->asked, name))
        return;
    uint32_t low = 0, high = c->given == NULL ? 0 : c->given->head.function_count;
    c->count += c->given == NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2,
                 start = tool_patch_function_at(c->given, middle).start;
        if (start == elf_address) {
            c->count += (c->bits[middle / 64] >> middle % 64 & 1) == 0;
            c->bits[middle / 64] |= UINT64_C(1) << middle % 64;
            c->take(c->context, name, start);
            return;
        }
        if (start < elf_address)
            low = middle + 1;
        else
            high = middle;
    }
}

bool tool_record_asked_any(struct tool_record_asked *asked, const char *path)
{
    struct choosing c = {.asked = asked};
    tool_elf_exported(path, choose, &c);
    return c.count != 0;
}

uint32_t tool_record_asked_choose(struct tool_record_asked *asked, const char *path,
                                  const struct tool_patch_given *given, uint64_t *bits,
                                  tool_record_take_asked take, void *context)
{
    struct choosing c = {
        .asked = asked, .given = given, .bits = bits, .take = take, .context = context};
    tool_elf_exported(path, choose, &c);
    return c.count;
}

void tool_record_asked_close(struct tool_record_asked *asked)
{
    for (size_t i = 0; i < asked->count; i++)
        free(asked->names[i]);
    free(asked->names);
    *asked = (struct tool_record_asked){0};
}
