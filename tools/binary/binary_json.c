/* What is in a binary, as JSON. */
#include <stdio.h>
#include <string.h>

#include "tools/binary/binary_view.h"
#include "tools/io/json.h"

static ttape_string text_of(const char *text) { return (ttape_string){text, strlen(text)}; }

static void put_hex(struct tool_json *json, const char *key, const uint8_t *bytes, size_t count)
{
    if (count > 0)
        tool_json_hex(json, key, bytes, count);
    else
        tool_json_null(json, key);
}

static void put_site(struct tool_binary *binary, struct tool_json *json, size_t number)
{
    const struct tool_site *site = &binary->code.sites[number];
    const struct ttp_plan_site *plan = &site->plan;
    bool can = plan->kind == TTP_PLAN_CAN;
    size_t available;
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "address", plan->address);
    tool_json_number_if(json, "call", plan->number_known, plan->number);
    tool_json_string_if(json, "function",
                        text_of(tool_binary_function_name(binary, plan->function)));
    tool_json_text(json, "patch", tool_binary_kind_words(plan->kind));
    tool_json_number_if(json, "window", can, plan->window);
    put_hex(json, "original",
            can ? tool_image_at(&binary->image, plan->window, &available) : site->moved,
            plan->window_bytes);
    put_hex(json, "before", site->moved, plan->before_bytes);
    put_hex(json, "after", site->moved + plan->before_bytes, plan->after_bytes);
    put_hex(json, "unwind", site->rules, plan->rule_bytes);
    tool_json_bool(json, "flags_dead", plan->flags_dead != 0);
    tool_json_begin(json, "fixups", '[');
    for (uint32_t i = 0; i < plan->fixup_count; i++) {
        const struct ttp_plan_fixup *fixup = &binary->code.fixups[plan->first_fixup + i];
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "at", fixup->at);
        tool_json_number(json, "tail", fixup->tail);
        tool_json_number(json, "target", fixup->target);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_function(struct tool_binary *binary, struct tool_json *json, size_t number)
{
    const struct tool_function *function = &binary->code.functions[number];
    bool is_piece = (function->flags & TTP_PLAN_FUNCTION_COLD) != 0;
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "start", function->start);
    tool_json_number(json, "end", function->end);
    tool_json_string_if(json, "name", text_of(tool_binary_function_name(binary, (uint32_t)number)));
    tool_json_number_if(json, "piece_of", is_piece, function->parent);
    tool_json_bool(json, "has_unwind_entry", function->frame_at != TOOL_CODE_NO_FRAME);
    tool_json_bool(json, "has_landing_pads", (function->flags & TTP_PLAN_FUNCTION_LANDING) != 0);
    tool_json_end(json, '}');
}

static void put_row(struct tool_binary *binary, struct tool_json *json, size_t number)
{
    char cfa[32], rbp[32];
    const struct ttp_plan_row *row = &binary->code.rows[number];
    tool_binary_row_words(row, cfa, rbp);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "address", row->address);
    tool_json_text(json, "cfa", cfa);
    tool_json_string_if(json, "rbp", text_of(rbp));
    tool_json_end(json, '}');
}

static void put_inlined(struct tool_binary *binary, struct tool_json *json, size_t number)
{
    const struct tool_binary_inlined *one = &binary->inlined[number];
    size_t function = one->start > UINT32_MAX
                          ? binary->code.function_count
                          : tool_code_function_at(&binary->code, (uint32_t)one->start);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "start", one->start);
    tool_json_number(json, "end", one->end);
    tool_json_text(json, "name", one->name);
    tool_json_number_if(json, "function", function < binary->code.function_count, function);
    tool_json_string_if(json, "file", text_of(one->file));
    tool_json_number_if(json, "line", one->line != 0, one->line);
    tool_json_end(json, '}');
}

static void put_mark(struct tool_binary *binary, struct tool_json *json, size_t number)
{
    const struct tool_mark *mark = &binary->marks.items[number];
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "address", mark->address);
    tool_json_string(json, "provider", mark->provider);
    tool_json_string(json, "name", mark->name);
    tool_json_number_if(json, "semaphore", mark->semaphore != 0, mark->semaphore);
    tool_json_string(json, "values", mark->arguments);
    tool_json_end(json, '}');
}

struct putting {
    struct tool_binary *binary;
    struct tool_json *json;
};

static bool put_call(void *context, const struct tool_code_call *call)
{
    static const char *const kinds[] = {"direct", "linked", "pointer"};
    struct putting *putting = context;
    struct tool_json *json = putting->json;
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "address", call->address);
    tool_json_number(json, "caller", call->function);
    tool_json_number_if(json, "callee", call->callee != UINT32_MAX, call->callee);
    tool_json_string_if(json, "name", text_of(call->name != NULL ? call->name : ""));
    tool_json_text(json, "kind", kinds[call->kind]);
    tool_json_bool(json, "is_tail", call->is_tail);
    tool_json_end(json, '}');
    return true;
}

static void put_list(struct tool_binary *binary, struct tool_json *json, const char *key,
                     size_t count, void (*put)(struct tool_binary *, struct tool_json *, size_t))
{
    tool_json_begin(json, key, '[');
    for (size_t i = 0; i < count; i++)
        put(binary, json, i);
    tool_json_end(json, ']');
}

bool tool_binary_json(struct tool_binary *binary, struct tool_output *out)
{
    struct tool_json json;
    struct tool_code *code = &binary->code;
    size_t can = 0;
    for (size_t i = 0; i < code->site_count; i++)
        can += code->sites[i].plan.kind == TTP_PLAN_CAN;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "file", binary->path);
    put_hex(&json, "build_id", binary->image.build_id, binary->image.build_id_bytes);
    tool_json_text(&json, "names_from", tool_binary_origin_words(binary->origin.names));
    tool_json_text(&json, "lines_from", tool_binary_origin_words(binary->origin.lines));
    tool_json_string_if(&json, "debug_file", text_of(binary->debug_path));
    tool_json_number(&json, "plan_bytes", binary->plan_bytes);
    tool_json_number(&json, "function_count", code->function_count);
    tool_json_number(&json, "row_count", code->row_count);
    tool_json_number(&json, "damaged_unwind_entries", code->bad_frames);
    tool_json_number(&json, "system_call_count", code->site_count);
    tool_json_number(&json, "patchable_count", can);
    if (binary->wish.sites)
        put_list(binary, &json, "system_calls", code->site_count, put_site);
    if (binary->wish.functions)
        put_list(binary, &json, "functions", code->function_count, put_function);
    if (binary->wish.rows)
        put_list(binary, &json, "rows", code->row_count, put_row);
    if (binary->wish.inlined)
        put_list(binary, &json, "inlined", binary->inlined_count, put_inlined);
    if (binary->wish.marks)
        put_list(binary, &json, "marks", binary->marks.count, put_mark);
    struct putting putting = {binary, &json};
    bool fits = true;
    if (binary->wish.calls) {
        tool_json_begin(&json, "calls", '[');
        fits = tool_code_calls(code, put_call, &putting);
        tool_json_end(&json, ']');
    }
    tool_json_end(&json, '}');
    return fits;
}
