/* The graph as JSON: functions by number, edges between numbers. */
#include <stdio.h>
#include <string.h>

#include "tools/callgraph/binaries/callgraph_view.h"
#include "tools/io/json.h"

static void put_hex(struct tool_json *json, const char *key, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    tool_json_text(json, key, text);
}

static void put_modules(struct tool_callgraph *graph, struct tool_json *json)
{
    tool_json_begin(json, "modules", '[');
    for (size_t i = 0; i < graph->binaries.module_count; i++) {
        const struct tool_binary_module *module = graph->binaries.modules[i];
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "path", module->path);
        tool_json_bool(json, "has_hooks", module->has_hooks);
        tool_json_number(json, "code_function_count", module->code.function_count);
        tool_json_number(json, "unknown_hook_count", module->unknown_hooks);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_functions(struct tool_callgraph *graph, struct tool_json *json)
{
    const struct tool_edges *edges = &graph->edges;
    tool_json_begin(json, "functions", '[');
    for (uint32_t i = 1; i < edges->function_count; i++) {
        const struct tool_edge_function *function = &edges->functions[i];
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "number", i);
        tool_json_text(json, "name", function->name != NULL ? function->name : "?");
        put_hex(json, "id", function->id);
        tool_json_number_if(json, "module", function->module != 0, function->module - 1);
        tool_json_bool(json, "is_taken", function->is_taken);
        tool_json_bool(json, "is_recursive", graph->recursive[i]);
        tool_json_bool(json, "makes_pointer_calls", function->makes_pointer_calls);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_edges(struct tool_callgraph *graph, struct tool_json *json)
{
    static const char *const words[] = {"seen",    "direct",  "inlined", "linked",  "tail_call",
                                        "pointer", "outside", "debug",   "compiler"};
    const struct tool_edges *edges = &graph->edges;
    tool_json_begin(json, "edges", '[');
    for (size_t i = 0; i < edges->edge_count; i++) {
        const struct tool_edge *edge = &edges->edges[i];
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "from", edge->from);
        tool_json_number(json, "to", edge->to);
        tool_json_begin(json, "kinds", '[');
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            if ((edge->kinds >> k & 1) != 0)
                tool_json_text(json, NULL, words[k]);
        tool_json_end(json, ']');
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static bool leads_on(const struct tool_instruction *at)
{
    return at->kind == TOOL_CODE_JUMP || at->kind == TOOL_CODE_BRANCH || at->kind == TOOL_CODE_LOOP;
}

static void put_branches_of(const struct tool_code *code, const struct tool_function *function,
                            struct tool_json *json)
{
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "name", function->name != NULL ? function->name : "");
    put_hex(json, "start", function->start);
    put_hex(json, "end", function->end);
    tool_json_begin(json, "branches", '[');
    for (size_t i = function->first; i < function->first + function->count; i++) {
        const struct tool_instruction *at = &code->instructions[i];
        if (!leads_on(at) && at->kind != TOOL_CODE_JUMP_INDIRECT && at->kind != TOOL_CODE_RETURN)
            continue;
        tool_json_begin(json, NULL, '{');
        put_hex(json, "address", at->address);
        tool_json_text(json, "kind",
                       at->kind == TOOL_CODE_JUMP            ? "jump"
                       : at->kind == TOOL_CODE_JUMP_INDIRECT ? "pointer"
                       : at->kind == TOOL_CODE_RETURN        ? "return"
                                                             : "branch");
        if (leads_on(at))
            put_hex(json, "target", at->target);
        if (at->kind == TOOL_CODE_BRANCH || at->kind == TOOL_CODE_LOOP)
            put_hex(json, "otherwise", at->address + at->length);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_branches(struct tool_callgraph *graph, struct tool_json *json)
{
    tool_json_begin(json, "code", '[');
    for (size_t i = 0; i < graph->binaries.module_count; i++) {
        const struct tool_code *code = &graph->binaries.modules[i]->code;
        for (size_t f = 0; f < code->function_count; f++)
            put_branches_of(code, &code->functions[f], json);
    }
    tool_json_end(json, ']');
}

void tool_callgraph_json(struct tool_callgraph *graph, struct tool_output *out)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    put_modules(graph, &json);
    put_functions(graph, &json);
    put_edges(graph, &json);
    if (graph->with_branches)
        put_branches(graph, &json);
    tool_json_end(&json, '}');
    tool_output_text(out, "\n");
}
