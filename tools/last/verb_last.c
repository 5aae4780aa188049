/* last: how each thread ended, what was open then, and what it called last. Of a trace, or of a
 * recording that was never finished: that is recovered into a file of its own first, which is
 * removed again. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "tools/calls/losses.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/last/last_view.h"

#define DEFAULT_LIMIT 10u
#define NO_LIMIT      UINT32_MAX
#define OUTPUT_NAME   "/last.ttape"

struct options {
    bool json, all;
    enum tool_name_style names;
    uint32_t limit;
    const char *core;
    struct tool_id pid;
    uint64_t memory_bytes;
    struct tool_choice choice;
};

static const struct tool_option table[] = {
    {"limit", 'n', "N", "the last N calls of each thread (default 10)", tool_parse_u32,
     TOOL_AT(limit)},
    TOOL_THREAD_OPTION,
    TOOL_STREAM_OPTION,
    {"all", 'a', NULL, "also threads that ended by themselves, each by itself", NULL, TOOL_AT(all)},
    {"core", 0, "CORE", "a core file of it: where the fault was", NULL, TOOL_AT(core)},
    {"pid", 0, "PID", "of a process that runs, recorded or not: what it is in now", tool_parse_id,
     TOOL_AT(pid)},
    TOOL_NAMES_OPTION,
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "last",
    .usage = "[OPTION]... FILE|FILE.recording|-|--pid PID",
    .about = "Says how each thread ended, which calls were open then, and which were the last.\n"
             "Where a recorder was killed, its folder FILE.recording is read as it is.",
    .options = table,
    .examples = "  tracetape last run.ttape\n"
                "  tracetape last run.ttape --limit 30 --thread 4711\n"
                "  tracetape last run.ttape --core core.4711\n"
                "  tracetape last run.ttape.recording\n"
                "  tracetape last --pid $$\n",
    .operands_min = 0,
    .operands_max = 1,
};

struct damage {
    const char *name;
    int status;
};

static void tell_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct damage *damage = context;
    (void)stream;
    damage->status = tool_fail_error(damage->name, error);
}

/* What failed has been reported. */
static int find_last(struct tool_last *last, const struct options *options,
                     const struct tool_selection *selection)
{
    ttape_info info;
    ttape_error err = {0};
    struct damage damage = {last->input->name, TOOL_OK};
    ttape_last_options wanted = {.size = sizeof wanted,
                                 .streams = selection->streams,
                                 .stream_count = selection->stream_count,
                                 .call_count =
                                     last->is_limit_given ? options->limit : DEFAULT_LIMIT,
                                 .has_no_calls = options->limit == 0,
                                 .memory_bytes = options->memory_bytes,
                                 .damage = tell_damage,
                                 .context = &damage};
    ttape_reader_get_info(last->reader, &info);
    last->has_times = info.resolution_ns != TTAPE_TIME_NONE;
    last->process_count = info.process_count;
    if (ttape_last_find(&last->answer, last->input->reader, &wanted, &err) != TTAPE_OK)
        return tool_fail_error(last->input->name, &err);
    last->threads = ttape_last_get_threads(last->answer, &last->thread_count);
    return damage.status;
}

/* The process ended in the handler of the fault, or by its signal: the handler returned with
 * nothing mended. */
