/* Landing pads of exceptions: the table of call sites of each function that has one. What cannot be
 * read, or is no such table, may lead anywhere in its function. */
#include "program/binary/code/ways/ways.h"
#include "program/binary/frames/pointers.h"

static bool read_head(struct tool_cursor *table, uint64_t *base, uint8_t *encoding)
{
    uint8_t base_encoding = (uint8_t)tool_cursor_number(table, 1);
    if (base_encoding != TOOL_POINTER_OMIT)
        *base = tool_cursor_pointer(table, base_encoding);
    if (tool_cursor_number(table, 1) != TOOL_POINTER_OMIT)
        (void)tool_cursor_uleb(table); /* where the table of types is */
    *encoding = (uint8_t)tool_cursor_number(table, 1);
    uint64_t size_bytes = tool_cursor_uleb(table);
    if (table->is_bad || size_bytes > tool_cursor_left(table))
        return false;
    table->end = table->at + size_bytes;
    return true;
}

/* Call sites are in the function, in order; what they lead to is code. */
static bool read_sites(struct tool_code *code, const struct tool_frame *frame,
                       struct tool_cursor *table, uint64_t base, uint8_t encoding)
{
    uint64_t last = 0, size_bytes = frame->end - frame->start;
    while (tool_cursor_left(table) > 0) {
        uint64_t start = tool_cursor_pointer(table, encoding);
        uint64_t length = tool_cursor_pointer(table, encoding);
        uint64_t pad = tool_cursor_pointer(table, encoding);
        (void)tool_cursor_uleb(table);
        if (table->is_bad || code->entries_left == 0 || start < last || start > size_bytes ||
            length > size_bytes - start || (pad != 0 && !tool_code_holds(code, base + pad)))
            return false;
        code->entries_left--;
        last = start;
        if (pad != 0)
            tool_code_set_entered(code, base + pad);
    }
    return true;
}

static bool read_pads(struct tool_code *code, const struct tool_frame *frame)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, frame->landing_pads, &available);
    uint64_t base = frame->start;
    uint8_t encoding;
    tool_code_set_entered(code, frame->landing_pads); /* a personality of one's own may go there */
    if (bytes == NULL)
        return false;
    struct tool_cursor table = {bytes, bytes + available, frame->landing_pads, false};
    return read_head(&table, &base, &encoding) && read_sites(code, frame, &table, base, encoding);
}

void tool_pads_mark(struct tool_code *code)
{
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        struct tool_frame frame;
        if ((function->flags & TTP_PLAN_FUNCTION_LANDING) != 0 &&
            (!tool_frames_at(code->image, function->frame_at, &frame) || !read_pads(code, &frame)))
            function->flags |= TTP_PLAN_FUNCTION_COMPUTED;
    }
}
