/* tracetape context: which calls a context value stands for. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/context/branches/branch_view.h"
#include "tools/context/context_writes.h"
#include "tools/context/core/core_view.h"
#include "tools/io/debug_files.h"

struct options {
    const char *dictionary, *annotate, *form, *branches_of, *core, *map;
    struct tool_debug_files debug;
    struct tool_context_recording recording;
    struct tool_context_graph graph;
    enum tool_name_style names;
    uint64_t memory_bytes;
    bool json;
};

/* The last two are of branch values only. */
#define PRIMES 4u
#define COUNTS 5u
static const char *const operations[] = {"affine", "xor", "add", "multiply", "primes", "counts"};
static const char *const ids[] = {"stable", "address"};

static bool parse_word(const char *text, const char *const *words, uint32_t count, uint32_t *found)
{
    for (*found = 0; *found < count; ++*found)
        if (strcmp(text, words[*found]) == 0)
            return true;
    return false;
}

static bool parse_operation(const char *text, void *into)
{
    uint32_t found;
    bool is_known = parse_word(text, operations, COUNTS + 1, &found);
    if (is_known)
        *(ttape_context_operation *)into = (ttape_context_operation)found;
    return is_known;
}

static bool parse_ids(const char *text, void *into)
{
    uint32_t found;
    bool is_known = parse_word(text, ids, 2, &found);
    if (is_known)
        *(ttape_context_ids *)into = (ttape_context_ids)found;
    return is_known;
}

static bool parse_news(const char *text, void *into)
{
    uint32_t *news = into;
    if (text[0] < '0' || text[0] > '3' || text[1] != '\0')
        return false;
    *news = (uint32_t)(text[0] - '0');
    return true;
}

static const struct tool_option table[] = {
    {"dictionary", 0, "FILE", "that the program wrote: TRACETAPE_CONTEXT=FILE", NULL,
     TOOL_AT(dictionary)},
    {"recording", 0, "FILE", "a trace of the same build: says when, too", NULL,
     TOOL_AT(recording.path)},
    {"graph", 0, "FILE", "search in the calls of this trace of the same build (may be repeated)",
     tool_parse_file, TOOL_AT(graph.traces)},
    {"binary", 0, "FILE", "search in the calls that this program or library can make (likewise)",
     tool_parse_file, TOOL_AT(graph.binaries)},
    {"new-calls", 0, "N", "of a stack that is searched, which no trace shows: 0 to 3 (default 2)",
     parse_news, TOOL_AT(graph.news_most)},
    {"log", 0, "TEXT", "which stacks can print this text, by strings of --binary (also alone)",
     NULL, TOOL_AT(graph.text)},
    {"annotate", 0, "LOG", "print this log with the calls behind each value (-: standard input)",
     NULL, TOOL_AT(annotate)},
    {"value", 0, "REGEX", "what values of the log look like: (value), (depth) as groups", NULL,
     TOOL_AT(form)},
    {"branches-of", 0, "FUNCTION", "values are of branches in this function of the --binary", NULL,
     TOOL_AT(branches_of)},
    {"core", 0, "FILE", "print the open calls of this core dump, their values and locals", NULL,
     TOOL_AT(core)},
    {"operation", 0, "HOW", "affine (default), xor, add, multiply; branches: primes, counts too",
     parse_operation, TOOL_AT(recording.operation)},
    {"id-kind", 0, "WHICH", "of a trace's values: stable (default), address", parse_ids,
     TOOL_AT(recording.ids)},
    {"map", 0, "FILE", "addresses are of this process: /proc/PID/maps, or its log", NULL,
     TOOL_AT(map)},
    TOOL_DEBUG_OPTIONS,
    TOOL_NAMES_OPTION,
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "context",
    .usage = "[OPTION]... VALUE[/DEPTH]...\n[OPTION]... --annotate LOG\n"
             "--binary FILE --branches-of FUNCTION [OPTION]... VALUE[/BLOCKS]...\n"
             "--core FILE [--json] [BINARY]...",
    .about = "Says which calls were open where a program printed a context value (ttape_context).\n"
             "A dictionary or a recording has the stack itself: one is certain; where several\n"
             "have the value, all are shown.",
    .options = table,
    .examples = "  tracetape context --recording run.ttape f74f5316c51aacca/3\n"
                "  tracetape context --dictionary app.ctx --annotate app.log\n",
    .statuses = "  0  each value has one stack\n"
                "  1  a value was not found, or several stacks have it\n"
                "  2  the command line is wrong\n"
                "  3  the dictionary or the trace is cut or damaged: what is there was used\n"
                "  4  not done\n",
    .operands_min = 0,
    .operands_max = 1000,
};

