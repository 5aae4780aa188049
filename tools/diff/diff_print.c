/* Differences for people: tables of functions and call paths, and the place where two runs part. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_sum.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/command/pager.h"
#include "tools/command/wrap.h"
#include "tools/diff/diff_view.h"
#include "tools/io/table.h"

#define LEAST_PATH 40u /* columns: a function, and who called it */

/* ---- rows ---- */

/* A function, or "function < caller < its caller": where a terminal cuts, the root is lost. */
static void put_subject(struct tool_diff *diff, const ttape_diff_rows *rows, uint32_t number,
                        struct tool_table *table)
{
    struct tool_callers callers;
    struct tool_output text;
    const ttape_diff_row *row = &rows->rows[number];
    tool_callers_open(&callers);
    tool_output_open(&text, -1);
    tool_callers_add(&callers, tool_diff_name(diff, row->key));
    while (row->parent != TTAPE_NONE) {
        row = &rows->rows[row->parent];
        tool_callers_add(&callers, tool_diff_name(diff, row->key));
    }
    size_t more = tool_callers_put(&callers, &text);
    tool_table_callers(table, TOOL_PLAIN, text.data, text.size_bytes, more);
    tool_callers_close(&callers);
    free(text.data);
}

static void put_change(struct tool_table *table, enum tool_tone tone, int64_t change_ns)
{
    char cell[48] = "+";
    size_t size = tool_put_time(cell + 1, change_ns);
    cell[size + 1] = '\0';
    tool_table_text(table, tone, change_ns > 0 ? cell : cell + 1);
}

static void put_percent(struct tool_table *table, enum tool_tone tone, const ttape_diff_side *a,
                        const ttape_diff_side *b)
{
    if (a->self_ns == 0 || !a->is_there || !b->is_there) {
        tool_table_text(table, tone, "-");
    } else {
        tool_table_printf(table, tone, "%+.1f",
                          100.0 * (double)ttp_change_ns(a->self_ns, b->self_ns) /
                              (double)a->self_ns);
    }
}

static void put_side_calls(struct tool_table *table, const ttape_diff_side *side,
                           enum tool_tone tone)
{
    if (side->is_there)
        tool_table_count(table, tone, side->calls);
    else
        tool_table_text(table, TOOL_FAINT, "-");
}

static void put_row(struct tool_diff *diff, const ttape_diff_rows *rows, uint32_t number,
                    struct tool_table *table)
{
    static const char *const marks[] = {"", "", "new", "gone"};
    const ttape_diff_row *row = &rows->rows[number];
    const ttape_diff_side *a = tool_diff_sides(rows, number), *b = a + 1;
    enum tool_tone tone =
        row->state == TTAPE_DIFF_NEW || b->self_ns > a->self_ns ? TOOL_WARM : TOOL_PLAIN;
    if (diff->has_times) {
        put_change(table, tone, ttp_change_ns(a->self_ns, b->self_ns));
        put_percent(table, tone, a, b);
        tool_table_time(table, TOOL_PLAIN, a->self_ns);
        tool_table_time(table, TOOL_PLAIN, b->self_ns);
        put_change(table, tone, ttp_change_ns(a->total_ns, b->total_ns));
    }
    put_side_calls(table, a, TOOL_PLAIN);
    put_side_calls(table, b, a->calls != b->calls ? TOOL_WARM : TOOL_PLAIN);
    tool_table_text(table, tone, marks[row->state]);
    put_subject(diff, rows, number, table);
}

static size_t choose_columns(const struct tool_diff *diff, bool of_paths,
                             struct tool_column *columns)
{
    size_t count = 0;
    if (diff->has_times) {
        columns[count++] = (struct tool_column){"SELF +-", .rank = 0};
        columns[count++] = (struct tool_column){"%", .rank = 3};
        columns[count++] = (struct tool_column){"SELF A", .rank = 2};
        columns[count++] = (struct tool_column){"SELF B", .rank = 2};
        columns[count++] = (struct tool_column){"TOTAL +-", .rank = 1};
    }
    columns[count++] = (struct tool_column){"CALLS A", .rank = 0};
    columns[count++] = (struct tool_column){"CALLS B", .rank = 0};
    columns[count++] = (struct tool_column){"", .is_text = true, .rank = 4};
    columns[count++] = (struct tool_column){of_paths ? "CALL PATH" : "FUNCTION", .is_text = true,
                                            .gives_way = true};
    return count;
}

