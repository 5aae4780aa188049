/* Numbers and rows of structures. */
#include <inttypes.h>
#include <string.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_parts.h"

uint64_t tool_part_number(ttape_string bytes, size_t offset, size_t size)
{
    uint64_t number = 0;
    if (offset > bytes.size_bytes || bytes.size_bytes - offset < size)
        return 0;
    for (size_t i = size; i-- > 0;)
        number = number << 8 | (unsigned char)bytes.data[offset + i];
    return number;
}

int64_t tool_part_signed(ttape_string bytes, size_t offset, size_t size)
{
    uint64_t number = tool_part_number(bytes, offset, size);
    uint64_t top = size < 8 ? UINT64_C(1) << (8 * size - 1) : 0;
    return (int64_t)((number ^ top) - top);
}

ttape_string tool_part_rest(ttape_string bytes, size_t offset)
{
    return tool_part_piece(bytes, offset, SIZE_MAX);
}

ttape_string tool_part_piece(ttape_string bytes, size_t offset, size_t size)
{
    if (offset >= bytes.size_bytes)
        return (ttape_string){"", 0};
    size_t left = bytes.size_bytes - offset;
    return (ttape_string){bytes.data + offset, size < left ? size : left};
}

void tool_kernel_put_address(struct tool_output *out, uint64_t value)
{
    if (value == 0)
        tool_output_text(out, "NULL");
    else
        tool_output_printf(out, "%#" PRIx64, value);
}

/* As C writes it; octal digits are as few as are not mistaken for the next character. */
void tool_kernel_put_quoted(struct tool_output *out, ttape_string text, bool is_cut)
{
    static const char plain[] = "\"\\\n\t\f\r\v", letters[] = "\"\\ntfrv";
    tool_output_text(out, "\"");
    for (size_t i = 0; i < text.size_bytes; i++) {
        unsigned char c = (unsigned char)text.data[i];
        const char *found = c != 0 ? strchr(plain, c) : NULL;
        bool before_digit =
            i + 1 < text.size_bytes && text.data[i + 1] >= '0' && text.data[i + 1] <= '9';
        if (found != NULL)
            tool_output_printf(out, "\\%c", letters[found - plain]);
        else if (c >= ' ' && c < 127)
            tool_output_bytes(out, &c, 1);
        else
            tool_output_printf(out, before_digit ? "\\%03o" : "\\%o", c);
    }
    tool_output_text(out, is_cut ? "\"..." : "\"");
}

void tool_kernel_put_name(struct tool_output *out, ttape_string text)
{
    const char *end = text.size_bytes > 0 ? memchr(text.data, 0, text.size_bytes) : NULL;
    if (end != NULL)
        text.size_bytes = (size_t)(end - text.data);
    tool_kernel_put_quoted(out, text, false);
}

static void put_field(struct tool_output *out, const struct tool_field *field, ttape_string bytes)
{
    uint64_t number = tool_part_number(bytes, field->offset, field->size);
    int64_t value = tool_part_signed(bytes, field->offset, field->size);
    switch (field->how) {
    case 'd': tool_output_printf(out, "%" PRId64, value); break;
    case 'x': tool_output_printf(out, "%#" PRIx64, number); break;
    case 'p': tool_kernel_put_address(out, number); break;
    case '-':
        tool_output_printf(out, "%" PRId64, value == -1 ? -1 : (int64_t)(uint32_t)number);
        break;
    case 'o': tool_output_printf(out, "%#03" PRIo64, number); break;
    case 'f': (void)tool_kernel_put_flags(out, (char)field->letter, number); break;
    default: tool_output_printf(out, "%" PRIu64, number); break;
    }
}

void tool_part_put_fields(struct tool_output *out, const struct tool_field *fields,
                          ttape_string bytes)
{
    for (; fields->size != 0; fields++) {
        tool_output_text(out, fields->before);
        put_field(out, fields, bytes);
    }
    tool_output_text(out, fields->before);
}

uint64_t tool_call_number_at(const struct tool_call_values *call, uint32_t i)
{
    return i < call->argument_count ? call->arguments[i].number : 0;
}

ttape_string tool_part_contents(const struct tool_part *part)
{
    return part->sign == ')' ? part->filled : part->given;
}

/* An array of nothing has no bytes. */
static bool is_empty(const struct tool_part *part, uint64_t next)
{
    bool is_result = part->call->result_count > 0 && part->call->results[0].number == 0;
    switch (part->letter) {
    case 'O':
    case '7':
    case 'M': return part->address != 0 && next == 0;
    case 'E': return is_result;
    case 'G': return is_result && part->address != 0 && tool_call_number_at(part->call, 0) != 0;
    default: return false;
    }
}

void tool_part_put(struct tool_output *out, const struct tool_part *part)
{
    static bool (*const all[])(struct tool_output *, const struct tool_part *) = {
        tool_part_put_time,    tool_part_put_file,    tool_part_put_signal,  tool_part_put_socket,
        tool_part_put_buffers, tool_part_put_waiting, tool_part_put_process, tool_part_put_control};
    uint64_t next = tool_call_number_at(part->call, part->index + 1);
    if (part->given.size_bytes == 0 && part->filled.size_bytes == 0 && is_empty(part, next)) {
        tool_output_text(out, "[]");
        return;
    }
    bool is_there = part->given.size_bytes > 0 || part->filled.size_bytes > 0;
    for (size_t i = 0; is_there && i < sizeof(all) / sizeof(*all); i++)
        if (all[i](out, part))
            return;
    tool_kernel_put_address(out, part->address);
}
