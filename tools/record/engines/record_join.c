#include "tools/record/engines/record_join.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/arena/agent_layout.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/record/engines/record_asked.h"
#include "tools/record/engines/record_calls.h"
#include "tools/record/engines/record_choice.h"
#include "tools/record/modules/record_modules.h"
#include "tools/record/start/record_own.h"
#include "tools/record/values/called_values.h"

#define NAME_BYTES 64u
#define MANY_BYTES 256u
#define MADE_BYTES 0x10000u /* more than a trampoline needs */
#define MOST_OF_IT 16u      /* times as much code as in what is recorded */

/* ---- which process ---- */

static bool is_number(const char *word)
{
    for (const char *at = word; *at != '\0'; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return *word != '\0';
}

/* The name of a process's program: its file's, or what the kernel calls it. */
static bool is_called(uint32_t pid, const char *word)
{
    char path[NAME_BYTES], target[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%u/exe", pid);
    ssize_t size = readlink(path, target, sizeof target - 1);
    target[size < 0 ? 0 : size] = '\0';
    if (size > 0 && strcmp(ttp_base_name(target), word) == 0)
        return true;
    (void)snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    bool is_it = file != NULL && fgets(target, sizeof target, file) != NULL;
    if (file != NULL)
        (void)fclose(file);
    target[is_it ? strcspn(target, "\n") : 0] = '\0';
    return is_it && strcmp(target, word) == 0;
}

uint32_t tool_record_join_find(const char *word)
{
    char many[MANY_BYTES] = "";
    uint32_t found = 0, count = 0;
    if (is_number(word)) {
        unsigned long pid = strtoul(word, NULL, 10);
        if (pid == 0 || pid > INT_MAX)
            (void)tool_fail("'%s' is no process id", word);
        return pid > INT_MAX ? 0 : (uint32_t)pid;
    }
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        uint32_t pid = is_number(entry->d_name) ? (uint32_t)strtoul(entry->d_name, NULL, 10) : 0;
        size_t used = strlen(many);
        if (pid == 0 || pid == (uint32_t)getpid() || !is_called(pid, word))
            continue;
        found = pid;
        count++;
        (void)snprintf(many + used, sizeof many - used, "%s%u", used == 0 ? "" : ", ", pid);
    }
    if (folder != NULL)
        (void)closedir(folder);
    if (count == 1)
        return found;
    (void)tool_fail(count == 0 ? "no process is called '%s'"
                               : "several processes are called '%s': name one of %s",
                    word, many);
    return 0;
}

/* ---- plan and choice ---- */

char *tool_record_join_image(uint32_t pid)
{
    char link[NAME_BYTES], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size > 0)
        return tool_copy_text(path, (size_t)size);
    (void)tool_fail("cannot attach to process %u: %s", pid,
                    access("/proc/self", F_OK) != 0 ? "there is no /proc"
                                                    : "there is none, or it is another user's");
    return NULL;
}

struct joining {
    struct tool_record_joined *module;
    const struct tool_record_values *values;
    uint32_t *wanted; /* of each function's values; NULL: of none */
};

static void choose_function(void *context, uint32_t index, ttape_string name, bool is_chosen)
{
    const struct joining *j = context;
    uint64_t *bits = (uint64_t *)(j->module->chosen + 1);
    if (tool_record_is_answer(name))
        j->module->finds = index + 1;
    if (!is_chosen)
        return;
    if (j->wanted != NULL)
        j->wanted[index] = tool_record_values_wanted(j->values, name);
    bits[index / 64] |= UINT64_C(1) << index % 64;
    j->module->count++;
}

static bool points_to_memory(const struct ttp_values_head *values)
{
    const struct ttp_values_row *rows = (const void *)(values + 1);
    const struct ttp_value_place *places = (const void *)(rows + values->row_count);
    for (uint32_t i = 0; i < values->place_count; i++)
        if (places[i].type == TTAPE_VALUE_STRING || places[i].type >= TTP_VALUE_STRING_AT ||
            places[i].is_pointed)
            return true;
    return false;
}

/* Puts what is known of the functions' values behind the choice, and takes it. */
static void add_values(struct tool_record_join *join, struct tool_record_joined *module,
                       struct ttp_values_head *values, size_t size)
{
    uint64_t at = (module->chosen->total_bytes + 7) / 8 * 8;
    if (values == NULL)
        return;
    struct ttp_chosen_head *chosen = tool_allocate(at + size, 1);
    memcpy(chosen, module->chosen, module->chosen->total_bytes);
    values->at = at;
    memcpy((uint8_t *)chosen + at, values, size);
    chosen->values = (struct ttp_chosen_section){at, size};
    chosen->total_bytes = at + size;
    free(values);
    free(module->chosen);
    module->chosen = chosen;
    join->reads_memory |= points_to_memory(ttp_chosen_values(chosen));
}

