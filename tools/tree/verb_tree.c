/* tracetape tree: the execution tree, pruned where the user did not open it. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/tree/tree_view.h"

#define OPEN_DEPTH_USUAL 2u
#define LIMIT_USUAL      100u
#define LIMIT_MOST       100000u
/* Events that are looked at: so many, and each of the trace for so many levels of calls. */
#define WORK_MOST        (UINT64_C(1) << 26)
#define WORK_LEVELS_MOST 64u

/* Events of traces that are decoded without being asked. */
#define WHOLE_MOST (UINT64_C(1) << 23)

struct options {
    const char *open, *find;
    struct tool_id depth;
    struct tool_time min_time;
    struct tool_choice choice;
    struct tool_filter kept;
    uint32_t jobs;
    enum tool_name_style names;
    struct tool_id limit;
    bool all, full, partitions, source, fold, json, no_pager;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"open", 0, "WHAT", "a node (s0p3), a time (+1.5s) or a path (main/run[2]): decode it", NULL,
     TOOL_AT(open)},
    {"find", 0, "FUNCTION", "its longest call, and the calls that lead to it", NULL, TOOL_AT(find)},
    {"depth", 'd', "N", "levels below what is shown; 2 with --open, all otherwise", tool_parse_id,
     TOOL_AT(depth)},
    {"all", 'a', NULL, "each call on a line of its own", NULL, TOOL_AT(all)},
    {"limit", 'n', "N", "the N largest calls, the rest in brackets; default: 100", tool_parse_id,
     TOOL_AT(limit)},
    {"min-time", 'm', "TIME", "no --limit: only shorter calls are in brackets", tool_parse_time,
     TOOL_AT(min_time)},
    TOOL_FILTER_OPTIONS,
    TOOL_NAMES_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    TOOL_TIME_OPTION,
    {"fold", 0, NULL, "equal siblings, and series of them, once in JSON, too", NULL, TOOL_AT(fold)},
    {"full", 0, NULL, "decode everything, prune nothing, however large the trace is", NULL,
     TOOL_AT(full)},
    {"partitions", 0, NULL, "as a large trace is shown, with its partitions in brackets", NULL,
     TOOL_AT(partitions)},
    {"source", 0, NULL, "where each function is written: file, first and last line", NULL,
     TOOL_AT(source)},
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"jobs", 'j', "N", "threads that read; default: one per processor", tool_parse_u32,
     TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "tree",
    .usage = "[OPTION]... FILE|-",
    .about = "Shows what called what. Of more than eight million events, long calls are shown, at\n"
             "once; of the rest, in brackets, the functions that took most of it, until --open "
             "names it.",
    .options = table,
    .examples = "  tracetape tree run.ttape\n"
                "  tracetape tree run.ttape --open s0e5603 --all\n"
                "  tracetape tree run.ttape --find parse_line\n"
                "  tracetape tree run.ttape --open +1.25s --depth 1\n"
                "  tracetape tree run.ttape --source\n"
                "  tracetape tree run.ttape --open 'main/run[2]' --min-time 10us\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  the file is truncated or damaged: what is there was shown\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = 1,
};

static int print(const struct options *options, struct tool_tree *view)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !options->no_pager);
    if (options->json)
        tool_tree_json(view, &out);
    else
        tool_tree_print(view, &out);
    return tool_pager_close(&out);
}

/* A small trace is decoded, as its calls are what somebody wants to see. --open and --find decode
 * by rules of their own. */
static bool is_whole(const struct options *options, uint64_t event_count)
{
    bool is_way = options->open != NULL || options->find != NULL;
    return options->full || (!options->partitions && !is_way && event_count <= WHOLE_MOST);
}

/* Whether the shortest call that is shown does not depend on the longest. */
static bool has_min(const struct options *options)
{
    return options->min_time.given || options->all || options->limit.given || !options->json;
}

static void set_limit(const struct options *options, struct tool_tree *view)
{
    uint64_t count = options->limit.given ? options->limit.value : LIMIT_USUAL;
    count = count < LIMIT_MOST ? count : LIMIT_MOST;
    view->largest_count = (uint32_t)(count + 1) / 2;
}

static bool is_only_long(const struct options *options, const struct tool_tree *view)
{
    return view->largest_count > 0 && !view->full && !options->limit.given &&
           options->open == NULL && options->find == NULL;
}

