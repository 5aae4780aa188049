/* tracetape dump: selects streams, times and events, and leaves the printing to a format. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "tools/calls/losses.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/memory_limit.h"
#include "tools/command/pager.h"
#include "tools/dump/dump.h"
#include "tools/filter/filtered_input.h"

#define WAIT_NS        60000000000u
#define SITE_BYTES_MAX (8u * 1024u * 1024u)

struct options {
    const char *format;
    struct tool_choice choice;
    struct tool_filter kept;
    struct tool_range events;
    struct tool_id limit;
    struct tool_call_id open;
    uint32_t jobs;
    enum tool_origin origin;
    bool follow, places, details, paths, no_pager, side_by_side;
    struct tool_dump_wishes wishes;
    enum tool_name_style names;
    struct tool_time wait;
    uint64_t memory_bytes;
};

static const struct tool_dump_format *const formats[] = {&tool_dump_text, &tool_dump_csv,
                                                         &tool_dump_ndjson};

static const struct tool_option table[] = {
    {"format", 0, "FORMAT", "text (default), csv or ndjson", NULL, TOOL_AT(format)},
    TOOL_TIME_OPTION,
    {"events", 'e', "A..B", "events A up to before B of every stream", tool_parse_range,
     TOOL_AT(events)},
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"open", 0, "CALL", "one call, from enter to end: s0e4711, as slow and tree name it",
     tool_parse_call, TOOL_AT(open)},
    {"function", 'F', "REGEX", "only calls of functions whose names match", NULL,
     TOOL_AT(wishes.function)},
    TOOL_FILTER_OPTIONS,
    {"depth", 'd', "N", "only calls that have less than N others around them", tool_parse_id,
     TOOL_AT(wishes.depth)},
    {"min-time", 'm', "TIME", "only calls that took so long", tool_parse_time,
     TOOL_AT(wishes.min_time)},
    {"last", 0, "N", "only the last N events of those", tool_parse_id, TOOL_AT(wishes.last)},
    {"limit", 'n', "N", "at most N lines", tool_parse_id, TOOL_AT(limit)},
    {"origin", 0, "WHEN", "times since: start (as text), monotonic (as recorded; else), utc",
     tool_dump_parse_origin, TOOL_AT(origin)},
    {"side-by-side", 0, NULL, "text: each thread's calls in a column of their own", NULL,
     TOOL_AT(side_by_side)},
    {"places", 0, NULL, "where functions are: file and line, or module and offset (not csv)", NULL,
     TOOL_AT(places)},
    {"details", 0, NULL, "csv: numbers of signals, reasons of gaps and ends, as their symbol", NULL,
     TOOL_AT(details)},
    {"paths", 0, NULL, "the frames that led to system calls, too; in csv a column more", NULL,
     TOOL_AT(paths)},
    TOOL_NAMES_OPTION,
    {"jobs", 'j', "N", "threads that decode", tool_parse_u32, TOOL_AT(jobs)},
    {"follow", 0, NULL, "print what is added to FILE while it is recorded (record --live)", NULL,
     TOOL_AT(follow)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    {"wait", 'w', "TIME", "with --follow: how long FILE may not be there yet (default 60s)",
     tool_parse_time, TOOL_AT(wait)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "dump",
    .usage = "[OPTION]... FILE|-",
    .about =
        "Prints events. text: a call tree merged by time; csv: one line per event, stream after\n"
        "stream; ndjson: one JSON object per event, merged by time. Names are escaped.",
    .options = table,
    .examples = "  tracetape dump run.ttape --limit 40\n"
                "  tracetape dump run.ttape --last 40\n"
                "  tracetape dump run.ttape --function '^read' --min-time 1ms\n"
                "  tracetape dump run.ttape --time 1.5s..1.6s --thread 4711\n"
                "  tracetape dump run.ttape --format csv > run.csv\n"
                "  tracetape dump run.ttape --origin utc\n"
                "  tracetape dump --follow live.ttape\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  the file is truncated or damaged: printed is what is there\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = 1,
};

const struct tool_site_text *tool_dump_make_site(struct tool_dump *dump, uint32_t number)
{
    ttape_site site = {0};
    struct tool_site_text *text = &dump->sites[number];
    (void)ttape_reader_get_site(dump->reader, number, &site);
    site.symbol = tool_site_text(&dump->names, number);
    if (site.symbol.size_bytes * TTP_ESCAPE_MAX > TOOL_OUTPUT_BYTES / 2) {
        /* Names of 1 MiB are legal; the scratch buffer holds less, and the rest is cut off. */
        site.symbol.size_bytes = TOOL_OUTPUT_BYTES / 2 / TTP_ESCAPE_MAX;
    }
    dump->scratch.size_bytes = 0;
    dump->print_site(dump, number, &site);
    text->size_bytes = (uint32_t)dump->scratch.size_bytes;
    text->kind = site.kind <= TTAPE_SITE_MARKER ? site.kind : TTAPE_SITE_MARKER;
    text->text = tool_copy_text(dump->scratch.data, dump->scratch.size_bytes);
    return text;
}

