/* What a traced process has mapped, and the plans of that. */
#define _GNU_SOURCE /* st_mtim */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "recorder/ptrace/traced_stack.h"

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

static bool fits_table(uint64_t at, uint64_t count, uint64_t each, uint64_t size_bytes)
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
           fits_table(head->rows_at, head->row_count, sizeof(struct ttp_plan_row), size_bytes) &&
           fits_table(head->row_index_at, head->row_index_count + UINT64_C(1), sizeof(uint32_t),
                      size_bytes);
}

static uint64_t in_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* False: its path names another file by now. Where the list and stat have other numbers for one
 * file (overlayfs, btrfs) that is not known. */
static bool is_there(const struct ttp_traced_module *module, struct ttp_plan_stamp *stamp)
{
    struct stat about;
    if (stat(module->path, &about) != 0 ||
        (about.st_dev == module->device && about.st_ino != module->inode))
        return false;
    *stamp = (struct ttp_plan_stamp){about.st_dev, about.st_ino, (uint64_t)about.st_size,
                                     in_ns(about.st_mtim), in_ns(about.st_ctim)};
    return true;
}

static const struct ttp_plan_head *find_plan(struct ttp_traced_plans *plans,
                                             const struct ttp_traced_module *module,
                                             const ttape_trace_options *options)
{
    size_t size_bytes = 0;
    struct ttp_plan_stamp stamp;
    if (!is_there(module, &stamp))
        return NULL;
    for (size_t i = 0; i < plans->count; i++)
        if (strcmp(plans->plans[i].path, module->path) == 0 &&
            memcmp(&plans->plans[i].stamp, &stamp, sizeof(stamp)) == 0)
            return plans->plans[i].plan;
    void *grown =
        ttp_traced_grow(plans->plans, plans->count, &plans->capacity, sizeof(*plans->plans));
    if (grown == NULL)
        return NULL;
    plans->plans = grown;
    char *copy = strdup(module->path);
    if (copy == NULL)
        return NULL;
    const struct ttp_plan_head *plan = options->plan(options->context, copy, &size_bytes);
    if (plan != NULL && !is_sound(plan, size_bytes))
        plan = NULL;
    plans->plans[plans->count++] = (struct ttp_traced_plan){copy, stamp, plan};
    return plan;
}

void ttp_plans_free(struct ttp_traced_plans *plans)
{
    for (size_t i = 0; i < plans->count; i++)
        free(plans->plans[i].path);
    free(plans->plans);
    *plans = (struct ttp_traced_plans){0};
}

bool ttp_modules_have(const struct ttp_traced_modules *modules, const char *path)
{
    for (size_t i = 0; i < modules->count; i++)
        if (strcmp(modules->modules[i].path, path) == 0)
            return true;
    return false;
}

void ttp_modules_free(struct ttp_traced_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        free(modules->modules[i].path);
    free(modules->modules);
    *modules = (struct ttp_traced_modules){0};
}

struct mapping {
    uint64_t start, end, device, inode;
    bool is_code;
    const char *path;
};

/* False: it is not of a file. */
static bool read_mapping(char *line, struct mapping *mapping)
{
    char rights[5];
    unsigned major_number, minor_number;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &mapping->start,
               &mapping->end, rights, &major_number, &minor_number, &mapping->inode, &at) < 6 ||
        at == 0 || line[at] != '/')
        return false;
    mapping->device = makedev(major_number, minor_number);
    mapping->is_code = rights[2] == 'x';
    mapping->path = line + at;
    return true;
}

/* Mappings of one file follow each other. */
static bool add_mapping(struct ttp_traced_modules *modules, const struct mapping *mapping)
{
    struct ttp_traced_module *last =
        modules->count > 0 ? &modules->modules[modules->count - 1] : NULL;
    if (last == NULL || strcmp(last->path, mapping->path) != 0) {
        void *grown = ttp_traced_grow(modules->modules, modules->count, &modules->capacity,
                                      sizeof(*modules->modules));
        if (grown == NULL)
            return false;
        modules->modules = grown;
        last = &modules->modules[modules->count];
        *last = (struct ttp_traced_module){.start = mapping->start,
                                           .device = mapping->device,
                                           .inode = mapping->inode,
                                           .path = strdup(mapping->path)};
        if (last->path == NULL)
            return false;
        modules->count++;
    }
    last->end = mapping->end;
    if (mapping->is_code && last->code_end == 0)
        last->code_start = mapping->start;
    if (mapping->is_code)
        last->code_end = mapping->end;
    return true;
}

void ttp_modules_read(struct ttp_traced_modules *modules, struct ttp_traced_plans *plans,
                      uint32_t pid, const ttape_trace_options *options)
{
    char path[64], line[LINE_BYTES];
    ttp_modules_free(modules);
    (void)snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    struct mapping mapping;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (read_mapping(line, &mapping) && !add_mapping(modules, &mapping))
            break;
    if (file != NULL)
        (void)fclose(file);
    for (size_t i = 0; i < modules->count; i++) {
        struct ttp_traced_module *module = &modules->modules[i];
        if (module->code_end == 0 || options->plan == NULL)
            continue;
        module->plan = find_plan(plans, module, options);
        if (module->plan != NULL)
            module->bias = module->code_start - (module->plan->code_start & ~(PAGE - 1));
    }
}
