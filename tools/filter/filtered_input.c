#include "tools/filter/filtered_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/copy.h>

#include "base/text.h"
#include "program/symbols/symbols.h"
#include "tools/calls/site_name.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/io/scratch_file.h"
#include "tools/kernel/flags/kernel_flags.h"
#include "tools/values/parameter_names.h"
#include "tools/values/value_words.h"

/* What the callbacks look at. */
struct filtering {
    struct tool_filter_made *made;
    struct tool_site_names names;
    const struct tool_input *input;
    struct tool_symbols *symbols; /* of rules about sizes; NULL: there are none */
    uint64_t unsized_count;       /* functions whose size nobody knows */
    uint64_t damage_count;
    const char *constant; /* the last that was looked for, of a rule */
    int64_t constant_value;
    bool is_constant;
    int status;
};

/* ---- callbacks ---- */

static bool is_called(struct filtering *f, const regex_t *regex, uint32_t site)
{
    const ttape_name *row = &f->names.rows[site];
    const ttape_string forms[] = {row->brief, row->simple, row->full, row->symbol};
    if (regexec(regex, tool_site_name(&f->names, site), 0, NULL, 0) == 0)
        return true;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (forms[i].size_bytes > 0 && (i == 0 || forms[i].data != forms[i - 1].data) &&
            tool_filter_matches(f->made, regex, forms[i]))
            return true;
    return false;
}

static bool is_there(struct filtering *f, const regex_t *regex, uint32_t site)
{
    ttape_site found = {0};
    ttape_module module = {0};
    (void)ttape_reader_get_site(f->names.reader, site, &found);
    if (found.file.size_bytes > 0 && tool_filter_matches(f->made, regex, found.file))
        return true;
    return ttape_reader_get_module(f->names.reader, found.module, &module) == TTAPE_OK &&
           tool_filter_matches(f->made, regex, module.path);
}

/* By the program's file, where it is here. What is no function has no size. */
static bool is_large(struct filtering *f, uint64_t least_bytes, uint32_t site)
{
    ttape_site found = {0};
    ttape_module module = {0};
    struct tool_symbol symbol = {0};
    struct tool_symbols_query query = {.entry = true};
    (void)ttape_reader_get_site(f->names.reader, site, &found);
    if (found.kind != TTAPE_SITE_FUNCTION)
        return false;
    if (ttape_reader_get_module(f->names.reader, found.module, &module) == TTAPE_OK) {
        struct tool_symbols_module *opened =
            tool_symbols_module_open(f->symbols, module.path, module.build_id);
        const struct tool_elf_head *head = tool_symbols_module_head(opened);
        if (head != NULL &&
            tool_elf_address_in_module(head, module.start, found.address, &query.elf_address) &&
            tool_symbols_find(f->symbols, opened, &query, &symbol) && symbol.size_bytes > 0)
            return symbol.size_bytes >= least_bytes;
    }
    f->unsized_count++;
    return false;
}

static bool compare_names(void *context, uint32_t rule, uint32_t site)
{
    struct filtering *f = context;
    const struct tool_filter_rule *made = &f->made->made[rule];
    if (f->made->rules[rule].kind == TTAPE_FILTER_SIZE)
        return is_large(f, f->made->rules[rule].number, site);
    bool matches = site < f->names.site_count && made->has_function &&
                   is_called(f, &made->function, site) &&
                   (!made->has_path || is_there(f, &made->path, site));
    f->made->matched[rule] |= matches;
    return matches;
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    struct filtering *f = context;
    return tool_filter_matches(f->made, &f->made->made[rule].texts[condition], text);
}

/* A system call's arguments are called as its function's in the C library. */
static const char *words_of(const struct filtering *f, uint32_t site,
                            const struct tool_value_names *names)
{
    ttape_site found = {0};
    if (*names->words != '\0' || names->names != NULL)
        return names->words;
    (void)ttape_reader_get_site(f->names.reader, site, &found);
    const char *words =
        found.kind == TTAPE_SITE_SYSCALL ? tool_parameter_names(found.symbol) : NULL;
    return words != NULL ? words : "";
}

static uint32_t find_argument(void *context, uint32_t site, ttape_string name, uint32_t count)
{
    const struct filtering *f = context;
    const struct tool_value_names names =
        tool_find_value_names(f->names.reader, site, false, count);
    for (uint32_t i = 0; names.names != NULL && i < names.count; i++)
        if (ttp_is_same_text(names.names[i].name, name))
            return i;
    return tool_parameter_number(words_of(f, site, &names), name);
}

/* ENOENT, O_CREAT: the same for all sites, and asked for at each call. */
static bool find_constant(void *context, uint32_t site, ttape_string name, int64_t *value)
{
    struct filtering *f = context;
    (void)site;
    if (f->constant != name.data) {
        f->constant = name.data;
        f->is_constant = tool_kernel_find_constant(name, &f->constant_value);
    }
    *value = f->constant_value;
    return f->is_constant;
}

static void note_damage(void *context, const ttape_error *error)
{
    struct filtering *f = context;
    (void)tool_input_go_on(f->input, error, &f->damage_count, &f->status);
}

