/* CONTENT.patch has the functions of a module, CONTENT-CHOICE.chosen a bit for each of them.
 * Functions without names are called as people see them: FILE+0xADDRESS. */
#include "tools/record/engines/record_patch.h"
#include "tools/io/debug_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/binary/elf_hooks.h"
#include "program/binary/patch_file.h"
#include "recorder/arena/patch_plan.h"
#include "tools/command/tool.h"
#include "tools/record/engines/record_calls.h"
#include "tools/record/engines/record_choice.h"
#include "tools/record/engines/record_engine.h"
#include "tools/record/engines/record_said.h"
#include "tools/record/modules/record_image.h"
#include "tools/record/modules/record_modules.h"
#include "tools/record/start/record_own.h"

#define HASH_START UINT64_C(0xcbf29ce484222325) /* FNV-1a */

bool tool_parse_record_patch(const char *text, void *into)
{
    struct tool_record_patch *patch = into;
    return tool_parse_pattern(text, &patch->rules.function);
}

bool tool_parse_libcalls(const char *text, void *into)
{
    struct tool_record_patch *patch = into;
    patch->library_calls = true;
    return text == NULL || tool_parse_pattern(text, &patch->called);
}

bool tool_parse_nest_libcalls(const char *text, void *into)
{
    struct tool_record_patch *patch = into;
    (void)text;
    patch->library_calls = patch->nested_calls = true;
    return true;
}

bool tool_parse_record_measure(const char *text, void *into)
{
    struct tool_record_patch *patch = into;
    return strchr(text, '=') != NULL ? tool_parse_measured(text, &patch->values)
                                     : tool_parse_measure(text, &patch->measure);
}

bool tool_record_patch_is_given(const struct tool_record_patch *patch)
{
    return patch->rules.function.count != 0 || patch->library_calls || patch->marks.given;
}

const char *tool_record_patch_tries(const struct tool_record_patch *patch)
{
    const char *all = patch->rules.function.count != 0 ? "" : NULL;
    return patch->only != NULL && !patch->only_called ? patch->only : all;
}

void tool_record_patch_by_itself(struct tool_record_patch *patch, const char *command)
{
    patch->link = tool_record_link(command);
    if (patch->rules.function.count != 0 || (patch->library_calls && patch->module->count != 0))
        return;
    char *image = tool_record_loads(command) ? tool_record_image(command) : NULL;
    patch->has_hooks = image != NULL && tool_elf_has_hooks(image);
    if (patch->has_hooks && !patch->library_calls && !patch->minds_lines &&
        patch->module->count == 0) {
        patch->only = image;
        patch->only_called = patch->library_calls = true;
        return;
    }
    if (image == NULL || patch->has_hooks || !tool_parse_record_patch(".", patch) ||
        patch->module->count != 0) { /* then these, as if it had been asked for */
        free(image);
        return;
    }
    patch->only = image;
    patch->own = tool_record_own_libraries(image);
    patch->library_calls = true;
}

bool tool_record_patch_calls_all(const struct tool_record_patch *patch)
{
    return patch->only == NULL && patch->library_calls && patch->rules.function.count != 0;
}

bool tool_record_has_hooks(const char *command)
{
    char *image = tool_record_image(command);
    bool has_hooks = image != NULL && tool_elf_has_hooks(image);
    free(image);
    return has_hooks;
}

/* The functions of one module, while they are named. */
struct choosing {
    struct tool_record_patch *patch;
    const struct tool_patch_given *given;
    const char *path, *file;
    uint64_t lowest; /* what unnamed functions are counted from, as in a trace */
    tool_record_take_function take;
    void *context;
};

static bool is_seen(const struct choosing *c, ttape_string name)
{
    return c->patch->filter != NULL &&
           tool_record_filter_sees(c->patch->filter, &c->patch->rules, name);
}

static bool is_left(const struct choosing *c, ttape_string name)
{
    return c->patch->filter != NULL &&
           tool_record_filter_leaves(c->patch->filter, &c->patch->rules, name, c->path);
}

