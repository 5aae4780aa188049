/* Functions whose calls moved to another caller, as they are shown. */
#include <inttypes.h>
#include <string.h>

#include "tools/command/pager.h"
#include "tools/diff/diff_view.h"
#include "tools/io/json.h"
#include "tools/io/table.h"

#define LEAST_NAME 22u /* columns, of a narrow terminal */

const char *tool_diff_caller_name(struct tool_diff *diff, uint32_t key)
{
    return key == TTAPE_NONE ? "(outermost)" : tool_diff_name(diff, key);
}

static void put_caller(struct tool_diff *diff, struct tool_table *table,
                       const ttape_diff_caller *caller)
{
    const char *name = tool_diff_caller_name(diff, caller->key);
    tool_table_callers(table, TOOL_PLAIN, name, strlen(name), caller->others);
}

void tool_diff_print_moves(struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                           struct tool_output *out)
{
    const struct tool_column columns[] = {
        {"CALLS", .rank = 0},
        {"FUNCTION", .is_text = true, .rank = 0, .cut = LEAST_NAME},
        {"CALLED IN A BY", .is_text = true, .rank = 0, .cut = LEAST_NAME},
        {"CALLED IN B BY", .is_text = true, .gives_way = true},
    };
    struct tool_table table;
    uint32_t count;
    const ttape_diff_move *moves = ttape_diff_get_moves(answer, &count);
    if (count == 0)
        return;
    uint32_t shown = count < limit ? count : (uint32_t)limit;
    tool_output_printf(out, "\nOther callers: calls of %" PRIu32 " function%s moved\n", count,
                       count == 1 ? "" : "s");
    tool_table_open(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < shown; i++) {
        const ttape_diff_move *move = &moves[i];
        const char *name = tool_diff_name(diff, move->key);
        tool_table_count(&table, TOOL_PLAIN, move->calls);
        tool_table_text(&table, TOOL_PLAIN, name);
        put_caller(diff, &table, &move->callers[0]);
        put_caller(diff, &table, &move->callers[1]);
    }
    tool_table_print(&table, out, tool_table_width(&table, tool_diff_is_shortened(diff)),
                     tool_terminal_colours());
    tool_table_close(&table);
    if (shown < count)
        tool_output_printf(out, "(%" PRIu32 " more: --limit)\n", count - shown);
}

void tool_diff_json_name(const struct tool_diff *diff, struct tool_json *json, const char *key,
                         uint32_t function)
{
    char buffer[TOOL_LABEL_BYTES];
    ttape_string symbol, module, file;
    if (function == TTAPE_NONE) {
        tool_json_null(json, key);
        return;
    }
    tool_diff_describe(diff, function, buffer, &symbol, &module, &file);
    tool_json_string(json, key, symbol);
}

void tool_diff_json_moves(const struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                          struct tool_json *json)
{
    uint32_t count;
    const ttape_diff_move *moves = ttape_diff_get_moves(answer, &count);
    tool_json_begin(json, "other_callers", '[');
    for (uint32_t i = 0; i < count && i < limit && json->out->failed_errno == 0; i++) {
        const ttape_diff_move *move = &moves[i];
        tool_json_begin(json, NULL, '{');
        tool_diff_json_name(diff, json, "name", move->key);
        tool_json_number(json, "calls", move->calls);
        for (int side = 0; side < 2; side++) {
            const ttape_diff_caller *caller = &move->callers[side];
            tool_json_begin(json, side == 0 ? "a" : "b", '{');
            tool_diff_json_name(diff, json, "caller", caller->key);
            tool_json_number(json, "calls", caller->calls);
            tool_json_number(json, "change", caller->change);
            tool_json_number(json, "more_callers", caller->others);
            tool_json_end(json, '}');
        }
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}
