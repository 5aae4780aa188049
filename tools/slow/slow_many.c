/* The longest calls of many files: of each file its longest, of these the longest. Only files that
 * have one of them stay open. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/slow/slow_view.h"

void tool_slow_file_close(struct tool_slow_file *file)
{
    ttape_longest_close(file->longest);
    if (file->view.reader != NULL)
        tool_site_names_close(&file->view.names);
    tool_input_close(&file->input);
}

void tool_slow_files_close(struct tool_slow_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        tool_slow_file_close(files->files[i]);
        free(files->files[i]);
    }
    free(files->files);
    free(files->rows);
    *files = (struct tool_slow_files){0};
}

/* The order of one file's answer, by what was asked for; of equal ones that of the files. */
static bool comes_before(const struct tool_slow *all, const ttape_longest_call *a,
                         const ttape_longest_call *b)
{
    switch (all->by) {
    case TTAPE_LONGEST_BY_SELF: return a->self_ns > b->self_ns;
    case TTAPE_LONGEST_BY_START: return a->enter_ns < b->enter_ns;
    case TTAPE_LONGEST_BY_ON_CPU: return a->on_cpu_ns > b->on_cpu_ns;
    default: return a->duration_ns > b->duration_ns;
    }
}

static void add_calls(struct tool_slow_files *files, struct tool_slow_file *file, uint32_t limit,
                      struct tool_slow *all)
{
    struct tool_slow_row *rows = files->rows;
    for (uint32_t i = 0; i < file->view.call_count; i++) {
        const ttape_longest_call *call = &file->view.calls[i];
        uint32_t at = all->call_count;
        while (at > 0 && comes_before(all, call, rows[at - 1].call))
            at--;
        if (at == limit)
            return; /* nor do those behind it */
        if (all->call_count == limit)
            rows[--all->call_count].of->file->kept--;
        memmove(&rows[at + 1], &rows[at], (all->call_count - at) * sizeof(*rows));
        rows[at] = (struct tool_slow_row){call, &file->view};
        all->call_count++;
        file->kept++;
    }
}

static void drop_others(struct tool_slow_files *files)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i]->kept > 0) {
            files->files[kept++] = files->files[i];
            continue;
        }
        tool_slow_file_close(files->files[i]);
        free(files->files[i]);
    }
    files->count = kept;
}

static void add_info(struct tool_slow *all, const struct tool_slow *view)
{
    all->info.partition_count += view->info.partition_count;
    all->info.decoded_count += view->info.decoded_count;
    all->info.enter_count += view->info.enter_count;
    all->info.damaged_count += view->info.damaged_count;
    all->has_off = all->has_off || view->has_off;
    all->is_inside = all->is_inside || view->is_inside;
    all->file_count++;
}

/* A file that is filtered is closed: what is left of it stays open. */
static int open_file(struct tool_slow_file *file, const char *path, struct tool_filter_made *filter,
                     uint64_t memory_bytes)
{
    struct tool_input whole;
    if (filter == NULL)
        return tool_input_read(&file->input, path, 1, memory_bytes);
    int status = tool_input_read(&whole, path, 1, memory_bytes);
    if (status == TOOL_OK) {
        status = tool_filtered_open(&file->input, filter, &whole, 1, memory_bytes);
        int end = tool_input_check_one(&whole);
        status = status == TOOL_OK ? end : status;
    }
    tool_input_close(&whole);
    return status;
}

/* One file's answer; what cannot be read is TOOL_LOSS. */
static int add_file(struct tool_slow_files *files, const char *path,
                    struct tool_filter_made *filter, uint64_t memory_bytes, uint32_t limit,
                    tool_slow_ask *ask, void *context, struct tool_slow *all)
{
    struct tool_slow_file *file = tool_allocate(1, sizeof(*file));
    *file = (struct tool_slow_file){.input = {.fd = -1}};
    file->view.file = file;
    int status =
        tool_is_rollup(path)
            ? tool_fail("'%s' is a rollup: its calls are in 'tracetape report --ids'", path)
            : open_file(file, path, filter, memory_bytes);
    if (status == TOOL_OK || status == TOOL_LOSS) {
        int asked = ask(context, file);
        int end = tool_input_check_one(&file->input);
        status = asked != TOOL_OK ? asked : status != TOOL_OK ? status : end;
    }
    if (status == TOOL_OK || status == TOOL_LOSS) {
        tool_grow((void **)&files->files, &files->capacity, files->count + 1,
                  sizeof(*files->files));
        files->files[files->count++] = file;
        add_info(all, &file->view);
        add_calls(files, file, limit, all);
        drop_others(files);
        return status;
    }
    tool_slow_file_close(file);
    free(file);
    return status == TOOL_CANNOT ? TOOL_LOSS : status;
}

int tool_slow_many(struct tool_slow_files *files, const struct tool_operands *operands,
                   struct tool_filter_made *filter, uint64_t memory_bytes, uint32_t limit,
                   tool_slow_ask *ask, void *context, struct tool_slow *all)
{
    int status = TOOL_OK;
    tool_inputs_allow(); /* they stay open while they have one of the longest calls */
    *files = (struct tool_slow_files){.rows = tool_allocate(limit + 1, sizeof(*files->rows))};
    for (size_t i = 0; i < operands->count && status != TOOL_USAGE; i++) {
        int one =
            add_file(files, operands->paths[i], filter, memory_bytes, limit, ask, context, all);
        status = one != TOOL_OK ? one : status;
    }
    all->rows = files->rows;
    if (all->file_count == 0 && status != TOOL_USAGE)
        return tool_fail("none of the files could be read");
    return status;
}