static struct ttp_values_head *find_values(struct tool_record_joined *module,
                                           struct tool_record_patch *patch, const uint32_t *wanted,
                                           size_t *size)
{
    struct tool_symbols_module *symbols =
        tool_record_patch_module(patch, &module->given, module->path);
    struct ttp_values_head *values = tool_record_values_make(&patch->values, &module->given, wanted,
                                                             patch->symbols, symbols, size);
    tool_symbols_module_release(patch->symbols, symbols);
    return values;
}

static void choose_by_names(struct tool_record_join *join, struct tool_record_joined *module,
                            struct tool_record_patch *patch)
{
    struct joining j = {.module = module, .values = &patch->values};
    if (patch->values.given)
        j.wanted = tool_allocate((size_t)module->given.head.function_count + 1, sizeof *j.wanted);
    tool_record_patch_each(patch, &module->given, module->path, choose_function, &j);
    size_t size = 0;
    struct ttp_values_head *values =
        j.wanted == NULL || module->count == 0 ? NULL : find_values(module, patch, j.wanted, &size);
    add_values(join, module, values, size);
    free(j.wanted);
}

struct calling {
    struct tool_record_patch *patch;
    struct tool_called_values values;
};

static void take_called(void *context, const char *name, uint32_t start)
{
    struct calling *c = context;
    if (c->patch->values.given)
        tool_called_values_add(&c->values, &c->patch->values, name, start,
                               tool_record_patch_wanted(c->patch, name));
}

static void choose_called(struct tool_record_join *join, struct tool_record_joined *module,
                          struct tool_record_patch *patch, struct tool_record_asked *asked)
{
    struct calling c = {.patch = patch};
    size_t size = 0;
    module->count = tool_record_asked_choose(asked, module->path, &module->given,
                                             (uint64_t *)(module->chosen + 1), take_called, &c);
    tool_record_asked_name(asked, module->path, &module->given, &patch->copies);
    struct ttp_values_head *values = tool_called_values_make(&c.values, &size);
    add_values(join, module, values, size);
    if (c.values.left_floats)
        tool_message("'%s': floating-point values of library functions are known where a program "
                     "is recorded from its start: see tracetape-record(1)",
                     module->path);
    tool_called_values_close(&c.values);
}

/* `asked`: of a library, only what is called of it; NULL: by the functions' names. */
static void choose_functions(struct tool_record_join *join, struct tool_record_joined *module,
                             struct tool_record_patch *patch, struct tool_record_asked *asked)
{
    uint32_t count = module->given.head.function_count;
    size_t size = sizeof *module->chosen + ttp_chosen_bits_bytes(count);
    module->chosen = tool_allocate(size + sizeof(uint64_t), 1);
    *module->chosen = (struct ttp_chosen_head){.magic = TTP_CHOSEN_MAGIC,
                                               .patch_version = TTP_PATCH_VERSION,
                                               .function_count = count,
                                               .plan_bytes = module->given.head.total_bytes,
                                               .total_bytes = size};
    memcpy(module->chosen->content, module->given.head.content, sizeof module->chosen->content);
    if (asked == NULL) {
        choose_by_names(join, module, patch);
        return;
    }
    module->chosen->flags = TTP_CHOSEN_CALLED;
    choose_called(join, module, patch, asked);
}

static void close_module(struct tool_record_joined *module)
{
    tool_patch_given_close(&module->given);
    free(module->chosen);
    free(module->before);
    free(module->path);
    *module = (struct tool_record_joined){0};
}

void tool_record_join_by_names(struct tool_record_join *join, struct tool_record_joined *module,
                               struct tool_record_patch *patch)
{
    module->count = 0;
    choose_functions(join, module, patch, NULL);
}

const char *tool_record_join_add(struct tool_record_join *join, struct tool_record_patch *patch,
                                 struct tool_record_asked *asked, const char *path)
{
    const struct tool_plan_wish wish = {.path = path, .cache = patch->cache};
    tool_grow((void **)&join->modules, &join->capacity, join->count + 1, sizeof *join->modules);
    struct tool_record_joined *module = &join->modules[join->count];
    *module = (struct tool_record_joined){.path = tool_copy_text(path, strlen(path))};
    const char *why = tool_patch_give(&wish, &module->given);
    if (why == NULL)
        choose_functions(join, module, patch, asked);
    bool is_caller = asked == NULL && patch->library_calls;
    join->function_count += module->count;
    if (why == NULL && (module->count != 0 || is_caller))
        join->count++;
    else
        close_module(module);
    return why;
}