static void judge_function(struct choosing *c, uint32_t index, ttape_string name)
{
    char unnamed[TOOL_PLAN_NAME_BYTES];
    if (name.size_bytes == 0) {
        int size = snprintf(unnamed, sizeof unnamed, "%.64s+0x%" PRIx64, c->file,
                            tool_patch_function_at(c->given, index).start - c->lowest);
        name = (ttape_string){unnamed, (size_t)size};
    }
    const struct tool_patterns *no = c->patch->no_function;
    bool is_chosen = is_seen(c, name) ||
                     (tool_record_passes_name(&c->patch->rules, name) &&
                      (no == NULL || !tool_record_matches_name(&c->patch->rules, no, name)) &&
                      !is_left(c, name));
    c->patch->leaves_unnamed |= name.data == unnamed && !is_chosen;
    c->take(c->context, index, name, is_chosen);
}

static void take_name(void *context, size_t number, const struct tool_symbol *found)
{
    judge_function(context, (uint32_t)number, found->name);
}

struct tool_symbols_module *tool_record_patch_module(struct tool_record_patch *patch,
                                                     const struct tool_patch_given *given,
                                                     const char *path)
{
    return tool_symbols_module_open(
        patch->symbols, (ttape_string){path, strlen(path)},
        (ttape_string){(const char *)given->head.build_id, given->head.build_id_bytes});
}

void tool_record_patch_each(struct tool_record_patch *patch, const struct tool_patch_given *given,
                            const char *path, tool_record_take_function take, void *context)
{
    uint32_t count = given->head.function_count;
    struct choosing c = {.patch = patch,
                         .given = given,
                         .path = path,
                         .file = tool_record_patch_called(patch, path),
                         .take = take,
                         .context = context};
    struct tool_elf_head head;
    if (tool_elf_head_of(NULL, path, &head) != NULL || !tool_elf_lowest_page(&head, &c.lowest))
        c.lowest = 0;
    patch->leaves_unnamed = false;
    struct tool_symbols_query *queries = tool_allocate((size_t)count + 1, sizeof *queries);
    for (uint32_t i = 0; i < count; i++)
        queries[i] = (struct tool_symbols_query){
            .elf_address = tool_patch_function_at(given, i).start, .entry = true};
    struct tool_symbols_module *module = tool_record_patch_module(patch, given, path);
    size_t named = tool_symbols_find_all(patch->symbols, module, queries, count, take_name, &c);
    for (size_t i = named; i < count; i++)
        judge_function(&c, (uint32_t)i, (ttape_string){"", 0});
    tool_symbols_module_release(patch->symbols, module);
    free(queries);
}

/* Whether it goes by their names which of a module's functions are patched by themselves. */
static bool asks_names(const struct tool_record_patch *patch)
{
    return (patch->no_function != NULL && patch->no_function->count != 0) ||
           (patch->filter != NULL && patch->filter->said.count != 0);
}

/* With what is between them, so that no two choices are one. */
static uint64_t go_on(uint64_t choice, const struct tool_patterns *patterns)
{
    choice = ttp_chosen_number(choice, patterns->text != NULL ? patterns->text : "");
    return ttp_chosen_number(choice, "\n\n");
}

/* Where --args is of system calls alone it says nothing of these. */
uint32_t tool_record_patch_wanted(void *context, const char *function)
{
    const struct tool_record_patch *patch = context;
    if (!patch->values.given)
        return TTAPE_VALUES_GIVEN | TTAPE_VALUES_RETURNED;
    uint32_t wanted =
        tool_record_values_wanted(&patch->values, (ttape_string){function, strlen(function)});
    bool is_by_hand = (wanted & TOOL_VALUES_BY_HAND) != 0; /* then all that is known */
    return is_by_hand ? TTAPE_VALUES_GIVEN | TTAPE_VALUES_RETURNED : wanted;
}

/* Plans of the command's own system calls, for the runtime to see what it must not miss (threads
 * that are not the C library's, filters). Without a folder there are none. */
