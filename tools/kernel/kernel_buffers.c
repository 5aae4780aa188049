/* Vectors of buffers, and messages that are made of them (recorder/arena/call_parts.h has how they
 * lie in a value). */
#include <inttypes.h>
#include <string.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_parts.h"

#define IOVEC       16u
#define MSGHDR      56u
#define MOST        32u /* elements that are shown */
#define NO_CONTENTS UINT64_MAX

/* Behind its size; and goes on behind it. */
static ttape_string next_piece(ttape_string *left)
{
    uint64_t size = tool_part_number(*left, 0, 4);
    ttape_string piece = tool_part_piece(*left, 4, size);
    *left = tool_part_rest(*left, 4 + (size_t)size);
    return piece;
}

static void put_buffer(struct tool_output *out, ttape_string iovec, ttape_string *contents,
                       uint64_t *moved)
{
    uint64_t base = tool_part_number(iovec, 0, 8), size = tool_part_number(iovec, 8, 8);
    bool is_known = contents->size_bytes >= 4;
    ttape_string piece = is_known ? next_piece(contents) : (ttape_string){"", 0};
    uint64_t whole = size < *moved ? size : *moved;
    if (*moved != NO_CONTENTS)
        *moved -= whole;
    tool_output_text(out, "{iov_base=");
    if (base != 0 && is_known && (piece.size_bytes > 0 || whole == 0))
        tool_kernel_put_quoted(out, piece, piece.size_bytes < whole);
    else
        tool_kernel_put_address(out, base);
    tool_output_printf(out, ", iov_len=%" PRIu64 "}", size);
}

/* `count`: of all; `moved`: bytes that are in them, NO_CONTENTS: as many as there is room for. */
static void put_vector(struct tool_output *out, ttape_string bytes, uint64_t count, uint64_t moved)
{
    uint64_t known = count < MOST + 1 ? count : MOST + 1;
    ttape_string contents = tool_part_rest(bytes, (size_t)known * IOVEC);
    tool_output_text(out, "[");
    for (uint64_t i = 0; i < count && i < MOST; i++) {
        tool_output_text(out, i > 0 ? ", " : "");
        put_buffer(out, tool_part_piece(bytes, (size_t)i * IOVEC, IOVEC), &contents, &moved);
    }
    tool_output_text(out, count > MOST ? ", ...]" : "]");
}

/* ---- control data ---- */

static void put_numbers(struct tool_output *out, ttape_string data)
{
    tool_output_text(out, "[");
    for (size_t i = 0; i + 4 <= data.size_bytes; i += 4)
        tool_output_printf(out, "%s%" PRId64, i > 0 ? ", " : "", tool_part_signed(data, i, 4));
    tool_output_text(out, "]");
}

static void put_control_data(struct tool_output *out, ttape_string data, uint64_t level,
                             uint64_t type)
{
    static const struct tool_field who[] = {{"{pid=", 0, 4, 'd', 0},
                                            {", uid=", 4, 4, '-', 0},
                                            {", gid=", 8, 4, '-', 0},
                                            {"}", 0, 0, 0, 0}};
    if (level == 1 && type == 1)
        put_numbers(out, data);
    else if (level == 1 && type == 2 && data.size_bytes >= 12)
        tool_part_put_fields(out, who, data);
    else
        tool_kernel_put_quoted(out, data, false);
}

static void put_control(struct tool_output *out, ttape_string bytes)
{
    const char *between = "";
    tool_output_text(out, ", msg_control=[");
    while (bytes.size_bytes >= 16) {
        uint64_t length = tool_part_number(bytes, 0, 8);
        uint64_t level = tool_part_number(bytes, 8, 4), type = tool_part_number(bytes, 12, 4);
        tool_output_printf(out, "%s{cmsg_len=%" PRIu64 ", cmsg_level=", between, length);
        (void)tool_kernel_put_flags(out, 'L', level);
        tool_output_text(out, ", cmsg_type=");
        if (level == 1)
            (void)tool_kernel_put_flags(out, (char)('S' | 0x80), type);
        else
            tool_output_printf(out, "%#" PRIx64, type);
        if (length > 16) {
            tool_output_text(out, ", cmsg_data=");
            put_control_data(out, tool_part_piece(bytes, 16, (size_t)(length - 16)), level, type);
        }
        tool_output_text(out, "}");
        if (length < 16 || length > bytes.size_bytes)
            break;
        bytes = tool_part_rest(bytes, (size_t)((length + 7) & ~(uint64_t)7));
        between = ", ";
    }
    tool_output_text(out, "]");
}

/* ---- messages ---- */

static void put_socket_name(struct tool_output *out, const struct tool_part *part,
                            ttape_string name, uint64_t address)
{
    struct tool_part inner = {
        .call = part->call, .given = name, .address = address, .letter = 'n', .sign = '('};
    tool_part_put(out, &inner);
}

