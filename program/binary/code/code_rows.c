/* Rows of all functions, in order of addresses. */
#include "program/binary/code/code.h"

/* Between functions there is what fills up to the next one, and is never executed: no row is spent
 * on less than this. */
#define GAP_BYTES 16u

struct taking {
    struct tool_code *code;
    const struct tool_frame *frame;
    uint32_t end; /* a function that overlaps it begins there */
};

static bool add_row(struct tool_code *code, struct ttp_plan_row row)
{
    void *array = code->rows;
    struct ttp_plan_row *last = code->row_count > 0 ? &code->rows[code->row_count - 1] : NULL;
    if (last != NULL && last->cfa_kind == row.cfa_kind && last->rbp_kind == row.rbp_kind &&
        last->cfa_offset == row.cfa_offset && last->rbp_offset == row.rbp_offset)
        return true;
    if (last != NULL && last->address == row.address) {
        *last = row;
        return true;
    }
    if (code->row_count >= TTP_PLAN_ROWS_MAX ||
        !tool_bounded_grow(&code->memory, &array, &code->row_capacity, code->row_count + 1,
                           sizeof row))
        return false;
    code->rows = array;
    code->rows[code->row_count++] = row;
    return true;
}

static bool take_row(void *context, uint32_t address, const struct tool_rules *rules)
{
    struct taking *taking = context;
    if (address >= taking->end)
        return false;
    struct ttp_plan_row row = tool_frame_row(taking->frame, rules);
    row.address = address;
    return add_row(taking->code, row);
}

bool tool_code_rows(struct tool_code *code)
{
    uint32_t end = code->image->code_start;
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        struct tool_frame frame;
        struct ttp_plan_row none = {.address = end};
        if (function->frame_at == TOOL_CODE_NO_FRAME)
            continue;
        if (function->start - end >= GAP_BYTES && code->row_count > 0 && !add_row(code, none))
            return false;
        end = function->end;
        struct taking taking = {code, &frame, end};
        size_t before = code->row_count;
        /* a row like the one before it is not there twice: it may begin with that one's end */
        if (!tool_frames_at(code->image, function->frame_at, &frame) ||
            !tool_frame_run(&frame, take_row, &taking)) {
            if (code->memory.is_short || code->row_count >= TTP_PLAN_ROWS_MAX)
                return false;
            if (frame.end != function->end)
                continue; /* cut short on purpose */
            code->bad_frames++;
            code->row_count = before;
            struct ttp_plan_row hard = {.address = function->start, .cfa_kind = TTP_PLAN_CFA_HARD};
            if (!add_row(code, hard))
                return false;
        }
    }
    struct ttp_plan_row none = {.address = end};
    return code->row_count == 0 || end >= code->image->code_end || add_row(code, none);
}

const struct ttp_plan_row *tool_code_row_at(const struct tool_code *code, uint32_t address)
{
    size_t from = 0, end = code->row_count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (code->rows[middle].address <= address)
            from = middle + 1;
        else
            end = middle;
    }
    return from > 0 ? &code->rows[from - 1] : NULL;
}