static void mind_own_calls(const struct tool_record_patch *patch, ttape_recording_options *into)
{
    if (!patch->has_hooks || into->syscalls.plan_folder != NULL ||
        (patch->cache->path == NULL && !tool_plan_cache_open(patch->cache)))
        return;
    into->syscalls.plan_folder = patch->cache->path;
    into->syscalls.plan = tool_record_calls_plan;
    into->syscalls.plan_context = patch->cache;
}

static void want_none(struct tool_record_patch *patch)
{
    tool_record_rules_close(&patch->rules);
    patch->rules = (struct tool_record_rules){0};
    patch->library_calls = patch->inlined = false;
}

void tool_record_patch_leave(struct tool_record_patch *patch, const char *command)
{
    tool_message("no function is patched: the runtime cannot be loaded into '%s', whose system "
                 "calls are recorded by ptrace",
                 command);
    want_none(patch);
}

bool tool_record_patch_open(struct tool_record_patch *patch, ttape_recording_options *into)
{
    struct tool_symbols_options symbols = {.no_lines = !patch->inlined && !patch->values.given,
                                           .no_demangle = tool_record_is_mangled(&patch->rules)};
    tool_record_values_open(&patch->values);
    if (!tool_record_patch_is_given(patch)) {
        mind_own_calls(patch, into);
        return true;
    }
    tool_debug_files_apply(patch->debug, &symbols);
    tool_record_copies_open(&patch->copies);
    bool has_folder = tool_record_plans_open(patch->cache);
    if (!has_folder && patch->only != NULL) { /* nobody asked for it */
        tool_message(patch->only_called ? "calls of '%s' into libraries are left out: %s"
                                        : "'%s' has no hooks, and cannot be patched: %s",
                     patch->only, tool_record_no_plans(patch->cache));
        want_none(patch);
        return true;
    }
    if (!has_folder)
        return false;
    patch->choice = go_on(HASH_START, &patch->rules.function);
    patch->choice = go_on(go_on(patch->choice, patch->module), patch->no_module);
    if (patch->no_function != NULL)
        patch->choice = go_on(patch->choice, patch->no_function);
    for (size_t i = 0; patch->filter != NULL && i < patch->filter->said.count; i++)
        patch->choice = ttp_chosen_number(patch->choice, patch->filter->said.texts[i]);
    patch->by_name = asks_names(patch);
    patch->choice = ttp_chosen_number(patch->choice, patch->by_name ? "named" : "");
    patch->choice = ttp_chosen_number(patch->choice, patch->library_calls ? "called" : "");
    for (size_t i = 0; i < patch->debug->folder_count; i++)
        patch->choice = ttp_chosen_number(patch->choice, patch->debug->folders[i]);
    if (patch->only != NULL)
        patch->choice = ttp_chosen_number(patch->choice, patch->only);
    if (patch->link != NULL) /* patterns may mean it */
        patch->choice = ttp_chosen_number(patch->choice, patch->link);
    for (char **library = patch->own; library != NULL && *library != NULL; library++)
        patch->choice = ttp_chosen_number(patch->choice, *library);
    patch->choice = ttp_chosen_number(patch->choice, patch->only_called ? "hooks" : "");
    patch->choice = ttp_chosen_number(patch->choice, patch->inlined ? "inlined" : "");
    patch->choice = ttp_chosen_number(patch->choice, patch->marks.given ? "marks" : "");
    patch->choice = go_on(patch->choice, &patch->marks.names);
    for (size_t i = 0; i < patch->marks.text_count; i++)
        patch->choice = ttp_chosen_number(patch->choice, patch->marks.texts[i].said);
    patch->choice ^= patch->values.number;
    patch->choice |= 1; /* 0 is none */
    patch->symbols = tool_symbols_make(&symbols);
    (void)tool_symbols_start(patch->symbols);
    into->syscalls.plan_folder = patch->cache->path;
    into->syscalls.plan = tool_record_calls_plan; /* the loader's and the C library's */
    into->syscalls.plan_context = patch->cache;
    into->patch = (ttape_patch_options){
        .choice = patch->choice,
        .filter = patch->rules.function.text,
        .plan = tool_record_choice_make,
        .plan_context = patch,
        .all_modules = patch->module->count != 0 || patch->own != NULL || patch->marks.given,
        .library_calls = patch->nested_calls ? 2 : patch->library_calls,
        .library_arguments = patch->arguments,
        .values_wanted = tool_record_patch_wanted};
    return true;
}