static void set_up(const struct options *options, struct tool_tree *view)
{
    ttape_info info;
    ttape_reader_get_info(view->reader, &info);
    view->has_times = info.resolution_ns != TTAPE_TIME_NONE;
    view->full = is_whole(options, info.event_count);
    view->fold = options->fold || (!options->json && !options->all);
    view->shows_partitions = options->partitions;
    view->depth =
        options->open != NULL || options->find != NULL ? OPEN_DEPTH_USUAL : TOOL_TREE_DEPTH_MOST;
    if (options->depth.given) {
        view->depth = options->depth.value < TOOL_TREE_DEPTH_MOST ? (uint32_t)options->depth.value
                                                                  : TOOL_TREE_DEPTH_MOST;
    }
    view->min_ns = has_min(options) ? (int64_t)options->min_time.value_ns : -1;
    if (options->min_time.given && view->min_ns < 0)
        view->min_ns = INT64_MAX;
    if (view->fold && !options->min_time.given && (!options->json || options->limit.given))
        set_limit(options, view);
    view->only_long = is_only_long(options, view);
    view->work_most = WORK_MOST + WORK_LEVELS_MOST * info.event_count;
}

/* Of a small trace whose stacks are so deep that the whole tree takes too long, the summaries tell
 * more than a part of it. */
static void build_streams(const struct options *options, struct tool_tree *view)
{
    int64_t min_ns = view->min_ns;
    tool_tree_build_streams(view);
    if (!view->is_bounded || options->full)
        return;
    tool_items_close(view->items, view->item_count);
    view->items = NULL;
    view->item_count = view->item_capacity = 0;
    free(view->shorts.names);
    view->shorts = (struct tool_shorts){0};
    view->full = view->is_bounded = false;
    view->only_long = is_only_long(options, view);
    view->min_ns = min_ns;
    view->work_most += ttape_tree_get_work(view->tree);
    tool_tree_build_streams(view);
}

static int show_tree(const struct options *options, struct tool_tree *view)
{
    int status = TOOL_OK;
    set_up(options, view);
    tool_site_names_open_as(&view->names, view->reader,
                            tool_name_style(options->names, options->json));
    tool_tree_find_starters(view, view->full || options->open != NULL || options->find != NULL);
    if (options->open != NULL)
        status = tool_tree_open(view, options->open, has_min(options), !options->json);
    else if (options->find != NULL)
        status = tool_tree_find(view, options->find, tool_jobs(options->jobs), has_min(options));
    else
        build_streams(options, view);
    status = status != TOOL_OK ? status : view->status;
    if (status == TOOL_OK || status == TOOL_LOSS) {
        if (view->fold)
            tool_tree_choose(view);
        if (options->source)
            tool_tree_find_sources(view);
        tool_value_search_open(&view->values, view->reader);
        int printed = print(options, view);
        if (tool_value_search_close(&view->values, view->input->name) != TOOL_OK)
            status = TOOL_CANNOT;
        status = printed != TOOL_OK ? printed : status;
    }
    if (view->is_bounded && status < TOOL_CANNOT) {
        tool_message("'%s': the whole tree would take too long: calls are left out where it says "
                     "'...' (--depth and --open ask for less)",
                     view->input->name);
        status = TOOL_LOSS;
    }
    tool_tree_sources_close(view);
    tool_tree_mostly_close(view);
    tool_tree_rows_close(view);
    free(view->shorts.names);
    free(view->waiting);
    tool_items_close(view->items, view->item_count);
    tool_site_names_close(&view->names);
    return status;
}

static int show_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    ttape_error err = {0};
    struct tool_selection selection = {0};
    struct tool_tree view = {.input = input, .reader = input->reader, .selection = &selection};
    ttape_tree_options how = {.size = sizeof(how), .jobs = tool_jobs(options->jobs)};
    int status = tool_select(&selection, input, &options->choice);
    if (status == TOOL_OK)
        tool_losses_warn(input);
    if (status == TOOL_OK && ttape_tree_open(&view.tree, input->reader, &how, &err) != TTAPE_OK)
        status = tool_fail_error(input->name, &err);
    if (status == TOOL_OK)
        status = show_tree(options, &view);
    ttape_tree_close(view.tree);
    tool_selection_close(&selection);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->min_time.relative || options->min_time.value_ns > INT64_MAX)
        return tool_usage("tree", "--min-time takes a length of time");
    if (options->open != NULL && options->find != NULL)
        return tool_usage("tree", "--open and --find exclude each other");
    if (options->all && (options->fold || options->limit.given))
        return tool_usage("tree", "--all and --%s exclude each other",
                          options->fold ? "fold" : "limit");
    if (options->limit.given && options->min_time.given)
        return tool_usage("tree", "--limit and --min-time exclude each other");
    if (options->limit.given && options->json && !options->fold)
        return tool_usage("tree", "--limit with --json needs --fold");
    if (options->full && options->partitions)
        return tool_usage("tree", "--full and --partitions exclude each other");
    tool_memory_bound(options->memory_bytes);
    return tool_filtered_run("tree", &options->kept, argv[0], 1, options->memory_bytes, show_input,
                             options);
}

int tool_verb_tree(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}
