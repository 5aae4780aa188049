/* Patterns against names. A site is kept when it matches one of the patterns of each kind that was
 * given, and none of the patterns that exclude. */
#define _GNU_SOURCE /* memmem, realpath */
#include "tools/record/rules/record_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/names/simple_name.h"
#include "program/binary/elf_hooks.h"
#include "program/names/demangle_all.h"
#include "tools/command/tool.h"
#include "tools/kernel/system_module.h"

bool tool_parse_pattern(const char *text, void *into)
{
    struct tool_patterns *patterns = into;
    tool_grow((void **)&patterns->items, &patterns->capacity, patterns->count + 1,
              sizeof *patterns->items);
    if (regcomp(&patterns->items[patterns->count], text, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    patterns->count++;
    size_t before = patterns->text != NULL ? strlen(patterns->text) + 1 : 0;
    char *joined = tool_allocate(before + strlen(text) + 1, 1);
    if (before != 0) {
        memcpy(joined, patterns->text, before - 1);
        joined[before - 1] = '\n';
    }
    strcpy(joined + before, text);
    free(patterns->text);
    patterns->text = joined;
    return true;
}

bool tool_patterns_match(const struct tool_patterns *patterns, const char *text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (regexec(&patterns->items[i], text, 0, NULL, 0) == 0)
            return true;
    return false;
}

void tool_patterns_close(struct tool_patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regfree(&patterns->items[i]);
    free(patterns->items);
    free(patterns->text);
}

static const char *as_text(struct tool_record_rules *rules, ttape_string string)
{
    tool_grow((void **)&rules->text, &rules->text_capacity, string.size_bytes + 1, 1);
    if (string.size_bytes != 0)
        memcpy(rules->text, string.data, string.size_bytes);
    rules->text[string.size_bytes] = '\0';
    return rules->text;
}

static bool matches(struct tool_record_rules *rules, const struct tool_patterns *patterns,
                    ttape_string string)
{
    if (patterns->count == 0)
        return false;
    return tool_patterns_match(patterns, as_text(rules, string));
}

bool tool_patterns_match_name(const struct tool_patterns *patterns, ttape_string name)
{
    if (patterns->count == 0)
        return false;
    char *text = tool_copy_text(name.data, name.size_bytes);
    bool found = tool_patterns_match(patterns, text);
    free(text);
    if (found)
        return true;
    text = tool_allocate(TTP_SIMPLE_NAME_BYTES(name.size_bytes) + 1, 1);
    text[ttp_simple_name(text, name.data, name.size_bytes, TTP_NAME_SHORT)] = '\0';
    found = tool_patterns_match(patterns, text);
    free(text);
    return found;
}

/* Of functions that are called in libraries there are few, and each is asked about at once. */
static ttape_string read_name(struct tool_record_rules *rules, ttape_string mangled)
{
    if (rules->mangled == NULL || strlen(rules->mangled) != mangled.size_bytes ||
        memcmp(rules->mangled, mangled.data, mangled.size_bytes) != 0) {
        free(rules->mangled);
        free((void *)(uintptr_t)rules->readable.data);
        rules->mangled = tool_copy_text(mangled.data, mangled.size_bytes);
        tool_demangle_all(&mangled, 1, &rules->readable);
    }
    return rules->readable;
}

bool tool_record_matches_name(struct tool_record_rules *rules, const struct tool_patterns *patterns,
                              ttape_string name)
{
    if (patterns->count == 0 || tool_patterns_match_name(patterns, name))
        return patterns->count != 0;
    if (!tool_is_mangled(name))
        return false;
    ttape_string readable = read_name(rules, name);
    return readable.data != NULL && tool_patterns_match_name(patterns, readable);
}

bool tool_record_passes_name(struct tool_record_rules *rules, ttape_string name)
{
    return (rules->function.count == 0 ||
            tool_record_matches_name(rules, &rules->function, name)) &&
           !tool_record_matches_name(rules, &rules->no_function, name);
}

static bool are_mangled(const struct tool_filter *said)
{
    for (size_t i = 0; i < said->count; i++)
        if (strstr(said->texts[i], "_Z") != NULL || strstr(said->texts[i], "_R") != NULL)
            return true;
    return false;
}

bool tool_record_is_mangled(const struct tool_record_rules *rules)
{
    const struct tool_patterns *all[] = {&rules->function, &rules->no_function, &rules->below,
                                         &rules->checkpoint};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->text != NULL &&
            (strstr(all[i]->text, "_Z") != NULL || strstr(all[i]->text, "_R") != NULL))
            return true;
    return are_mangled(&rules->said) || are_mangled(&rules->on);
}

static bool passes(struct tool_record_rules *rules, const struct tool_patterns *wanted,
                   const struct tool_patterns *unwanted, ttape_string string)
{
    return (wanted->count == 0 || matches(rules, wanted, string)) &&
           !matches(rules, unwanted, string);
}

/* A program has the name of the link by which it was called, and that of its file. */
static bool matches_module(struct tool_record_rules *rules, const struct tool_patterns *patterns,
                           ttape_string path)
{
    if (patterns->count == 0 || matches(rules, patterns, path))
        return patterns->count != 0;
    const char *text = as_text(rules, path);
    if (rules->resolved_of == NULL || strcmp(rules->resolved_of, text) != 0) {
        free(rules->resolved_of);
        free(rules->resolved);
        rules->resolved_of = tool_copy_text(text, strlen(text));
        rules->resolved = realpath(text, NULL);
    }
    return rules->resolved != NULL && tool_patterns_match(patterns, rules->resolved);
}

static bool passes_module(struct tool_record_rules *rules, ttape_string path)
{
    return (rules->module.count == 0 || matches_module(rules, &rules->module, path)) &&
           !matches_module(rules, &rules->no_module, path);
}

/* Of a library nothing but calls from elsewhere is recorded: it has no hooks, nor is it patched. */
static bool is_called_only(struct tool_record_rules *rules, ttape_string path)
{
    if (memmem(path.data, path.size_bytes, ".so", 3) == NULL)
        return false;
    char *text = tool_copy_text(path.data, path.size_bytes);
    if (rules->looked_at == NULL || strcmp(rules->looked_at, text) != 0) {
        free(rules->looked_at);
        rules->looked_at = tool_copy_text(text, path.size_bytes);
        rules->has_own = (rules->patches != NULL && rules->patches(rules->patch, text)) ||
                         (!tool_is_system_module(path) && tool_elf_has_hooks(text));
    }
    free(text);
    return !rules->has_own;
}

static bool is_call_wanted(struct tool_record_rules *rules, const ttape_site *site,
                           ttape_string path)
{
    return rules->called == NULL || rules->called->count == 0 || !is_called_only(rules, path) ||
           tool_record_matches_name(rules, rules->called, site->symbol);
}

/* Where --module says what is patched, and library calls are asked for as well: of the others these
 * are all there is, but for what has hooks. */
static bool is_library_call(struct tool_record_rules *rules, ttape_string path)
{
    return rules->has_calls_of_all && !matches_module(rules, &rules->no_module, path) &&
           is_called_only(rules, path);
}

static uint32_t select_below(struct tool_record_rules *rules, const ttape_site *site)
{
    return tool_record_matches_name(rules, &rules->below, site->symbol) ? TTAPE_SELECT_BELOW
                                                                        : TTAPE_SELECT_KEEP;
}

/* Whatever stays patched for somebody who is inside, and what others call in libraries, passes. */
static bool is_chosen(struct tool_record_rules *rules, ttape_string name)
{
    const struct tool_patterns *functions =
        rules->functions != NULL ? rules->functions : &rules->function;
    return ((rules->is_attached && !tool_record_filter_sees(rules, rules, name)) ||
            functions->count == 0 || tool_record_matches_name(rules, functions, name)) &&
           !tool_record_matches_name(rules, &rules->no_function, name);
}

static uint32_t select_site(void *context, const ttape_site *site, const ttape_module *module)
{
    struct tool_record_rules *rules = context;
    ttape_string path = module == NULL ? (ttape_string){"", 0} : module->path;
    uint32_t filtered = tool_record_filter_select(rules, site, module);
    if (site->kind == TTAPE_SITE_SYSCALL) /* --syscalls chooses these */
        return filtered;
    uint32_t below = filtered | select_below(rules, site);
    if (is_chosen(rules, site->symbol) && is_call_wanted(rules, site, path) &&
        (passes_module(rules, path) || is_library_call(rules, path)) &&
        passes(rules, &rules->source, &rules->no_source, site->file))
        return below;
    return below | TTAPE_SELECT_DROP;
}

bool tool_record_is_checkpoint(void *context, const ttape_site *site, const ttape_module *module)
{
    struct tool_record_rules *rules = context;
    (void)module;
    return tool_record_matches_name(rules, &rules->checkpoint, site->symbol);
}

bool tool_record_has_call_site(void *context, const ttape_site *site, const ttape_module *module)
{
    struct tool_record_rules *rules = context;
    (void)module;
    bool is_asked = tool_record_matches_name(rules, rules->call_sites, site->symbol);
    if (is_asked && rules->has_called != NULL)
        __atomic_store_n(rules->has_called, true, __ATOMIC_RELAXED);
    return is_asked;
}

bool tool_record_is_application(void *context, const ttape_module *module, ttape_string executable)
{
    struct tool_record_rules *rules = context;
    ttape_string path = module == NULL ? (ttape_string){"", 0} : module->path;
    if (rules->own.count != 0)
        return matches_module(rules, &rules->own, path);
    return !tool_is_system_module(path) ||
           (path.size_bytes == executable.size_bytes &&
            memcmp(path.data, executable.data, path.size_bytes) == 0);
}

static void name_site(void *context, ttape_site *site, const ttape_module *module)
{
    tool_record_name(&((struct tool_record_rules *)context)->names, site, module);
}

static void expect_sites(void *context, const ttape_module *module, const uint64_t *addresses,
                         size_t count)
{
    tool_record_expect(&((struct tool_record_rules *)context)->names, module, addresses, count);
}

void tool_record_rules_apply(struct tool_record_rules *rules, ttape_site_rules *into)
{
    const struct tool_patterns *all[] = {&rules->function,  &rules->no_function, &rules->module,
                                         &rules->no_module, &rules->source,      &rules->no_source,
                                         &rules->below};
    into->context = rules;
    if (rules->names.symbols != NULL) {
        into->name = name_site;
        into->expect = expect_sites;
    }
    into->has_below = rules->below.count != 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->count != 0)
            into->select = select_site;
    if (rules->called != NULL && rules->called->count != 0)
        into->select = select_site;
    rules->first = *into;
    rules->first.select = select_site;
    if (rules->said.count != 0) /* an empty one, too: it may be changed */
        into->select = select_site;
    tool_record_filter_apply(rules, into);
}

void tool_record_rules_close(struct tool_record_rules *rules)
{
    tool_patterns_close(&rules->function);
    tool_patterns_close(&rules->no_function);
    tool_patterns_close(&rules->module);
    tool_patterns_close(&rules->no_module);
    tool_patterns_close(&rules->source);
    tool_patterns_close(&rules->no_source);
    tool_patterns_close(&rules->below);
    tool_patterns_close(&rules->checkpoint);
    tool_patterns_close(&rules->own);
    tool_filter_unmake(&rules->filter);
    tool_filter_close(&rules->said);
    tool_filter_unmake(&rules->triggers);
    tool_filter_close(&rules->on);
    tool_filter_unmake(&rules->new_filter);
    tool_filter_unmake(&rules->new_triggers);
    tool_record_functions_close(rules->functions);
    tool_record_functions_close(rules->next_functions);
    free(rules->new_on);
    free(rules->text);
    free(rules->mangled);
    free((void *)(uintptr_t)rules->readable.data);
    free(rules->looked_at);
    free(rules->resolved_of);
    free(rules->resolved);
    tool_record_names_close(&rules->names);
}