/* Whether a plan and a choice of it are there, as they look from outside; who maps them looks
 * closer, and asks for others where they are none. */
static bool is_chosen_before(struct tool_record_patch *patch, const char *path)
{
    char name[TOOL_PLAN_NAME_BYTES];
    struct tool_plan_module module;
    struct ttp_patch_head head = {0};
    struct ttp_chosen_head chosen = {0};
    bool is_known = tool_plan_module_open(&module, path) == NULL &&
                    tool_plan_module_find(&module, patch->cache);
    if (is_known) {
        tool_plan_name(name, module.content, TTP_PATCH_SUFFIX);
        (void)tool_plan_head_read(patch->cache, name, &head, sizeof head);
        tool_record_choice_name(name, module.content, ttp_chosen_number(patch->choice, path));
        (void)tool_plan_head_read(patch->cache, name, &chosen, sizeof chosen);
    }
    tool_plan_module_close(&module);
    if (tool_record_patch_is_command(patch, path))
        tool_record_choice_note(patch, &head);
    return is_known && head.magic == TTP_PATCH_MAGIC && head.version == TTP_PATCH_VERSION &&
           memcmp(head.content, module.content, sizeof head.content) == 0 &&
           memcmp(chosen.content, module.content, sizeof head.content) == 0 &&
           chosen.magic == TTP_CHOSEN_MAGIC && chosen.patch_version == TTP_PATCH_VERSION &&
           chosen.function_count == head.function_count && chosen.plan_bytes == head.total_bytes;
}

void tool_record_patch_ahead(struct tool_record_patch *patch, const char *command)
{
    patch->image = tool_record_patch_is_given(patch) ? tool_record_image(command) : NULL;
    bool is_anew = patch->inlined || patch->values.given;
    if (patch->image != NULL && (is_anew || !is_chosen_before(patch, patch->image)))
        tool_record_choice_make(patch, patch->image);
    for (char **library = patch->own; library != NULL && *library != NULL; library++)
        if (is_anew || !is_chosen_before(patch, *library))
            tool_record_choice_make(patch, *library);
    tool_record_said_put(patch);
    if (patch->symbols != NULL)
        (void)tool_symbols_end_fetching(patch->symbols);
}

void tool_record_patch_pass(struct tool_record_patch *patch, const char *name)
{
    tool_grow((void **)&patch->passing, &patch->passing_capacity, patch->passing_count + 1,
              sizeof *patch->passing);
    patch->passing[patch->passing_count++] = tool_copy_text(name, strlen(name));
}

/* A program that has one mapped keeps it. */
static void remove_passing(struct tool_record_patch *patch)
{
    for (size_t i = 0; i < patch->passing_count; i++) {
        (void)unlinkat(patch->cache->fd, patch->passing[i], 0);
        free(patch->passing[i]);
    }
    free(patch->passing);
}

void tool_record_patch_close(struct tool_record_patch *patch)
{
    if (patch->passing_count != 0)
        remove_passing(patch);
    tool_record_rules_close(&patch->rules);
    tool_patterns_close(&patch->called);
    tool_record_marks_close(&patch->marks);
    tool_symbols_close(patch->symbols);
    tool_record_copies_close(&patch->copies);
    tool_record_values_close(&patch->values);
    if (patch->own != NULL)
        tool_record_modules_free(patch->own);
    if (patch->loaded != NULL)
        tool_record_modules_free(patch->loaded);
    free(patch->only);
    free(patch->image);
    free(patch->link);
}
