/* The same for programs: one object. Times are nanoseconds; null: not known. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/calls/json_place.h"
#include "tools/calls/losses.h"
#include "tools/io/json.h"
#include "tools/slow/slow_view.h"
#include "tools/values/value_json.h"

static const char *const by_names[] = {[TTAPE_LONGEST_BY_DURATION] = "duration",
                                       [TTAPE_LONGEST_BY_SELF] = "self",
                                       [TTAPE_LONGEST_BY_START] = "start",
                                       [TTAPE_LONGEST_BY_ON_CPU] = "on_cpu"};

struct printing {
    struct tool_slow *view;      /* of the call at hand, */
    const struct tool_slow *all; /* and of all */
    struct tool_json json;
};

static void put_name(struct printing *print, const char *key, uint32_t site)
{
    char buffer[TOOL_LABEL_BYTES];
    tool_json_string(&print->json, key, tool_site_word(&print->view->names, site, buffer));
}

static void put_module(struct printing *print, uint32_t number)
{
    ttape_site site = {.module = TTAPE_NONE};
    ttape_module module = {0};
    if (ttape_reader_get_site(print->view->reader, number, &site) == TTAPE_OK)
        (void)ttape_reader_get_module(print->view->reader, site.module, &module);
    tool_json_string_if(&print->json, "module", module.path);
}

static void put_path(struct printing *print, const ttape_longest_call *call)
{
    tool_json_begin(&print->json, "path", '[');
    for (uint32_t i = 0; i < call->path_count; i++)
        if (call->path[i].kind == TTAPE_EVENT_SIGNAL_BEGIN)
            tool_json_text(&print->json, NULL, "(signal)");
        else
            put_name(print, NULL, call->path[i].site);
    tool_json_end(&print->json, ']');
}

static void put_off(struct printing *print, const char *key, const ttape_longest_call *call,
                    int64_t time_ns)
{
    if (call->off_known)
        tool_json_signed(&print->json, key, time_ns);
    else
        tool_json_null(&print->json, key);
}

static void put_call(struct printing *print, const ttape_longest_call *call)
{
    struct tool_json *json = &print->json;
    char id[TOOL_CALL_ID_BYTES];
    tool_json_begin(json, NULL, '{');
    put_name(print, "name", call->site);
    if (print->all->rows != NULL)
        tool_json_text(json, "trace", print->view->input->name);
    else
        tool_json_number(json, "site", call->site);
    tool_json_string_if(json, "id", (ttape_string){id, strlen(tool_slow_id(call, id))});
    tool_json_number(json, "stream", call->stream);
    tool_json_number(json, "tid", tool_slow_tid(print->view, call));
    tool_json_number(json, "start_ns", call->enter_ns);
    tool_json_signed(json, "duration_ns", call->duration_ns);
    tool_json_signed(json, "self_ns", call->self_ns);
    if (call->off_known || print->all->by == TTAPE_LONGEST_BY_ON_CPU)
        tool_json_signed(json, "on_cpu_ns", call->on_cpu_ns);
    else
        tool_json_null(json, "on_cpu_ns");
    put_off(print, "preempted_ns", call, call->preempted_ns);
    put_off(print, "blocked_ns", call, call->blocked_ns);
    put_off(print, "off_unknown_ns", call, call->unknown_ns);
    tool_json_text(json, "end", tool_slow_end(call));
    tool_json_number_if(json, "event", !call->is_found, call->enter_number);
    tool_json_number(json, "end_event", call->end_number);
    tool_json_number(json, "depth", call->depth);
    put_module(print, call->site);
    tool_json_place(json, print->view->reader, call->site);
    tool_json_values(json, "argument", print->view->reader, call->site, false, call->arguments,
                     call->argument_count);
    tool_json_values(json, "result", print->view->reader, call->site, true, call->results,
                     call->result_count);
    put_path(print, call);
    tool_json_end(json, '}');
}

void tool_slow_json(struct tool_slow *view, struct tool_output *out)
{
    struct printing print = {.view = view, .all = view};
    struct tool_json *json = &print.json;
    tool_json_open(json, out);
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "by", by_names[view->by]);
    if (view->rows != NULL)
        tool_json_number(json, "traces", view->file_count);
    else
        tool_json_number(json, "first_ns", view->start_ns);
    tool_json_number(json, "partitions", view->info.partition_count);
    tool_json_number(json, "decoded", view->info.decoded_count);
    tool_json_number(json, "decoded_for_enters", view->info.enter_count);
    tool_json_number(json, "damaged", view->info.damaged_count);
    if (view->rows == NULL)
        tool_json_number(json, "lost_events", tool_lost_events(view->reader));
    tool_json_begin(json, "calls", '[');
    for (uint32_t i = 0; i < view->call_count; i++) {
        print.view = view->rows != NULL ? view->rows[i].of : view;
        put_call(&print, view->rows != NULL ? view->rows[i].call : &view->calls[i]);
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}
