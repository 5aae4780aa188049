/* System calls by file: a row for each file, call and code path.
 *
 *   call -> its path, or its descriptor's file -> row (file, call, code path) -> table, JSON */
#include "tools/syscalls/syscalls_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/calls/losses.h"
#include "tools/calls/name_table.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/io/json.h"
#include "tools/io/table.h"
#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_words.h"
#include "tools/syscalls/syscalls_descriptors.h"

#define LEAST_FILE      16u /* columns */
#define LEAST_CALLERS   18u
#define FILE_BYTES_MOST 27u /* of a path's end on a terminal */
#define SIZED_FROM      3u  /* calls of a row that percentiles say something of */
#define ERROR_BYTES     256u

struct row {
    uint32_t file, site, node, first_error;
    uint32_t number;                  /* its place before they are sorted */
    int64_t first_ns[SIZED_FROM - 1]; /* of its first calls, as long as it has no more */
    struct tool_sys_sum sum;
};

struct error {
    uint32_t number, next; /* next: index + 1 */
    uint64_t count;
};

struct tool_sys_files {
    struct tool_sys_descriptors *known;
    struct row *rows;
    struct error *errors;
    size_t row_count, row_capacity, error_count, error_capacity;
    struct tool_names row_places;
    struct tool_sys_sizes sizes; /* by row */
    uint64_t without;            /* calls that are about no file */
};

struct tool_sys_files *tool_sys_files_open(void)
{
    struct tool_sys_files *files = tool_allocate(1, sizeof(*files));
    files->known = tool_sys_descriptors_open();
    return files;
}

void tool_sys_files_close(struct tool_sys_files *files)
{
    if (files == NULL)
        return;
    tool_sys_descriptors_close(files->known);
    free(files->rows);
    free(files->errors);
    tool_names_close(&files->row_places);
    tool_sys_sizes_close(&files->sizes);
    free(files);
}

/* ---- rows ---- */

static struct row *row_of(struct tool_sys_files *files, uint32_t file, uint32_t site, uint32_t node)
{
    const uint32_t key[] = {file, site, node};
    bool is_new;
    uint32_t *place = tool_names_find(&files->row_places, key, sizeof key, &is_new);
    if (is_new) {
        tool_grow((void **)&files->rows, &files->row_capacity, files->row_count + 1,
                  sizeof(*files->rows));
        *place = (uint32_t)files->row_count;
        files->rows[files->row_count++] =
            (struct row){.file = file, .site = site, .node = node, .number = *place};
    }
    return &files->rows[*place];
}

static void add_error(struct tool_sys_files *files, struct row *row, uint32_t number)
{
    for (uint32_t at = row->first_error; at != 0; at = files->errors[at - 1].next)
        if (files->errors[at - 1].number == number) {
            files->errors[at - 1].count++;
            return;
        }
    tool_grow((void **)&files->errors, &files->error_capacity, files->error_count + 1,
              sizeof(*files->errors));
    files->errors[files->error_count++] = (struct error){number, row->first_error, 1};
    row->first_error = (uint32_t)files->error_count;
}

/* Most rows have a call or two: these need no counts. The last place is what grows. */
static void count_size(struct tool_sys_files *files, struct row *row, int64_t duration_ns)
{
    uint32_t index = row->number;
    if (row->sum.calls < SIZED_FROM) {
        row->first_ns[row->sum.calls - 1] = duration_ns;
        return;
    }
    if (index + 1 >= files->sizes.count)
        tool_sys_sizes_grow(&files->sizes, 2 * index + SIZED_FROM);
    for (uint32_t i = 0; row->sum.calls == SIZED_FROM && i < SIZED_FROM - 1; i++)
        tool_sys_sizes_add(&files->sizes, index, row->first_ns[i]);
    tool_sys_sizes_add(&files->sizes, index, duration_ns);
}

static void count(struct tool_sys_files *files, struct row *row, const ttape_call *call,
                  int64_t result)
{
    row->sum.calls++;
    count_size(files, row, call->duration_ns);
    row->sum.time_ns = (int64_t)((uint64_t)row->sum.time_ns + (uint64_t)call->duration_ns);
    if (call->duration_ns > row->sum.longest_ns)
        row->sum.longest_ns = call->duration_ns;
    if (tool_kernel_is_error(result)) {
        row->sum.errors++;
        add_error(files, row, (uint32_t)-result);
    }
}