/* What is not shown, and what it would take to be shown. */
static void put_noise(const struct tool_diff *diff, const ttape_diff_rows *rows,
                      struct tool_output *out)
{
    const ttape_diff_noise *noise = &rows->noise;
    if (rows->state_counts[TTAPE_DIFF_NOISE] == 0)
        return;
    tool_output_printf(
        out,
        "%" PRIu64 " more are within the noise: %s time changed by %+.1f to %+.1f %%"
        "%s, or by less than %.2g %% of all time (--all shows them)\n",
        rows->state_counts[TTAPE_DIFF_NOISE], noise->sort == TTAPE_DIFF_BY_TOTAL ? "total" : "self",
        100 * ttape_diff_change(noise->shift - noise->spread),
        100 * ttape_diff_change(noise->shift + noise->spread),
        diff->run_count > 2 ? ", or as the runs of a side differ" : "", 100 * noise->share);
}

bool tool_diff_is_shortened(const struct tool_diff *diff)
{
    for (uint32_t run = 0; run < diff->run_count; run++)
        if (diff->runs[run].names.is_shortened)
            return true;
    return false;
}

void tool_diff_print_rows(struct tool_diff *diff, const ttape_diff_rows *rows, bool of_paths,
                          uint64_t limit, struct tool_output *out)
{
    struct tool_column columns[9];
    struct tool_table table;
    size_t column_count = choose_columns(diff, of_paths, columns), shown = rows->order_count;
    shown = shown < limit ? shown : (size_t)limit;
    struct tool_folding folding = tool_folding_open(out, 0);
    tool_output_printf(
        out, "%s: %" PRIu64 " changed, %" PRIu64 " new, %" PRIu64 " gone, %" PRIu64 " as before",
        of_paths ? "Call paths" : "Functions", rows->state_counts[TTAPE_DIFF_CHANGED],
        rows->state_counts[TTAPE_DIFF_NEW], rows->state_counts[TTAPE_DIFF_GONE],
        rows->state_counts[TTAPE_DIFF_SAME]);
    if (of_paths && rows->depth_limit > 0)
        tool_output_printf(out, "; calls deeper than %" PRIu32 " count there", rows->depth_limit);
    tool_output_text(out, "\n");
    put_noise(diff, rows, out);
    tool_folding_close(&folding);
    if (shown > 0) {
        tool_table_open(&table, columns, column_count);
        for (size_t i = 0; i < shown; i++)
            put_row(diff, rows, rows->order[i], &table);
        unsigned width = tool_table_width(&table, tool_diff_is_shortened(diff));
        if (of_paths && !table.keeps_all)
            table.least = LEAST_PATH;
        tool_table_print(&table, out, width, tool_terminal_colours());
        tool_table_close(&table);
    }
    if (shown < rows->order_count)
        tool_output_printf(out, "(%" PRIu32 " more: --limit)\n",
                           rows->order_count - (uint32_t)shown);
}

/* ---- the first difference ---- */