bool tool_record_join_is_own(const struct tool_record_patch *patch, const char *path)
{
    bool is_executable = patch->loaded != NULL && strcmp(patch->loaded[0], path) == 0;
    return (patch->module->count != 0 || is_executable || tool_record_patch_owns(patch, path)) &&
           tool_record_patch_covers(patch, path);
}

/* What was replaced since it was loaded has another name in the kernel's list. */
static void add_library(struct tool_record_join *join, struct tool_record_patch *patch,
                        struct tool_record_asked *asked, const char *path)
{
    const char *why = tool_record_join_add(join, patch, asked, path);
    if (why != NULL && asked == NULL)
        tool_message("functions of '%s' are not recorded: %s", path, why);
}

static bool is_listed(char *const *paths, const char *path)
{
    for (; paths != NULL && *paths != NULL; paths++)
        if (strcmp(*paths, path) == 0)
            return true;
    return false;
}

/* The executable, and what else is mapped with code, once each. */
static char **find_loaded(uint32_t pid, const char *executable)
{
    char name[NAME_BYTES], line[PATH_MAX + 256];
    char **found = tool_allocate(2, sizeof *found);
    size_t count = 1, capacity = 2;
    found[0] = tool_copy_text(executable, strlen(executable));
    (void)snprintf(name, sizeof name, "/proc/%u/maps", pid);
    FILE *file = fopen(name, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *path = strchr(line, '/'), *rights = strchr(line, ' ');
        line[strcspn(line, "\n")] = '\0';
        if (path == NULL || rights == NULL || strncmp(rights, " r-xp", 5) != 0 ||
            is_listed(found, path))
            continue;
        tool_grow((void **)&found, &capacity, count + 2, sizeof *found);
        found[count++] = tool_copy_text(path, strlen(path));
        found[count] = NULL;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

/* Libraries that patterns name, or the executable's own, are added of what is loaded; with `asked`,
 * all others, for what these call. */
static void add_libraries(struct tool_record_join *join, struct tool_record_patch *patch,
                          struct tool_record_asked *asked)
{
    for (char **path = patch->loaded + 1; *path != NULL; path++)
        if (tool_record_join_is_own(patch, *path)
                ? asked == NULL
                : asked != NULL && tool_record_asked_any(asked, *path))
            add_library(join, patch, asked, *path);
}

/* Where no module was asked for, the executable is meant, and libraries that are its own; and what
 * they call in others, where no function was asked for. */
static void choose_modules(struct tool_record_patch *patch, const char *executable)
{
    bool is_asked = patch->rules.function.count != 0 || patch->module->count != 0;
    if (patch->rules.function.count == 0)
        (void)tool_parse_record_patch(".", patch);
    if (patch->module->count == 0)
        patch->own = tool_record_own_libraries(executable);
    if (is_asked)
        return;
    patch->only = tool_copy_text(executable, strlen(executable));
    patch->library_calls = true;
}

/* What the modules that are chosen ask of others. */
static void add_called(struct tool_record_join *join, struct tool_record_patch *patch)
{
    struct tool_record_asked asked = {.called = &patch->called};
    for (size_t i = 0; i < join->count; i++)
        tool_record_asked_add(&asked, join->modules[i].path);
    add_libraries(join, patch, &asked);
    tool_record_asked_close(&asked);
}

static int add_modules(struct tool_record_join *join, struct tool_record_patch *patch, uint32_t pid,
                       const char *executable)
{
    const char *why = tool_record_patch_covers(patch, executable)
                          ? tool_record_join_add(join, patch, NULL, executable)
                          : NULL;
    if (why != NULL)
        return tool_fail("cannot attach to process %u: of '%s' %s", pid, executable, why);
    add_libraries(join, patch, NULL);
    if (join->count != 0 && patch->library_calls)
        add_called(join, patch);
    bool is_any = join->function_count != 0 || join->has_calls;
    if (is_any && !tool_record_answer_add(join, patch) && join->has_calls)
        return tool_fail("cannot attach to process %u: its C library cannot tell unwinders of what "
                         "system calls go through (glibc from 2.35 on can); tracetape syscalls "
                         "--attach %u records them by ptrace",
                         pid, pid);
    if (is_any)
        return TOOL_OK;
    return tool_fail("nothing to attach for: no function of '%s'%s is chosen", executable,
                     patch->module->count != 0 ? ", or of a library that it has loaded,"
                     : patch->own != NULL      ? ", or of its own libraries,"
                                               : "");
}

void tool_record_join_plan_of(struct tool_record_patch *patch, uint32_t pid, const char *executable)
{
    patch->loaded = find_loaded(pid, executable);
    if (patch->rules.function.count == 0 || patch->module->count != 0)
        return; /* it is chosen as for a command */
    patch->only = tool_copy_text(executable, strlen(executable));
    patch->own = tool_record_own_libraries(executable);
}

/* What an earlier recorder has left, which is put back before this one begins: its segment, and
 * stubs elsewhere. */
struct left_code {
    struct ttp_agent_area region, areas[TTP_AGENT_AREAS];
};

static bool read_left(int memory, uint64_t start, struct left_code *left)
{
    struct ttp_agent_head head;
    if (pread(memory, &head, sizeof head, (off_t)start) != (ssize_t)sizeof head ||
        head.magic != TTP_AGENT_MAGIC || head.version != TTP_AGENT_VERSION)
        return false;
    off_t shared = (off_t)(start + head.shared);
    return pread(memory, &left->region, sizeof left->region, shared) ==
               (ssize_t)sizeof left->region &&
           pread(memory, left->areas, sizeof left->areas,
                 shared + (off_t)offsetof(struct ttp_agent_shared, areas)) ==
               (ssize_t)sizeof left->areas;
}

/* All of its bytes are 0 where there is none. */
static void find_left(uint32_t pid, FILE *maps, struct left_code *left)
{
    char name[NAME_BYTES], line[PATH_MAX + 256];
    (void)snprintf(name, sizeof name, "/proc/%u/mem", pid);
    int memory = open(name, O_RDONLY | O_CLOEXEC);
    bool is_found = false;
    while (memory >= 0 && !is_found && fgets(line, sizeof line, maps) != NULL)
        is_found = strstr(line, " r-xp ") != NULL && strpbrk(line, "/[") == NULL &&
                   read_left(memory, strtoull(line, NULL, 16), left);
    if (!is_found)
        *left = (struct left_code){0};
    if (memory >= 0)
        (void)close(memory);
    rewind(maps);
}

static bool is_left(const struct left_code *left, uint64_t at)
{
    bool is_it = at - left->region.at < left->region.bytes;
    for (uint32_t i = 0; i < TTP_AGENT_AREAS; i++)
        is_it |= at - left->areas[i].at < left->areas[i].bytes;
    return is_it;
}

/* What a launcher starts is in a library that it opens, or is made while it runs. */
static void look_elsewhere(struct tool_record_join *join, const struct tool_record_patch *patch,
                           uint32_t pid)
{
    char name[NAME_BYTES], line[PATH_MAX + 256];
    uint64_t recorded = 0, largest = 0;
    struct left_code left = {0};
    (void)snprintf(name, sizeof name, "/proc/%u/maps", pid);
    FILE *file = fopen(name, "re");
    if (file != NULL)
        find_left(pid, file, &left);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uint64_t start = 0, end = 0;
        char rights[5] = "";
        const char *path = strpbrk(line, "/[");
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, rights) != 3 ||
            rights[2] != 'x')
            continue;
        bool is_file = path != NULL && path[0] == '/';
        if (path == NULL && end - start >= MADE_BYTES)
            join->makes_code |= !is_left(&left, start);
        else if (is_file && tool_record_patch_covers(patch, path))
            recorded += end - start;
        else if (is_file && end - start > largest &&
                 !tool_record_is_basic_module(ttp_base_name(path))) {
            free(join->larger);
            join->larger = tool_copy_text(path, strlen(path));
            largest = end - start;
        }
    }
    if (file != NULL)
        (void)fclose(file);
    if (largest < MOST_OF_IT * recorded) {
        free(join->larger);
        join->larger = NULL;
    }
}

