/* What a traced process has mapped, and the plans of that. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writer/syscalls/traced_stack.h"

#define LINE_BYTES  4352u
#define FIRST_ITEMS 16u
#define PAGE        4096u
#define MACHINE     62u /* x86-64 */

void *ttp_traced_grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

static bool fits(uint64_t at, uint64_t count, uint64_t each, uint64_t size_bytes)
{
    return at % 8 == 0 && at <= size_bytes && count <= (size_bytes - at) / each;
}

/* Only what a walk looks at. */
static bool is_sound(const struct ttp_plan_head *head, uint64_t size_bytes)
{
    return size_bytes >= sizeof(*head) && head->magic == TTP_PLAN_MAGIC &&
           head->version == TTP_PLAN_VERSION && head->head_bytes == sizeof(*head) &&
           head->total_bytes == size_bytes && head->machine == MACHINE &&
           head->build_id_bytes <= sizeof(head->build_id) && head->row_index_shift < 32 &&
           fits(head->rows_at, head->row_count, sizeof(struct ttp_plan_row), size_bytes) &&
           fits(head->row_index_at, head->row_index_count + UINT64_C(1), sizeof(uint32_t),
                size_bytes);
}

static const struct ttp_plan_head *find_plan(struct ttp_traced_plans *plans, const char *path,
                                             const ttape_trace_options *options)
{
    size_t size_bytes = 0;
    for (size_t i = 0; i < plans->count; i++)
        if (strcmp(plans->plans[i].path, path) == 0)
            return plans->plans[i].plan;
    void *grown =
        ttp_traced_grow(plans->plans, plans->count, &plans->capacity, sizeof(*plans->plans));
    if (grown == NULL)
        return NULL;
    plans->plans = grown;
    char *copy = strdup(path);
    if (copy == NULL)
        return NULL;
    const struct ttp_plan_head *plan = options->plan(options->context, path, &size_bytes);
    if (plan != NULL && !is_sound(plan, size_bytes))
        plan = NULL;
    plans->plans[plans->count++] = (struct ttp_traced_plan){copy, plan};
    return plan;
}

void ttp_plans_free(struct ttp_traced_plans *plans)
{
    for (size_t i = 0; i < plans->count; i++)
        free(plans->plans[i].path);
    free(plans->plans);
    *plans = (struct ttp_traced_plans){0};
}

void ttp_modules_free(struct ttp_traced_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        free(modules->modules[i].path);
    free(modules->modules);
    *modules = (struct ttp_traced_modules){0};
}

/* Mappings of one file follow each other. */
static bool add_mapping(struct ttp_traced_modules *modules, uint64_t start, uint64_t end,
                        bool is_code, const char *path)
{
    struct ttp_traced_module *last =
        modules->count > 0 ? &modules->modules[modules->count - 1] : NULL;
    if (last == NULL || strcmp(last->path, path) != 0) {
        void *grown = ttp_traced_grow(modules->modules, modules->count, &modules->capacity,
                                      sizeof(*modules->modules));
        if (grown == NULL)
            return false;
        modules->modules = grown;
        last = &modules->modules[modules->count];
        *last = (struct ttp_traced_module){.start = start, .path = strdup(path)};
        if (last->path == NULL)
            return false;
        modules->count++;
    }
    last->end = end;
    if (is_code && last->code_end == 0)
        last->code_start = start;
    if (is_code)
        last->code_end = end;
    return true;
}

void ttp_modules_read(struct ttp_traced_modules *modules, struct ttp_traced_plans *plans,
                      uint32_t pid, const ttape_trace_options *options)
{
    char path[64], line[LINE_BYTES];
    ttp_modules_free(modules);
    (void)snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        uint64_t start, end;
        char rights[5];
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %*s %n", &start, &end, rights, &at) <
                3 ||
            at == 0 || line[at] != '/')
            continue;
        if (!add_mapping(modules, start, end, rights[2] == 'x', line + at))
            break;
    }
    if (file != NULL)
        (void)fclose(file);
    for (size_t i = 0; i < modules->count; i++) {
        struct ttp_traced_module *module = &modules->modules[i];
        if (module->code_end == 0)
            continue;
        module->plan = find_plan(plans, module->path, options);
        if (module->plan != NULL)
            module->bias = module->code_start - (module->plan->code_start & ~(PAGE - 1));
    }
}
