/* A recording's metadata has them as numbers; here they are for people. */
#include "tools/files/info_machine.h"

#include <inttypes.h>

#include "base/text.h"
#include "tools/io/table.h"

#define MEBIBYTE 1048576.0

static bool find(const ttape_reader *reader, const char *key, ttape_metadata_entry *entry)
{
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, entry) == TTAPE_OK; i++)
        if (ttp_text_is(entry->key, key))
            return true;
    return false;
}

static void put_text(const ttape_reader *reader, struct tool_output *out, const char *key,
                     const char *before, const char **gap)
{
    ttape_metadata_entry entry;
    if (!find(reader, key, &entry) || entry.type != TTAPE_METADATA_TEXT)
        return;
    tool_output_printf(out, "%s%s", *gap, before);
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL, entry.text);
    *gap = ", ";
}

static bool find_number(const ttape_reader *reader, const char *key, uint64_t *number)
{
    ttape_metadata_entry entry;
    bool is_there = find(reader, key, &entry) && entry.type == TTAPE_METADATA_NUMBER;
    *number = is_there ? entry.number : 0;
    return is_there;
}

static void put_where(const ttape_reader *reader, struct tool_output *out)
{
    const char *gap = "machine     ";
    uint64_t number;
    put_text(reader, out, "system", "", &gap);
    put_text(reader, out, "cpu", "", &gap);
    if (find_number(reader, "cpus", &number)) {
        tool_output_printf(out, "%s%" PRIu64 " processor%s", gap, number, number == 1 ? "" : "s");
        gap = ", ";
    }
    if (find_number(reader, "memory_bytes", &number)) {
        tool_output_printf(out, "%s%.0f MiB", gap, (double)number / MEBIBYTE);
        gap = ", ";
    }
    if (find_number(reader, "memory_free_bytes", &number)) {
        tool_output_printf(out, "%s%.0f MiB free", gap, (double)number / MEBIBYTE);
        gap = ", ";
    }
    put_text(reader, out, "load", "load ", &gap);
    tool_output_text(out, *gap == ',' ? "\n" : "");
}

static void put_time(struct tool_output *out, uint64_t time_ns, const char *what)
{
    char text[40];
    text[tool_put_time(text, time_ns <= INT64_MAX ? (int64_t)time_ns : INT64_MAX)] = '\0';
    tool_output_printf(out, "%s %s", text, what);
}

static void put_usage(const ttape_reader *reader, struct tool_output *out)
{
    uint64_t user, in_system, memory, minor, major, voluntary, forced;
    if (!find_number(reader, "user_ns", &user) || !find_number(reader, "system_ns", &in_system))
        return;
    (void)find_number(reader, "max_rss_bytes", &memory);
    (void)find_number(reader, "minor_faults", &minor);
    (void)find_number(reader, "major_faults", &major);
    (void)find_number(reader, "voluntary_switches", &voluntary);
    (void)find_number(reader, "involuntary_switches", &forced);
    tool_output_text(out, "took        ");
    put_time(out, user, "in the program, ");
    put_time(out, in_system, "in the kernel");
    tool_output_printf(out,
                       ", %.1f MiB at most, %" PRIu64 " page faults (%" PRIu64
                       " from disk), %" PRIu64 " waits, %" PRIu64 " preemptions\n",
                       (double)memory / MEBIBYTE, minor, major, voluntary, forced);
}

void tool_info_print_machine(const ttape_reader *reader, struct tool_output *out)
{
    put_where(reader, out);
    put_usage(reader, out);
}