/* ---- what is left ---- */

static int copy_filtered(struct filtering *f, int fd, uint32_t jobs)
{
    ttape_error err = {0};
    ttape_writer *writer;
    ttape_filtered counts;
    ttape_writer_options options = {.size = sizeof(options), .level = TTAPE_LEVEL_FAST};
    const ttape_filtering how = {.size = sizeof(how),
                                 .filter = f->made->parsed,
                                 .triggers = f->made->triggers,
                                 .names = compare_names,
                                 .text = compare_text,
                                 .argument = find_argument,
                                 .constant = find_constant,
                                 .damage = note_damage,
                                 .context = f};
    ttape_sink sink = ttape_sink_fd(fd);
    sink.sync = NULL; /* nobody reads it after this process */
    ttape_recode_options(f->input->reader, &options);
    if (options.resolution_ns != TTAPE_TIME_NONE)
        options.resolution_ns = 1;
    options.jobs = tool_jobs(jobs);
    if (ttape_writer_open(&writer, &sink, &options, &err) != TTAPE_OK)
        return tool_fail_error(f->input->name, &err);
    bool is_done = ttape_copy_filtered(writer, f->input->reader, &how, &counts, &err) == TTAPE_OK &&
                   ttape_writer_finish(writer, &err) == TTAPE_OK;
    ttape_writer_close(writer);
    if (!is_done)
        return tool_fail_error(f->input->name, &err);
    if (counts.asked_count > 0 && counts.unknown_count == counts.asked_count)
        tool_message("'%s' does not have the values that the filter asks for: none of its calls "
                     "has them (tracetape record --args)",
                     f->input->name);
    return TOOL_OK;
}

int tool_filtered_open(struct tool_input *to, struct tool_filter_made *made,
                       const struct tool_input *from, uint32_t jobs, uint64_t memory_bytes)
{
    struct filtering f = {.made = made, .input = from};
    int fd = tool_open_unlinked();
    *to = (struct tool_input){.name = from->name, .fd = -1};
    if (fd < 0)
        return tool_fail("cannot make a temporary file for what is filtered: %s", strerror(errno));
    tool_site_names_open_as(&f.names, from->reader, TOOL_NAMES_SIMPLE);
    for (uint32_t i = 0; i < made->rule_count && f.symbols == NULL; i++)
        if (made->rules[i].kind == TTAPE_FILTER_SIZE)
            f.symbols = tool_symbols_make(&(struct tool_symbols_options){.no_lines = true});
    int status = copy_filtered(&f, fd, jobs);
    if (f.unsized_count > 0)
        tool_message("'%s': how large %" PRIu64 " functions are is not known, as their files are "
                     "not here as they were: they are left out",
                     from->name, f.unsized_count);
    tool_symbols_close(f.symbols);
    tool_site_names_close(&f.names);
    if (status != TOOL_OK) {
        close(fd);
        return status;
    }
    status = tool_input_read_back(to, from, fd, jobs, memory_bytes);
    return status == TOOL_OK ? f.status : status;
}

int tool_filtered_work(void *context, const struct tool_input *input)
{
    struct tool_filtered *filtered = context;
    struct tool_input left;
    if (!filtered->is_given)
        return filtered->work(filtered->context, input);
    int status =
        tool_filtered_open(&left, &filtered->made, input, filtered->jobs, filtered->memory_bytes);
    int matched = status != TOOL_CANNOT ? tool_filter_check(&filtered->made) : TOOL_OK;
    if (matched == TOOL_CANNOT)
        tool_say_nameless(input->reader);
    status = matched != TOOL_OK ? matched : status;
    if (status == TOOL_OK || status == TOOL_LOSS) {
        int worked = filtered->work(filtered->context, &left);
        status = worked != TOOL_OK ? worked : status;
    }
    tool_input_close(&left);
    return status;
}

int tool_filtered_begin(struct tool_filtered *filtered, const char *verb,
                        const struct tool_filter *filter, uint32_t jobs, uint64_t memory_bytes,
                        int (*work)(void *context, const struct tool_input *input), void *context)
{
    *filtered = (struct tool_filtered){.is_given = tool_filter_is_given(filter),
                                       .jobs = jobs,
                                       .memory_bytes = memory_bytes,
                                       .work = work,
                                       .context = context};
    return filtered->is_given ? tool_filter_make(&filtered->made, verb, filter) : TOOL_OK;
}

void tool_filtered_end(struct tool_filtered *filtered) { tool_filter_unmake(&filtered->made); }

int tool_filtered_run(const char *verb, const struct tool_filter *filter, const char *path,
                      uint32_t jobs, uint64_t memory_bytes,
                      int (*work)(void *context, const struct tool_input *input), void *context)
{
    struct tool_filtered filtered;
    int status = tool_filtered_begin(&filtered, verb, filter, jobs, memory_bytes, work, context);
    if (status == TOOL_OK)
        status = tool_input_run(path, jobs, memory_bytes, tool_filtered_work, &filtered);
    tool_filtered_end(&filtered);
    return status;
}
