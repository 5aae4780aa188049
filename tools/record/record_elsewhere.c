#include "tools/record/record_elsewhere.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/reader.h>
#include <tracetape/report.h>

#include "program/binary/elf_hooks.h"
#include "tools/command/tool.h"
#include "tools/record/modules/record_modules.h"

#define SHARE_SAID 2 /* one in so many of the whole is worth a line */

struct elsewhere {
    int64_t *by_module, whole;
    uint32_t module_count;
};

static void add_row(struct elsewhere *sums, const ttape_report_row *row)
{
    int64_t on_cpu = row->self_ns - row->preempted_ns - row->blocked_ns;
    if (on_cpu <= 0)
        return;
    sums->whole += on_cpu;
    if (row->module < sums->module_count)
        sums->by_module[row->module] += on_cpu;
}

static void sum(struct elsewhere *sums, ttape_reader *reader)
{
    ttape_report *report;
    ttape_report_info info;
    const ttape_report_options options = {.size = sizeof options, .summed_switches = true};
    if (ttape_report_make(&report, reader, &options, NULL) != TTAPE_OK)
        return;
    ttape_report_get_info(report, &info);
    uint32_t count = info.row_count;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++)
        add_row(sums, &rows[i]);
    ttape_report_close(report);
}

/* The name's beginning, which is a regular expression for itself: letters, digits, - and _. */
static int pattern_bytes(const char *name)
{
    return (int)strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
}

static void say_elsewhere(const struct tool_record_patch *patch, const char *path, int64_t part,
                          int64_t whole)
{
    const char *library = ttp_base_name(path),
               *command = tool_record_patch_called(patch, patch->only);
    tool_message("%d %% of the time was in %s, of which only what '%s' calls was recorded: record "
                 "%s--module '%.*s|%.*s' shows its functions",
                 (int)(100 * (double)part / (double)whole), library, command,
                 patch->only_called ? "--patch . " : "", pattern_bytes(command), command,
                 pattern_bytes(library), library);
}

/* Whether more of it than what the command calls is recorded. */
static bool is_recorded(const struct tool_record_patch *patch, const char *path)
{
    return tool_record_patch_covers(patch, path) ||
           (patch->only_called &&
            (tool_record_patch_is_command(patch, path) || tool_elf_has_hooks(path)));
}

static void look_elsewhere(const struct tool_record_patch *patch, ttape_reader *reader)
{
    ttape_info info;
    ttape_module module;
    ttape_reader_get_info(reader, &info);
    struct elsewhere sums = {.module_count = info.module_count};
    sums.by_module = tool_allocate((size_t)info.module_count + 1, sizeof *sums.by_module);
    sum(&sums, reader);
    for (uint32_t i = 0; i < info.module_count; i++) {
        if (sums.by_module[i] == 0 || sums.by_module[i] < sums.whole / SHARE_SAID ||
            ttape_reader_get_module(reader, i, &module) != TTAPE_OK)
            continue;
        char *path = tool_copy_text(module.path.data, module.path.size_bytes);
        if (!tool_record_is_basic_module(ttp_base_name(path)) && !is_recorded(patch, path))
            say_elsewhere(patch, path, sums.by_module[i], sums.whole);
        free(path);
    }
    free(sums.by_module);
}

void tool_record_say_elsewhere(const struct tool_record_patch *patch, const char *output)
{
    ttape_source source;
    ttape_reader *reader = NULL;
    if (patch->only == NULL || ttape_source_file_open(&source, output, NULL) != TTAPE_OK)
        return; /* or it is several files, with names of their own */
    if (ttape_reader_open(&reader, &source, NULL, NULL) == TTAPE_OK)
        look_elsewhere(patch, reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