static void put_event(struct tool_diff *diff, int side, const struct tool_diff_thread *thread,
                      struct tool_output *out)
{
    const ttape_event *event = &thread->events[side];
    bool ended = thread->end == (side == 0 ? TOOL_DIFF_END_A : TOOL_DIFF_END_B);
    tool_output_printf(out, "  %c: ", "AB"[side]);
    if (ended) {
        tool_output_printf(out, "the thread ends after event %" PRIu64 "\n", thread->numbers[side]);
        return;
    }
    ttape_site site = {.kind = TTAPE_SITE_FUNCTION};
    (void)ttape_reader_get_site(diff->runs[side].input.reader, event->site, &site);
    tool_output_printf(out, "%s", ttape_event_kind_name(event->kind, site.kind));
    switch (event->kind) {
    case TTAPE_EVENT_SIGNAL_BEGIN:
    case TTAPE_EVENT_SIGNAL_END:
    case TTAPE_EVENT_UNWIND:
    case TTAPE_EVENT_SWITCH:
    case TTAPE_EVENT_GAP: tool_output_printf(out, " %" PRIu32, event->argument); break;
    default:
        tool_output_printf(out, " %s",
                           tool_diff_name(diff, tool_diff_key_of(diff, side, event->site)));
    }
    if (diff->has_times) {
        char time[40];
        time[tool_put_time(time, (int64_t)(event->time_ns - diff->runs[side].info.time_first_ns))] =
            '\0';
        tool_output_printf(out, " at +%s", time);
    }
    tool_output_printf(out, ", event %" PRIu64 " of stream %" PRIu32 "\n", thread->numbers[side],
                       thread->streams[side]);
}

static void put_frames(struct tool_diff *diff, const struct tool_diff_thread *thread,
                       struct tool_output *out)
{
    if (thread->frame_count == 0) {
        tool_output_text(out, "  in no function\n");
        return;
    }
    tool_output_text(out, "  in\n");
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct tool_diff_frame *frame = &thread->frames[i];
        tool_output_printf(out, "    s%" PRIu32 "e%" PRIu64 "  call %" PRIu32 ": ",
                           thread->streams[0], frame->number[0], frame->ordinal + 1);
        if (frame->key == TTAPE_NONE)
            tool_output_printf(out, "signal %" PRIu32 "\n", frame->signal);
        else
            tool_output_printf(out, "%s\n", tool_diff_name(diff, frame->key));
    }
}

static void put_thread(struct tool_diff *diff, const struct tool_diff_thread *thread,
                       struct tool_output *out)
{
    if (thread->end == TOOL_DIFF_ONLY_A || thread->end == TOOL_DIFF_ONLY_B) {
        int side = thread->end == TOOL_DIFF_ONLY_A ? 0 : 1;
        tool_output_printf(out, "thread %" PRIu64 " (stream %" PRIu32 ") is only in %c\n",
                           thread->tids[side], thread->streams[side], "AB"[side]);
        return;
    }
    tool_output_printf(out,
                       "thread %" PRIu64 " of A and %" PRIu64 " of B: the same for %" PRIu64
                       " events, then\n",
                       thread->tids[0], thread->tids[1], thread->equal_events);
    put_event(diff, 0, thread, out);
    put_event(diff, 1, thread, out);
    const char *why = tool_diff_why(diff, thread);
    if (thread->is_moved)
        tool_output_printf(out, "  other caller: %s is called in A by %s, in B by ",
                           tool_diff_name(diff, thread->called),
                           tool_diff_caller_name(diff, thread->callers[0]));
    if (thread->is_moved)
        tool_output_printf(out, "%s\n", tool_diff_caller_name(diff, thread->callers[1]));
    else if (why != NULL)
        tool_output_printf(out, "  %s\n", why);
    put_frames(diff, thread, out);
}

void tool_diff_print_first(struct tool_diff *diff, const struct tool_diff_first *first,
                           struct tool_output *out)
{
    if (first->first == SIZE_MAX) {
        char count[40];
        count[tool_put_count(count, first->equal_events)] = '\0';
        tool_output_printf(out, "no difference in %s events of %zu thread%s\n", count, first->count,
                           first->count == 1 ? "" : "s");
        tool_diff_print_matches(diff, out);
        return;
    }
    tool_output_printf(out, "%" PRIu64 " of %zu thread%s differ%s, first\n", first->differing,
                       first->count, first->count == 1 ? "" : "s",
                       first->differing == 1 ? "s" : "");
    put_thread(diff, &first->threads[first->first], out);
    tool_diff_print_matches(diff, out);
}