/* The rest behind the head has the pieces of it. */
static void put_message(struct tool_output *out, const struct tool_part *part, ttape_string bytes,
                        uint64_t moved)
{
    ttape_string left = tool_part_rest(bytes, MSGHDR), name = next_piece(&left);
    ttape_string vector = next_piece(&left), control = next_piece(&left);
    uint64_t count = tool_part_number(bytes, 24, 8), size = tool_part_number(bytes, 40, 8);
    tool_output_text(out, "{msg_name=");
    put_socket_name(out, part, name, tool_part_number(bytes, 0, 8));
    tool_output_text(out, ", msg_namelen=");
    if (part->letter == '8' && tool_part_signed(part->given, 8, 4) != tool_part_signed(bytes, 8, 4))
        tool_output_printf(out, "%" PRId64 " => ", tool_part_signed(part->given, 8, 4));
    tool_output_printf(out, "%" PRId64 ", msg_iov=", tool_part_signed(bytes, 8, 4));
    if (vector.size_bytes > 0 || count == 0)
        put_vector(out, vector, count, moved);
    else
        tool_kernel_put_address(out, tool_part_number(bytes, 16, 8));
    tool_output_printf(out, ", msg_iovlen=%" PRIu64, count);
    if (control.size_bytes > 0)
        put_control(out, control);
    else if (size > 0 && tool_part_number(bytes, 32, 8) != 0)
        tool_output_printf(out, ", msg_control=%#" PRIx64, tool_part_number(bytes, 32, 8));
    tool_output_printf(out, ", msg_controllen=%" PRIu64 ", msg_flags=", size);
    (void)tool_kernel_put_flags(out, 'G', tool_part_number(bytes, 48, 4));
    tool_output_text(out, "}");
}

static int64_t result_of(const struct tool_call_values *call)
{
    return call->result_count > 0 ? (int64_t)call->results[0].number : -1;
}

/* Of those that were sent the first `result` have their length. */
static void put_messages(struct tool_output *out, const struct tool_part *part, ttape_string bytes)
{
    int64_t result = result_of(part->call);
    tool_output_text(out, "[");
    for (int64_t i = 0; bytes.size_bytes >= 4 && i < (int64_t)MOST; i++) {
        ttape_string one = next_piece(&bytes);
        uint64_t length = one.size_bytes >= 4 ? tool_part_number(one, one.size_bytes - 4, 4) : 0;
        bool is_moved = part->filled.size_bytes > 0 && i < result;
        tool_output_text(out, i > 0 ? ", {msg_hdr=" : "{msg_hdr=");
        put_message(out, part, one, part->sign == ')' ? length : NO_CONTENTS);
        if (is_moved)
            tool_output_printf(out, ", msg_len=%" PRIu64, length);
        tool_output_text(out, "}");
    }
    tool_output_text(out, "]");
}

/* ---- messages of System V ---- */

static void put_text_message(struct tool_output *out, ttape_string bytes, uint64_t whole)
{
    ttape_string text = tool_part_rest(bytes, 8);
    tool_output_printf(out, "{mtype=%" PRId64 ", mtext=", tool_part_signed(bytes, 0, 8));
    tool_kernel_put_quoted(out, text, text.size_bytes < whole);
    tool_output_text(out, "}");
}

bool tool_part_put_buffers(struct tool_output *out, const struct tool_part *part)
{
    bool is_filled = part->filled.size_bytes > 0 && strchr("78M", part->letter) != NULL;
    ttape_string bytes = is_filled ? part->filled : tool_part_contents(part);
    uint64_t next = tool_call_number_at(part->call, part->index + 1);
    int64_t result = result_of(part->call);
    bool is_moved = (part->sign == ')' || is_filled) && result >= 0;
    uint64_t moved = is_moved ? (uint64_t)result : NO_CONTENTS;
    if ((part->letter == 'O' || part->letter == '7') && bytes.size_bytes >= IOVEC)
        put_vector(out, bytes, next, moved);
    else if (part->letter == '6' && bytes.size_bytes >= IOVEC)
        put_vector(out, tool_part_piece(bytes, 0, (size_t)(next < MOST ? next : MOST) * IOVEC),
                   next, NO_CONTENTS);
    else if (part->letter == '8' && !is_filled && bytes.size_bytes >= MSGHDR)
        tool_output_printf(out, "{msg_namelen=%" PRId64 "}", tool_part_signed(bytes, 8, 4));
    else if ((part->letter == 'm' || part->letter == '8') && bytes.size_bytes >= MSGHDR)
        put_message(out, part, bytes, moved);
    else if (part->letter == 'M' && bytes.size_bytes >= 4)
        put_messages(out, part, bytes);
    else if (part->letter == 'B' && bytes.size_bytes >= 8)
        put_text_message(out, bytes, next);
    else
        return false;
    return true;
}