int tool_record_join_open(struct tool_record_join *join, struct tool_record_patch *patch,
                          uint32_t pid)
{
    struct tool_symbols_options symbols = {.no_lines = !patch->values.given,
                                           .no_demangle = tool_record_is_mangled(&patch->rules)};
    char *path = tool_record_join_image(pid);
    if (path == NULL)
        return TOOL_CANNOT;
    tool_record_values_open(&patch->values);
    tool_record_copies_open(&patch->copies);
    choose_modules(patch, path);
    patch->loaded = find_loaded(pid, path);
    tool_debug_files_apply(patch->debug, &symbols);
    patch->symbols = tool_symbols_make(&symbols);
    (void)tool_symbols_start(patch->symbols);
    (void)tool_record_plans_open(patch->cache);
    int status = add_modules(join, patch, pid, path);
    if (patch->only != NULL)
        look_elsewhere(join, patch, pid);
    free(path);
    return status;
}

struct tool_record_joined *tool_record_join_module(const struct tool_record_join *join,
                                                   const char *path)
{
    for (size_t i = 0; i < join->count; i++)
        if (strcmp(join->modules[i].path, path) == 0)
            return &join->modules[i];
    return NULL;
}

void tool_record_join_later(struct tool_record_join *join, struct tool_record_patch *patch,
                            const char *path)
{
    if (!is_listed(patch->loaded, path) && tool_record_join_module(join, path) == NULL &&
        tool_record_join_is_own(patch, path))
        add_library(join, patch, NULL, path);
}

