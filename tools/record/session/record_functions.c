/* Other functions of a process that is attached to, as control asks for them: the patterns of -F
 * are others, all else that was said at first stays. */
#include "tools/record/session/record_functions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/record/engines/record_choice.h"

#define NAMED 4u

static ttape_status fail(ttape_error *err, const char *what, const char *why)
{
    err->status = TTAPE_E_ARGUMENT;
    (void)snprintf(err->message, sizeof err->message, "'%.60s' %s", what, why);
    return err->status;
}

static bool is_mangled(const char *text)
{
    return strstr(text, "_Z") != NULL || strstr(text, "_R") != NULL;
}

/* Somebody may read it still. */
static void keep(struct tool_record_join *join, struct ttp_chosen_head *chosen)
{
    if (chosen == NULL)
        return;
    tool_grow((void **)&join->kept, &join->kept_capacity, join->kept_count + 1, sizeof *join->kept);
    join->kept[join->kept_count++] = chosen;
}

static bool is_changed(const struct tool_record_joined *module)
{
    return (module->chosen->flags & TTP_CHOSEN_CALLED) == 0;
}

static void choose_again(struct tool_record_join *join, struct tool_record_joined *module,
                         struct tool_record_patch *patch)
{
    keep(join, module->before);
    module->before = module->chosen;
    tool_record_join_by_names(join, module, patch);
    module->chosen->finds = module->before->finds;
}

static void undo(struct tool_record_join *join, struct tool_record_patch *patch)
{
    struct tool_patterns other = patch->rules.function;
    patch->rules.function = join->before;
    join->before = other;
    for (size_t i = 0; i < join->count; i++) {
        struct tool_record_joined *module = &join->modules[i];
        if (module->before == NULL) /* it came for what is not chosen after all */
            continue;
        keep(join, module->chosen);
        module->chosen = module->before;
        module->before = NULL;
    }
}

ttape_status tool_record_join_change(struct tool_record_join *join, struct tool_record_patch *patch,
                                     const char *functions, ttape_error *err)
{
    struct tool_patterns fresh = {0};
    if (functions == NULL) {
        undo(join, patch);
        return TTAPE_OK;
    }
    if (join->first == NULL)
        join->first =
            tool_copy_text(patch->rules.function.text, strlen(patch->rules.function.text));
    const char *text = *functions == '\0' ? join->first : functions;
    char *wrong = NULL;
    ttape_status status = tool_record_parse_lines(&fresh, text, &wrong)
                              ? TTAPE_OK
                              : fail(err, wrong, "is no regular expression");
    free(wrong);
    if (status == TTAPE_OK && is_mangled(text) && !is_mangled(join->first))
        status = fail(err, text,
                      "is of names as linkers have them: they are chosen when it is attached to, "
                      "or never");
    if (status != TTAPE_OK) {
        tool_patterns_close(&fresh);
        return status;
    }
    tool_patterns_close(&join->before);
    join->before = patch->rules.function;
    patch->rules.function = fresh;
    size_t count = join->count;
    for (size_t i = 0; i < count; i++)
        if (is_changed(&join->modules[i]))
            choose_again(join, &join->modules[i], patch);
    for (size_t i = 0; patch->loaded != NULL && patch->loaded[i] != NULL; i++)
        if (tool_record_join_module(join, patch->loaded[i]) == NULL &&
            tool_record_join_is_own(patch, patch->loaded[i]))
            (void)tool_record_join_add(join, patch, NULL, patch->loaded[i]);
    return TTAPE_OK;
}

/* ---- what became of it, in a sentence ---- */

static void say(char *said, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(char *said, size_t room, const char *format, ...)
{
    size_t used = strlen(said);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(said + used, room - used, format, arguments);
    va_end(arguments);
}

static void say_name(const struct tool_record_join *join, struct tool_record_patch *patch,
                     const char *path, uint64_t address, char *said, size_t room)
{
    const struct tool_record_joined *joined = tool_record_join_module(join, path);
    const struct tool_symbols_query query = {.elf_address = address, .entry = true};
    struct tool_symbol found = {.name = {"", 0}};
    if (joined == NULL)
        return;
    struct tool_symbols_module *module = tool_record_patch_module(patch, &joined->given, path);
    if (tool_symbols_find(patch->symbols, module, &query, &found) && found.name.size_bytes != 0)
        say(said, room, "%.*s", (int)(found.name.size_bytes < 100 ? found.name.size_bytes : 100),
            found.name.data);
    else
        say(said, room, "%.64s+0x%" PRIx64, ttp_base_name(path), address);
    tool_symbols_module_release(patch->symbols, module);
}

void tool_record_join_say_changed(const struct tool_record_join *join,
                                  struct tool_record_patch *patch,
                                  const ttape_functions_changed *changed, char *said, size_t room)
{
    *said = '\0';
    if (changed->added == 0 && changed->removed == 0)
        say(said, room, "nothing is changed: ");
    else
        say(said, room, "%" PRIu64 " functions were added, %" PRIu64 " removed: ", changed->added,
            changed->removed);
    say(said, room, "%" PRIu64 " are recorded", changed->recorded);
    if (changed->left != 0)
        say(said, room, ", %" PRIu64 " cannot be", changed->left);
    for (size_t i = 0; i < NAMED && i < changed->busy; i++) {
        say(said, room, i == 0 ? "; as they were, as somebody was inside each time: " : ", ");
        say_name(join, patch, changed->inside[i].module, changed->inside[i].address, said, room);
    }
    if (changed->busy > NAMED)
        say(said, room, " and %" PRIu64 " more", changed->busy - NAMED);
    if (changed->stop_count != 0)
        say(said, room, "; it stood still %" PRIu64 " times, for %.2f ms at most",
            changed->stop_count, (double)changed->longest_stop_ns / 1e6);
}
