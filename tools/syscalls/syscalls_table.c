/* Tables for people. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/pager.h"
#include "tools/io/table.h"
#include "tools/syscalls/syscalls_view.h"

#define HEAD_BYTES 40u
#define LEAST_CALL 16u /* columns that names keep while others can be left out */
#define LEAST_PATH 36u

struct printing {
    struct tool_sys *view;
    const struct tool_sys_shape *shape;
    struct tool_table table;
    struct tool_output text; /* a cell in the making */
};

/* Of calls and times of what is shown; where that is a part, of all as well. */
static bool is_part(const struct tool_sys *view) { return view->shown.calls != view->all.calls; }

static double share_percent(double part, double whole)
{
    return whole != 0 ? 100.0 * part / whole : 0;
}

static void put_share(struct printing *print, double part, double shown, double all)
{
    tool_table_printf(&print->table, TOOL_PLAIN, "%.1f%%", share_percent(part, shown));
    if (is_part(print->view))
        tool_table_printf(&print->table, TOOL_FAINT, "%.1f%%", share_percent(part, all));
}

/* A time, or so many of what is measured. */
static void put_amount(struct printing *print, enum tool_tone tone, int64_t amount)
{
    if (tool_sys_is_time(print->view))
        tool_table_time(&print->table, tone, amount);
    else
        tool_table_count(&print->table, tone, amount > 0 ? (uint64_t)amount : 0);
}

static void put_sum(struct printing *print, const struct tool_sys_sum *sum)
{
    const struct tool_sys *view = print->view;
    tool_table_count(&print->table, TOOL_PLAIN, sum->calls);
    put_share(print, (double)sum->calls, (double)view->shown.calls, (double)view->all.calls);
    put_amount(print, TOOL_HOT, sum->time_ns);
    put_share(print, (double)sum->time_ns, (double)view->shown.time_ns, (double)view->all.time_ns);
}

static void put_errors(struct printing *print, uint64_t errors)
{
    if (errors > 0)
        tool_table_count(&print->table, TOOL_PLAIN, errors);
    else
        tool_table_text(&print->table, TOOL_PLAIN, "");
}

static size_t put_columns(const struct printing *print, struct tool_column *columns,
                          const char *calls, const char *time)
{
    size_t count = 0;
    columns[count++] = (struct tool_column){.title = calls};
    columns[count++] = (struct tool_column){.title = "%", .rank = 4};
    if (is_part(print->view))
        columns[count++] = (struct tool_column){.title = "% OF ALL", .rank = 5};
    columns[count++] = (struct tool_column){.title = time};
    columns[count++] = (struct tool_column){.title = "%", .rank = 4};
    if (is_part(print->view))
        columns[count++] = (struct tool_column){.title = "% OF ALL", .rank = 5};
    return count;
}

/* `least`: columns of what gives way. */
static void finish_table(struct printing *print, struct tool_output *out, size_t least)
{
    unsigned width = tool_table_width(&print->table, print->view->names.is_shortened);
    print->table.least = print->table.keeps_all ? print->table.least : least;
    tool_table_print(&print->table, out, width, tool_terminal_colours());
    tool_table_close(&print->table);
}

/* ---- by call, by module ---- */

/* Few calls have no percentiles that say more than AVERAGE and LONGEST. */
static void put_percentile(struct printing *print, const struct tool_sys_row *row, double share)
{
    int64_t duration_ns;
    if (row->within.calls > 2 &&
        tool_sys_sizes_at(&print->view->sizes, row->index, share, &duration_ns))
        put_amount(print, TOOL_PLAIN, duration_ns);
    else
        tool_table_text(&print->table, TOOL_PLAIN, "");
}

static void put_module(struct printing *print, uint32_t module)
{
    ttape_string path = tool_module_path(print->view->reader, module);
    print->text.size_bytes = 0;
    tool_output_escaped(&print->text, TTP_ESCAPE_TEXT, path);
    if (path.size_bytes == 0)
        tool_output_text(&print->text, "(not known)");
    tool_table_bytes(&print->table, TOOL_PLAIN, print->text.data, print->text.size_bytes);
}

