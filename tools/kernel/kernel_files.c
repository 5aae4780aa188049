/* What calls say of files: stat, statx, statfs, folders' entries, how to open. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/flags/kernel_modes.h"
#include "tools/kernel/kernel_parts.h"

#define MODE_TYPE 0170000u

static void put_stat(struct tool_output *out, ttape_string bytes)
{
    uint64_t mode = tool_part_number(bytes, 24, 4), type = mode & MODE_TYPE;
    tool_output_text(out, "{st_mode=");
    tool_kernel_put_mode(out, mode);
    if (type == 0020000 || type == 0060000) {
        tool_output_text(out, ", st_rdev=");
        tool_kernel_put_device(out, tool_part_number(bytes, 40, 8));
    } else {
        tool_output_printf(out, ", st_size=%" PRId64, tool_part_signed(bytes, 48, 8));
    }
    tool_output_text(out, ", ...}");
}

static void put_statx(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field head[] = {{"{stx_mask=", 0, 4, 'f', 'X'},
                                             {", stx_attributes=", 8, 8, 'f', 'C' | 0x80},
                                             {", stx_mode=", 0, 0, 0, 0}};
    tool_part_put_fields(out, head, bytes);
    tool_kernel_put_mode(out, tool_part_number(bytes, 28, 2));
    tool_output_printf(out, ", stx_size=%" PRIu64 ", ...}", tool_part_number(bytes, 40, 8));
}

static void put_statfs(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{f_type=", 0, 8, 'f', 'D' | 0x80},
                                               {", f_bsize=", 8, 8, 'u', 0},
                                               {", f_blocks=", 16, 8, 'u', 0},
                                               {", f_bfree=", 24, 8, 'u', 0},
                                               {", f_bavail=", 32, 8, 'u', 0},
                                               {", f_files=", 40, 8, 'u', 0},
                                               {", f_ffree=", 48, 8, 'u', 0},
                                               {", f_fsid={val=[", 56, 4, 'x', 0},
                                               {", ", 60, 4, 'x', 0},
                                               {"]}, f_namelen=", 64, 8, 'u', 0},
                                               {", f_frsize=", 72, 8, 'u', 0},
                                               {", f_flags=", 80, 8, 'f', 'E' | 0x80},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

#define CREATES 0x400040u /* O_CREAT, and what O_TMPFILE has of its own */

static void put_open_how(struct tool_output *out, ttape_string bytes)
{
    uint64_t flags = tool_part_number(bytes, 0, 8), mode = tool_part_number(bytes, 8, 8);
    tool_output_text(out, "{flags=");
    (void)tool_kernel_put_flags(out, 'o', flags);
    if ((flags & CREATES) != 0 || mode != 0)
        tool_output_printf(out, ", mode=%#03" PRIo64, mode);
    tool_output_text(out, ", resolve=");
    (void)tool_kernel_put_flags(out, (char)('F' | 0x80), tool_part_number(bytes, 16, 8));
    tool_output_text(out, "}");
}

static void put_entries(struct tool_output *out, const struct tool_part *part)
{
    uint64_t count = tool_part_number(part->filled, 0, 8);
    tool_kernel_put_address(out, part->address);
    tool_output_printf(out, " /* %" PRIu64 " %s */", count, count == 1 ? "entry" : "entries");
}

static void put_queue(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{mq_flags=", 0, 8, 'f', 'o'},
                                               {", mq_maxmsg=", 8, 8, 'd', 0},
                                               {", mq_msgsize=", 16, 8, 'd', 0},
                                               {", mq_curmsgs=", 24, 8, 'd', 0},
                                               {"}", 0, 0, 0, 0}};
    static const struct tool_field none[] = {{"{mq_flags=", 0, 8, 'd', 0},
                                             {", mq_maxmsg=", 8, 8, 'd', 0},
                                             {", mq_msgsize=", 16, 8, 'd', 0},
                                             {", mq_curmsgs=", 24, 8, 'd', 0},
                                             {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, tool_part_number(bytes, 0, 8) == 0 ? none : fields, bytes);
}

bool tool_part_put_file(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = tool_part_contents(part);
    if (part->letter == 's' && bytes.size_bytes >= 144)
        put_stat(out, bytes);
    else if (part->letter == 'X' && bytes.size_bytes >= 256)
        put_statx(out, bytes);
    else if (part->letter == 'F' && bytes.size_bytes >= 120)
        put_statfs(out, bytes);
    else if (part->letter == 'o' && bytes.size_bytes >= 24 &&
             tool_call_number_at(part->call, part->index + 1) >= 24)
        put_open_how(out, bytes);
    else if ((part->letter == '%' || part->letter == '&') && bytes.size_bytes >= 8)
        put_entries(out, part);
    else if (part->letter == 'h' && bytes.size_bytes >= 64)
        put_queue(out, bytes);
    else
        return false;
    return true;
}