void tool_sys_files_add(struct tool_sys *view, const struct tool_sys_kept *kept,
                        const ttape_call_step *step, const ttape_call *call, bool is_asked)
{
    ttape_site site = {0};
    ttape_stream_info stream = {0};
    bool has_returned = call->end == TTAPE_CALL_RETURNED && step->value_count > 0;
    (void)ttape_reader_get_site(view->reader, call->site, &site);
    (void)ttape_reader_get_stream(view->reader, step->stream, &stream);
    const struct tool_call_values words = {.number = tool_kernel_number_of(&site),
                                           .arguments = kept->values,
                                           .argument_count = kept->count,
                                           .results = step->values,
                                           .result_count = has_returned ? step->value_count : 0};
    int64_t result = has_returned ? (int64_t)step->values[0].number : 0;
    uint32_t process = stream.stream.process,
             file = tool_sys_descriptors_find(view, view->files->known, process, &words);
    view->has_arguments |= kept->count > 0;
    bool has_failed = tool_kernel_is_error(result);
    if (is_asked && (!view->asked.failed || has_failed)) {
        if (file == TOOL_SYS_NO_FILE)
            view->files->without++;
        else
            count(view->files,
                  row_of(view->files, file, tool_function_of(&view->functions, call->site),
                         kept->node),
                  call, result);
    }
    if (has_returned && !has_failed)
        tool_sys_descriptors_follow(view->files->known, process,
                                    tool_site_name(&view->names, call->site), file, &words, result);
}

/* ---- forms ---- */

static int compare_rows(const void *one, const void *two)
{
    const struct row *a = one, *b = two;
    if (a->sum.time_ns != b->sum.time_ns)
        return a->sum.time_ns > b->sum.time_ns ? -1 : 1;
    if (a->sum.calls != b->sum.calls)
        return a->sum.calls > b->sum.calls ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->site != b->site ? (a->site < b->site ? -1 : 1)
                              : (a->node > b->node) - (a->node < b->node);
}

static void put_errors(const struct tool_sys_files *files, const struct row *row,
                       char text[ERROR_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t at = row->first_error; at != 0; at = files->errors[at - 1].next) {
        const struct error *error = &files->errors[at - 1];
        struct tool_kernel_error known;
        int size = tool_kernel_find_error(error->number, &known)
                       ? snprintf(text + used, ERROR_BYTES - used, "%s%" PRIu64 " %s",
                                  used > 0 ? ", " : "", error->count, known.name)
                       : snprintf(text + used, ERROR_BYTES - used, "%s%" PRIu64 " errno %" PRIu32,
                                  used > 0 ? ", " : "", error->count, error->number);
        if (size < 0 || (size_t)size >= ERROR_BYTES - used)
            break;
        used += (size_t)size;
    }
}

/* Innermost first: where the table is cut, the next caller stays. */
static void put_callers(struct tool_sys *view, uint32_t node, struct tool_output *text,
                        struct tool_table *table)
{
    char buffer[TOOL_SYS_NAME_BYTES];
    struct tool_callers callers;
    tool_callers_open(&callers);
    for (uint32_t at = node; at != TOOL_SYS_ROOT; at = view->nodes[at].parent)
        tool_callers_add(&callers, tool_sys_step_name(view, view->nodes[at].function, buffer));
    text->size_bytes = 0;
    size_t more = tool_callers_put(&callers, text);
    tool_table_callers(table, TOOL_FAINT, text->data, text->size_bytes, more);
    tool_callers_close(&callers);
}

static void put_percentile(const struct tool_sys_files *files, size_t row, double share,
                           struct tool_table *table)
{
    int64_t duration_ns;
    if (tool_sys_sizes_at(&files->sizes, (uint32_t)row, share, &duration_ns))
        tool_table_time(table, TOOL_PLAIN, duration_ns);
    else
        tool_table_text(table, TOOL_PLAIN, "");
}

/* Of a long path its end tells more, where a terminal has no room for it. */
static void put_file(const struct tool_sys_files *files, uint32_t file, struct tool_output *text)
{
    const char *name = tool_sys_descriptors_text(files->known, file);
    size_t size = strlen(name), at = 0;
    if (tool_terminal_columns() > 0 && size > FILE_BYTES_MOST + strlen("..."))
        at = size - FILE_BYTES_MOST;
    while ((name[at] & 0xC0) == 0x80) /* in the middle of a character */
        at++;
    text->size_bytes = 0;
    tool_output_text(text, at > 0 ? "..." : "");
    tool_output_escaped(text, TTP_ESCAPE_TERMINAL, (ttape_string){name + at, size - at});
}

