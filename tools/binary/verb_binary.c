/* tracetape binary: what is in an executable or a library, as recording system calls sees it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/binary/code/plan_make.h"
#include "program/binary/patch_lines.h"
#include "program/binary/plans/plan_module.h"
#include "program/symbols/symbols.h"
#include "tools/binary/binary_view.h"
#include "tools/command/options.h"
#include "tools/io/debug_files.h"
#include "tools/io/json.h"

struct options {
    bool functions, rows, edges, inlined, marks, all, json;
    struct tool_debug_files debug;
};

static const struct tool_option table[] = {
    {"functions", 0, NULL, "list functions, and pieces of them that were moved away", NULL,
     TOOL_AT(functions)},
    {"rows", 0, NULL, "list how callers' frames are found, address by address", NULL,
     TOOL_AT(rows)},
    {"edges", 0, NULL, "list who calls whom: direct, linked from elsewhere, by a pointer", NULL,
     TOOL_AT(edges)},
    {"inlined", 0, NULL, "list inlined functions, of debug information", NULL, TOOL_AT(inlined)},
    {"marks", 0, NULL, "list static probes (SDT), which record --marks sees", NULL, TOOL_AT(marks)},
    {"all", 'a', NULL, "list all of these", NULL, TOOL_AT(all)},
    TOOL_DEBUG_OPTIONS,
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

static int show_binary(struct tool_binary *binary, bool as_json)
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
static const char *look_at_input(struct tool_binary *binary, const struct tool_plan_input *input)
{
    static const uint8_t no_content[TTP_PLAN_CONTENT_BYTES];
    uint8_t *plan = NULL;
    const char *reason = tool_image_open(&binary->image, input->bytes, input->size_bytes);
    uint64_t *lines = reason == NULL ? tool_patch_lines_read(&binary->image, input) : NULL;
    if (reason == NULL && lines == NULL)
        reason = "there is no memory for it";
    binary->image.lines = lines;
    if (reason == NULL)
        reason = tool_code_open(&binary->code, &binary->image);
    binary->image.lines = NULL; /* windows were looked for */
    free(lines);
    if (reason == NULL && !tool_code_names(&binary->code))
        reason = "it would take too much memory";
    if (reason == NULL)
        reason = tool_plan_make(&binary->code, no_content, &plan, &binary->plan_bytes);
    free(plan);
    return reason;
}

static void keep_inlined(void *context, const struct tool_symbols_inlined *found)
{
    struct tool_binary *binary = context;
    tool_grow((void **)&binary->inlined, &binary->inlined_capacity, binary->inlined_count + 1,
              sizeof *binary->inlined);
    binary->inlined[binary->inlined_count++] = (struct tool_binary_inlined){
        .start = found->start,
        .end = found->end,
        .name = tool_copy_text(found->name.data, found->name.size_bytes),
        .file = tool_copy_text(found->file.data, found->file.size_bytes),
        .line = found->line};
}

static int compare_inlined(const void *a, const void *b)
{
    const struct tool_binary_inlined *one = a, *other = b;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    if (one->end != other->end)
        return one->end > other->end ? -1 : 1;
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : one->line < other->line ? -1 : one->line > other->line;
}

static void keep_name(void *context, size_t number, const struct tool_symbol *found)
{
    struct tool_binary *binary = context;
    if (found->start == binary->code.functions[number].start && found->name.size_bytes > 0)
        binary->names[number] = tool_copy_text(found->name.data, found->name.size_bytes);
}

static void ask_names(struct tool_binary *binary, struct tool_symbols *symbols,
                      struct tool_symbols_module *module)
{
    size_t count = binary->code.function_count;
    struct tool_symbols_query *queries = tool_allocate(count + 1, sizeof *queries);
    binary->names = tool_allocate(count + 1, sizeof *binary->names);
    for (size_t i = 0; i < count; i++)
        queries[i].elf_address = binary->code.functions[i].start;
    (void)tool_symbols_find_all(symbols, module, queries, count, keep_name, binary);
    free(queries);
}

static void ask_inlined(struct tool_binary *binary, struct tool_symbols *symbols,
                        struct tool_symbols_module *module)
{
    if (tool_symbols_inlined_list(symbols, module, keep_inlined, binary) &&
        binary->inlined_count > 0)
        qsort(binary->inlined, binary->inlined_count, sizeof *binary->inlined, compare_inlined);
    else if (tool_symbols_module_state(module) != TOOL_SYMBOLS_EMPTY)
        (void)tool_symbols_warn(module);
}

/* What others than the file's own symbols say: by the symbol helper, as it may be anything. */
static void ask_helper(struct tool_binary *binary, const struct tool_debug_files *debug)
{
    struct tool_symbols_options options = {0};
    tool_debug_files_apply(debug, &options);
    struct tool_symbols *symbols = tool_symbols_make(&options);
    ttape_string path = {binary->path, strlen(binary->path)};
    struct tool_symbols_module *module =
        tool_symbols_module_open(symbols, path, (ttape_string){"", 0});
    binary->origin = tool_symbols_module_origin(module);
    binary->debug_path =
        tool_copy_text(binary->origin.debug_path, strlen(binary->origin.debug_path));
    if (binary->origin.names != TOOL_SYMBOLS_FROM_FILE)
        ask_names(binary, symbols, module);
    if (binary->wish.inlined)
        ask_inlined(binary, symbols, module);
    tool_symbols_close(symbols);
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
    if ((status = tool_debug_files_check(&options.debug, "binary")) != TOOL_OK)
        return status;
    struct tool_binary *binary = tool_allocate(1, sizeof *binary);
    *binary = (struct tool_binary){.path = argv[0],
                                   .wish = {.sites = true,
                                            .functions = options.functions || options.all,
                                            .rows = options.rows || options.all,
                                            .calls = options.edges || options.all,
                                            .inlined = options.inlined || options.all,
                                            .marks = options.marks || options.all}};
    const char *reason = tool_plan_input_open(&input, argv[0]);
    if (reason == NULL)
        reason = look_at_input(binary, &input);
    if (reason == NULL && binary->wish.marks && !tool_marks_open(&binary->marks, argv[0]))
        reason = "there is no memory for it";
    status = reason != NULL ? tool_fail("'%s': %s", argv[0], reason) : TOOL_OK;
    if (status == TOOL_OK && !tool_decode_is_there())
        tool_message("built without Zydis: system calls and calls are not found");
    if (status == TOOL_OK)
        ask_helper(binary, &options.debug);
    if (status == TOOL_OK)
        status = show_binary(binary, options.json);
    for (size_t i = 0; i < binary->inlined_count; i++) {
        free(binary->inlined[i].name);
        free(binary->inlined[i].file);
    }
    free(binary->inlined);
    tool_marks_close(&binary->marks);
    for (size_t i = 0; binary->names != NULL && i < binary->code.function_count; i++)
        free(binary->names[i]);
    free(binary->names);
    free(binary->debug_path);
    tool_code_close(&binary->code);
    tool_plan_input_close(&input);
    free(binary);
    return status;
}
