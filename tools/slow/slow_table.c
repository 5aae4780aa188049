/* A table for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/text.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/command/pager.h"
#include "tools/io/table.h"
#include "tools/slow/slow_view.h"
#include "tools/values/value_words.h"

#define LEAST_CALLED_BY  16u /* columns, that it is always there */
#define PLAIN_CALLED_BY  32u /* the same in files and pipes */
#define LEAST_FUNCTION   24u /* of what was called */
#define TRACE_BYTES_MOST 64u

enum column {
    DURATION,
    USUAL,
    SELF,
    ON,
    OFF,
    START,
    TID,
    CALL,
    TRACE,
    FUNCTION,
    PATH,
    COLUMN_COUNT
};

static const struct tool_column all_columns[COLUMN_COUNT] = {
    [DURATION] = {.title = "DURATION"},
    [USUAL] = {.title = "USUAL"},
    [SELF] = {.title = "SELF", .rank = 1},
    [ON] = {.title = "ON CPU"},
    [OFF] = {.title = "OFF CPU"},
    [START] = {.title = "START", .rank = 3},
    [TID] = {.title = "TID", .rank = 2},
    [TRACE] = {.title = "TRACE", .is_text = true},
    [CALL] = {.title = "CALL", .is_text = true},
    [FUNCTION] = {.title = "FUNCTION", .is_text = true, .cut = LEAST_FUNCTION},
    [PATH] = {.title = "CALLED BY", .is_text = true, .gives_way = true},
};

struct printing {
    struct tool_slow *view;      /* of the call at hand, */
    const struct tool_slow *all; /* and of the whole table */
    struct tool_table table;
    struct tool_output text; /* a cell in the making */
    struct tool_callers callers;
    bool of_unusual;
};

/* "name(1, 2) = 3", and what is not usual about its end. */
static void put_function(struct printing *print, const ttape_longest_call *call)
{
    struct tool_output *text = &print->text, given, returned;
    tool_output_open(&given, -1);
    tool_output_open(&returned, -1);
    if (call->argument_count > 0)
        tool_put_arguments(&given, print->view->reader, call->site, call->arguments,
                           call->argument_count);
    tool_put_results(&returned, print->view->reader, call->site, call->results, call->result_count);
    text->size_bytes = 0;
    tool_put_cut_values(text, &given, &returned);
    free(given.data);
    free(returned.data);
    const char *end = call->end == TTAPE_CALL_LEFT      ? " (open at the end)"
                      : call->end == TTAPE_CALL_UNWOUND ? " (unwound)"
                      : call->end == TTAPE_CALL_UNSEEN  ? " (end not seen)"
                      : call->end == TTAPE_CALL_LATE    ? " (exit not seen)"
                      : call->end == TTAPE_CALL_LOST    ? " (end is missing)"
                                                        : "";
    tool_table_printf(&print->table, TOOL_PLAIN, "%s%.*s%s",
                      tool_site_name(&print->view->names, call->site), (int)text->size_bytes,
                      text->data, end);
}

static void put_inlined(struct printing *print, uint32_t caller, uint32_t callee)
{
    uint32_t count;
    struct tool_output *text = &print->text;
    char *const *names = tool_inlined_between(print->view->inlined, caller, callee, &count);
    while (count-- > 0) {
        text->size_bytes = 0;
        tool_output_printf(text, "%s (inlined)", names[count]);
        tool_output_bytes(text, "", 1);
        tool_callers_add(&print->callers, text->data);
    }
}

/* Innermost first: where the table is cut, the next caller stays. */
static void put_path(struct printing *print, const ttape_longest_call *call)
{
    struct tool_output *text = &print->text;
    uint32_t callee = call->site;
    tool_callers_begin(&print->callers);
    for (uint32_t i = call->path_count; i > 0; i--) {
        const ttape_open_frame *frame = &call->path[i - 1];
        bool is_signal = frame->kind == TTAPE_EVENT_SIGNAL_BEGIN;
        const char *name =
            is_signal ? "(signal)" : tool_site_name(&print->view->names, frame->site);
        if (!is_signal && callee != TTAPE_NONE && print->view->inlined != NULL)
            put_inlined(print, frame->site, callee);
        callee = is_signal ? TTAPE_NONE : frame->site;
        tool_callers_add(&print->callers, name);
    }
    text->size_bytes = 0;
    size_t more = tool_callers_put(&print->callers, text);
    tool_table_callers(&print->table, TOOL_FAINT, text->data, text->size_bytes, more);
}

/* Since the trace's first event, as --time takes it. */
static void put_start(struct printing *print, const ttape_longest_call *call)
{
    uint64_t origin = print->view->start_ns;
    bool before = call->enter_ns < origin;
    uint64_t since = before ? origin - call->enter_ns : call->enter_ns - origin;
    tool_table_printf(&print->table, TOOL_PLAIN, "%c%" PRIu64 ".%09" PRIu64 "s", before ? '-' : '+',
                      since / 1000000000u, since % 1000000000u);
}

