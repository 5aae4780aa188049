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
#include "tools/record/engines/record_engine.h"
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

bool tool_record_patch_is_given(const struct tool_record_patch *patch)
{
    return patch->rules.function.count != 0 || patch->library_calls;
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

static bool is_left(const struct choosing *c, ttape_string name)
{
    return c->patch->filter != NULL &&
           tool_record_filter_leaves(c->patch->filter, &c->patch->rules, name, c->path);
}

static void judge(struct choosing *c, uint32_t index, ttape_string name)
{
    char unnamed[TOOL_PLAN_NAME_BYTES];
    if (name.size_bytes == 0) {
        int size = snprintf(unnamed, sizeof unnamed, "%.64s+0x%" PRIx64, c->file,
                            tool_patch_function_at(c->given, index).start - c->lowest);
        name = (ttape_string){unnamed, (size_t)size};
    }
    const struct tool_patterns *no = c->patch->no_function;
    bool is_chosen = tool_record_passes_name(&c->patch->rules, name) &&
                     (no == NULL || !tool_record_matches_name(&c->patch->rules, no, name)) &&
                     !is_left(c, name);
    c->patch->leaves_unnamed |= name.data == unnamed && !is_chosen;
    c->take(c->context, index, name, is_chosen);
}

static void take_name(void *context, size_t number, const struct tool_symbol *found)
{
    judge(context, (uint32_t)number, found->name);
}

static struct tool_symbols_module *
open_module(struct tool_record_patch *patch, const struct tool_patch_given *given, const char *path)
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
    struct tool_symbols_module *module = open_module(patch, given, path);
    size_t named = tool_symbols_find_all(patch->symbols, module, queries, count, take_name, &c);
    for (size_t i = named; i < count; i++)
        judge(&c, (uint32_t)i, (ttape_string){"", 0});
    tool_symbols_module_release(patch->symbols, module);
    free(queries);
}

struct bits {
    uint64_t *words;
    bool is_any;
    const struct tool_record_values *values;
    uint32_t *wanted; /* of each function's values; NULL: of none */
};

/* Copies of inlined functions, while they are listed. */
struct copying {
    struct tool_record_patch *patch;
    ttape_string build_id;
    struct tool_patch_copy *copies;
    size_t count, capacity;
};

static void take_copy(void *context, const struct tool_symbols_inlined *found)
{
    struct copying *c = context;
    bool is_next = c->count > 0 && c->copies[c->count - 1].entry == found->entry;
    if (found->entry > UINT32_MAX || found->end > UINT32_MAX ||
        !tool_record_passes_name(&c->patch->rules, found->name))
        return;
    if (!is_next)
        tool_record_copies_add(&c->patch->copies, c->build_id, found->entry + TTP_INLINED_ABOVE,
                               found->name, found->file, found->line);
    tool_grow((void **)&c->copies, &c->capacity, c->count + 1, sizeof *c->copies);
    c->copies[c->count++] = (struct tool_patch_copy){.entry = (uint32_t)found->entry,
                                                     .start = (uint32_t)found->start,
                                                     .end = (uint32_t)found->end};
}

size_t tool_record_patch_copies(struct tool_record_patch *patch,
                                const struct tool_patch_given *given, const char *path,
                                struct tool_patch_copy **copies)
{
    struct copying c = {
        .patch = patch,
        .build_id = {(const char *)given->head.build_id, given->head.build_id_bytes}};
    struct tool_symbols_module *module = open_module(patch, given, path);
    (void)tool_symbols_inlined_list(patch->symbols, module, take_copy, &c);
    tool_symbols_module_release(patch->symbols, module);
    *copies = c.copies;
    return c.count;
}

static void choose_function(void *context, uint32_t index, ttape_string name, bool is_chosen)
{
    struct bits *bits = context;
    if (bits->wanted != NULL && is_chosen)
        bits->wanted[index] = tool_record_values_wanted(bits->values, name);
    if (is_chosen)
        bits->words[index / 64] |= UINT64_C(1) << index % 64;
    bits->is_any |= is_chosen;
}

/* Whether it goes by their names which of a module's functions are patched by themselves. */
static bool asks_names(const struct tool_record_patch *patch)
{
    return (patch->no_function != NULL && patch->no_function->count != 0) ||
           (patch->filter != NULL && patch->filter->said.count != 0);
}

static void choose_all(struct tool_record_patch *patch, uint32_t count, struct bits *bits)
{
    patch->leaves_unnamed = false;
    for (uint32_t i = 0; i < count; i++)
        choose_function(bits, i, (ttape_string){"", 0}, true);
}

