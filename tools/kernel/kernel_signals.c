/* Signals: masks, what is done at one, what one says. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_parts.h"

#define SIGNALS       64u
#define SIGNALS_MANY  43u /* of a mask with as many, those that are not in it are shown */
#define SIGNAL_FIRST  32u /* of those without a name */
#define HAS_RESTORER  0x4000000u
#define SIGNAL_CHILD  17u
#define SIGNAL_SYSTEM 31u
#define SIGNAL_POLL   29u

/* Without the SIG in front. */
static void put_short_name(struct tool_output *out, uint32_t number)
{
    size_t at = out->size_bytes;
    if (number > SIGNAL_FIRST) {
        tool_output_printf(out, "RT_%u", number - SIGNAL_FIRST);
        return;
    }
    (void)tool_kernel_put_flags(out, 'g', number);
    for (size_t i = at; i + 3 < out->size_bytes; i++)
        out->data[i] = out->data[i + 3];
    out->size_bytes -= 3;
}

void tool_kernel_put_signals(struct tool_output *out, ttape_string bytes)
{
    uint64_t mask = tool_part_number(bytes, 0, 8);
    uint32_t count = 0;
    const char *between = "";
    for (uint64_t left = mask; left != 0; left &= left - 1)
        count++;
    if (count >= SIGNALS_MANY)
        mask = ~mask;
    tool_output_text(out, count >= SIGNALS_MANY ? "~[" : "[");
    for (uint32_t i = 0; i < SIGNALS; i++)
        if ((mask >> i & 1) != 0) {
            tool_output_text(out, between);
            put_short_name(out, i + 1);
            between = " ";
        }
    tool_output_text(out, "]");
}

static void put_handler(struct tool_output *out, uint64_t address)
{
    if (address == 0 || address == 1)
        tool_output_text(out, address == 0 ? "SIG_DFL" : "SIG_IGN");
    else if (address == UINT64_MAX)
        tool_output_text(out, "SIG_ERR");
    else
        tool_kernel_put_address(out, address);
}

static void put_action(struct tool_output *out, ttape_string bytes)
{
    uint64_t flags = tool_part_number(bytes, 8, 8);
    tool_output_text(out, "{sa_handler=");
    put_handler(out, tool_part_number(bytes, 0, 8));
    tool_output_text(out, ", sa_mask=");
    tool_kernel_put_signals(out, tool_part_rest(bytes, 24));
    tool_output_text(out, ", sa_flags=");
    (void)tool_kernel_put_flags(out, (char)('G' | 0x80), flags);
    if ((flags & HAS_RESTORER) != 0) {
        tool_output_text(out, ", sa_restorer=");
        tool_kernel_put_address(out, tool_part_number(bytes, 16, 8));
    }
    tool_output_text(out, "}");
}