/* What comes by a pipe, in a file without a name: a log is read twice. -1: it cannot be had. */
static int keep_pipe(int from)
{
    char some[65536];
    FILE *file = tmpfile();
    int kept = file == NULL ? -1 : dup(fileno(file));
    if (file != NULL)
        (void)fclose(file);
    for (ssize_t size; kept >= 0 && (size = read(from, some, sizeof some)) != 0;) {
        if (size < 0 && errno == EINTR)
            continue;
        for (ssize_t done = 0, put = 0; size >= 0 && done < size; done += put) {
            put = write(kept, some + done, (size_t)(size - done));
            if (put < 0)
                size = -1;
        }
        if (size < 0) {
            int failed = errno;
            (void)close(kept);
            errno = failed;
            return -1;
        }
    }
    if (kept >= 0)
        (void)lseek(kept, 0, SEEK_SET);
    return kept;
}

static int open_log(const char *path, int *fd)
{
    bool is_standard = strcmp(path, "-") == 0;
    *fd = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    if (lseek(*fd, 0, SEEK_CUR) >= 0)
        return TOOL_OK;
    int kept = keep_pipe(*fd), failed = errno;
    if (!is_standard)
        (void)close(*fd);
    *fd = kept;
    return kept >= 0 ? TOOL_OK
                     : tool_fail("cannot keep what '%s' says: %s", path, strerror(failed));
}

static int worse(int one, int other) { return one > other ? one : other; }

static int find_answers(const struct options *options, struct tool_contexts *contexts)
{
    int status = TOOL_OK;
    if (options->dictionary != NULL)
        status = worse(
            status, tool_context_read_dictionary(contexts, options->dictionary, &options->debug));
    if (options->recording.path != NULL)
        status = worse(status, tool_context_read_recording(contexts, &options->recording));
    if ((options->graph.traces.count | options->graph.binaries.count) != 0 && status != TOOL_CANNOT)
        status = worse(status, tool_context_search(contexts, &options->graph));
    for (size_t i = 0; i < contexts->count && status != TOOL_CANNOT; i++) {
        struct tool_context_wanted *wanted = &contexts->wanted[i];
        if (options->graph.text != NULL)
            tool_context_narrow(contexts, wanted, options->graph.text, strlen(options->graph.text));
        const char *certainty = tool_context_certainty(wanted);
        if (status == TOOL_OK && (strcmp(certainty, "open") == 0 || wanted->answer_count == 0))
            status = TOOL_FINDING;
    }
    return status;
}

static int find_writes(const struct options *options, struct tool_context_writes *writes, int log)
{
    int status = tool_context_read_writes(writes, &options->recording);
    if (status != TOOL_CANNOT)
        status = worse(status, tool_context_join_writes(writes, log));
    if (writes->found < writes->count)
        tool_message("%zu of %zu writes of '%s' are not in the log", writes->count - writes->found,
                     writes->count, options->recording.path);
    return status;
}

static int show_contexts(const struct options *options, struct tool_contexts *contexts, int log)
{
    struct tool_output out;
    struct tool_context_writes writes = {0};
    int status = find_answers(options, contexts);
    if (log >= 0 && options->recording.path != NULL && status != TOOL_CANNOT)
        status = worse(status, find_writes(options, &writes, log));
    if (status == TOOL_CANNOT) {
        tool_context_close_writes(&writes);
        return status;
    }
    tool_output_open(&out, STDOUT_FILENO);
    if (log >= 0)
        status = worse(status, tool_context_annotate(contexts, &writes, log, &out));
    else if (contexts->count == 0)
        status = worse(status, tool_context_print_printers(contexts, options->graph.text,
                                                           options->json, &out));
    else if (options->json)
        tool_context_json(contexts, &out);
    else
        tool_context_text(contexts, &out);
    tool_context_close_writes(&writes);
    return worse(status, tool_output_close(&out));
}

/* -- branch values -- */

static int branches(const struct options *options, char **texts, int count)
{
    static const ttape_branch_operation kinds[] = {TTAPE_BRANCH_AFFINE, TTAPE_BRANCH_XOR,
                                                   TTAPE_BRANCH_ADD,    TTAPE_BRANCH_AFFINE,
                                                   TTAPE_BRANCH_PRIMES, TTAPE_BRANCH_COUNTS};
    struct tool_branch_function function;
    struct tool_output out;
    uint32_t number = (uint32_t)options->recording.operation;
    if (options->graph.binaries.count != 1)
        return tool_usage("context", "--branches-of FUNCTION takes one --binary FILE");
    if (options->dictionary != NULL || options->recording.path != NULL ||
        options->annotate != NULL || options->graph.traces.count != 0 ||
        options->graph.text != NULL || options->recording.ids != TTAPE_CONTEXT_IDS_STABLE)
        return tool_usage("context", "--branches-of looks in the binary only");
    if (number == TTAPE_CONTEXT_MULTIPLY)
        return tool_usage("context", "branch values are multiplied by primes: --operation primes");
    if (count == 0)
        return tool_usage("context", "give branch values");
    struct tool_branch_wanted *wanted = tool_allocate((size_t)count, sizeof *wanted);
    for (int i = 0; i < count; i++)
        if (!tool_branch_parse(texts[i], kinds[number], &wanted[i])) {
            free(wanted);
            return tool_usage("context", "'%s' is no VALUE/BLOCKS", texts[i]);
        }
    tool_memory_bound(options->memory_bytes);
    int status =
        tool_branch_open(&function, options->graph.binaries.paths[0], options->branches_of);
    if (status == TOOL_OK) {
        function.graph.operation = kinds[number];
        tool_output_open(&out, STDOUT_FILENO);
        status = tool_branch_print(&function, wanted, (size_t)count, options->json, &out);
        status = worse(status, tool_output_close(&out));
    }
    tool_branch_close(&function);
    free(wanted);
    return status;
}