/* The head of a column of times; "CACHE-MISSES", of what is measured. */
static const char *head_of(const struct printing *print, const char *time, bool is_own, char *head)
{
    const char *measure = print->view->asked.measure;
    size_t size = is_own ? 4 : 0;
    if (measure == NULL)
        return time;
    memcpy(head, "OWN ", 4);
    for (; *measure != '\0' && size + 1 < HEAD_BYTES; measure++)
        head[size++] = (char)toupper((unsigned char)*measure);
    head[size] = '\0';
    return head;
}

static void sums_table(struct printing *print, const struct tool_sys_rows *rows,
                       struct tool_output *out)
{
    struct tool_column columns[TOOL_TABLE_COLUMNS];
    bool is_call = print->view->asked.by == TOOL_SYS_BY_CALL;
    char head[HEAD_BYTES];
    const char *most = tool_sys_is_time(print->view) ? "LONGEST" : "MOST";
    size_t count = put_columns(print, columns, "CALLS", head_of(print, "TIME", false, head));
    columns[count++] = (struct tool_column){.title = "AVERAGE", .rank = 2};
    if (is_call) {
        columns[count++] = (struct tool_column){.title = "P50", .rank = 7};
        columns[count++] = (struct tool_column){.title = "P99", .rank = 6};
    }
    columns[count++] = (struct tool_column){.title = most, .rank = 3};
    columns[count++] = (struct tool_column){.title = "ERRORS", .rank = 1};
    columns[count++] = (struct tool_column){
        .title = is_call ? "CALL" : "MODULE", .is_text = true, .gives_way = true};
    tool_table_open(&print->table, columns, count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct tool_sys_row *row = &rows->rows[i];
        char buffer[TOOL_SYS_NAME_BYTES];
        put_sum(print, &row->within);
        put_amount(print, TOOL_PLAIN, row->within.time_ns / (int64_t)row->within.calls);
        if (is_call) {
            put_percentile(print, row, 0.5);
            put_percentile(print, row, 0.99);
        }
        put_amount(print, TOOL_PLAIN, row->within.longest_ns);
        put_errors(print, row->within.errors);
        if (is_call)
            tool_table_text(&print->table, TOOL_PLAIN,
                            tool_sys_step_name(print->view, row->index, buffer));
        else
            put_module(print, row->index);
    }
    finish_table(print, out, LEAST_CALL);
}

/* ---- by path ---- */

static void put_step(struct printing *print, const struct tool_sys_row *row)
{
    const struct tool_sys_node *node = &print->view->nodes[row->index];
    struct tool_output *text = &print->text;
    char buffer[TOOL_SYS_NAME_BYTES];
    text->size_bytes = 0;
    if (print->shape->expand)
        tool_output_printf(text, "%*s%s", (int)(2 * ((node->depth - 1) & 0xFFFu)), "",
                           tool_sys_step_name(print->view, node->function, buffer));
    else
        tool_sys_put_path(print->view, text, row->index, " > ");
    if (node->depth > 0 && node->depth == print->shape->depth &&
        row->within.calls > row->exact.calls)
        tool_output_text(text, " > ...");
    tool_table_bytes(&print->table, TOOL_PLAIN, text->data, text->size_bytes);
}

static void paths_table(struct printing *print, const struct tool_sys_rows *rows,
                        struct tool_output *out)
{
    struct tool_column columns[TOOL_TABLE_COLUMNS];
    char head[HEAD_BYTES], own[HEAD_BYTES];
    size_t count = put_columns(print, columns, "CALLS", head_of(print, "TIME", false, head));
    count +=
        put_columns(print, columns + count, "OWN CALLS", head_of(print, "OWN TIME", true, own));
    for (size_t i = 0; i < count; i++)
        if (strcmp(columns[i].title, "OWN CALLS") == 0)
            columns[i].rank = 2;
    columns[count++] = (struct tool_column){.title = "ERRORS", .rank = 1};
    columns[count++] = (struct tool_column){
        .title = "PATH", .is_text = true, .gives_way = true, .keeps_end = !print->shape->expand};
    tool_table_open(&print->table, columns, count);
    for (size_t i = 0; i < rows->count; i++) {
        put_sum(print, &rows->rows[i].within);
        put_sum(print, &rows->rows[i].exact);
        put_errors(print, rows->rows[i].within.errors);
        put_step(print, &rows->rows[i]);
    }
    finish_table(print, out, LEAST_PATH);
}

