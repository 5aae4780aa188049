/* Differences for programs. Times are nanoseconds; null: not in that trace. */
#include <string.h>

#include "base/time_sum.h"
#include "tools/calls/losses.h"
#include "tools/diff/diff_view.h"
#include "tools/io/json.h"

const char *const tool_diff_states[] = {"same", "changed", "new", "gone", "within_noise"};

static void put_measures(const struct tool_diff *diff, struct tool_json *json,
                         const ttape_diff_side *side)
{
    tool_json_number(json, "calls", side->calls);
    if (diff->has_times) {
        tool_json_signed(json, "self_ns", side->self_ns);
        tool_json_signed(json, "total_ns", side->total_ns);
        tool_json_signed(json, "preempted_ns", side->preempted_ns);
    }
}

/* Of several runs: theirs as well. */
static void put_side(const struct tool_diff *diff, struct tool_json *json,
                     const ttape_diff_rows *rows, uint32_t row, int side)
{
    uint32_t from, to;
    const char *key = side == 0 ? "a" : "b";
    if (!tool_diff_sides(rows, row)[side].is_there) {
        tool_json_null(json, key);
        return;
    }
    tool_json_begin(json, key, '{');
    put_measures(diff, json, &tool_diff_sides(rows, row)[side]);
    tool_diff_runs_of(diff, side, &from, &to);
    if (diff->run_count > 2) {
        tool_json_begin(json, "runs", '[');
        for (uint32_t run = from; run < to; run++) {
            const ttape_diff_side *of = &rows->traces[(size_t)row * diff->run_count + run];
            if (!of->is_there) {
                tool_json_null(json, NULL);
                continue;
            }
            tool_json_begin(json, NULL, '{');
            put_measures(diff, json, of);
            tool_json_end(json, '}');
        }
        tool_json_end(json, ']');
    }
    tool_json_end(json, '}');
}

static void put_path(const struct tool_diff *diff, struct tool_json *json,
                     const ttape_diff_rows *rows, uint32_t number)
{
    char buffer[TOOL_LABEL_BYTES];
    ttape_string symbol, module, file;
    tool_json_begin(json, "callers", '['); /* innermost first */
    for (uint32_t at = rows->rows[number].parent; at != TTAPE_NONE; at = rows->rows[at].parent) {
        tool_diff_describe(diff, rows->rows[at].key, buffer, &symbol, &module, &file);
        tool_json_string(json, NULL, symbol);
    }
    tool_json_end(json, ']');
}

static void put_row(const struct tool_diff *diff, struct tool_json *json,
                    const ttape_diff_rows *rows, uint32_t number, bool of_paths)
{
    const ttape_diff_row *row = &rows->rows[number];
    char buffer[TOOL_LABEL_BYTES];
    ttape_string symbol, module, file;
    tool_diff_describe(diff, row->key, buffer, &symbol, &module, &file);
    tool_json_begin(json, NULL, '{');
    tool_json_string(json, "name", symbol);
    tool_json_string_if(json, "module", module);
    tool_json_string_if(json, "file", file);
    if (of_paths)
        put_path(diff, json, rows, number);
    tool_json_text(json, "state", tool_diff_states[row->state]);
    put_side(diff, json, rows, number, 0);
    put_side(diff, json, rows, number, 1);
    if (diff->has_times) {
        const ttape_diff_side *a = tool_diff_sides(rows, number), *b = a + 1;
        tool_json_signed(json, "self_change_ns", ttp_change_ns(a->self_ns, b->self_ns));
        tool_json_signed(json, "total_change_ns", ttp_change_ns(a->total_ns, b->total_ns));
    }
    tool_json_end(json, '}');
}

