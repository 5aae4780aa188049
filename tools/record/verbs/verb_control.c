/* tracetape control: turns a recording that is under way on and off, and asks things of its
 * recorder. */
#define _GNU_SOURCE /* stpcpy */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/recording.h>

#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/filter/filter_option.h"
#include "tools/io/json.h"

#define DEFAULT_WAIT_NS 60000000000u
#define REQUEST_STATUS  UINT32_MAX
#define REQUEST_CHANGE  (UINT32_MAX - 1)
#define SAID_BYTES      1024u

struct options {
    bool json, no_wait;
    struct tool_filter filter, on;
    struct tool_filter functions;
    struct tool_time wait;
};

static const struct tool_option table[] = {
    {"function", 'F', "REGEX", "of what is attached to: patches these functions, and no others",
     tool_parse_filter, TOOL_AT(functions)},
    {"filter", 0, "FILTER", "goes by this filter from then on: see tracetape-filters(7)",
     tool_parse_filter, TOOL_AT(filter)},
    {"on", 0, "TRIGGER", "and by these triggers", tool_parse_filter, TOOL_AT(on)},
    {"json", 0, NULL, "status, or the names of a snapshot's files, as JSON", NULL, TOOL_AT(json)},
    {"wait", 'w', "TIME", "how long flush and snapshot may take (default 60s)", tool_parse_time,
     TOOL_AT(wait)},
    {"no-wait", 0, NULL, "do not wait for flush and snapshot", NULL, TOOL_AT(no_wait)},
    {0}};

static const struct tool_command command = {
    .verb = "control",
    .usage = "[OPTION]... PID [on|off|flush|snapshot|stop|status]",
    .about = "Steers a recording that is under way. PID is a traced program or its recorder.\n"
             "\n"
             "  on, off   record, or let calls pass\n"
             "  flush     what was recorded until now goes into the trace file\n"
             "  snapshot  and a copy of the trace so far into a file of its own, FILE.snapshot-N,\n"
             "            whose name is printed\n"
             "  stop      record nothing more, for good; the program goes on\n"
             "  status    print what the recording is doing",
    .options = table,
    .examples = "  tracetape record --off --filter '' -o run.ttape ./server &\n"
                "  tracetape control $! on\n"
                "  tracetape control $! --filter '!malloc, free'\n"
                "  tracetape control $! status --json\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  4  not done\n",
    .operands_min = 0, /* its operands are no files */
    .operands_max = 2,
};

static const struct {
    const char *name;
    uint32_t request;
} requests[] = {{"on", TTAPE_CONTROL_ON},       {"off", TTAPE_CONTROL_OFF},
                {"flush", TTAPE_CONTROL_FLUSH}, {"snapshot", TTAPE_CONTROL_SNAPSHOT},
                {"stop", TTAPE_CONTROL_STOP},   {"status", REQUEST_STATUS}};

static bool find_request(const char *name, uint32_t *request)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(requests[i].name, name) == 0) {
            *request = requests[i].request;
            return true;
        }
    }
    return false;
}

static const char *mode_name(ttape_recording_mode mode)
{
    static const char *const names[] = {"off", "on", "stopped"};
    return mode < sizeof names / sizeof names[0] ? names[mode] : "unknown";
}

static const char *clock_name(ttape_clock clock)
{
    static const char *const names[] = {"auto", "tsc", "monotonic", "coarse", "none"};
    return clock < sizeof names / sizeof names[0] ? names[clock] : "unknown";
}

static void print_json(struct tool_output *out, uint32_t pid, const char *path,
                       const ttape_control_status *s)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_number(&json, "pid", pid);
    tool_json_text(&json, "output", path != NULL ? path : "");
    tool_json_text(&json, "mode", mode_name(s->mode));
    tool_json_text(&json, "clock", clock_name(s->clock));
    tool_json_begin(&json, "blocks", '{');
    tool_json_number(&json, "used", s->block_used);
    tool_json_number(&json, "ready", s->block_ready);
    tool_json_number(&json, "max", s->block_max);
    tool_json_number(&json, "bytes", s->block_bytes);
    tool_json_end(&json, '}');
    tool_json_number(&json, "events", s->event_count);
    tool_json_number(&json, "lost", s->lost_count);
    tool_json_number(&json, "snapshots", s->snapshot_count);
    tool_json_begin(&json, "recorder", '{');
    tool_json_number(&json, "pid", s->recorder_pid);
    tool_json_bool(&json, "alive", s->recorder_lives);
    tool_json_end(&json, '}');
    tool_json_end(&json, '}');
    tool_output_text(out, "\n");
}

