/* What a CTF trace says about its threads, modules and sites. LTTng's statedump comes at any time,
 * and repeatedly; our own exports define each site before its first use. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "tools/convert/ctf/convert_ctf_events.h"
#include "tools/export/formats/export_ctf.h"

#define SITES_MAX   (1u << 24)
#define MODULES_MAX (1u << 20)

/* The next of the NUL-terminated texts at *at; "" behind the last. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at;
    const char *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    *at = nul != NULL ? nul + 1 : end;
    return nul != NULL ? text : "";
}

static void set_text(char **into, const char *text)
{
    free(*into);
    *into = tool_copy_text(text, strcmp(text, TOOL_CTF_NO_TEXT) != 0 ? strlen(text) : 0);
}

static uint32_t process_of(struct tool_ctf *ctf, uint64_t pid, uint64_t time_ns)
{
    bool is_new;
    uint32_t *known = tool_names_find(&ctf->process_of, &pid, sizeof(pid), &is_new);
    if (is_new) {
        *known = (uint32_t)ctf->process_count;
        tool_grow((void **)&ctf->processes, &ctf->process_capacity, ctf->process_count + 1,
                  sizeof(struct tool_ctf_process));
        ctf->processes[ctf->process_count++] =
            (struct tool_ctf_process){.pid = pid, .start_ns = time_ns, .id = TTAPE_NONE};
    }
    return *known;
}

uint32_t tool_ctf_thread_of(struct tool_ctf *ctf, const struct tool_ctf_wire *wire)
{
    const uint64_t key[] = {wire->pid, wire->tid, wire->flags & TOOL_CTF_HAS_THREAD};
    bool is_new;
    uint32_t *known = tool_names_find(&ctf->thread_of, key, sizeof(key), &is_new);
    if (!is_new)
        return *known;
    uint32_t index = *known = (uint32_t)ctf->thread_count;
    tool_grow((void **)&ctf->threads, &ctf->thread_capacity, ctf->thread_count + 1,
              sizeof(struct tool_ctf_thread));
    ctf->threads[ctf->thread_count++] =
        (struct tool_ctf_thread){.tid = wire->tid,
                                 .start_ns = wire->time_ns,
                                 .process = process_of(ctf, wire->pid, wire->time_ns)};
    return index;
}

/* ---- definitions from the pipe ---- */

static void take_thread(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text,
                        const char *end)
{
    uint32_t index = tool_ctf_thread_of(ctf, wire); /* which may move them */
    struct tool_ctf_thread *thread = &ctf->threads[index];
    struct tool_ctf_process *process = &ctf->processes[thread->process];
    thread->tid = wire->b;
    process->pid = wire->a;
    process->parent_pid = wire->c;
    set_text(&process->name, next_text(&text, end));
    set_text(&thread->name, next_text(&text, end));
}

/* The name of a process is that of its first thread, until the main thread says another. */
static void take_name(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text,
                      const char *end)
{
    uint32_t index = tool_ctf_thread_of(ctf, wire); /* which may move them */
    struct tool_ctf_thread *thread = &ctf->threads[index];
    struct tool_ctf_process *process = &ctf->processes[thread->process];
    const char *name = next_text(&text, end);
    if (thread->name == NULL)
        set_text(&thread->name, name);
    if (process->name == NULL || wire->pid == wire->tid)
        set_text(&process->name, name);
}

/* Its index, or TTAPE_NONE where it is new: then the caller says. */
static uint32_t *find_module(struct tool_ctf *ctf, uint64_t pid, uint64_t start)
{
    const uint64_t key[] = {pid, start};
    bool is_new;
    return tool_names_find(&ctf->module_of, key, sizeof(key), &is_new);
}

static void take_module(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text,
                        const char *end)
{
    uint64_t past;
    if (wire->b == 0 || __builtin_add_overflow(wire->a, wire->b, &past) ||
        ctf->module_count == MODULES_MAX)
        return;
    uint32_t *known = find_module(ctf, wire->pid, wire->a);
    if (*known == TTAPE_NONE) {
        tool_grow((void **)&ctf->modules, &ctf->module_capacity, ctf->module_count + 1,
                  sizeof(struct tool_ctf_module));
        *known = (uint32_t)ctf->module_count++;
        ctf->modules[*known] =
            (struct tool_ctf_module){.pid = wire->pid, .start = wire->a, .id = TTAPE_NONE};
    }
    struct tool_ctf_module *module = &ctf->modules[*known];
    module->size_bytes = wire->b;
    set_text(&module->path, next_text(&text, end));
}

static void take_build_id(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text)
{
    uint32_t index = *find_module(ctf, wire->pid, wire->a);
    if (index != TTAPE_NONE && wire->text_bytes <= sizeof(ctf->modules[index].build_id)) {
        memcpy(ctf->modules[index].build_id, text, wire->text_bytes);
        ctf->modules[index].build_id_bytes = wire->text_bytes;
    }
}