static void put_rows(const struct tool_diff *diff, struct tool_json *json, const char *key,
                     const ttape_diff_rows *rows, bool of_paths, uint64_t limit)
{
    tool_json_begin(json, key, '{');
    for (size_t i = 0; i < 5; i++)
        tool_json_number(json, tool_diff_states[i], rows->state_counts[i]);
    if (rows->noise.is_measured) { /* parts of A's time */
        const ttape_diff_noise *noise = &rows->noise;
        tool_json_begin(json, "noise", '{');
        tool_json_real(json, "from", ttape_diff_change(noise->shift - noise->spread));
        tool_json_real(json, "to", ttape_diff_change(noise->shift + noise->spread));
        tool_json_end(json, '}');
    }
    if (of_paths && rows->depth_limit > 0)
        tool_json_number(json, "depth_limit", rows->depth_limit);
    tool_json_begin(json, "rows", '[');
    for (size_t i = 0; i < rows->order_count && i < limit && json->out->failed_errno == 0; i++)
        put_row(diff, json, rows, rows->order[i], of_paths);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

/* "a" and "b" are the first run of each side. */
static void put_head(const struct tool_diff *diff, struct tool_json *json)
{
    uint64_t lost[2] = {0, 0};
    for (uint32_t run = 0; run < diff->run_count; run++)
        lost[run >= diff->a_count] += tool_lost_events(diff->runs[run].input.reader);
    tool_json_text(json, "a", diff->runs[0].input.name);
    tool_json_text(json, "b", diff->runs[diff->a_count].input.name);
    tool_json_number(json, "lost_events_a", lost[0]);
    tool_json_number(json, "lost_events_b", lost[1]);
    tool_json_bool(json, "has_times", diff->has_times);
    tool_diff_json_matches(diff, json);
}

void tool_diff_json(struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                    struct tool_output *out)
{
    const ttape_diff_rows *functions = ttape_diff_get_functions(answer);
    const ttape_diff_rows *paths = ttape_diff_get_paths(answer);
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    put_head(diff, &json);
    tool_diff_json_totals(diff, functions, &json);
    if (functions != NULL)
        put_rows(diff, &json, "functions", functions, false, limit);
    if (paths != NULL)
        put_rows(diff, &json, "paths", paths, true, limit);
    if (paths != NULL)
        tool_diff_json_moves(diff, answer, limit, &json);
    tool_json_end(&json, '}');
}

/* ---- the first difference ---- */

static void put_event(const struct tool_diff *diff, struct tool_json *json,
                      const struct tool_diff_thread *thread, int side)
{
    const char *key = side == 0 ? "a" : "b";
    const ttape_event *event = &thread->events[side];
    bool ended = thread->end == (side == 0 ? TOOL_DIFF_END_A : TOOL_DIFF_END_B);
    bool missing = thread->streams[side] == TTAPE_NONE;
    if (missing) {
        tool_json_null(json, key);
        return;
    }
    tool_json_begin(json, key, '{');
    tool_json_number(json, "stream", thread->streams[side]);
    tool_json_number(json, "pid", thread->pids[side]);
    tool_json_number(json, "tid", thread->tids[side]);
    tool_json_number(json, "event", thread->numbers[side]);
    if (!ended && thread->end == TOOL_DIFF_EVENT) {
        ttape_site site = {.kind = TTAPE_SITE_FUNCTION};
        char buffer[TOOL_LABEL_BYTES];
        ttape_string symbol, module, file;
        (void)ttape_reader_get_site(diff->runs[side].input.reader, event->site, &site);
        tool_json_text(json, "kind", ttape_event_kind_name(event->kind, site.kind));
        if (event->site != TTAPE_NONE) {
            tool_diff_describe(diff, tool_diff_key_of(diff, side, event->site), buffer, &symbol,
                               &module, &file);
            tool_json_string(json, "name", symbol);
        }
        tool_json_number(json, "argument", event->argument);
        if (diff->has_times)
            tool_json_number(json, "time_ns", event->time_ns);
    }
    tool_json_end(json, '}');
}

static void put_frames(const struct tool_diff *diff, struct tool_json *json,
                       const struct tool_diff_thread *thread)
{
    char buffer[TOOL_LABEL_BYTES];
    ttape_string symbol, module, file;
    tool_json_begin(json, "path", '['); /* outermost first */
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct tool_diff_frame *frame = &thread->frames[i];
        tool_json_begin(json, NULL, '{');
        if (frame->key != TTAPE_NONE) {
            tool_diff_describe(diff, frame->key, buffer, &symbol, &module, &file);
            tool_json_string(json, "name", symbol);
        } else {
            tool_json_number(json, "signal", frame->signal);
        }
        tool_json_number(json, "call", frame->ordinal);
        tool_json_number(json, "event_a", frame->number[0]);
        tool_json_number(json, "event_b", frame->number[1]);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

void tool_diff_json_first(struct tool_diff *diff, const struct tool_diff_first *first,
                          struct tool_output *out)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    put_head(diff, &json);
    tool_json_bool(&json, "equal", first->differing == 0);
    tool_json_number(&json, "threads", first->count);
    tool_json_number(&json, "equal_events", first->equal_events);
    tool_json_number_if(&json, "first", first->first != SIZE_MAX, first->first);
    tool_json_begin(&json, "differences", '[');
    for (size_t i = 0; i < first->count && out->failed_errno == 0; i++) {
        const struct tool_diff_thread *thread = &first->threads[i];
        if (thread->end == TOOL_DIFF_EQUAL)
            continue;
        tool_json_begin(&json, NULL, '{');
        tool_json_number(&json, "thread", i);
        tool_json_number(&json, "process_place", thread->process);
        tool_json_number(&json, "thread_place", thread->place);
        tool_json_text(&json, "what", tool_diff_ends[thread->end]);
        tool_json_number(&json, "equal_events", thread->equal_events);
        const char *why = tool_diff_why(diff, thread);
        if (why != NULL)
            tool_json_text(&json, "why", why);
        if (thread->is_moved) {
            tool_diff_json_name(diff, &json, "called", thread->called);
            tool_diff_json_name(diff, &json, "caller_a", thread->callers[0]);
            tool_diff_json_name(diff, &json, "caller_b", thread->callers[1]);
        }
        put_event(diff, &json, thread, 0);
        put_event(diff, &json, thread, 1);
        put_frames(diff, &json, thread);
        tool_json_end(&json, '}');
    }
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}
