/* What calls say of processes and of the machine: statuses, limits, usage, rights, names. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

#define MOST 32u

static void put_signal_of_status(struct tool_output *out, const char *what, uint64_t number)
{
    tool_output_printf(out, "%s(s) == ", what);
    (void)tool_kernel_put_flags(out, 'g', number);
}

/* "[{WIFEXITED(s) && WEXITSTATUS(s) == 7}]" */
static void put_status(struct tool_output *out, uint64_t status)
{
    uint64_t low = status & 0x7f, high = status >> 8 & 0xff;
    tool_output_text(out, "[{");
    if (status == 0xffff) {
        tool_output_text(out, "WIFCONTINUED(s)");
    } else if (low == 0) {
        tool_output_printf(out, "WIFEXITED(s) && WEXITSTATUS(s) == %" PRIu64, high);
    } else if (low == 0x7f) {
        tool_output_text(out, "WIFSTOPPED(s) && ");
        put_signal_of_status(out, "WSTOPSIG", high);
    } else {
        tool_output_text(out, "WIFSIGNALED(s) && ");
        put_signal_of_status(out, "WTERMSIG", low);
        tool_output_text(out, (status & 0x80) != 0 ? " && WCOREDUMP(s)" : "");
    }
    if (status >> 16 != 0)
        tool_output_printf(out, "} | %#" PRIx64 "]", status & ~UINT64_C(0xffff));
    else
        tool_output_text(out, "}]");
}

static void put_limit(struct tool_output *out, uint64_t limit)
{
    if (limit == UINT64_MAX)
        tool_output_text(out, "RLIM64_INFINITY");
    else if (limit > 1024 && limit % 1024 == 0)
        tool_output_printf(out, "%" PRIu64 "*1024", limit / 1024);
    else
        tool_output_printf(out, "%" PRIu64, limit);
}

static void put_limits(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "{rlim_cur=");
    put_limit(out, tool_part_number(bytes, 0, 8));
    tool_output_text(out, ", rlim_max=");
    put_limit(out, tool_part_number(bytes, 8, 8));
    tool_output_text(out, "}");
}

static void put_usage(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "{ru_utime=");
    tool_kernel_put_timeval(out, bytes);
    tool_output_text(out, ", ru_stime=");
    tool_kernel_put_timeval(out, tool_part_rest(bytes, 16));
    tool_output_text(out, ", ...}");
}

