/* Times: timespec, timeval and what is made of them. */
#include <inttypes.h>
#include <time.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_parts.h"

#define OMIT 0x3ffffffeu /* UTIME_OMIT */
#define NOW  0x3fffffffu

void tool_kernel_put_timespec(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {"{tv_sec=", 0, 8, 'd', 0}, {", tv_nsec=", 8, 8, 'u', 0}, {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

void tool_kernel_put_timeval(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {"{tv_sec=", 0, 8, 'd', 0}, {", tv_usec=", 8, 8, 'u', 0}, {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

void tool_kernel_put_date(struct tool_output *out, int64_t seconds, uint64_t part, int digits)
{
    struct tm date;
    char text[64];
    time_t when = (time_t)seconds;
    uint64_t most = digits == 9 ? 999999999 : digits == 6 ? 999999 : 0;
    if ((seconds == 0 && part == 0) || part > most || gmtime_r(&when, &date) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &date) == 0)
        return;
    tool_output_printf(out, " /* %s", text);
    if (part != 0)
        tool_output_printf(out, ".%0*" PRIu64, digits, part);
    tool_output_text(out, "+0000 */");
}

/* Of utimensat, where a part of a second may say something else. */
static void put_changes(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "[");
    for (size_t i = 0; i < 2; i++) {
        ttape_string one = tool_part_piece(bytes, 16 * i, 16);
        uint64_t part = tool_part_number(one, 8, 8);
        tool_output_text(out, i == 0 ? "" : ", ");
        if (part == NOW || part == OMIT) {
            tool_output_text(out, part == NOW ? "UTIME_NOW" : "UTIME_OMIT");
            continue;
        }
        tool_kernel_put_timespec(out, one);
        tool_kernel_put_date(out, tool_part_signed(one, 0, 8), part, 9);
    }
    tool_output_text(out, "]");
}

static void put_two(struct tool_output *out, ttape_string bytes)
{
    tool_output_text(out, "[");
    for (size_t i = 0; i < 2; i++) {
        ttape_string one = tool_part_piece(bytes, 16 * i, 16);
        tool_output_text(out, i == 0 ? "" : ", ");
        tool_kernel_put_timeval(out, one);
        tool_kernel_put_date(out, tool_part_signed(one, 0, 8), tool_part_number(one, 8, 8), 6);
    }
    tool_output_text(out, "]");
}

static void put_access_times(struct tool_output *out, ttape_string bytes)
{
    int64_t read = tool_part_signed(bytes, 0, 8), written = tool_part_signed(bytes, 8, 8);
    tool_output_printf(out, "{actime=%" PRId64, read);
    tool_kernel_put_date(out, read, 0, 0);
    tool_output_printf(out, ", modtime=%" PRId64, written);
    tool_kernel_put_date(out, written, 0, 0);
    tool_output_text(out, "}");
}

static void put_interval(struct tool_output *out, ttape_string bytes,
                         void (*put)(struct tool_output *, ttape_string))
{
    tool_output_text(out, "{it_interval=");
    put(out, tool_part_piece(bytes, 0, 16));
    tool_output_text(out, ", it_value=");
    put(out, tool_part_piece(bytes, 16, 16));
    tool_output_text(out, "}");
}

static void put_clock_state(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field head[] = {
        {"{modes=", 0, 4, 'f', 'A' | 0x80}, {", offset=", 8, 8, 'd', 0},
        {", freq=", 16, 8, 'd', 0},         {", maxerror=", 24, 8, 'u', 0},
        {", esterror=", 32, 8, 'u', 0},     {", status=", 40, 4, 'f', 'B' | 0x80},
        {", constant=", 48, 8, 'd', 0},     {", precision=", 56, 8, 'u', 0},
        {", tolerance=", 64, 8, 'd', 0},    {", time=", 0, 0, 0, 0}};
    static const struct tool_field tail[] = {{", tick=", 88, 8, 'd', 0},
                                             {", ppsfreq=", 96, 8, 'd', 0},
                                             {", jitter=", 104, 8, 'd', 0},
                                             {", shift=", 112, 4, 'd', 0},
                                             {", stabil=", 120, 8, 'd', 0},
                                             {", jitcnt=", 128, 8, 'd', 0},
                                             {", calcnt=", 136, 8, 'd', 0},
                                             {", errcnt=", 144, 8, 'd', 0},
                                             {", stbcnt=", 152, 8, 'd', 0},
                                             {", tai=", 160, 4, 'd', 0},
                                             {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, head, bytes);
    tool_kernel_put_timeval(out, tool_part_piece(bytes, 72, 16));
    tool_part_put_fields(out, tail, bytes);
}

static void put_ticks(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{tms_utime=", 0, 8, 'u', 0},
                                               {", tms_stime=", 8, 8, 'u', 0},
                                               {", tms_cutime=", 16, 8, 'u', 0},
                                               {", tms_cstime=", 24, 8, 'u', 0},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_zone(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {"{tz_minuteswest=", 0, 4, 'd', 0}, {", tz_dsttime=", 4, 4, 'd', 0}, {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

bool tool_part_put_time(struct tool_output *out, const struct tool_part *part)
{
    bool is_both = part->letter == 'x' && part->filled.size_bytes > 0;
    ttape_string bytes = is_both ? part->filled : tool_part_contents(part);
    if (part->letter == 'x' && !is_both) /* it failed */
        bytes = (ttape_string){"", 0};
    if ((part->letter == 't' || part->letter == '5' || part->letter == '9' ||
         part->letter == 'v') &&
        bytes.size_bytes >= 16)
        (part->letter == 'v' ? tool_kernel_put_timeval : tool_kernel_put_timespec)(out, bytes);
    else if (part->letter == '2' && bytes.size_bytes >= 32)
        put_changes(out, bytes);
    else if (part->letter == 'V' && bytes.size_bytes >= 32)
        put_two(out, bytes);
    else if (part->letter == 'u' && bytes.size_bytes >= 16)
        put_access_times(out, bytes);
    else if (part->letter == 'I' && bytes.size_bytes >= 32)
        put_interval(out, bytes, tool_kernel_put_timeval);
    else if (part->letter == 'J' && bytes.size_bytes >= 32)
        put_interval(out, bytes, tool_kernel_put_timespec);
    else if (part->letter == 'x' && bytes.size_bytes >= 208)
        put_clock_state(out, bytes);
    else if (part->letter == 'T' && bytes.size_bytes >= 32)
        put_ticks(out, bytes);
    else if (part->letter == 'z' && bytes.size_bytes >= 8)
        put_zone(out, bytes);
    else
        return false;
    return true;
}