bool tool_last_fault(const struct tool_last *last, const ttape_last_thread *thread,
                     uint64_t *signal, uint64_t *address)
{
    ttape_stream_info info = {0};
    ttape_last_end end = {0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    (void)ttape_last_get_process(last->answer, info.stream.process, &end);
    bool is_killed = end.how == TTAPE_PROCESS_END_SIGNAL;
    *signal = last->core.signal;
    *address = last->core.address;
    if (last->core.has_address && info.stream.tid == last->core.tid && is_killed &&
        end.number == *signal)
        return true;
    *signal = thread->fault_signal;
    *address = thread->fault_address;
    bool is_last = is_killed && end.number == *signal;
    for (uint32_t i = 0; i < thread->frame_count; i++)
        is_last |= thread->frames[i].kind == TTAPE_EVENT_SIGNAL_BEGIN &&
                   thread->frames[i].argument == *signal;
    return *signal != 0 && is_last;
}

char *const *tool_last_inlined(const struct tool_last *last, const ttape_last_thread *thread,
                               uint32_t at, uint32_t *count)
{
    const ttape_open_frame *frames = thread->frames;
    *count = 0;
    if (at == 0 || at >= thread->frame_count || frames[at].kind != TTAPE_EVENT_ENTER ||
        frames[at - 1].kind != TTAPE_EVENT_ENTER)
        return NULL;
    return tool_inlined_between(last->inlined, frames[at - 1].site, frames[at].site, count);
}

/* What failed has been reported. */
static int read_core(struct tool_last *last, const char *path)
{
    const struct tool_core_fault *core = &last->core;
    const char *why = path != NULL ? tool_core_fault_read(path, &last->core) : NULL;
    if (why != NULL)
        return tool_fail("cannot use the core file '%s': %s", path, why);
    if (path != NULL && !core->has_address)
        tool_message("'%s' has no address: signal %" PRIu64 " ended thread %" PRIu64, path,
                     core->signal, core->tid);
    return TOOL_OK;
}

static int show_last(const struct options *options, const struct tool_input *input)
{
    struct tool_last last = {
        .input = input, .reader = input->reader, .is_limit_given = options->limit != NO_LIMIT};
    struct tool_output out;
    struct tool_selection selection = {0};
    int status = tool_select(&selection, input, &options->choice);
    if (status == TOOL_OK)
        status = read_core(&last, options->core);
    if (status == TOOL_OK) {
        tool_losses_warn(input);
        status = find_last(&last, options, &selection);
    }
    if (last.answer == NULL) {
        tool_selection_close(&selection);
        return status;
    }
    tool_site_names_open_as(&last.names, input->reader,
                            tool_name_style(options->names, options->json));
    tool_value_search_open(&last.values, input->reader);
    last.inlined = tool_inlined_open(input->reader, last.names.style);
    tool_last_find_ran(&last);
    tool_output_open(&out, STDOUT_FILENO);
    if (options->json)
        tool_last_json(&last, &out);
    else
        tool_last_text(&last, &out, options->all || selection.streams != NULL);
    int closed = tool_output_close(&out);
    if (tool_value_search_close(&last.values, input->name) != TOOL_OK)
        closed = TOOL_CANNOT;
    tool_inlined_close(last.inlined);
    ttape_last_close(last.answer);
    free(last.ran);
    tool_site_names_close(&last.names);
    tool_selection_close(&selection);
    return closed != TOOL_OK ? closed : status;
}

static int run_recover(const char *folder, char *output)
{
    int status = 0;
    pid_t child;
    char self[] = "/proc/self/exe", verb[] = "recover", quiet[] = "--quiet", to[] = "--output";
    char end[] = "--";
    char *arguments[] = {self, verb, quiet, to, output, end, (char *)folder, NULL};
    int code = posix_spawn(&child, self, NULL, NULL, arguments, environ);
    if (code != 0)
        return tool_fail("cannot recover '%s': %s", folder, strerror(code));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return tool_fail("cannot recover '%s': %s", folder, strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_CANNOT;
}

/* The file is open by then, and needs no name. */
static int recover(const char *folder, const struct options *options, struct tool_input *input)
{
    const char *place = getenv("TMPDIR");
    char *directory = NULL, *output = NULL;
    if (asprintf(&directory, "%s/tracetape-XXXXXX", place != NULL ? place : "/tmp") < 0)
        tool_out_of_memory();
    if (mkdtemp(directory) == NULL) {
        int status = tool_fail("cannot make a folder in '%s': %s", directory, strerror(errno));
        free(directory);
        return status;
    }
    if (asprintf(&output, "%s" OUTPUT_NAME, directory) < 0)
        tool_out_of_memory();
    int status = run_recover(folder, output);
    if (status == TOOL_OK || status == TOOL_LOSS) {
        int opened = tool_input_read(input, output, 1, options->memory_bytes);
        input->name = folder;
        status = opened != TOOL_OK ? opened : status;
    }
    (void)unlink(output);
    (void)rmdir(directory);
    free(output);
    free(directory);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    struct stat info;
    struct tool_input input = {.fd = -1};
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->pid.given && (count > 0 || options->pid.value > INT32_MAX))
        return tool_usage("last", count > 0 ? "--pid takes the place of a file"
                                            : "--pid takes the id of a process");
    if (!options->pid.given && count == 0)
        return tool_usage("last", "needs a file, or --pid PID");
    if (options->pid.given)
        return tool_last_live((pid_t)options->pid.value, options->json);
    bool is_folder = stat(argv[0], &info) == 0 && S_ISDIR(info.st_mode);
    status = is_folder ? recover(argv[0], options, &input)
                       : tool_input_read(&input, argv[0], 1, options->memory_bytes);
    if (status == TOOL_OK || status == TOOL_LOSS) {
        int shown = show_last(options, &input);
        int end = shown == TOOL_OK ? tool_input_check_end(&input) : shown;
        status = end != TOOL_OK ? end : status;
    }
    tool_input_close(&input);
    return status;
}

int tool_verb_last(int argc, char **argv)
{
    struct options options = {.limit = NO_LIMIT};
    int status = run_verb(&options, argc, argv);
    tool_choice_close(&options.choice);
    return status;
}