const void *tool_record_join_plan(const struct tool_record_join *join, const char *module_path,
                                  const void **chosen)
{
    const struct tool_record_joined *module = tool_record_join_module(join, module_path);
    if (module == NULL)
        return NULL;
    *chosen = module->chosen;
    return module->given.bytes;
}

void tool_record_join_close(struct tool_record_join *join)
{
    for (size_t i = 0; i < join->count; i++)
        close_module(&join->modules[i]);
    for (size_t i = 0; i < join->kept_count; i++)
        free(join->kept[i]);
    free(join->kept);
    free(join->first);
    tool_patterns_close(&join->before);
    free(join->modules);
    free(join->larger);
    free(join->unasked);
    *join = (struct tool_record_join){0};
}

/* ---- what becomes of it ---- */

void tool_record_join_say_values(const struct tool_record_join *join)
{
    if (join->reads_memory)
        tool_message("texts and structures are read on stacks of threads that run already and "
                     "among constants of what it was linked with; elsewhere, as in the heap, only "
                     "their addresses are recorded");
}

void tool_record_join_say(const struct tool_record_join *join, const ttape_session_result *result,
                          uint32_t pid)
{
    const ttape_patch_counts *patched = &result->patched;
    tool_message("process %u was attached to: %" PRIu64 " functions, %" PRIu64
                 " not; it stood still %" PRIu64 " times, for %.2f ms at most, %.2f ms in all%s",
                 pid, patched->functions, patched->functions_left, result->stop_count,
                 (double)result->longest_stop_ns / 1e6, (double)result->total_stop_ns / 1e6,
                 result->is_segment_left ? "" : ", and is as it was");
    if (join->larger != NULL)
        tool_message("most of its code is in '%s', and not recorded: --module /%s chooses it",
                     join->larger, ttp_base_name(join->larger));
    if (join->makes_code)
        tool_message("what process %u compiles while it runs is in no file, and not seen", pid);
    if (result->left_module_count != 0)
        tool_message("libraries were left out (%u): their code is not as in their files, has no "
                     "place for stubs near it, or 256 others are recorded already",
                     result->left_module_count);
    if (result->followed_count != 0)
        tool_message("libraries were loaded meanwhile (%u), and are recorded from then on",
                     result->followed_count);
    if (result->loaded_count != 0)
        tool_message("libraries were loaded meanwhile (%u) whose functions are not recorded: none "
                     "of them is chosen, or they cannot be patched",
                     result->loaded_count);
    if (!result->can_unwind)
        tool_message("who unwinds within the process, as profilers do, may have seen stacks end in "
                     "the recorder's code: its C library is older than 2.35, linked into it, or "
                     "another one");
    else if (join->unasked != NULL)
        tool_message(
            "who unwinds within the process by '%s', as profilers do, may have seen stacks "
            "end in the recorder's code: it does not ask the C library how to go on",
            ttp_base_name(join->unasked));
    if (result->busy_count != 0)
        tool_message("%u functions were left out, as somebody was inside them each time",
                     result->busy_count);
    if (result->child_count != 0)
        tool_message("calls of %u children or more that it forked meanwhile are not recorded; "
                     "those that run on are as it was",
                     result->child_count);
    if (result->was_debugged)
        tool_message(
            "a debugger has come to process %u: recording has ended, and its code is as it "
            "was; memory of the recorder stays in it, and does nothing, until the next "
            "attach (stacks in gdb: tracetape-attach(1))",
            pid);
    else if (result->is_segment_left)
        tool_message(
            "memory of the recorder stays in process %u, and does nothing: somebody may be "
            "inside, or has changed the code; the next attach puts it back",
            pid);
}
