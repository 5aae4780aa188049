/* Names of functions, and to which function the pieces belong that compilers move away. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/code.h"

#define SYMBOL_FUNCTION 2u
#define SYMBOL_INDIRECT 10u
#define SYMBOL_LOCAL    0u

/* Of several names of a function: global before local, then the shorter, then by letters. */
static bool is_better(const struct tool_image_symbol *symbol, bool was_local, const char *name)
{
    bool is_local = symbol->binding == SYMBOL_LOCAL;
    if (name == NULL || is_local != was_local)
        return name == NULL || was_local;
    size_t one = strlen(symbol->name), other = strlen(name);
    return one != other ? one < other : strcmp(symbol->name, name) < 0;
}

static void name_by(struct tool_code *code, const struct tool_image_part *symbols,
                    const struct tool_image_part *names, uint8_t *locals)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++) {
        if ((symbol.type != SYMBOL_FUNCTION && symbol.type != SYMBOL_INDIRECT) ||
            symbol.section == 0 || symbol.name[0] == 0 || !tool_code_holds(code, symbol.address))
            continue;
        size_t number = tool_code_function_at(code, (uint32_t)symbol.address);
        if (number == code->function_count)
            continue;
        struct tool_function *function = &code->functions[number];
        bool is_start = symbol.address == function->start ||
                        (symbol.address == (uint64_t)function->start + 1 &&
                         (function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0);
        if (is_start && is_better(&symbol, locals[number] != 0, function->name)) {
            function->name = symbol.name;
            locals[number] = symbol.binding == SYMBOL_LOCAL;
        }
    }
}

/* How long the name of the whole is, of which this is a piece; 0: it is none. */
static size_t whole_length(const char *name)
{
    const char *cold = strstr(name, ".cold"), *part = strstr(name, ".part.");
    const char *end = cold == NULL || (part != NULL && part < cold) ? part : cold;
    return end == NULL ? 0 : (size_t)(end - name);
}

struct named {
    const char *name;
    uint32_t function;
};

static int compare_names(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    if (order != 0)
        return order;
    return one->function < other->function ? -1 : one->function > other->function;
}

/* The first function of that name. Local functions of several files may share one: a piece whose
 * name is not unique stays by itself. */
static const struct named *find_whole(const struct named *sorted, size_t count, const char *name,
                                      size_t length)
{
    size_t from = 0, end = count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        int order = strncmp(sorted[middle].name, name, length);
        if (order < 0)
            from = middle + 1;
        else
            end = middle;
    }
    for (; from < count && strncmp(sorted[from].name, name, length) == 0; from++) {
        if (sorted[from].name[length] != 0)
            continue;
        bool is_unique = from + 1 == count || strncmp(sorted[from + 1].name, name, length) != 0 ||
                         sorted[from + 1].name[length] != 0;
        return is_unique ? &sorted[from] : NULL;
    }
    return NULL;
}

static bool join_pieces(struct tool_code *code)
{
    void *array = NULL;
    size_t capacity = 0, count = 0;
    if (!tool_bounded_grow(&code->memory, &array, &capacity, code->function_count,
                           sizeof(struct named)))
        return false;
    struct named *sorted = array;
    for (size_t i = 0; i < code->function_count; i++)
        if (code->functions[i].name != NULL && whole_length(code->functions[i].name) == 0)
            sorted[count++] = (struct named){code->functions[i].name, (uint32_t)i};
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        size_t length = function->name == NULL ? 0 : whole_length(function->name);
        if (length == 0)
            continue;
        const struct named *whole = find_whole(sorted, count, function->name, length);
        if (whole != NULL) {
            function->parent = whole->function;
            function->flags |= TTP_PLAN_FUNCTION_COLD;
        }
    }
    free(sorted);
    return true;
}

bool tool_code_names(struct tool_code *code)
{
    void *array = NULL;
    size_t capacity = 0;
    if (code->function_count == 0)
        return true;
    if (!tool_bounded_grow(&code->memory, &array, &capacity, code->function_count, 1))
        return false;
    memset(array, 0, code->function_count);
    name_by(code, &code->image->symbols, &code->image->symbol_names, array);
    name_by(code, &code->image->dynamic_symbols, &code->image->dynamic_names, array);
    free(array);
    return join_pieces(code);
}