static void print_text(struct tool_output *out, const char *path, const ttape_control_status *s)
{
    if (path != NULL) {
        tool_output_text(out, "output      ");
        tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){path, strlen(path)});
        tool_output_text(out, "\n");
    }
    tool_output_printf(out, "mode        %s\n", mode_name(s->mode));
    tool_output_printf(out, "clock       %s\n", clock_name(s->clock));
    tool_output_printf(
        out, "buffer      %" PRIu32 " of %" PRIu32 " blocks in use, %" PRIu32 " KiB each\n",
        s->block_used, s->block_ready, s->block_bytes / 1024);
    tool_output_printf(out, "events      %" PRIu64 " in the trace, %" PRIu64 " lost\n",
                       s->event_count, s->lost_count);
    tool_output_printf(out, "snapshots   %" PRIu32 "\n", s->snapshot_count);
    tool_output_printf(out, "recorder    process %" PRIu32 "%s\n", s->recorder_pid,
                       s->recorder_lives ? "" : ", which is gone");
}

static int print_status(const ttape_control *control, uint32_t pid, bool as_json)
{
    struct tool_output out;
    ttape_control_status status;
    const char *path = ttape_control_output(control);
    ttape_control_get_status(control, &status);
    tool_output_open(&out, STDOUT_FILENO);
    if (as_json)
        print_json(&out, pid, path, &status);
    else
        print_text(&out, path, &status);
    return tool_output_close(&out);
}

static int print_files(const ttape_control *control, bool as_json)
{
    struct tool_output out;
    struct tool_json json;
    const char *file;
    tool_output_open(&out, STDOUT_FILENO);
    if (as_json) {
        tool_json_open(&json, &out);
        tool_json_begin(&json, NULL, '{');
        tool_json_begin(&json, "snapshot", '[');
    }
    for (uint32_t i = 0; (file = ttape_control_snapshot_file(control, i)) != NULL; i++) {
        if (as_json) {
            tool_json_text(&json, NULL, file);
            continue;
        }
        tool_output_escaped(&out, TTP_ESCAPE_TEXT, (ttape_string){file, strlen(file)});
        tool_output_text(&out, "\n");
    }
    if (as_json) {
        tool_json_end(&json, ']');
        tool_json_end(&json, '}');
        tool_output_text(&out, "\n");
    }
    return tool_output_close(&out);
}

static void put_output(struct tool_output *out, const char *before, const char *path)
{
    if (path == NULL)
        return;
    tool_output_text(out, before);
    tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){path, strlen(path)});
    tool_output_text(out, "'");
}

/* What was done, and to what. */
static int print_done(const ttape_control *control, uint32_t pid, uint32_t request,
                      const ttape_control_status *before)
{
    struct tool_output out;
    ttape_control_status now;
    const char *path = ttape_control_output(control);
    ttape_control_get_status(control, &now);
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "process %" PRIu32 ": ", pid);
    if (request == TTAPE_CONTROL_FLUSH) {
        tool_output_printf(&out, "%" PRIu64 " events", now.event_count);
        put_output(&out, " of '", path);
        tool_output_printf(&out, " are on disk, %" PRIu64 " are lost\n", now.lost_count);
        return tool_output_close(&out);
    }
    tool_output_text(&out, "recording");
    put_output(&out, " into '", path);
    tool_output_printf(&out, " is %s, it was %s\n",
                       request == TTAPE_CONTROL_STOP ? "stopped for good"
                       : request == TTAPE_CONTROL_ON ? "on"
                                                     : "off",
                       mode_name(before->mode));
    return tool_output_close(&out);
}

static uint64_t wait_ns(const struct options *options)
{
    if (options->no_wait)
        return 0;
    return options->wait.given ? options->wait.value_ns : DEFAULT_WAIT_NS;
}

/* NULL: nothing was said. What is none is refused here, with its place. */
static int take_text(const struct tool_filter *said, bool is_filter, char **text)
{
    struct tool_filter_made made;
    *text = NULL;
    if (said->count == 0)
        return TOOL_OK;
    int status = is_filter ? tool_filter_make(&made, "control", said)
                           : tool_triggers_make(&made, "control", said);
    if (status != TOOL_OK)
        return status;
    tool_filter_unmake(&made);
    *text = tool_filter_text(said);
    return TOOL_OK;
}