/* "?" where nothing is known, and behind what may be more. */
static void put_off(struct printing *print, const ttape_longest_call *call)
{
    char time[48];
    size_t size = 0;
    if (call->off_known)
        size = tool_put_time(time, call->preempted_ns + call->blocked_ns);
    tool_table_printf(&print->table, TOOL_PLAIN, "%.*s%s", (int)size, time,
                      !call->off_known || call->unknown_ns > 0 ? "?" : "");
}

static void put_trace(struct printing *print)
{
    char text[TRACE_BYTES_MOST * TTP_ESCAPE_MAX];
    const char *name = ttp_base_name(print->view->input->name);
    size_t size = strlen(name) < TRACE_BYTES_MOST ? strlen(name) : TRACE_BYTES_MOST;
    tool_table_bytes(&print->table, TOOL_PLAIN, text,
                     ttp_escape(text, TTP_ESCAPE_TERMINAL, name, size));
}

static void put_row(struct printing *print, const ttape_longest_call *call, int64_t usual_ns)
{
    struct tool_table *table = &print->table;
    char id[TOOL_CALL_ID_BYTES];
    bool self = print->all->by == TTAPE_LONGEST_BY_SELF;
    bool on_cpu = print->all->by == TTAPE_LONGEST_BY_ON_CPU;
    bool duration = print->all->by == TTAPE_LONGEST_BY_DURATION;
    const char *mark = call->end == TTAPE_CALL_UNSEEN || call->end == TTAPE_CALL_LOST ? ">="
                       : call->end == TTAPE_CALL_LATE                                 ? "~"
                                                                                      : "";
    tool_table_time_marked(table, duration ? TOOL_HOT : TOOL_PLAIN, call->duration_ns, mark);
    if (print->of_unusual)
        tool_table_time(table, TOOL_PLAIN, usual_ns);
    tool_table_time(table, self ? TOOL_HOT : TOOL_PLAIN, call->self_ns);
    if (on_cpu)
        tool_table_time(table, TOOL_HOT, call->on_cpu_ns);
    if (print->all->has_off)
        put_off(print, call);
    put_start(print, call);
    tool_table_printf(table, TOOL_PLAIN, "%" PRIu64, tool_slow_tid(print->view, call));
    tool_table_text(table, TOOL_PLAIN, tool_slow_id(call, id));
    if (print->all->rows != NULL)
        put_trace(print);
    put_function(print, call);
    put_path(print, call);
}

static void open_table(struct printing *print, struct tool_column columns[COLUMN_COUNT])
{
    const struct tool_slow *view = print->all;
    size_t count = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if ((i != OFF || view->has_off) && (i != ON || view->by == TTAPE_LONGEST_BY_ON_CPU) &&
            (i != TRACE || view->rows != NULL) && (i != USUAL || print->of_unusual)) {
            columns[count] = all_columns[i];
            if (i == SELF && view->by == TTAPE_LONGEST_BY_SELF)
                columns[count].rank = 0;
            if (i == OFF && print->of_unusual)
                columns[count].rank = 1;
            count++;
        }
    tool_table_open(&print->table, columns, count);
}

static void close_table(struct printing *print, struct tool_output *out)
{
    unsigned width = tool_table_width(&print->table, print->all->names.is_shortened);
    print->table.least = print->table.keeps_all ? PLAIN_CALLED_BY : LEAST_CALLED_BY;
    tool_table_print(&print->table, out, width, tool_terminal_colours());
    tool_table_close(&print->table);
}

static void put_unusual(struct printing *print, struct tool_output *out)
{
    struct tool_column columns[COLUMN_COUNT];
    const struct tool_slow_unusual *unusual = &print->all->unusual;
    if (unusual->count == 0)
        return;
    tool_output_text(out, "\nFar longer than USUAL, "
                          "the mean of the other calls of the function:\n");
    print->of_unusual = true;
    open_table(print, columns);
    for (uint32_t i = 0; i < unusual->count; i++)
        put_row(print, unusual->calls[i].call, unusual->calls[i].usual_ns);
    close_table(print, out);
}

void tool_slow_table(struct tool_slow *view, struct tool_output *out)
{
    struct printing print = {.view = view, .all = view};
    struct tool_column columns[COLUMN_COUNT];
    tool_output_open(&print.text, -1);
    tool_callers_open(&print.callers);
    open_table(&print, columns);
    for (uint32_t i = 0; i < view->call_count; i++) {
        print.view = view->rows != NULL ? view->rows[i].of : view;
        put_row(&print, view->rows != NULL ? view->rows[i].call : &view->calls[i], 0);
    }
    close_table(&print, out);
    put_unusual(&print, out);
    free(print.text.data);
    tool_callers_close(&print.callers);
}
