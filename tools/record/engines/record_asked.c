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

void tool_record_asked_put(struct tool_record_asked *asked, const char *name)
{
    tool_grow((void **)&asked->names, &asked->capacity, asked->count + 1, sizeof *asked->names);
    asked->names[asked->count] =
        (struct tool_asked_name){tool_copy_text(name, strlen(name)), asked->count};
    asked->count++;
    asked->is_sorted = false;
}

static void add_name(void *context, const char *name, uint64_t elf_address)
{
    struct tool_record_asked *asked = context;
    (void)elf_address;
    if (!is_special(name) &&
        (asked->called->count == 0 || tool_patterns_match(asked->called, name)))
        tool_record_asked_put(asked, name);
}

void tool_record_asked_add(struct tool_record_asked *asked, const char *path)
{
    tool_elf_asked(path, add_name, asked);
}

static int compare_names(const void *a, const void *b)
{
    const struct tool_asked_name *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int compare_name(const void *name, const void *asked)
{
    return strcmp(name, ((const struct tool_asked_name *)asked)->name);
}

/* NULL: nobody asks for it. */
static const struct tool_asked_name *find_name(struct tool_record_asked *asked, const char *name)
{
    if (!asked->is_sorted && asked->count != 0)
        qsort(asked->names, asked->count, sizeof *asked->names, compare_names);
    asked->is_sorted = true;
    return asked->count == 0
               ? NULL
               : bsearch(name, asked->names, asked->count, sizeof *asked->names, compare_name);
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
    if (find_name(c->asked, name) == NULL)
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

/* The first name by which a function is asked for is what it is called. */
struct naming {
    struct tool_record_asked *asked;
    struct asked_function {
        const struct tool_asked_name *name;
        uint64_t start;
    } * list;
    size_t count, capacity;
};

/* What linkers know functions of C++ and Rust by has what people call them within it. */
static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static void take_name(void *context, const char *name, uint64_t elf_address)
{
    struct naming *n = context;
    const struct tool_asked_name *found = is_mangled(name) ? NULL : find_name(n->asked, name);
    if (found == NULL)
        return;
    tool_grow((void **)&n->list, &n->capacity, n->count + 1, sizeof *n->list);
    n->list[n->count++] = (struct asked_function){found, elf_address};
}

static int compare_functions(const void *a, const void *b)
{
    const struct asked_function *x = a, *y = b;
    return x->start != y->start
               ? (x->start > y->start) - (x->start < y->start)
               : (x->name->place > y->name->place) - (x->name->place < y->name->place);
}

void tool_record_asked_name(struct tool_record_asked *asked, const char *path,
                            const struct tool_patch_given *given, struct tool_record_copies *names)
{
    struct naming n = {.asked = asked};
    const struct ttp_patch_head *head = &given->head;
    const ttape_string build_id = {(const char *)head->build_id, head->build_id_bytes};
    if (build_id.size_bytes == 0) /* another module may have functions at these places */
        return;
    tool_elf_exported(path, take_name, &n);
    if (n.count != 0)
        qsort(n.list, n.count, sizeof *n.list, compare_functions);
    for (size_t i = 0; i < n.count; i++)
        if (i == 0 || n.list[i - 1].start != n.list[i].start)
            tool_record_copies_ask(names, build_id, n.list[i].start, n.list[i].name->name);
    free(n.list);
}

void tool_record_asked_close(struct tool_record_asked *asked)
{
    for (size_t i = 0; i < asked->count; i++)
        free(asked->names[i].name);
    free(asked->names);
    *asked = (struct tool_record_asked){0};
}
