/* tracetape binary: what is in an executable or a library, as recording system calls sees it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/binary/binary_view.h"
#include "tools/binary/code/plan_make.h"
#include "tools/binary/plan_file.h"
#include "tools/command/options.h"
#include "tools/io/json.h"

struct options {
    bool functions, rows, edges, all, json;
};

static const struct tool_option table[] = {
    {"functions", 0, NULL, "list functions, and pieces of them that were moved away", NULL,
     TOOL_AT(functions)},
    {"rows", 0, NULL, "list how callers' frames are found, address by address", NULL,
     TOOL_AT(rows)},
    {"edges", 0, NULL, "list who calls whom: direct, linked from elsewhere, by a pointer", NULL,
     TOOL_AT(edges)},
    {"all", 'a', NULL, "list all of these", NULL, TOOL_AT(all)},
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {0}};

static const struct tool_command command = {
    .verb = "binary",
    .usage = "[OPTION]... FILE",
    .about = "Says what is in an executable or a library for x86-64: functions, unwind rows, and\n"
             "each system call instruction, with the instructions that a jump would replace, or "
             "why\n"
             "none can.\n",
    .options = table,
    .examples = "  tracetape binary /lib/x86_64-linux-gnu/libc.so.6\n"
                "  tracetape binary --all --json ./program\n",
    .operands_min = 1,
    .operands_max = 1,
};

static int show(struct tool_binary *binary, bool as_json)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    bool fits = as_json ? tool_binary_json(binary, &out) : tool_binary_text(binary, &out);
    int status = tool_output_close(&out);
    if (!fits && status == TOOL_OK)
        status = tool_fail("'%s': it would take too much memory", binary->path);
    return status;
}

/* What is found, and how large a plan of it is. */
static const char *look(struct tool_binary *binary, const struct tool_plan_input *input)
{
    uint8_t *plan = NULL;
    const char *reason = tool_image_open(&binary->image, input->bytes, input->size_bytes);
    if (reason == NULL)
        reason = tool_code_open(&binary->code, &binary->image);
    if (reason == NULL && !tool_code_names(&binary->code))
        reason = "it would take too much memory";
    if (reason == NULL)
        reason = tool_plan_make(&binary->code, &plan, &binary->plan_bytes);
    free(plan);
    return reason;
}

int tool_verb_binary(int argc, char **argv)
{
    struct options options = {0};
    struct tool_plan_input input;
    int operand_count, status;
    switch (tool_options_parse(&command, argc, argv, &options, &operand_count, &status)) {
    case TOOL_PARSED_GO: break;
    default: return status;
    }
    struct tool_binary *binary = tool_allocate(1, sizeof *binary);
    *binary = (struct tool_binary){.path = argv[0],
                                   .plan_name = input.name,
                                   .wish = {.sites = true,
                                            .functions = options.functions || options.all,
                                            .rows = options.rows || options.all,
                                            .calls = options.edges || options.all}};
    const char *reason = tool_plan_input_open(&input, argv[0]);
    if (reason == NULL)
        reason = look(binary, &input);
    status = reason != NULL ? tool_fail("'%s': %s", argv[0], reason) : TOOL_OK;
    if (status == TOOL_OK && !tool_decode_is_there())
        tool_message("built without Zydis: system calls and calls are not found");
    if (status == TOOL_OK)
        status = show(binary, options.json);
    tool_code_close(&binary->code);
    tool_plan_input_close(&input);
    free(binary);
    return status;
}