static int print_changed(const ttape_control *control, uint32_t pid, const char *filter,
                         const char *triggers)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "process %" PRIu32 ": recording", pid);
    put_output(&out, " into '", ttape_control_output(control));
    tool_output_printf(&out, " goes by the new %s%s%s\n", filter != NULL ? "filter" : "",
                       filter != NULL && triggers != NULL ? " and " : "",
                       triggers != NULL ? "triggers" : "");
    return tool_output_close(&out);
}

static int change(const struct options *options, ttape_control *control, uint32_t pid)
{
    ttape_error err = {0};
    char *filter = NULL, *triggers = NULL;
    int status = take_text(&options->filter, true, &filter);
    if (status == TOOL_OK)
        status = take_text(&options->on, false, &triggers);
    if (status == TOOL_OK &&
        ttape_control_change(control, filter, triggers, wait_ns(options), &err) != TTAPE_OK)
        status = tool_fail("process %" PRIu32 ": %s", pid, err.message);
    if (status == TOOL_OK)
        status = print_changed(control, pid, filter, triggers);
    free(filter);
    free(triggers);
    return status;
}

/* One a line; an empty one alone means those of the start. */
static char *join_functions(const struct tool_filter *said)
{
    size_t room = 1;
    for (size_t i = 0; i < said->count; i++)
        room += strlen(said->texts[i]) + 1;
    char *text = tool_allocate(room, 1), *end = text;
    for (size_t i = 0; i < said->count; i++)
        if (said->texts[i][0] != '\0')
            end = stpcpy(stpcpy(end, end == text ? "" : "\n"), said->texts[i]);
    return text;
}

static int change_functions(const struct options *options, ttape_control *control, uint32_t pid)
{
    struct tool_output out;
    ttape_error err = {0};
    char said[SAID_BYTES] = "", *functions = join_functions(&options->functions);
    ttape_status status =
        ttape_control_functions(control, functions, said, sizeof said, wait_ns(options), &err);
    free(functions);
    if (status != TTAPE_OK)
        return tool_fail("process %" PRIu32 ": %s", pid, err.message);
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "process %" PRIu32 ": ", pid);
    tool_output_escaped(&out, TTP_ESCAPE_TEXT, (ttape_string){said, strlen(said)});
    tool_output_text(&out, "\n");
    return tool_output_close(&out);
}

static int send(const struct options *options, uint32_t pid, uint32_t request)
{
    ttape_error err = {0};
    ttape_control *control;
    ttape_control_status before;
    int status;
    if (ttape_control_open(&control, pid, &err) != TTAPE_OK)
        return tool_fail("%s", err.message);
    ttape_control_get_status(control, &before);
    if (request == REQUEST_CHANGE && options->functions.count > 0)
        status = change_functions(options, control, pid);
    else if (request == REQUEST_CHANGE)
        status = change(options, control, pid);
    else if (request == REQUEST_STATUS)
        status = print_status(control, pid, options->json);
    else if (ttape_control_send(control, request, wait_ns(options), &err) != TTAPE_OK)
        status = tool_fail("%s", err.message);
    else if (request == TTAPE_CONTROL_SNAPSHOT)
        status = print_files(control, options->json);
    else
        status = print_done(control, pid, request, &before);
    ttape_control_close(control);
    return status;
}

static int run(const struct options *options, int count, char **argv)
{
    bool has_rules = options->filter.count > 0 || options->on.count > 0;
    bool changes = has_rules || options->functions.count > 0;
    uint32_t pid, request = REQUEST_CHANGE;
    if (count < 1 || (count < 2 && !changes))
        return tool_usage("control", "control needs a process id and what to do");
    if (!tool_parse_u32(argv[0], &pid))
        return tool_usage("control", "'%s' is not a process id", argv[0]);
    if (count > 1 && changes)
        return tool_usage("control", "--filter, --on and --function are asked for without '%s'",
                          argv[1]);
    if (has_rules && options->functions.count > 0)
        return tool_usage("control", "--function is asked for without --filter and --on");
    if (count > 1 && !find_request(argv[1], &request))
        return tool_usage("control", "unknown request '%s'", argv[1]);
    if (options->json && request != REQUEST_STATUS && request != TTAPE_CONTROL_SNAPSHOT)
        return tool_usage("control", "--json goes with status and snapshot");
    return send(options, pid, request);
}

int tool_verb_control(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) == TOOL_PARSED_GO)
        status = run(&options, count, argv);
    tool_filter_close(&options.filter);
    tool_filter_close(&options.on);
    tool_filter_close(&options.functions);
    return status;
}
