/* Pointers in call frame information and tables of landing pads. */
#include "program/binary/frames/pointers.h"

uint64_t tool_cursor_pointer(struct tool_cursor *cursor, uint8_t encoding)
{
    uint64_t base = 0, value = 0;
    if ((encoding & 0x70) == TOOL_POINTER_RELATIVE)
        base = cursor->address;
    else if ((encoding & 0x70) != 0)
        cursor->is_bad = true;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: value = tool_cursor_number(cursor, 8); break;
    case 0x01: value = tool_cursor_uleb(cursor); break;
    case 0x02: value = tool_cursor_number(cursor, 2); break;
    case 0x03: value = tool_cursor_number(cursor, 4); break;
    case 0x09: value = (uint64_t)tool_cursor_sleb(cursor); break;
    case 0x0a: value = (uint64_t)(int64_t)(int16_t)tool_cursor_number(cursor, 2); break;
    case 0x0b: value = (uint64_t)(int64_t)(int32_t)tool_cursor_number(cursor, 4); break;
    default: cursor->is_bad = true; break;
    }
    if (cursor->is_bad || value == 0) /* no pointer, wherever it stands */
        return 0;
    return base + value;
}
