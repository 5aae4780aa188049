/* tracetape symbolize: the same trace with names, files and lines; partitions are copied as they
 * are. */
#include <string.h>

#include <tracetape/copy.h>

#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/io/input.h"
#include "tools/io/target.h"
#include "tools/symbolize/symbolize.h"

struct options {
    const char *output, *root;
    struct tool_debug_files debug;
    bool force, again, no_lines, no_demangle;
    uint32_t jobs;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the trace to FILE; - is standard output", NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    TOOL_DEBUG_OPTIONS,
    {"sysroot", 0, "DIR", "look for the modules' paths inside DIR", NULL, TOOL_AT(root)},
    {"again", 0, NULL, "also replace names that are there", NULL, TOOL_AT(again)},
    {"no-lines", 0, NULL, "symbols only, no source files and lines", NULL, TOOL_AT(no_lines)},
    {"no-demangle", 0, NULL, "keep C++ and Rust names as they are in the file", NULL,
     TOOL_AT(no_demangle)},
    {"jobs", 'j', "N", "files that are read at once", tool_parse_u32, TOOL_AT(jobs)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "symbolize",
    .usage = "[OPTION]... FILE -o OUT",
    .about =
        "Fills in names, source files and lines of addresses from the traced binaries and their\n"
        "debug files, on this or another machine. A binary of another build than the one that was\n"
        "recorded is refused. Events are copied untouched. Binaries are read in a process of "
        "their\n"
        "own: one that is damaged costs its own names and nothing else.",
    .options = table,
    .examples = "  tracetape symbolize run.ttape -o named.ttape\n"
                "  tracetape symbolize run.ttape -o named.ttape --sysroot ~/target\n"
                "  tracetape symbolize run.ttape -o named.ttape --debug-dir ~/debug\n",
    .statuses = "  0  done, every address has a name\n"
                "  2  the command line is wrong\n"
                "  3  done, but some addresses have no name, for reasons that warnings name\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = 1,
};

/* The copy, and how far its sites are. */
struct naming {
    const struct tool_named_site *sites;
    size_t count, next;
};

/* Sites come in ascending order. A name that is there stays where no better one was found. */
static ttape_status rename_site(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    struct naming *names = context;
    (void)err;
    while (names->next < names->count && names->sites[names->next].site < number)
        names->next++;
    if (names->next == names->count || names->sites[names->next].site != number)
        return TTAPE_OK;
    const struct tool_named_site *named = &names->sites[names->next];
    if (named->symbol.data != NULL)
        site->symbol = named->symbol;
    if (named->file.size_bytes > 0) {
        site->file = named->file;
        site->line = named->line;
    }
    return TTAPE_OK;
}

struct copying {
    const struct tool_input *input;
    struct tool_target target;
    ttape_info info;
    ttape_writer *writer;
    ttape_copier *copier;
    ttape_error err;
};

static int open_copy(struct copying *copy, struct naming *names)
{
    int status = tool_target_write(&copy->target, &copy->writer, copy->info.resolution_ns,
                                   copy->info.trace_id);
    if (status != TOOL_OK)
        return status;
    if (ttape_copier_open_renamed(&copy->copier, copy->writer, copy->input->reader, rename_site,
                                  names, &copy->err) != TTAPE_OK)
        return tool_fail_error(copy->target.path, &copy->err);
    return TOOL_OK;
}

static int copy_all(struct copying *copy)
{
    for (uint64_t i = 0; i < copy->info.partition_count; i++) {
        if (ttape_copier_partition(copy->copier, (uint32_t)i, &copy->err) != TTAPE_OK)
            return tool_fail_error(copy->input->name, &copy->err);
        tool_progress_update(i + 1, copy->info.partition_count, 0);
    }
    if (ttape_writer_finish(copy->writer, &copy->err) != TTAPE_OK)
        return tool_fail_error(copy->target.path, &copy->err);
    return tool_target_commit(&copy->target);
}

static int write_copy(struct copying *copy, const struct tool_symbolizing *work)
{
    struct naming names = {0};
    names.sites = tool_symbolize_sites(work, &names.count);
    int status = open_copy(copy, &names);
    if (status == TOOL_OK)
        status = copy_all(copy);
    ttape_copier_close(copy->copier);
    ttape_writer_close(copy->writer);
    return status;
}

static int check_folders(const struct options *options)
{
    int status = options->root != NULL ? tool_check_folder(options->root) : TOOL_OK;
    return status == TOOL_OK ? tool_debug_files_check(&options->debug, "symbolize") : status;
}

static int symbolize_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct tool_symbolize_options wanted = {.symbols = {.root = options->root,
                                                        .no_lines = options->no_lines,
                                                        .no_demangle = options->no_demangle},
                                            .again = options->again,
                                            .jobs = options->jobs};
    struct copying copy = {.input = input};
    tool_debug_files_apply(&options->debug, &wanted.symbols);
    bool complete = true;
    ttape_reader_get_info(input->reader, &copy.info);
    int status = tool_target_open(&copy.target, options->output, options->force);
    if (status == TOOL_OK) {
        tool_progress_start("symbolize");
        struct tool_symbolizing *work = tool_symbolize(input->reader, &wanted, &complete);
        status = write_copy(&copy, work);
        tool_progress_stop();
        tool_symbolize_close(work);
    }
    tool_target_close(&copy.target);
    return status == TOOL_OK && !complete ? TOOL_LOSS : status;
}

int tool_verb_symbolize(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("symbolize", "-o FILE is missing");
    status = check_folders(&options);
    if (status != TOOL_OK)
        return status;
    return tool_input_run(argv[0], 1, options.memory_bytes, symbolize_input, &options);
}
