/* Addresses and options of sockets. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

enum family { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10, FAMILY_NETLINK = 16 };

static uint32_t big16(ttape_string bytes, size_t offset)
{
    return (uint32_t)(tool_part_number(bytes, offset, 1) << 8 |
                      tool_part_number(bytes, offset + 1, 1));
}

static uint32_t big32(ttape_string bytes, size_t offset)
{
    return big16(bytes, offset) << 16 | big16(bytes, offset + 2);
}

static void put_unix(struct tool_output *out, ttape_string bytes)
{
    ttape_string path = tool_part_rest(bytes, 2);
    if (path.size_bytes == 0)
        return;
    tool_output_text(out, ", sun_path=");
    if (path.data[0] != '\0') {
        tool_kernel_put_name(out, path);
        return;
    }
    tool_output_text(out, "@"); /* all of it is its name */
    tool_kernel_put_quoted(out, tool_part_rest(path, 1), false);
}

static void put_inet(struct tool_output *out, ttape_string bytes)
{
    tool_output_printf(
        out, ", sin_port=htons(%u), sin_addr=inet_addr(\"%u.%u.%u.%u\")", big16(bytes, 2),
        (unsigned)tool_part_number(bytes, 4, 1), (unsigned)tool_part_number(bytes, 5, 1),
        (unsigned)tool_part_number(bytes, 6, 1), (unsigned)tool_part_number(bytes, 7, 1));
}

/* The longest run of zeros, if there are two, is left out (RFC 5952). */
static void put_inet6_address(struct tool_output *out, ttape_string bytes)
{
    unsigned words[8], begin = 8, length = 1;
    for (unsigned i = 0; i < 8; i++)
        words[i] = big16(bytes, 2 * i);
    for (unsigned i = 0; i < 8; i++) {
        unsigned end = i;
        while (end < 8 && words[end] == 0)
            end++;
        if (end - i > length) {
            begin = i;
            length = end - i;
        }
    }
    bool is_mapped =
        begin == 0 && ((length == 5 && words[5] == 0xffff) || (length == 6 && words[6] != 0));
    for (unsigned i = 0; i < 8; i++) {
        if (i == begin) {
            tool_output_text(out, "::");
            i += length - 1;
        } else if (is_mapped && i == 6) {
            tool_output_printf(out, "%u.%u.%u.%u", words[6] >> 8, words[6] & 255, words[7] >> 8,
                               words[7] & 255);
            return;
        } else {
            tool_output_printf(out, "%x", words[i]);
            tool_output_text(out, i < 7 && i + 1 != begin ? ":" : "");
        }
    }
}

static void put_inet6(struct tool_output *out, ttape_string bytes)
{
    tool_output_printf(out,
                       ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"",
                       big16(bytes, 2), big32(bytes, 4));
    put_inet6_address(out, tool_part_rest(bytes, 8));
    tool_output_text(out, "\", &sin6_addr)");
    if (bytes.size_bytes >= 28)
        tool_output_printf(out, ", sin6_scope_id=%" PRIu64, tool_part_number(bytes, 24, 4));
}

static void put_address_of(struct tool_output *out, ttape_string bytes)
{
    uint64_t family = tool_part_number(bytes, 0, 2);
    tool_output_text(out, "{sa_family=");
    (void)tool_kernel_put_flags(out, 'N', family);
    if (family == FAMILY_UNIX) {
        put_unix(out, bytes);
    } else if (family == FAMILY_INET && bytes.size_bytes >= 16) {
        put_inet(out, bytes);
    } else if (family == FAMILY_INET6 && bytes.size_bytes >= 24) {
        put_inet6(out, bytes);
    } else if (family == FAMILY_NETLINK && bytes.size_bytes >= 12) {
        tool_output_printf(out, ", nl_pid=%" PRIu64 ", nl_groups=%#08" PRIx64,
                           tool_part_number(bytes, 4, 4), tool_part_number(bytes, 8, 4));
    } else if (bytes.size_bytes > 2) {
        tool_output_text(out, ", sa_data=");
        tool_kernel_put_quoted(out, tool_part_rest(bytes, 2), false);
    }
    tool_output_text(out, "}");
}

/* What the caller had room for, and what there is. */
static bool put_length(struct tool_output *out, const struct tool_part *part)
{
    int64_t given = tool_part_signed(part->given, 0, 4);
    int64_t filled = tool_part_signed(part->filled, 0, 4);
    if (part->given.size_bytes < 4 && part->filled.size_bytes < 4)
        return false;
    if (part->given.size_bytes < 4)
        given = filled;
    tool_output_printf(out, "[%" PRId64, given);
    if (part->filled.size_bytes >= 4 && filled != given)
        tool_output_printf(out, " => %" PRId64, filled);
    tool_output_text(out, "]");
    return true;
}

enum option { OPTION_ERROR = 4, OPTION_LINGER = 13, OPTION_PEER = 17, OPTION_DEVICE = 25 };

static bool put_option(struct tool_output *out, const struct tool_part *part)
{
    static const struct tool_field linger[] = {
        {"{l_onoff=", 0, 4, 'd', 0}, {", l_linger=", 4, 4, 'd', 0}, {"}", 0, 0, 0, 0}};
    static const struct tool_field peer[] = {{"{pid=", 0, 4, 'd', 0},
                                             {", uid=", 4, 4, '-', 0},
                                             {", gid=", 8, 4, '-', 0},
                                             {"}", 0, 0, 0, 0}};
    ttape_string bytes = tool_part_contents(part);
    uint32_t level = (uint32_t)tool_call_number_at(part->call, 1);
    uint32_t option = (uint32_t)tool_call_number_at(part->call, 2);
    bool is_socket = level == KERNEL_SOL_SOCKET;
    struct tool_kernel_error error;
    if (bytes.size_bytes == 0)
        return false;
    if (is_socket && option == OPTION_LINGER && bytes.size_bytes >= 8)
        tool_part_put_fields(out, linger, bytes);
    else if (is_socket && option == OPTION_PEER && bytes.size_bytes >= 12)
        tool_part_put_fields(out, peer, bytes);
    else if (is_socket && option == OPTION_ERROR && bytes.size_bytes == 4 &&
             tool_kernel_find_error(tool_part_number(bytes, 0, 4), &error))
        tool_output_printf(out, "[%s]", error.name);
    else if (is_socket && option == OPTION_DEVICE)
        tool_kernel_put_name(out, bytes);
    else if (bytes.size_bytes == 4)
        tool_output_printf(out, "[%" PRId64 "]", tool_part_signed(bytes, 0, 4));
    else
        tool_kernel_put_quoted(out, bytes, false);
    return true;
}

bool tool_part_put_socket(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = tool_part_contents(part);
    if ((part->letter == 'n' || part->letter == 'N') && bytes.size_bytes >= 2)
        put_address_of(out, bytes);
    else if (part->letter == 'l')
        return put_length(out, part);
    else if (part->letter == 'Z' || part->letter == 'Y')
        return put_option(out, part);
    else
        return false;
    return true;
}