bool tool_dump_go_on(struct tool_dump *dump, const ttape_error *err)
{
    if (!tool_input_go_on(dump->input, err, &dump->error_count, &dump->status))
        return false;
    /* Every damaged partition is reported once per cursor that meets it. */
    return dump->error_count <= (dump->info.partition_count + 1) * (dump->info.stream_count + 1);
}

/* Moves a cursor to the selection's start. */
static ttape_status seek(const struct tool_dump *dump, ttape_cursor *cursor, bool single,
                         ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    if (dump->from.given)
        status = ttape_cursor_seek_time(cursor, dump->from.value_ns, err);
    else if (dump->filter.first_ns > 0)
        status = ttape_cursor_seek_time(cursor, dump->filter.first_ns, err);
    if (status == TTAPE_OK && single && dump->events.given)
        status = ttape_cursor_seek_event(cursor, dump->events.from, err);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_cursor *open_cursor(struct tool_dump *dump, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    if (ttape_cursor_open(&cursor, dump->reader, stream, &err) != TTAPE_OK) {
        (void)tool_dump_go_on(dump, &err);
        return NULL;
    }
    if (seek(dump, cursor, stream != TTAPE_ALL_STREAMS, &err) != TTAPE_OK &&
        !tool_dump_go_on(dump, &err)) {
        ttape_cursor_close(cursor);
        return NULL;
    }
    return cursor;
}

ttape_cursor *tool_dump_open_stream(struct tool_dump *dump, uint32_t stream)
{
    return open_cursor(dump, stream);
}

static bool is_selected(const struct tool_dump *dump, const ttape_event_item *item)
{
    return dump->selected[item->stream] &&
           (!dump->events.given ||
            (item->number >= dump->events.from && item->number < dump->events.to));
}

void tool_dump_merged(struct tool_dump *dump, tool_item_taker take, tool_edge_taker start,
                      void *context)
{
    ttape_error err = {0};
    ttape_event_item item;
    ttape_edge edge;
    if (dump->stream_count == 0)
        return;
    bool single = dump->stream_count == 1;
    ttape_cursor *cursor = open_cursor(dump, single ? dump->streams[0] : TTAPE_ALL_STREAMS);
    if (cursor == NULL)
        return;
    if (single && start != NULL && ttape_cursor_get_open_frames(cursor, &edge, &err) == TTAPE_OK)
        start(context, dump->streams[0], &edge);
    while (!tool_dump_done(dump)) {
        ttape_status status = ttape_cursor_next(cursor, &item, &err);
        if (status == TTAPE_END || (status != TTAPE_OK && !tool_dump_go_on(dump, &err)))
            break;
        if (status != TTAPE_OK)
            continue;
        if ((dump->to.given && item.event.time_ns >= dump->to.value_ns) ||
            (single && dump->events.given && item.number >= dump->events.to))
            break;
        if (is_selected(dump, &item) && tool_dump_filter_has(dump, &item))
            take(context, &item);
    }
    ttape_cursor_close(cursor);
}

struct ordered {
    uint64_t pid, tid, start_ns;
    uint32_t stream;
};

static int compare_streams(const void *a, const void *b)
{
    const struct ordered *one = a, *two = b;
    const uint64_t left[] = {one->pid, one->tid, one->start_ns, one->stream};
    const uint64_t right[] = {two->pid, two->tid, two->start_ns, two->stream};
    for (size_t i = 0; i < 4; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int select_streams(struct tool_dump *dump)
{
    uint32_t count = dump->info.stream_count;
    struct tool_selection selection;
    int status = tool_select_streams(&selection, dump->reader, dump->input->name, dump->choice,
                                     dump->is_followed);
    if (status != TOOL_OK)
        return status;
    struct ordered *order = tool_allocate(count, sizeof(*order));
    free(dump->selected);
    free(dump->streams);
    dump->stream_count = 0;
    dump->selected = tool_allocate(count, sizeof(bool));
    dump->streams = tool_allocate(count, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        ttape_stream_info stream;
        bool found = ttape_reader_get_stream(dump->reader, i, &stream) == TTAPE_OK;
        if (!found || !tool_selects(&selection, i))
            continue;
        order[dump->stream_count++] =
            (struct ordered){stream.pid, stream.stream.tid, stream.stream.start_time_ns, i};
        dump->selected[i] = true;
    }
    if (dump->stream_count > 0)
        qsort(order, dump->stream_count, sizeof(*order), compare_streams);
    for (uint32_t i = 0; i < dump->stream_count; i++)
        dump->streams[i] = order[i].stream;
    free(order);
    tool_selection_close(&selection);
    return TOOL_OK;
}

/* What stays the same, however much is added to the file. */
static int choose_events(struct tool_dump *dump)
{
    dump->has_times = dump->info.resolution_ns != TTAPE_TIME_NONE;
    const char *name = dump->input->name;
    struct tool_selection selection;
    int status = tool_select_time(&selection, dump->reader, name, dump->choice, dump->is_followed);
    if (status != TOOL_OK)
        return status;
    dump->from.value_ns = selection.from_ns;
    dump->to.value_ns = selection.to_ns;
    dump->from.relative = dump->to.relative = false;
    tool_selection_close(&selection);
    dump->is_prepared = true;
    dump->start_ns = dump->info.time_first_ns;
    if (dump->origin == TOOL_ORIGIN_USUAL) {
        bool is_text = dump->format == &tool_dump_text;
        dump->origin = is_text && dump->has_times ? TOOL_ORIGIN_START : TOOL_ORIGIN_MONOTONIC;
    }
    if (!dump->has_times && dump->origin != TOOL_ORIGIN_MONOTONIC)
        return tool_fail("'%s' has no times: --origin cannot be used", name);
    return dump->call.given ? tool_dump_choose_call(dump) : TOOL_OK;
}

int tool_dump_prepare(struct tool_dump *dump)
{
    ttape_reader_get_info(dump->reader, &dump->info);
    int status = dump->is_prepared ? TOOL_OK : choose_events(dump);
    if (dump->names.site_count < dump->info.site_count || dump->names.reader != dump->reader) {
        tool_site_names_close(&dump->names);
        tool_site_names_open_as(&dump->names, dump->reader, dump->name_style);
    }
    tool_grow((void **)&dump->sites, &dump->site_capacity, dump->info.site_count,
              sizeof(struct tool_site_text));
    for (; dump->site_count < dump->info.site_count; dump->site_count++)
        dump->sites[dump->site_count] = (struct tool_site_text){0};
    if (status == TOOL_OK && dump->origin == TOOL_ORIGIN_UTC)
        status = tool_dump_find_origin(dump);
    return status == TOOL_OK ? select_streams(dump) : status;
}

static int print_file(void *context, const struct tool_input *input)
{
    struct tool_dump *dump = context;
    dump->input = input;
    dump->reader = input->reader;
    int status = tool_dump_prepare(dump);
    if (status == TOOL_OK && (dump->filter.is_given || dump->filter.wishes->last.given))
        tool_losses_warn(input); /* its place may not be among what is printed */
    if (status == TOOL_OK)
        status = tool_dump_filter_prepare(dump);
    if (status == TOOL_OK && dump->side_by_side && dump->stream_count > TOOL_DUMP_COLUMNS_MOST)
        status = tool_usage("dump",
                            "--side-by-side is for %u threads at most, not %" PRIu32
                            ": choose them with --thread",
                            TOOL_DUMP_COLUMNS_MOST, dump->stream_count);
    if (status == TOOL_OK) {
        dump->format->open(dump);
        dump->format->print(dump);
        dump->format->close(dump);
        status = tool_dump_filter_end(&dump->filter, dump->reader);
        status = dump->status > status ? dump->status : status;
    }
    dump->input = NULL;
    return status;
}

static int print_all(const struct options *options, struct tool_dump *dump, const char *path)
{
    tool_pager_open(&dump->out,
                    !options->no_pager && !options->follow && dump->format == &tool_dump_text);
    tool_output_open(&dump->scratch, -1);
    int status;
    if (options->follow) {
        status =
            tool_dump_follow(dump, path, options->wait.given ? options->wait.value_ns : WAIT_NS);
    } else {
        tool_memory_bound(options->memory_bytes);
        status = tool_filtered_run("dump", &options->kept, path, options->jobs,
                                   options->memory_bytes, print_file, dump);
    }
    int closed = tool_pager_close(&dump->out);
    for (size_t i = 0; i < dump->site_count; i++)
        free(dump->sites[i].text);
    tool_dump_filter_close(&dump->filter);
    tool_site_names_close(&dump->names);
    free(dump->scratch.data);
    free(dump->sites);
    free(dump->selected);
    free(dump->streams);
    free(dump->realtimes);
    free(dump->frames);
    return closed != TOOL_OK ? closed : status;
}

static const struct tool_dump_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static int check_options(const struct options *options, const struct tool_dump_format *format)
{
    if (format == NULL)
        return tool_usage("dump", "unknown format '%s'", options->format);
    if (options->wait.given && !options->follow)
        return tool_usage("dump", "--wait goes with --follow");
    if (options->places && format == &tool_dump_csv)
        return tool_usage("dump", "--places does not go with the fixed columns of csv");
    if (options->side_by_side && (options->follow || format != &tool_dump_text))
        return tool_usage("dump", "--side-by-side is for text, without --follow");
    if (options->open.given &&
        (options->follow || options->events.given || tool_choice_names(&options->choice)))
        return tool_usage("dump",
                          "--open goes without --events, --follow, threads, processes and streams");
    if (options->follow && tool_filter_is_given(&options->kept))
        return tool_usage("dump", "--filter, --on, --below and --no-below go without --follow");
    if (options->follow && (options->wishes.last.given || options->wishes.min_time.given))
        return tool_usage("dump", "--last and --min-time go without --follow");
    return TOOL_OK;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    const struct tool_dump_format *format =
        find_format(options->format == NULL ? "text" : options->format);
    status = check_options(options, format);
    if (status != TOOL_OK)
        return status;
    if (options->open.given)
        tool_add_number(&options->choice.streams, options->open.stream);
    struct tool_dump dump = {.format = format,
                             .choice = &options->choice,
                             .from = options->choice.time.from,
                             .to = options->choice.time.to,
                             .events = options->events,
                             .call = options->open,
                             .side_by_side = options->side_by_side,
                             .places = options->places,
                             .details = options->details,
                             .paths = options->paths,
                             .colours = tool_terminal_colours(),
                             .name_style =
                                 tool_name_style(options->names, format != &tool_dump_text),
                             .origin = options->origin,
                             .lines_left = options->limit.given ? options->limit.value : UINT64_MAX,
                             .memory_bytes = options->memory_bytes,
                             .is_followed = options->follow};
    status = tool_dump_filter_open(&dump.filter, &options->wishes);
    return status == TOOL_OK ? print_all(options, &dump, argv[0]) : status;
}

int tool_verb_dump(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}