static size_t write_amount(const struct tool_sys *view, char *at, int64_t amount)
{
    return tool_sys_is_time(view) ? tool_put_time(at, amount)
                                  : tool_put_count(at, amount > 0 ? (uint64_t)amount : 0);
}

static void put_total(struct printing *print, const struct tool_sys_rows *rows,
                      struct tool_output *out)
{
    const struct tool_sys *view = print->view;
    char calls[40], time[40];
    size_t calls_size = tool_put_count(calls, view->shown.calls);
    size_t time_size = write_amount(view, time, view->shown.time_ns);
    bool is_other = view->asked.measure != NULL;
    tool_output_printf(out, "\n%.*s calls, %.*s%s%s in them", (int)calls_size, calls,
                       (int)time_size, time, is_other ? " " : "",
                       is_other ? view->asked.measure : "");
    if (view->shown.errors > 0)
        tool_output_printf(out, ", %" PRIu64 " failed", view->shown.errors);
    if (is_part(view)) {
        calls_size = tool_put_count(calls, view->all.calls);
        time_size = write_amount(view, time, view->all.time_ns);
        tool_output_printf(out, "; of %.*s calls, %.*s", (int)calls_size, calls, (int)time_size,
                           time);
    }
    tool_output_text(out, ".\n");
    if (view->needs_stacks)
        tool_output_printf(
            out, "%" PRIu64 " of %" PRIu64 " calls with a stack: rows and shares are of these.\n",
            view->all.calls, view->all.calls + view->without_stack.calls);
    if (rows->left_out > 0)
        tool_output_printf(out, "%zu more rows are left out (--limit).\n", rows->left_out);
    tool_sys_put_known(view, out);
}

void tool_sys_table(struct tool_sys *view, const struct tool_sys_rows *rows,
                    const struct tool_sys_shape *shape, struct tool_output *out)
{
    struct printing print = {.view = view, .shape = shape};
    tool_output_open(&print.text, -1);
    if (view->asked.by == TOOL_SYS_BY_PATH)
        paths_table(&print, rows, out);
    else
        sums_table(&print, rows, out);
    put_total(&print, rows, out);
    free(print.text.data);
}

/* ---- what people know ---- */

void tool_sys_summary(struct tool_sys *view, const struct tool_sys_rows *rows,
                      struct tool_output *out)
{
    static const char line[] =
        "------ ----------- ----------- --------- --------- ----------------\n";
    char buffer[TOOL_SYS_NAME_BYTES], errors[24] = "";
    tool_output_text(out, "% time     seconds  usecs/call     calls    errors syscall\n");
    tool_output_text(out, line);
    for (size_t i = 0; i <= rows->count; i++) {
        bool is_total = i == rows->count;
        const struct tool_sys_sum *sum = is_total ? &view->shown : &rows->rows[i].within;
        if (is_total)
            tool_output_text(out, line);
        errors[0] = '\0';
        if (sum->errors > 0)
            snprintf(errors, sizeof(errors), "%" PRIu64, sum->errors);
        tool_output_printf(
            out, "%6.2f %11.6f %11" PRId64 " %9" PRIu64 " %9s %s\n",
            share_percent((double)sum->time_ns, (double)view->shown.time_ns),
            (double)sum->time_ns / 1e9,
            sum->calls > 0 ? sum->time_ns / 1000 / (int64_t)sum->calls : 0, sum->calls, errors,
            is_total ? "total" : tool_sys_step_name(view, rows->rows[i].index, buffer));
    }
    tool_sys_put_known(view, out);
}
