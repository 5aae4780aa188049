/* tracetape verify: every finding on a line of its own, and on to the next. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/rollup.h>

#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/progress.h"
#include "tools/io/input.h"
#include "tools/io/json.h"

struct options {
    bool json, quiet;
    uint32_t jobs;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"quiet", 'q', NULL, "print nothing; the exit status says it", NULL, TOOL_AT(quiet)},
    {"jobs", 'j', "N", "threads that decode", tool_parse_u32, TOOL_AT(jobs)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "verify",
    .usage = "[OPTION]... FILE|-",
    .about = "Reads a whole trace, or a rollup, and checks it against every rule of the format:\n"
             "checksums, structure, every event, every summary. Prints one line per finding, with\n"
             "its place and the rule that it breaks, and goes on. A missing index is a finding.",
    .options = table,
    .examples = "  tracetape verify run.ttape\n"
                "  tracetape convert run.uftrace -o - | tracetape verify -\n",
    .statuses = "  0  nothing found\n"
                "  1  findings\n"
                "  2  the command line is wrong\n"
                "  4  could not be verified\n",
    .operands_min = 1,
    .operands_max = 1,
};

struct verification {
    const struct options *options;
    const char *name;
    struct tool_output out;
    struct tool_json json;
};

static const char *chunk_name(uint32_t kind)
{
    static const char *const names[] = {"metadata",  "site table", "stream table",
                                        "partition", "model",      "index"};
    return kind >= 1 && kind <= sizeof names / sizeof names[0] ? names[kind - 1] : "unknown";
}

static ttape_string text_of(const char *text) { return (ttape_string){text, strlen(text)}; }

/* Every key is always there; null where there is nothing to say. */
static void print_json(struct verification *run, const ttape_finding *finding)
{
    struct tool_json *json = &run->json;
    tool_json_begin(json, NULL, '{');
    tool_json_number_if(json, "offset", finding->error.offset != TTAPE_ERROR_NO_OFFSET,
                        finding->error.offset);
    tool_json_string_if(json, "rule", text_of(finding->error.rule));
    tool_json_text(json, "status", ttape_status_name(finding->error.status));
    tool_json_string_if(json, "chunk_kind",
                        text_of(finding->chunk_kind != 0 ? chunk_name(finding->chunk_kind) : ""));
    tool_json_number_if(json, "partition", finding->partition != TTAPE_NONE, finding->partition);
    tool_json_text(json, "message", finding->error.message);
    tool_json_end(json, '}');
}

static bool take_finding(void *context, const ttape_finding *finding)
{
    struct verification *run = context;
    const ttape_error *error = &finding->error;
    if (run->options->quiet)
        return true;
    if (run->options->json) {
        print_json(run, finding);
        return run->out.failed_errno == 0;
    }
    tool_output_escaped(&run->out, TTP_ESCAPE_TEXT, text_of(run->name));
    tool_output_text(&run->out, ": ");
    if (error->offset != TTAPE_ERROR_NO_OFFSET)
        tool_output_printf(&run->out, "byte %" PRIu64 ": ", error->offset);
    if (finding->partition != TTAPE_NONE)
        tool_output_printf(&run->out, "partition %" PRIu32 ": ", finding->partition);
    tool_output_escaped(&run->out, TTP_ESCAPE_TERMINAL, text_of(error->message));
    if (error->rule[0] != '\0')
        tool_output_printf(&run->out, " [%s]", error->rule);
    tool_output_text(&run->out, "\n");
    return run->out.failed_errno == 0;
}

static void take_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    (void)context;
    tool_progress_update(done_bytes, total_bytes, 0);
}

/* A rollup has one finding at most: nothing behind it would be understood. */
static ttape_status verify_rollup(struct verification *run, const struct tool_input *input,
                                  uint64_t *count, ttape_error *err)
{
    const ttape_rollup_options how = {
        .size = sizeof(how), .takes_any = true, .memory_bytes = run->options->memory_bytes};
    ttape_finding finding = {.partition = TTAPE_NONE};
    ttape_rollup *rollup;
    ttape_status status = ttape_rollup_open(&rollup, &how, err);
    if (status != TTAPE_OK)
        return status;
    status = ttape_rollup_add_file(rollup, &input->source, &finding.error);
    ttape_rollup_close(rollup);
    bool is_finding = status >= TTAPE_E_TRUNCATED && status != TTAPE_E_LIMIT;
    if (status != TTAPE_OK && !is_finding)
        *err = finding.error;
    if (!is_finding)
        return status;
    *count = 1;
    (void)take_finding(run, &finding);
    return TTAPE_OK;
}

static int verify(struct verification *run, const struct tool_input *input)
{
    const struct options *options = run->options;
    ttape_error err = {0};
    uint64_t count = 0;
    ttape_reader_options reader_options = {
        .size = sizeof(reader_options),
        .limits = {.memory_bytes = tool_memory_of_reader(options->memory_bytes)},
        .jobs = options->jobs};
    if (options->json) {
        tool_json_begin(&run->json, NULL, '{');
        tool_json_text(&run->json, "file", run->name);
        tool_json_number(&run->json, "file_bytes", input->source.size_bytes);
        tool_json_begin(&run->json, "findings", '[');
    }
    tool_progress_start("verify");
    ttape_status status = tool_input_is_rollup(input)
                              ? verify_rollup(run, input, &count, &err)
                              : ttape_verify(&input->source, &reader_options, take_finding,
                                             take_progress, run, &count, &err);
    tool_progress_stop();
    if (options->json) {
        tool_json_end(&run->json, ']');
        tool_json_number(&run->json, "finding_count", count);
        tool_json_bool(&run->json, "verified", status == TTAPE_OK);
        tool_json_bool(&run->json, "ok", status == TTAPE_OK && count == 0);
        tool_json_end(&run->json, '}');
    } else if (!options->quiet && status == TTAPE_OK && count == 0) {
        tool_output_escaped(&run->out, TTP_ESCAPE_TEXT, text_of(run->name));
        tool_output_text(&run->out, ": ok\n");
    }
    if (status != TTAPE_OK)
        return tool_fail_error(run->name, &err);
    return count > 0 ? TOOL_FINDING : TOOL_OK;
}

int tool_verb_verify(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    struct tool_input input;
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    tool_memory_bound(options.memory_bytes);
    status = tool_input_open(&input, argv[0]);
    if (status == TOOL_OK) {
        struct verification run = {.options = &options, .name = input.name};
        tool_output_open(&run.out, STDOUT_FILENO);
        tool_json_open(&run.json, &run.out);
        status = verify(&run, &input);
        int closed = tool_output_close(&run.out);
        status = closed != TOOL_OK ? closed : status;
    }
    tool_input_close(&input);
    return status;
}
