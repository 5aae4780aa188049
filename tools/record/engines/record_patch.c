/* BUILDID.patch has the functions of an executable, BUILDID-CHOICE.chosen a bit for each of them.
 * Functions without names are called as people see them: FILE+0xADDRESS. */
#define _GNU_SOURCE /* asprintf */
#include "tools/record/engines/record_patch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/binary/patch_file.h"
#include "tools/binary/plan_store.h"
#include "tools/command/tool.h"
#include "tools/record/record_output.h"
#include "writer/arena/patch_plan.h"

#define HASH_START UINT64_C(0xcbf29ce484222325) /* FNV-1a */
#define HASH_PRIME UINT64_C(0x100000001b3)

bool tool_parse_record_patch(const char *text, void *into)
{
    struct tool_record_patch *patch = into;
    char *joined = NULL;
    if (!tool_parse_pattern(text, &patch->rules.function) ||
        asprintf(&joined, "%s%s%s", patch->text != NULL ? patch->text : "",
                 patch->text != NULL ? "\n" : "", text) < 0)
        return false;
    free(patch->text);
    patch->text = joined;
    return true;
}

/* The functions of one executable, while they are named. */
struct choosing {
    struct tool_record_rules *rules;
    const struct tool_patch_given *given;
    const char *file;
    tool_record_take_function take;
    void *context;
};

static void judge(struct choosing *c, uint32_t index, ttape_string name)
{
    char unnamed[TOOL_PLAN_NAME_BYTES];
    if (name.size_bytes == 0) {
        int size = snprintf(unnamed, sizeof unnamed, "%.64s+0x%" PRIx32, c->file,
                            tool_patch_function_at(c->given, index).start);
        name = (ttape_string){unnamed, (size_t)size};
    }
    c->take(c->context, index, name, tool_record_passes_name(c->rules, name));
}

static void take_name(void *context, size_t number, const struct tool_symbol *found)
{
    judge(context, (uint32_t)number, found->name);
}

void tool_record_patch_each(struct tool_record_patch *patch, const struct tool_patch_given *given,
                            const char *path, tool_record_take_function take, void *context)
{
    const char *slash = strrchr(path, '/');
    uint32_t count = given->head.function_count;
    struct choosing c = {.rules = &patch->rules,
                         .given = given,
                         .file = slash != NULL ? slash + 1 : path,
                         .take = take,
                         .context = context};
    struct tool_symbols_query *queries = tool_allocate((size_t)count + 1, sizeof *queries);
    for (uint32_t i = 0; i < count; i++)
        queries[i] = (struct tool_symbols_query){
            .elf_address = tool_patch_function_at(given, i).start, .entry = true};
    struct tool_symbols_module *module = tool_symbols_module_open(
        patch->symbols, (ttape_string){path, strlen(path)},
        (ttape_string){(const char *)given->head.build_id, given->head.build_id_bytes});
    size_t named = tool_symbols_find_all(patch->symbols, module, queries, count, take_name, &c);
    for (size_t i = named; i < count; i++)
        judge(&c, (uint32_t)i, (ttape_string){"", 0});
    tool_symbols_module_release(patch->symbols, module);
    free(queries);
}

static void choose(void *context, uint32_t index, ttape_string name, bool is_chosen)
{
    uint64_t *bits = context;
    (void)name;
    if (is_chosen)
        bits[index / 64] |= UINT64_C(1) << index % 64;
}

static void put_chosen(const struct tool_record_patch *patch, const struct tool_patch_given *given,
                       const struct ttp_chosen_head *chosen, size_t size_bytes)
{
    char name[2 * TOOL_PLAN_NAME_BYTES];
    int length = (int)strlen(given->name) - (int)strlen(TTP_PATCH_SUFFIX);
    (void)snprintf(name, sizeof name, "%.*s-%016" PRIx64 TTP_CHOSEN_SUFFIX, length, given->name,
                   patch->choice);
    (void)tool_plan_put(patch->folder, name, (const uint8_t *)chosen, size_bytes);
}

/* A program whose plan is not there says so itself. */
static void make_plan(void *context, const char *module_path)
{
    struct tool_record_patch *patch = context;
    const struct tool_plan_wish wish = {.path = module_path};
    struct tool_patch_given given;
    if (tool_patch_give(&wish, &given) == NULL) {
        uint32_t count = given.head.function_count;
        size_t size_bytes = sizeof(struct ttp_chosen_head) + ((size_t)count + 63) / 64 * 8;
        struct ttp_chosen_head *chosen = tool_allocate(size_bytes, 1);
        *chosen = (struct ttp_chosen_head){.magic = TTP_CHOSEN_MAGIC,
                                           .choice = patch->choice,
                                           .patch_version = TTP_PATCH_VERSION,
                                           .function_count = count,
                                           .plan_bytes = given.head.total_bytes};
        tool_record_patch_each(patch, &given, module_path, choose, chosen + 1);
        put_chosen(patch, &given, chosen, size_bytes);
        free(chosen);
    }
    tool_patch_given_close(&given);
}

bool tool_record_patch_open(struct tool_record_patch *patch, ttape_recording_options *into)
{
    struct tool_symbols_options symbols = {.no_lines = true};
    if (patch->text == NULL)
        return true;
    tool_debug_files_apply(patch->debug, &symbols);
    patch->folder = tool_plan_cache_path();
    if (patch->folder == NULL)
        return tool_fail("no folder for plans of functions: none below ~/.cache or "
                         "XDG_CACHE_HOME is ours alone") != 0 &&
               false;
    patch->choice = HASH_START;
    for (const char *at = patch->text; *at != '\0'; at++)
        patch->choice = (patch->choice ^ (uint8_t)*at) * HASH_PRIME;
    patch->choice |= 1; /* 0 is none */
    patch->symbols = tool_symbols_open(&symbols);
    (void)tool_symbols_start(patch->symbols);
    into->syscalls.plan_folder = patch->folder;
    into->patch = (ttape_patch_options){
        .choice = patch->choice, .filter = patch->text, .plan = make_plan, .plan_context = patch};
    return true;
}

void tool_record_patch_ahead(struct tool_record_patch *patch, const char *command)
{
    char *path = patch->text == NULL ? NULL : tool_record_find_command(command);
    if (path != NULL)
        make_plan(patch, path);
    if (patch->symbols != NULL)
        tool_symbols_end_fetching(patch->symbols);
    free(path);
}

void tool_record_patch_say(const struct tool_record_patch *patch, const ttape_recording *recording)
{
    ttape_patch_counts counts;
    char left[64] = "", hooked[64] = "";
    if (patch->text == NULL)
        return;
    ttape_recording_get_patched(recording, &counts);
    if (counts.functions + counts.functions_left + counts.hooked == 0) {
        tool_message(
            "no function was patched: %s",
            counts.modules_left != 0
                ? "nothing says where the program's functions begin and end, or it has no build id"
                : "no name matches in a program that the runtime is loaded into");
        return;
    }
    if (counts.functions_left != 0)
        (void)snprintf(left, sizeof left, ", %" PRIu64 " cannot be", counts.functions_left);
    if (counts.hooked != 0)
        (void)snprintf(hooked, sizeof hooked, ", %" PRIu64 " record themselves", counts.hooked);
    tool_message("%" PRIu64 " functions were patched%s%s", counts.functions, left, hooked);
}

void tool_record_patch_close(struct tool_record_patch *patch)
{
    tool_record_rules_close(&patch->rules);
    tool_symbols_close(patch->symbols);
    free(patch->text);
    free(patch->folder);
}
