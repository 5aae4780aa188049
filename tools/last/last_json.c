#include <string.h>

#include "tools/calls/end_words.h"
#include "tools/calls/losses.h"
#include "tools/io/json.h"
#include "tools/last/last_view.h"

static void put_site(struct tool_last *last, struct tool_json *json, uint32_t site)
{
    char buffer[TOOL_LABEL_BYTES];
    ttape_site found = {0};
    (void)ttape_reader_get_site(last->reader, site, &found);
    tool_json_string_if(json, "function",
                        site == TTAPE_NONE ? (ttape_string){"", 0}
                                           : tool_site_word(&last->names, site, buffer));
    tool_json_string_if(json, "file", found.file);
    tool_json_number_if(json, "line", found.line != 0, found.line);
}

static void put_process_end(struct tool_json *json, const ttape_last_end *end)
{
    char words[TOOL_END_BYTES] = "how it ended is not in the trace";
    bool has_code = end->how == TTAPE_PROCESS_END_EXIT || end->how == TTAPE_PROCESS_END_QUICK_EXIT;
    if (end->is_known)
        tool_process_end_words(end->how, end->number, words);
    tool_json_text(json, "end", words);
    tool_json_number_if(json, "how", end->is_known, end->how);
    tool_json_number_if(json, "exit_code", end->is_known && has_code, end->number);
    tool_json_number_if(json, "signal", end->is_known && end->how == TTAPE_PROCESS_END_SIGNAL,
                        end->number);
}

static void put_processes(struct tool_last *last, struct tool_json *json)
{
    tool_json_begin(json, "processes", '[');
    for (uint32_t i = 0; i < last->process_count; i++) {
        ttape_process process;
        ttape_last_end end;
        if (ttape_reader_get_process(last->reader, i, &process) != TTAPE_OK ||
            ttape_last_get_process(last->answer, i, &end) != TTAPE_OK)
            continue;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "pid", process.pid);
        tool_json_string(json, "name", process.name);
        put_process_end(json, &end);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

/* Inlined functions are frames that have no time of their own. */
static void put_inlined(struct tool_last *last, struct tool_json *json,
                        const ttape_last_thread *thread, uint32_t at)
{
    uint32_t count;
    char *const *names = tool_last_inlined(last, thread, at, &count);
    while (count-- > 0) {
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "function", names[count]);
        tool_json_string_if(json, "file", (ttape_string){"", 0});
        tool_json_number_if(json, "line", false, 0);
        tool_json_bool(json, "inlined", true);
        tool_json_number_if(json, "signal", false, 0);
        tool_json_number_if(json, "enter_time_ns", false, 0);
        tool_json_end(json, '}');
    }
}

static void put_frames(struct tool_last *last, struct tool_json *json,
                       const ttape_last_thread *thread)
{
    tool_json_begin(json, "open", '[');
    for (uint32_t i = thread->frame_count; i-- > 0;) {
        const ttape_open_frame *frame = &thread->frames[i];
        bool is_signal = frame->kind == TTAPE_EVENT_SIGNAL_BEGIN;
        tool_json_begin(json, NULL, '{');
        put_site(last, json, frame->site);
        tool_json_bool(json, "inlined", false);
        tool_json_number_if(json, "signal", is_signal, frame->argument);
        tool_json_number_if(json, "enter_time_ns", last->has_times, frame->enter_time_ns);
        struct tool_value_call call = tool_last_frame(thread, frame);
        tool_json_found_values(&last->values, json, &call);
        tool_json_end(json, '}');
        put_inlined(last, json, thread, i);
    }
    tool_json_end(json, ']');
}

/* How many is not known: null. */
static void put_lost(struct tool_json *json, const char *key, uint64_t lost)
{
    tool_json_number_if(json, key, lost != UINT64_MAX, lost);
}

static void put_calls(struct tool_last *last, struct tool_json *json,
                      const ttape_last_thread *thread)
{
    tool_json_begin(json, "calls", '[');
    for (size_t i = 0; i < thread->call_count; i++) {
        const ttape_last_call *call = &thread->calls[i];
        struct tool_value_call values = tool_last_call(thread, call);
        tool_json_begin(json, NULL, '{');
        put_site(last, json, call->site);
        tool_json_number(json, "depth", call->depth);
        tool_json_number(json, "count", call->count);
        tool_json_number_if(json, "start_time_ns", last->has_times, call->start_ns);
        tool_json_number_if(json, "duration_ns", last->has_times && call->has_returned,
                            (uint64_t)call->total_ns);
        tool_json_bool(json, "open", call->is_open);
        put_lost(json, "lost_before", call->lost_before);
        tool_json_number(json, "off_before_ns", call->off_before_ns);
        if (call->count == 1)
            tool_json_found_values(&last->values, json, &values);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_fault_place(const struct tool_last *last, struct tool_json *json,
                            const ttape_last_thread *thread, bool has_fault)
{
    struct tool_last_place place = {0};
    bool is_known = has_fault && tool_last_core_place(last, thread, &place);
    tool_json_string_if(json, "fault_function",
                        (ttape_string){place.function, strlen(place.function)});
    tool_json_string_if(json, "fault_file", (ttape_string){place.file, strlen(place.file)});
    tool_json_number_if(json, "fault_line", is_known && place.line != 0, place.line);
}

static void put_thread(struct tool_last *last, struct tool_json *json,
                       const ttape_last_thread *thread)
{
    const ttape_last_end *end = &thread->end;
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "stream", thread->stream);
    tool_json_number(json, "pid", info.pid);
    tool_json_number(json, "tid", info.stream.tid);
    tool_json_string(json, "name", info.stream.name);
    tool_json_text(json, "end",
                   !end->is_known
                       ? "how it ended is not in the trace"
                       : tool_thread_end_words(end->is_process ? (uint64_t)TTAPE_THREAD_END_PROCESS
                                                               : end->how));
    bool has_reason = !end->is_process && end->how == TTAPE_THREAD_END_RECORDING;
    tool_json_number_if(json, "stop_reason", has_reason, end->number);
    tool_json_number_if(json, "end_time_ns", last->has_times, thread->end_ns);
    uint64_t number, address;
    bool has_fault = tool_last_fault(last, thread, &number, &address);
    tool_json_number_if(json, "fault_signal", has_fault, number);
    tool_json_number_if(json, "fault_address", has_fault, address);
    put_fault_place(last, json, thread, has_fault);
    if (last->ran_count != 0 && info.stream.process == last->ran_process)
        tool_json_bool(json, "ran_then", last->ran[thread - last->threads]);
    put_frames(last, json, thread);
    put_calls(last, json, thread);
    put_lost(json, "lost_after", thread->lost_after);
    tool_json_number_if(json, "off_since_ns", thread->off_since_ns != 0, thread->off_since_ns);
    tool_json_bool(json, "has_more_calls", thread->has_more_calls);
    tool_json_end(json, '}');
}

void tool_last_json(struct tool_last *last, struct tool_output *out)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "file", last->input->name);
    tool_json_number(&json, "lost_events", tool_lost_events(last->reader));
    put_processes(last, &json);
    tool_json_begin(&json, "threads", '[');
    for (size_t i = 0; i < last->thread_count; i++)
        put_thread(last, &json, &last->threads[i]);
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}