static uint32_t kind_of(const char *name)
{
    uint32_t kind = TTAPE_SITE_FUNCTION;
    while (kind < TTAPE_SITE_MARKER && strcmp(ttape_site_kind_name(kind), name) != 0)
        kind++;
    return kind;
}

/* The index of a site that the trace defines under a number, or TTAPE_NONE. Numbers are the
 * trace's: one of them says nothing of how many there are. */
static uint32_t *site_at(struct tool_ctf *ctf, uint64_t number)
{
    bool is_new;
    return tool_names_find(&ctf->number_of, &number, sizeof(number), &is_new);
}

static void take_site(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text,
                      const char *end)
{
    uint32_t *known = site_at(ctf, wire->b);
    if (*known == TTAPE_NONE && ctf->site_count == SITES_MAX)
        return;
    if (*known == TTAPE_NONE) {
        tool_grow((void **)&ctf->sites, &ctf->site_capacity, ctf->site_count + 1,
                  sizeof(struct tool_ctf_site));
        *known = (uint32_t)ctf->site_count++;
        ctf->sites[*known] = (struct tool_ctf_site){0};
    }
    struct tool_ctf_site *site = &ctf->sites[*known];
    site->address = wire->a;
    site->line = wire->c <= UINT32_MAX ? (uint32_t)wire->c : 0;
    site->kind = kind_of(next_text(&text, end));
    set_text(&site->symbol, next_text(&text, end));
    set_text(&site->module, next_text(&text, end));
    set_text(&site->file, next_text(&text, end));
}

void tool_ctf_take_definition(struct tool_ctf *ctf, const struct tool_ctf_wire *wire,
                              const char *text)
{
    const char *end = text + wire->text_bytes;
    switch (wire->kind) {
    case TOOL_CTF_WIRE_SITE: take_site(ctf, wire, text, end); break;
    case TOOL_CTF_WIRE_THREAD: take_thread(ctf, wire, text, end); break;
    case TOOL_CTF_WIRE_NAME: take_name(ctf, wire, text, end); break;
    case TOOL_CTF_WIRE_MODULE: take_module(ctf, wire, text, end); break;
    case TOOL_CTF_WIRE_BUILD_ID: take_build_id(ctf, wire, text); break;
    case TOOL_CTF_WIRE_CLOCK: set_text(&ctf->clock, next_text(&text, end)); break;
    case TOOL_CTF_WIRE_OTHER:
        ctf->other_count = wire->a;
        ctf->untimed_count = wire->b;
        break;
    default: break;
    }
}

/* ---- to the writer ---- */

static int compare_modules(const void *a, const void *b)
{
    const struct tool_ctf_module *one = a, *two = b;
    if (one->pid != two->pid)
        return one->pid < two->pid ? -1 : 1;
    return one->start < two->start ? -1 : one->start > two->start;
}

static ttape_string string_of(const char *text)
{
    return (ttape_string){text, text != NULL ? strlen(text) : 0};
}

static ttape_status define_processes(struct tool_ctf *ctf)
{
    ttape_status status = TTAPE_OK;
    struct tool_names added_of = {0}; /* pid -> the writer's id of the first one that was added */
    for (size_t i = 0; i < ctf->process_count && status == TTAPE_OK; i++) {
        struct tool_ctf_process *process = &ctf->processes[i];
        uint64_t parent = process->parent_pid;
        bool is_new;
        const ttape_process added = {
            .pid = process->pid,
            .parent = parent != 0 ? *tool_names_find(&added_of, &parent, sizeof(parent), &is_new)
                                  : TTAPE_NONE,
            .start_time_ns = process->start_ns,
            .name = string_of(process->name)};
        status = ttape_writer_add_process(ctf->conversion->writer, &added, &process->id, &ctf->err);
        uint32_t *known = tool_names_find(&added_of, &process->pid, sizeof(process->pid), &is_new);
        *known = *known == TTAPE_NONE ? process->id : *known;
    }
    tool_names_close(&added_of);
    return status;
}

ttape_status tool_ctf_define(struct tool_ctf *ctf)
{
    ttape_writer *writer = ctf->conversion->writer;
    ttape_status status = define_processes(ctf);
    for (size_t i = 0; i < ctf->thread_count && status == TTAPE_OK; i++) {
        struct tool_ctf_thread *thread = &ctf->threads[i];
        if (!thread->has_events) /* LTTng's own threads are named too */
            continue;
        const ttape_stream added = {.process = ctf->processes[thread->process].id,
                                    .tid = thread->tid,
                                    .start_time_ns = thread->start_ns,
                                    .name = string_of(thread->name)};
        status = ttape_writer_add_stream(writer, &added, &thread->stream, &ctf->err);
    }
    if (ctf->module_count > 0)
        qsort(ctf->modules, ctf->module_count, sizeof(struct tool_ctf_module), compare_modules);
    return status;
}

