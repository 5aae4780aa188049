/* What calls wait for: pollfd, epoll_event, sets of descriptors; and what they say is ready. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_parts.h"

#define POLLFD  8u
#define EVENT   12u
#define MOST    32u
#define MASK_AT 16u

static void put_polled(struct tool_output *out, const struct tool_call_values *call,
                       ttape_string bytes, uint64_t count)
{
    tool_output_text(out, "[");
    for (uint64_t i = 0; i < count && i < MOST; i++) {
        ttape_string one = tool_part_piece(bytes, (size_t)i * POLLFD, POLLFD);
        int64_t descriptor = tool_part_signed(one, 0, 4);
        tool_output_printf(out, "%s{fd=%" PRId64, i > 0 ? ", " : "", descriptor);
        tool_kernel_put_descriptor(out, call, (int32_t)descriptor);
        if (descriptor >= 0) {
            tool_output_text(out, ", events=");
            (void)tool_kernel_put_flags(out, (char)('T' | 0x80), tool_part_number(one, 4, 2));
        }
        tool_output_text(out, "}");
    }
    tool_output_text(out, count > MOST ? ", ...]" : "]");
}

static void put_polled_ready(struct tool_output *out, ttape_string bytes)
{
    const char *between = "";
    tool_output_text(out, "[");
    for (size_t i = 0; i + POLLFD <= bytes.size_bytes && i < MOST * POLLFD; i += POLLFD) {
        uint64_t events = tool_part_number(bytes, i + 6, 2);
        if (events == 0)
            continue;
        tool_output_printf(out, "%s{fd=%" PRId64 ", revents=", between,
                           tool_part_signed(bytes, i, 4));
        (void)tool_kernel_put_flags(out, (char)('T' | 0x80), events);
        tool_output_text(out, "}");
        between = ", ";
    }
    tool_output_text(out, "]");
}

static void put_event(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{events=", 0, 4, 'f', 'U' | 0x80},
                                               {", data={u32=", 4, 4, 'u', 0},
                                               {", u64=", 4, 8, 'u', 0},
                                               {"}}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_events(struct tool_output *out, ttape_string bytes, uint64_t count)
{
    tool_output_text(out, "[");
    for (uint64_t i = 0; i < count && i < MOST; i++) {
        tool_output_text(out, i > 0 ? ", " : "");
        put_event(out, tool_part_piece(bytes, (size_t)i * EVENT, EVENT));
    }
    tool_output_text(out, count > MOST ? ", ...]" : "]");
}

/* "[4 5]" */
static void put_set(struct tool_output *out, ttape_string bytes, int64_t count)
{
    const char *between = "";
    tool_output_text(out, "[");
    for (size_t i = 0; i / 8 < bytes.size_bytes && (int64_t)i < count; i++)
        if (((unsigned char)bytes.data[i / 8] >> i % 8 & 1) != 0) {
            tool_output_printf(out, "%s%zu", between, i);
            between = " ";
        }
    tool_output_text(out, "]");
}

/* Of pselect6: where the mask is, and how long. */
static void put_mask(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "{sigmask=");
    if (bytes.size_bytes >= MASK_AT + 8)
        tool_kernel_put_signals(out, tool_part_rest(bytes, MASK_AT));
    else
        tool_kernel_put_address(out, tool_part_number(bytes, 0, 8));
    tool_output_printf(out, ", sigsetsize=%" PRIu64 "}", tool_part_number(bytes, 8, 8));
}

bool tool_part_put_waiting(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = tool_part_contents(part);
    const struct tool_call_values *call = part->call;
    uint64_t next = tool_call_number_at(call, part->index + 1);
    if (part->letter == 'p' && bytes.size_bytes >= POLLFD)
        put_polled(out, part->call, bytes, (uint32_t)next);
    else if (part->letter == 'e' && bytes.size_bytes >= EVENT)
        put_event(out, bytes);
    else if (part->letter == 'E' && bytes.size_bytes >= EVENT)
        put_events(out, bytes, call->result_count > 0 ? call->results[0].number : 0);
    else if (part->letter == 'f')
        put_set(out, bytes, (int32_t)tool_call_number_at(call, 0));
    else if (part->letter == 'q' && bytes.size_bytes >= MASK_AT)
        put_mask(out, bytes);
    else
        return false;
    return true;
}

static bool has_bits(ttape_string bytes)
{
    for (size_t i = 0; i < bytes.size_bytes; i++)
        if (bytes.data[i] != 0)
            return true;
    return false;
}

void tool_kernel_put_ready(struct tool_output *out, const struct tool_call_values *call,
                           const struct tool_part *parts, uint32_t count)
{
    static const char *const names[] = {"", "in ", "out ", "except "};
    const char *before = " (";
    for (uint32_t i = 0; i < count; i++) {
        const struct tool_part *part = &parts[i];
        bool is_set = part->letter == 'f' && part->index < 4 && has_bits(part->filled);
        bool is_left = part->sign == ':' && part->filled.size_bytes >= 16 &&
                       (part->letter == 't' || part->letter == 'v');
        if (part->letter == 'p' && part->filled.size_bytes > 0) {
            tool_output_text(out, before);
            put_polled_ready(out, part->filled);
        } else if (is_set) {
            tool_output_printf(out, "%s%s", before, names[part->index]);
            put_set(out, part->filled, (int32_t)tool_call_number_at(call, 0));
        } else if (is_left) {
            tool_output_printf(out, "%sleft ", before);
            (part->letter == 't' ? tool_kernel_put_timespec
                                 : tool_kernel_put_timeval)(out, part->filled);
        } else {
            continue;
        }
        before = ", ";
    }
    tool_output_text(out, before[0] == ' ' ? "" : ")");
}