/* -- core dumps -- */

static int show_core(const struct options *options, char **binaries, int count)
{
    struct tool_core_options core = {.path = options->core,
                                     .binaries = binaries,
                                     .binary_count = (size_t)count,
                                     .json = options->json};
    if (options->dictionary != NULL || options->recording.path != NULL ||
        options->annotate != NULL || options->branches_of != NULL || options->graph.text != NULL ||
        (options->graph.traces.count | options->graph.binaries.count) != 0)
        return tool_usage("context", "--core FILE takes files of the program, and --json, only");
    tool_memory_bound(options->memory_bytes);
    return tool_core_show(&core);
}

static int run_verb(struct options *options, int argc, char **argv)
{
    struct tool_contexts contexts = {0};
    struct tool_printers printers = {0};
    struct tool_module_map map = {0};
    int count, status, log = -1;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->core != NULL)
        return show_core(options, argv, count);
    if (options->branches_of != NULL)
        return branches(options, argv, count);
    if ((uint32_t)options->recording.operation >= PRIMES)
        return tool_usage("context", "--operation primes and counts are of --branches-of");
    if (options->dictionary == NULL && options->recording.path == NULL &&
        (options->graph.traces.count | options->graph.binaries.count) == 0)
        return tool_usage("context", "say where to look: --dictionary, --recording, --graph or "
                                     "--binary FILE");
    if (count == 0 ? options->annotate == NULL && options->graph.text == NULL
                   : options->annotate != NULL)
        return tool_usage("context", "give values, or a log with --annotate");
    if (options->graph.text != NULL &&
        (options->graph.binaries.count == 0 || options->annotate != NULL))
        return tool_usage("context", options->annotate != NULL
                                         ? "--annotate takes each line's own text, no --log TEXT"
                                         : "--log TEXT needs --binary FILE: the program's strings");
    if (options->annotate == NULL && options->form != NULL)
        return tool_usage("context", "--value is of the log that --annotate names");
    if (options->json && options->annotate != NULL)
        return tool_usage("context", "--annotate prints the log, not JSON");
    status = tool_debug_files_check(&options->debug, "context");
    if (status == TOOL_OK && options->map != NULL)
        status = tool_module_map_read(&map, options->map);
    if (status != TOOL_OK)
        return status;
    tool_memory_bound(options->memory_bytes);
    options->recording.map = options->map != NULL ? &map : NULL;
    options->recording.names = tool_name_style(options->names, options->json);
    options->recording.memory_bytes = options->memory_bytes;
    options->graph.how = options->recording;
    if (options->graph.text != NULL ||
        (options->annotate != NULL && options->graph.binaries.count != 0))
        contexts.printers = &printers;
    for (int i = 0; i < count && status == TOOL_OK; i++) {
        uint64_t value;
        uint32_t depth;
        if (tool_context_parse(argv[i], strlen(argv[i]), &value, &depth))
            (void)tool_context_add(&contexts, value, depth);
        else
            status = tool_usage("context", "'%s' is no VALUE/DEPTH", argv[i]);
    }
    if (status == TOOL_OK && options->form != NULL)
        status = tool_context_set_form(&contexts, options->form);
    if (status == TOOL_OK && options->annotate != NULL)
        status = open_log(options->annotate, &log);
    if (status == TOOL_OK && log >= 0)
        status = tool_context_scan_log(&contexts, log);
    if (status == TOOL_OK)
        status = show_contexts(options, &contexts, log);
    if (log > STDIN_FILENO)
        close(log);
    tool_contexts_close(&contexts);
    tool_module_map_close(&map);
    return status;
}

int tool_verb_context(int argc, char **argv)
{
    struct options options = {.graph = {.news_most = 2}};
    int status = run_verb(&options, argc, argv);
    free(options.graph.traces.paths);
    free(options.graph.binaries.paths);
    return status;
}