/* The module that holds an address in a process. */
static struct tool_ctf_module *module_at(const struct tool_ctf *ctf, uint64_t pid, uint64_t address)
{
    struct ttp_bisect s = {.end = ctf->module_count};
    while (ttp_bisect_next(&s)) {
        const struct tool_ctf_module *module = &ctf->modules[s.middle];
        ttp_bisect_turn(&s, module->pid < pid || (module->pid == pid && module->start <= address));
    }
    struct tool_ctf_module *found = s.first > 0 ? &ctf->modules[s.first - 1] : NULL;
    return found != NULL && found->pid == pid && address - found->start < found->size_bytes ? found
                                                                                            : NULL;
}

/* Modules that are mapped alike in several processes (after a fork) are one. */
static ttape_status add_module(struct tool_ctf *ctf, struct tool_ctf_module *module)
{
    char key[4096 + 96];
    size_t size = module->path != NULL ? strlen(module->path) : 0;
    bool is_new;
    size = size < 4096 ? size : 4096;
    memcpy(key, &module->start, 8);
    memcpy(key + 8, &module->size_bytes, 8);
    memcpy(key + 16, module->build_id, sizeof(module->build_id));
    memcpy(key + 80, module->path != NULL ? module->path : "", size);
    uint32_t *known = tool_names_find(&ctf->path_of, key, 80 + size, &is_new);
    if (is_new) {
        const ttape_module added = {
            .start = module->start,
            .end = module->start + module->size_bytes,
            .process = TTAPE_NONE,
            .path = string_of(module->path),
            .build_id = {(const char *)module->build_id, module->build_id_bytes}};
        ttape_status status =
            ttape_writer_add_module(ctf->conversion->writer, &added, known, &ctf->err);
        if (status != TTAPE_OK)
            return status;
    }
    module->id = *known;
    return TTAPE_OK;
}

static ttape_status add_defined(struct tool_ctf *ctf, struct tool_ctf_site *site)
{
    uint32_t module = TTAPE_NONE;
    ttape_status status = TTAPE_OK;
    if (site->module != NULL && site->module[0] != '\0') {
        struct tool_ctf_module named = {.path = site->module};
        status = add_module(ctf, &named);
        module = named.id;
    }
    const ttape_site added = {.address = site->address,
                              .module = module,
                              .line = site->line,
                              .kind = site->kind,
                              .symbol = string_of(site->symbol),
                              .file = string_of(site->file)};
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(ctf->conversion->writer, &added, &site->id, &ctf->err);
    site->is_added = status == TTAPE_OK;
    return status;
}

ttape_status tool_ctf_find_site(struct tool_ctf *ctf, const struct tool_ctf_wire *wire,
                                uint32_t *site)
{
    uint32_t index = wire->b > 0 ? *site_at(ctf, wire->b - 1) : TTAPE_NONE;
    if (index != TTAPE_NONE) {
        struct tool_ctf_site *defined = &ctf->sites[index];
        ttape_status status = defined->is_added ? TTAPE_OK : add_defined(ctf, defined);
        *site = defined->id;
        return status;
    }
    uint32_t kind = wire->kind == TOOL_CTF_WIRE_POINT ? TTAPE_SITE_MARKER : TTAPE_SITE_FUNCTION;
    struct tool_ctf_module *module = module_at(ctf, wire->pid, wire->a);
    bool is_new;
    if (module != NULL && module->id == TTAPE_NONE && add_module(ctf, module) != TTAPE_OK)
        return ctf->err.status;
    const uint64_t key[] = {wire->a, module != NULL ? 0 : wire->pid,
                            (uint64_t)(module != NULL ? module->id : TTAPE_NONE) << 8 | kind};
    uint32_t *known = tool_names_find(&ctf->site_of, key, sizeof(key), &is_new);
    ttape_status status = TTAPE_OK;
    if (is_new) {
        const ttape_site added = {.address = wire->a,
                                  .module = module != NULL ? module->id : TTAPE_NONE,
                                  .kind = kind,
                                  .symbol = {"", 0},
                                  .file = {"", 0}};
        status = ttape_writer_add_site(ctf->conversion->writer, &added, known, &ctf->err);
    }
    *site = *known;
    return status;
}

void tool_ctf_close(struct tool_ctf *ctf)
{
    for (size_t i = 0; i < ctf->process_count; i++)
        free(ctf->processes[i].name);
    for (size_t i = 0; i < ctf->thread_count; i++) {
        free(ctf->threads[i].name);
        free(ctf->threads[i].open.frames);
    }
    for (size_t i = 0; i < ctf->module_count; i++)
        free(ctf->modules[i].path);
    for (size_t i = 0; i < ctf->site_count; i++) {
        free(ctf->sites[i].symbol);
        free(ctf->sites[i].module);
        free(ctf->sites[i].file);
    }
    tool_names_close(&ctf->process_of);
    tool_names_close(&ctf->thread_of);
    tool_names_close(&ctf->site_of);
    tool_names_close(&ctf->path_of);
    tool_names_close(&ctf->module_of);
    tool_names_close(&ctf->number_of);
    tool_scratch_close(&ctf->events);
    free(ctf->processes);
    free(ctf->threads);
    free(ctf->modules);
    free(ctf->sites);
    free(ctf->lost);
    free(ctf->clock);
}