/* CONTENT-CHOICE and a suffix. */
static void name_beside(char name[TOOL_PLAN_NAME_BYTES], const uint8_t *content, uint64_t choice,
                        const char *suffix)
{
    char ending[TOOL_PLAN_NAME_BYTES / 2];
    (void)snprintf(ending, sizeof ending, "-%016" PRIx64 "%s", choice, suffix);
    tool_plan_name(name, content, ending);
}

/* What is chosen of a module, and what is known of it. */
struct choice {
    struct ttp_chosen_head head;
    uint64_t *words;                 /* a bit for each function; NULL: none is chosen */
    struct tool_patch_given inlined; /* without bytes: no copies */
    struct ttp_values_head *values;  /* NULL: none */
    size_t values_bytes;
};

/* The section's place behind what ends at *end. */
static void place(struct ttp_chosen_section *section, uint64_t *end, size_t size_bytes)
{
    if (size_bytes == 0)
        return;
    *section = (struct ttp_chosen_section){(*end + 7) / 8 * 8, size_bytes};
    *end = section->at + size_bytes;
}

/* Puts the choice beside the plan: one file, whole or not at all. */
static void put_choice(struct tool_record_patch *patch, const uint8_t *content,
                       const char *module_path, struct choice *choice)
{
    char name[TOOL_PLAN_NAME_BYTES];
    struct ttp_chosen_head *head = &choice->head;
    size_t bits_bytes = ttp_chosen_bits_bytes(head->function_count);
    uint64_t end = sizeof *head + bits_bytes;
    head->magic = TTP_CHOSEN_MAGIC;
    head->patch_version = TTP_PATCH_VERSION;
    head->choice = ttp_chosen_number(patch->choice, module_path);
    memcpy(head->content, content, sizeof head->content);
    place(&head->inlined, &end, choice->inlined.size_bytes);
    place(&head->values, &end, choice->values_bytes);
    head->total_bytes = end;
    uint8_t *file = tool_allocate(end, 1);
    memcpy(file, head, sizeof *head);
    if (bits_bytes != 0)
        memcpy(file + sizeof *head, choice->words, bits_bytes);
    if (head->inlined.bytes != 0)
        memcpy(file + head->inlined.at, choice->inlined.bytes, choice->inlined.size_bytes);
    if (head->values.bytes != 0) {
        choice->values->at = head->values.at;
        memcpy(file + head->values.at, choice->values, choice->values_bytes);
    }
    name_beside(name, content, head->choice, TTP_CHOSEN_SUFFIX);
    (void)tool_plan_write(patch->cache, name, file, end);
    free(file);
    /* names of copies and of values are not kept */
    if (patch->leaves_unnamed || patch->inlined || patch->values.given) {
        tool_grow((void **)&patch->passing, &patch->passing_capacity, patch->passing_count + 1,
                  sizeof *patch->passing);
        patch->passing[patch->passing_count++] = tool_copy_text(name, strlen(name));
    }
}

/* Whether any copy is chosen. */
static bool find_copies(struct tool_record_patch *patch, const struct tool_patch_given *given,
                        const char *path, struct choice *choice)
{
    const struct tool_plan_wish wish = {.path = path, .cache = patch->cache};
    struct tool_patch_copy *copies;
    size_t count = tool_record_patch_copies(patch, given, path, &copies);
    bool is_made = count != 0 && tool_patch_inlined_give(&wish, &given->head, choice->words, copies,
                                                         count, &choice->inlined) == NULL;
    free(copies);
    return is_made;
}

static void find_values(struct tool_record_patch *patch, const struct tool_patch_given *given,
                        const char *path, const uint32_t *wanted, struct choice *choice)
{
    struct tool_symbols_module *module = open_module(patch, given, path);
    choice->values = tool_record_values_make(&patch->values, given, wanted, patch->symbols, module,
                                             &choice->values_bytes);
    tool_symbols_module_release(patch->symbols, module);
    if (choice->values == NULL)
        choice->values_bytes = 0;
}

static void put_none(struct tool_record_patch *patch, const uint8_t *content,
                     const char *module_path, uint32_t flags)
{
    struct choice none = {.head.flags = TTP_CHOSEN_NONE | flags};
    put_choice(patch, content, module_path, &none);
}

/* Whether the library calls of such a program are recorded, of which no function is patched. */
static bool calls_of(const struct tool_record_patch *patch, const char *path)
{
    bool is_meant =
        patch->only == NULL || (patch->only_called && tool_record_patch_is_command(patch, path));
    return is_meant && patch->library_calls;
}

/* Nothing is known of its functions. */
static void leave_module(struct tool_record_patch *patch, const char *path)
{
    struct tool_plan_module module;
    patch->leaves_unnamed = false;
    if (tool_plan_module_open(&module, path) == NULL &&
        (tool_plan_module_find(&module, patch->cache) ||
         tool_plan_module_read(&module, patch->cache) == NULL))
        put_none(patch, module.content, path, calls_of(patch, path) ? 0 : TTP_CHOSEN_LEFT);
    tool_plan_module_close(&module);
}