static void put_machine(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{uptime=", 0, 8, 'd', 0},
                                               {", loads=[", 8, 8, 'u', 0},
                                               {", ", 16, 8, 'u', 0},
                                               {", ", 24, 8, 'u', 0},
                                               {"], totalram=", 32, 8, 'u', 0},
                                               {", freeram=", 40, 8, 'u', 0},
                                               {", sharedram=", 48, 8, 'u', 0},
                                               {", bufferram=", 56, 8, 'u', 0},
                                               {", totalswap=", 64, 8, 'u', 0},
                                               {", freeswap=", 72, 8, 'u', 0},
                                               {", procs=", 80, 2, 'u', 0},
                                               {", totalhigh=", 88, 8, 'u', 0},
                                               {", freehigh=", 96, 8, 'u', 0},
                                               {", mem_unit=", 104, 4, 'u', 0},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_names(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "{sysname=");
    tool_kernel_put_name(out, tool_part_piece(bytes, 0, 65));
    tool_output_text(out, ", nodename=");
    tool_kernel_put_name(out, tool_part_piece(bytes, 65, 65));
    tool_output_text(out, ", ...}");
}

/* ---- clone3 ---- */

/* " => {pidfd=[3], parent_tid=[77]}" */
static void put_cloned(struct tool_output *out, ttape_string filled, uint64_t flags)
{
    const char *before = " => {";
    if (filled.size_bytes < 8)
        return;
    if ((flags & KERNEL_CLONE_PIDFD) != 0) {
        tool_output_printf(out, "%spidfd=[%" PRId64 "]", before, tool_part_signed(filled, 0, 4));
        before = ", ";
    }
    if ((flags & KERNEL_CLONE_PARENT_SETTID) != 0) {
        tool_output_printf(out, "%sparent_tid=[%" PRId64 "]", before,
                           tool_part_signed(filled, 4, 4));
        before = ", ";
    }
    tool_output_text(out, before[0] == ',' ? "}" : "");
}

static void put_clone(struct tool_output *out, const struct tool_part *part)
{
    static const struct tool_field stack[] = {
        {", stack=", 40, 8, 'p', 0}, {", stack_size=", 48, 8, 'x', 0}, {"", 0, 0, 0, 0}};
    ttape_string bytes = part->given;
    uint64_t flags = tool_part_number(bytes, 0, 8), signal = tool_part_number(bytes, 32, 8);
    tool_output_text(out, "{flags=");
    (void)tool_kernel_put_flags(out, 'C', flags);
    if ((flags & KERNEL_CLONE_PIDFD) != 0)
        tool_output_printf(out, ", pidfd=%#" PRIx64, tool_part_number(bytes, 8, 8));
    if ((flags & (KERNEL_CLONE_CHILD_SETTID | KERNEL_CLONE_CHILD_CLEARTID)) != 0)
        tool_output_printf(out, ", child_tid=%#" PRIx64, tool_part_number(bytes, 16, 8));
    if ((flags & KERNEL_CLONE_PARENT_SETTID) != 0)
        tool_output_printf(out, ", parent_tid=%#" PRIx64, tool_part_number(bytes, 24, 8));
    tool_output_text(out, ", exit_signal=");
    (void)tool_kernel_put_flags(out, 'g', signal);
    tool_part_put_fields(out, stack, bytes);
    if ((flags & KERNEL_CLONE_SETTLS) != 0)
        tool_output_printf(out, ", tls=%#" PRIx64, tool_part_number(bytes, 56, 8));
    tool_output_text(out, "}");
    put_cloned(out, part->filled, flags);
}

/* ---- rights ---- */

static void put_rights_head(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {"{version=", 0, 4, 'f', 'V' | 0x80}, {", pid=", 4, 4, 'd', 0}, {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_rights_set(struct tool_output *out, ttape_string bytes, size_t at)
{
    uint64_t set = tool_part_number(bytes, at, 4) | tool_part_number(bytes, at + 12, 4) << 32;
    const char *between = "";
    for (uint32_t i = 0; i < 64; i++)
        if ((set >> i & 1) != 0) {
            tool_output_printf(out, "%s1<<", between);
            (void)tool_kernel_put_flags(out, (char)('W' | 0x80), i);
            between = "|";
        }
    tool_output_text(out, set == 0 ? "0" : "");
}

static void put_rights(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "{effective=");
    put_rights_set(out, bytes, 0);
    tool_output_text(out, ", permitted=");
    put_rights_set(out, bytes, 4);
    tool_output_text(out, ", inheritable=");
    put_rights_set(out, bytes, 8);
    tool_output_text(out, "}");
}

/* ---- scheduling ---- */

static void put_scheduling(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{size=", 0, 4, 'u', 0},
                                               {", sched_policy=", 4, 4, 'f', 'q' | 0x80},
                                               {", sched_flags=", 8, 8, 'f', 'X' | 0x80},
                                               {", sched_nice=", 16, 4, 'd', 0},
                                               {", sched_priority=", 20, 4, 'u', 0},
                                               {", sched_runtime=", 24, 8, 'u', 0},
                                               {", sched_deadline=", 32, 8, 'u', 0},
                                               {", sched_period=", 40, 8, 'u', 0},
                                               {", sched_util_min=", 48, 4, 'u', 0},
                                               {", sched_util_max=", 52, 4, 'u', 0},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_processors(struct tool_output *out, ttape_string bytes)
{
    const char *between = "";
    tool_output_text(out, "[");
    for (size_t i = 0; i / 8 < bytes.size_bytes; i++)
        if (((unsigned char)bytes.data[i / 8] >> i % 8 & 1) != 0) {
            tool_output_printf(out, "%s%zu", between, i);
            between = " ";
        }
    tool_output_text(out, "]");
}

static void put_numbers(struct tool_output *out, ttape_string bytes, uint64_t count)
{
    tool_output_text(out, "[");
    for (uint64_t i = 0; i < count && i < MOST; i++)
        tool_output_printf(out, "%s%" PRIu64, i > 0 ? ", " : "",
                           tool_part_number(bytes, (size_t)i * 4, 4));
    tool_output_text(out, count > MOST ? ", ...]" : "]");
}

/* Both are ends of a pipe, or sockets. */
static void put_descriptors(struct tool_output *out, const struct tool_part *part,
                            ttape_string bytes)
{
    for (size_t i = 0; i < 8; i += 4) {
        int64_t descriptor = tool_part_signed(bytes, i, 4);
        tool_output_printf(out, "%s%" PRId64, i == 0 ? "[" : ", ", descriptor);
        tool_kernel_put_descriptor(out, part->call, (int32_t)descriptor);
    }
    tool_output_text(out, "]");
}

static void put_word(struct tool_output *out, const struct tool_part *part, ttape_string bytes)
{
    switch (part->letter) {
    case 'w': put_status(out, tool_part_number(bytes, 0, 4)); break;
    case 'd': tool_output_printf(out, "[%" PRId64 "]", tool_part_signed(bytes, 0, 4)); break;
    case '3': tool_output_printf(out, "[%" PRIu64 "]", tool_part_number(bytes, 0, 4)); break;
    case 'P': put_descriptors(out, part, bytes); break;
    case '0': tool_output_printf(out, "[%#" PRIx64 "]", tool_part_number(bytes, 0, 8)); break;
    default: tool_output_printf(out, "[%" PRId64 "]", tool_part_signed(bytes, 0, 8)); break;
    }
}

static size_t word_bytes(char letter)
{
    switch (letter) {
    case 'w':
    case 'd':
    case '3': return 4;
    case 'P':
    case '0':
    case 'L': return 8;
    default: return 0;
    }
}

/* Of sendfile: where it was, and is then. */
static void put_place(struct tool_output *out, const struct tool_part *part)
{
    int64_t given = tool_part_signed(part->given, 0, 8);
    tool_output_printf(out, "[%" PRId64 "]", given);
    if (part->filled.size_bytes >= 8)
        tool_output_printf(out, " => [%" PRId64 "]", tool_part_signed(part->filled, 0, 8));
}

static void put_time(struct tool_output *out, ttape_string bytes)
{
    int64_t seconds = tool_part_signed(bytes, 0, 8);
    tool_output_printf(out, "[%" PRId64, seconds);
    tool_kernel_put_date(out, seconds, 0, 0);
    tool_output_text(out, "]");
}

bool tool_part_put_process(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = tool_part_contents(part);
    const struct tool_call_values *call = part->call;
    size_t size = word_bytes(part->letter);
    uint64_t result = call->result_count > 0 ? call->results[0].number : 0;
    if (part->letter == 'L' && part->sign == ':' && part->given.size_bytes >= 8)
        put_place(out, part);
    else if (part->letter == 'L' && part->sign == ')' && bytes.size_bytes >= 8)
        put_time(out, bytes);
    else if (size != 0 && bytes.size_bytes >= size)
        put_word(out, part, bytes);
    else if (part->letter == 'r' && bytes.size_bytes >= 16)
        put_limits(out, bytes);
    else if (part->letter == 'R' && bytes.size_bytes >= 32)
        put_usage(out, bytes);
    else if (part->letter == 'y' && bytes.size_bytes >= 108)
        put_machine(out, bytes);
    else if (part->letter == 'U' && bytes.size_bytes >= 130)
        put_names(out, bytes);
    else if (part->letter == 'c' && part->given.size_bytes >= 64)
        put_clone(out, part);
    else if (part->letter == 'H' && bytes.size_bytes >= 8)
        put_rights_head(out, bytes);
    else if (part->letter == 'C' && bytes.size_bytes >= 24)
        put_rights(out, bytes);
    else if (part->letter == 'A' && bytes.size_bytes >= 48)
        put_scheduling(out, bytes);
    else if ((part->letter == 'b' || part->letter == 'Q') && bytes.size_bytes > 0)
        put_processors(out, bytes);
    else if (part->letter == 'G' && bytes.size_bytes > 0)
        put_numbers(out, bytes, result);
    else if (part->letter == 'g' && bytes.size_bytes > 0)
        put_numbers(out, bytes, part->index > 0 ? tool_call_number_at(call, part->index - 1) : 0);
    else
        return false;
    return true;
}