static void sort_rows(struct tool_sys_files *files)
{
    if (files->row_count > 0)
        qsort(files->rows, files->row_count, sizeof(*files->rows), compare_rows);
}

void tool_sys_files_table(struct tool_sys *view, uint64_t limit, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "TIME"},
        {.title = "CALLS"},
        {.title = "P50", .rank = 2},
        {.title = "P99", .rank = 1},
        {.title = "ERRORS", .is_text = true},
        {.title = "CALL", .is_text = true},
        {.title = "FILE", .is_text = true, .cut = LEAST_FILE, .keeps_end = true},
        {.title = "CALLED BY", .is_text = true, .gives_way = true}};
    struct tool_sys_files *files = view->files;
    struct tool_table table;
    struct tool_output text;
    char errors[ERROR_BYTES];
    sort_rows(files);
    size_t shown = limit > 0 && limit < files->row_count ? (size_t)limit : files->row_count;
    tool_output_open(&text, -1);
    tool_table_open(&table, columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < shown; i++) {
        const struct row *row = &files->rows[i];
        tool_table_time(&table, TOOL_PLAIN, row->sum.time_ns);
        tool_table_count(&table, TOOL_PLAIN, row->sum.calls);
        put_percentile(files, row->number, 0.5, &table);
        put_percentile(files, row->number, 0.99, &table);
        put_errors(files, row, errors);
        tool_table_text(&table, row->sum.errors > 0 ? TOOL_WARM : TOOL_PLAIN, errors);
        tool_table_text(&table, TOOL_PLAIN,
                        tool_site_name(&view->names, view->functions.functions[row->site].site));
        put_file(files, row->file, &text);
        tool_table_bytes(&table, TOOL_PLAIN, text.data, text.size_bytes);
        put_callers(view, row->node, &text, &table);
    }
    unsigned width = tool_table_width(&table, view->names.is_shortened);
    table.least = table.keeps_all ? table.least : LEAST_CALLERS;
    tool_table_print(&table, out, width, tool_terminal_colours());
    tool_table_close(&table);
    if (shown < files->row_count)
        tool_output_printf(out, "\n%zu more rows left out\n", files->row_count - shown);
    if (files->without > 0)
        tool_output_printf(out, "\n%" PRIu64 " call%s about no file %s not here\n", files->without,
                           files->without == 1 ? "" : "s", files->without == 1 ? "is" : "are");
    free(text.data);
}

static void put_json_row(struct tool_sys *view, struct tool_json *json, const struct row *row)
{
    const struct tool_sys_files *files = view->files;
    char buffer[TOOL_SYS_NAME_BYTES];
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "file", tool_sys_descriptors_text(files->known, row->file));
    tool_json_text(json, "call",
                   tool_site_name(&view->names, view->functions.functions[row->site].site));
    tool_json_begin(json, "path", '['); /* innermost first */
    for (uint32_t at = row->node; at != TOOL_SYS_ROOT; at = view->nodes[at].parent)
        tool_json_text(json, NULL, tool_sys_step_name(view, view->nodes[at].function, buffer));
    tool_json_end(json, ']');
    tool_json_number(json, "calls", row->sum.calls);
    tool_json_signed(json, "time_ns", row->sum.time_ns);
    tool_json_signed(json, "longest_ns", row->sum.longest_ns);
    tool_sys_json_percentiles(view, &files->sizes, row->number, json);
    tool_json_begin(json, "errors", '{');
    for (uint32_t at = row->first_error; at != 0; at = files->errors[at - 1].next) {
        struct tool_kernel_error known;
        bool is_known = tool_kernel_find_error(files->errors[at - 1].number, &known);
        tool_json_number(json, is_known ? known.name : "unknown", files->errors[at - 1].count);
    }
    tool_json_end(json, '}');
    tool_json_end(json, '}');
}

void tool_sys_files_json(struct tool_sys *view, uint64_t limit, struct tool_output *out)
{
    struct tool_sys_files *files = view->files;
    struct tool_json json;
    sort_rows(files);
    size_t shown = limit > 0 && limit < files->row_count ? (size_t)limit : files->row_count;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "by", "file");
    tool_json_number(&json, "without_file", files->without);
    tool_json_number(&json, "lost_events", tool_lost_events(view->reader));
    tool_json_number(&json, "left_out", files->row_count - shown);
    tool_json_begin(&json, "rows", '[');
    for (size_t i = 0; i < shown; i++)
        put_json_row(view, &json, &files->rows[i]);
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}