static void note_only(struct tool_record_patch *patch, const struct ttp_patch_head *head)
{
    patch->only_functions = head->function_count;
    patch->only_patchable = head->entry_reasons[TTP_PATCH_CAN];
    patch->only_exits_left = 0;
    for (unsigned i = 0; i < TTP_PATCH_REASONS; i++)
        patch->only_exits_left += i != TTP_PATCH_CAN ? head->exit_reasons[i] : 0;
}

static void choose_functions(struct tool_record_patch *patch, const struct tool_patch_given *given,
                             const char *module_path)
{
    uint32_t count = given->head.function_count;
    struct choice choice = {
        .head = {.function_count = count, .plan_bytes = given->head.total_bytes},
        .words = tool_allocate((size_t)count / 64 + 1, sizeof *choice.words)};
    struct bits bits = {.words = choice.words};
    if (patch->values.given) {
        bits.values = &patch->values;
        bits.wanted = tool_allocate((size_t)count + 1, sizeof *bits.wanted);
    }
    if (patch->only != NULL && bits.wanted == NULL && !patch->by_name)
        choose_all(patch, count, &bits);
    else
        tool_record_patch_each(patch, given, module_path, choose_function, &bits);
    if (tool_record_patch_is_command(patch, module_path))
        note_only(patch, &given->head);
    if (bits.wanted != NULL)
        find_values(patch, given, module_path, bits.wanted, &choice);
    if (patch->inlined && find_copies(patch, given, module_path, &choice))
        bits.is_any = true;
    if (bits.is_any)
        put_choice(patch, given->head.content, module_path, &choice);
    else
        put_none(patch, given->head.content, module_path, 0);
    tool_patch_given_close(&choice.inlined);
    free(choice.values);
    free(choice.words);
    free(bits.wanted);
}

/* A program whose plan is not there says so itself. */
static void make_plan(void *context, const char *module_path)
{
    struct tool_record_patch *patch = context;
    const struct tool_plan_wish wish = {.path = module_path, .cache = patch->cache};
    struct tool_patch_given given;
    bool is_covered = tool_record_patch_covers(patch, module_path);
    if (!is_covered)
        leave_module(patch, module_path);
    if (!is_covered && !patch->library_calls)
        return;
    if (tool_patch_give(&wish, &given) == NULL && is_covered)
        choose_functions(patch, &given, module_path);
    tool_patch_given_close(&given);
}

/* With what is between them, so that no two choices are one. */
static uint64_t go_on(uint64_t choice, const struct tool_patterns *patterns)
{
    choice = ttp_chosen_number(choice, patterns->text != NULL ? patterns->text : "");
    return ttp_chosen_number(choice, "\n\n");
}

/* Of a library's function: --args of system calls alone says nothing of these. */
static uint32_t values_wanted(void *context, const char *function)
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
    patch->choice ^= patch->values.number;
    patch->choice |= 1; /* 0 is none */
    patch->symbols = tool_symbols_make(&symbols);
    (void)tool_symbols_start(patch->symbols);
    into->syscalls.plan_folder = patch->cache->path;
    into->syscalls.plan = tool_record_calls_plan; /* the loader's and the C library's */
    into->syscalls.plan_context = patch->cache;
    into->patch =
        (ttape_patch_options){.choice = patch->choice,
                              .filter = patch->rules.function.text,
                              .plan = make_plan,
                              .plan_context = patch,
                              .all_modules = patch->module->count != 0 || patch->own != NULL,
                              .library_calls = patch->nested_calls ? 2 : patch->library_calls,
                              .library_arguments = patch->arguments,
                              .values_wanted = values_wanted};
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
        name_beside(name, module.content, ttp_chosen_number(patch->choice, path),
                    TTP_CHOSEN_SUFFIX);
        (void)tool_plan_head_read(patch->cache, name, &chosen, sizeof chosen);
    }
    tool_plan_module_close(&module);
    if (tool_record_patch_is_command(patch, path))
        note_only(patch, &head);
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
        make_plan(patch, patch->image);
    for (char **library = patch->own; library != NULL && *library != NULL; library++)
        if (is_anew || !is_chosen_before(patch, *library))
            make_plan(patch, *library);
    if (patch->symbols != NULL)
        (void)tool_symbols_end_fetching(patch->symbols);
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
    tool_symbols_close(patch->symbols);
    if (tool_record_patch_is_given(patch))
        tool_record_copies_close(&patch->copies);
    tool_record_values_close(&patch->values);
    if (patch->own != NULL)
        tool_record_modules_free(patch->own);
    free(patch->only);
    free(patch->image);
    free(patch->link);
}
