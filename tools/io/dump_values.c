/* Values as text. */
#include "tools/io/dump_values.h"

#define NUMBER_BYTES 40u

char *tool_put_number(char *at, const ttape_value *value)
{
    switch (value->type) {
    case TTAPE_VALUE_SIGNED:
        if ((int64_t)value->number < 0) {
            *at++ = '-';
            return tool_put_decimal(at, 0 - value->number);
        }
        return tool_put_decimal(at, value->number);
    case TTAPE_VALUE_POINTER: return tool_put_hex(tool_put_bytes(at, "0x", 2), value->number);
    case TTAPE_VALUE_FLOAT: return tool_put_float(at, value->number);
    default: return tool_put_decimal(at, value->number);
    }
}

void tool_dump_value(struct tool_output *out, const ttape_value *value)
{
    switch (value->type) {
    case TTAPE_VALUE_STRING: {
        tool_output_text(out, "\"");
        tool_output_escaped(out, TTP_ESCAPE_QUOTED, value->bytes);
        tool_output_text(out, "\"");
        break;
    }
    case TTAPE_VALUE_BYTES:
        tool_output_text(out, "hex:");
        for (size_t i = 0; i < value->bytes.size_bytes; i++)
            tool_output_printf(out, "%02x", (unsigned char)value->bytes.data[i]);
        break;
    case TTAPE_VALUE_NULL: tool_output_text(out, "null"); break;
    default: {
        char *at = tool_output_reserve(out, NUMBER_BYTES);
        tool_output_commit(out, tool_put_number(at, value));
        break;
    }
    }
}