static void put_stack(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{ss_sp=", 0, 8, 'p', 0},
                                               {", ss_flags=", 8, 4, 'f', 'H' | 0x80},
                                               {", ss_size=", 16, 8, 'u', 0},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

/* How somebody is told: by a signal (of that thread), a function, or not at all. */
static void put_event(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field value[] = {{"{sigev_value={sival_int=", 0, 4, 'd', 0},
                                              {", sival_ptr=", 0, 8, 'p', 0},
                                              {"}, sigev_signo=", 0, 0, 0, 0}};
    static const struct tool_field function[] = {{", sigev_notify_function=", 16, 8, 'p', 0},
                                                 {", sigev_notify_attributes=", 24, 8, 'p', 0},
                                                 {"}", 0, 0, 0, 0}};
    uint64_t how = tool_part_number(bytes, 12, 4);
    tool_part_put_fields(out, value, bytes);
    if (how == 0 || how == 4)
        (void)tool_kernel_put_flags(out, 'g', tool_part_number(bytes, 8, 4));
    else
        tool_output_printf(out, "%" PRIu64, tool_part_number(bytes, 8, 4));
    tool_output_text(out, ", sigev_notify=");
    (void)tool_kernel_put_flags(out, (char)('I' | 0x80), how);
    if (how == 4)
        tool_output_printf(out, ", sigev_notify_thread_id=%" PRId64,
                           tool_part_signed(bytes, 16, 4));
    if (how == 2)
        tool_part_put_fields(out, function, bytes);
    else
        tool_output_text(out, "}");
}

/* ---- siginfo ---- */

/* The letter of a signal's own codes; 0: it has none. */
static unsigned char codes_of(uint64_t number)
{
    switch (number) {
    case 4: return 'K' | 0x80;  /* SIGILL */
    case 5: return 'L' | 0x80;  /* SIGTRAP */
    case 7: return 'M' | 0x80;  /* SIGBUS */
    case 8: return 'N' | 0x80;  /* SIGFPE */
    case 11: return 'O' | 0x80; /* SIGSEGV */
    case SIGNAL_CHILD: return 'P' | 0x80;
    case SIGNAL_POLL: return 'Q' | 0x80;
    case SIGNAL_SYSTEM: return 'R' | 0x80;
    default: return 0;
    }
}

static void put_sender(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {", si_pid=", 16, 4, 'd', 0}, {", si_uid=", 20, 4, '-', 0}, {"", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_signal_value(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {
        {", si_int=", 24, 4, 'd', 0}, {", si_ptr=", 24, 8, 'p', 0}, {"", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_child(struct tool_output *out, ttape_string bytes, int64_t code)
{
    static const struct tool_field used[] = {
        {", si_utime=", 32, 8, 'u', 0}, {", si_stime=", 40, 8, 'u', 0}, {"", 0, 0, 0, 0}};
    put_sender(out, bytes);
    tool_output_text(out, ", si_status=");
    if (code == 1)
        tool_output_printf(out, "%" PRId64, tool_part_signed(bytes, 24, 4));
    else
        (void)tool_kernel_put_flags(out, 'g', tool_part_number(bytes, 24, 4));
    tool_part_put_fields(out, used, bytes);
}

static void put_what(struct tool_output *out, ttape_string bytes, uint64_t number, int64_t code)
{
    static const struct tool_field timer[] = {
        {", si_timerid=", 16, 4, 'x', 0}, {", si_overrun=", 20, 4, 'd', 0}, {"", 0, 0, 0, 0}};
    static const struct tool_field place[] = {{", si_addr=", 16, 8, 'p', 0}, {"", 0, 0, 0, 0}};
    static const struct tool_field ready[] = {
        {", si_band=", 16, 8, 'd', 0}, {", si_fd=", 24, 4, 'd', 0}, {"", 0, 0, 0, 0}};
    static const struct tool_field call[] = {{", si_call_addr=", 16, 8, 'p', 0},
                                             {", si_syscall=", 24, 4, 'd', 0},
                                             {", si_arch=", 28, 4, 'x', 0},
                                             {"", 0, 0, 0, 0}};
    if (code == 0 || code == -6) {
        put_sender(out, bytes);
    } else if (code == -2) {
        tool_part_put_fields(out, timer, bytes);
        put_signal_value(out, bytes);
    } else if (code < 0) {
        put_sender(out, bytes);
        put_signal_value(out, bytes);
    } else if (number == SIGNAL_CHILD && code != 0x80) {
        put_child(out, bytes, code);
    } else if (number == SIGNAL_POLL && code != 0x80) {
        tool_part_put_fields(out, ready, bytes);
    } else if (number == SIGNAL_SYSTEM && code != 0x80) {
        tool_part_put_fields(out, call, bytes);
    } else if (codes_of(number) != 0 && code != 0x80) {
        tool_part_put_fields(out, place, bytes);
    }
}

void tool_kernel_put_siginfo(struct tool_output *out, ttape_string bytes)
{
    uint64_t number = tool_part_number(bytes, 0, 4), failure = tool_part_number(bytes, 4, 4);
    int64_t code = tool_part_signed(bytes, 8, 4);
    unsigned char codes = code > 0 && code != 0x80 ? codes_of(number) : 'J' | 0x80;
    struct tool_kernel_error error;
    if (number == 0) {
        tool_output_text(out, "{}");
        return;
    }
    tool_output_text(out, "{si_signo=");
    (void)tool_kernel_put_flags(out, 'g', number);
    tool_output_text(out, ", si_code=");
    (void)tool_kernel_put_flags(out, (char)(codes == 0 ? 'J' | 0x80 : codes), (uint64_t)code);
    if (failure != 0 && tool_kernel_find_error(failure, &error))
        tool_output_printf(out, ", si_errno=%s", error.name);
    else if (failure != 0)
        tool_output_printf(out, ", si_errno=%" PRIu64, failure);
    put_what(out, bytes, number, code);
    tool_output_text(out, "}");
}

bool tool_part_put_signal(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = tool_part_contents(part);
    if (part->letter == 'S' && bytes.size_bytes >= 8)
        tool_kernel_put_signals(out, bytes);
    else if (part->letter == 'a' && bytes.size_bytes >= 32)
        put_action(out, bytes);
    else if (part->letter == 'i' && bytes.size_bytes >= 128)
        tool_kernel_put_siginfo(out, bytes);
    else if (part->letter == 'k' && bytes.size_bytes >= 24)
        put_stack(out, bytes);
    else if (part->letter == '$' && bytes.size_bytes >= 64)
        put_event(out, bytes);
    else
        return false;
    return true;
}
