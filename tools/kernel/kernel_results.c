/* What calls return, in words. */
#include <inttypes.h>
#include <time.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

static bool is_address(uint64_t number)
{
    return number == KERNEL_CALL_MMAP || number == KERNEL_CALL_BRK ||
           number == KERNEL_CALL_MREMAP || number == KERNEL_CALL_SHMAT;
}

static bool is_waiting(uint64_t number)
{
    return number == KERNEL_CALL_POLL || number == KERNEL_CALL_PPOLL ||
           number == KERNEL_CALL_SELECT || number == KERNEL_CALL_PSELECT6;
}

/* " (WHAT FLAGS)" behind the number, in hexadecimal. */
static void put_flags_result(struct tool_output *out, const char *what, char letter, uint64_t value)
{
    tool_output_printf(out, "%#" PRIx64, value);
    if (value == 0 && letter != 'o')
        return;
    tool_output_printf(out, " (%s", what);
    (void)tool_kernel_put_flags(out, letter, value);
    tool_output_text(out, ")");
}

static void put_word_result(struct tool_output *out, char letter, uint64_t value)
{
    tool_output_printf(out, "%" PRIu64 " (", value);
    (void)tool_kernel_put_flags(out, letter, value);
    tool_output_text(out, ")");
}

static void put_error(struct tool_output *out, int64_t result)
{
    struct tool_kernel_error error;
    if (!tool_kernel_find_error((uint64_t)-result, &error))
        tool_output_printf(out, "-1 (errno %" PRId64 ")", -result);
    else
        tool_output_printf(out, "-1 %s (%s)", error.name, error.text);
}

static void put_fcntl_result(struct tool_output *out, uint64_t what, uint64_t value)
{
    if (what == KERNEL_F_GETFL)
        put_flags_result(out, "flags ", 'o', value);
    else if (what == KERNEL_F_GETFD)
        put_flags_result(out, "flags ", 'e', value);
    else if (what == KERNEL_F_GET_SEALS)
        put_flags_result(out, "seals ", (char)('8' | 0x80), value);
    else if (what == KERNEL_F_GETLEASE)
        put_flags_result(out, "", (char)('1' | 0x80), value);
    else if (what == KERNEL_F_GETSIG && value != 0)
        put_word_result(out, 'g', value);
    else
        tool_output_printf(out, "%" PRId64, (int64_t)value);
}

static void put_date_result(struct tool_output *out, uint64_t value)
{
    time_t when = (time_t)value;
    struct tm date;
    char text[64];
    tool_output_printf(out, "%" PRIu64, value);
    if (gmtime_r(&when, &date) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &date) != 0)
        tool_output_printf(out, " (%s+0000)", text);
}

static void put_priority_result(struct tool_output *out, uint64_t value)
{
    tool_output_printf(out, "%" PRIu64 " (", value);
    (void)tool_kernel_put_flags(out, (char)('_' | 0x80), value);
    tool_output_text(out, ")");
}

/* The calls whose results are more than a number. False: this is none of them. */
static bool put_own_result(struct tool_output *out, const struct tool_call_values *call,
                           uint64_t value)
{
    switch (call->number) {
    case KERNEL_CALL_UMASK: tool_output_printf(out, "%#03" PRIo64, value); break;
    case KERNEL_CALL_FCNTL:
        put_fcntl_result(out, call->argument_count > 1 ? tool_call_number_at(call, 1) : UINT64_MAX,
                         value);
        break;
    case KERNEL_CALL_SIGTIMEDWAIT: put_word_result(out, 'g', value); break;
    case KERNEL_CALL_ADJTIMEX:
    case KERNEL_CALL_CLOCK_ADJTIME: put_word_result(out, (char)('9' | 0x80), value); break;
    case KERNEL_CALL_GETSCHEDULER: put_word_result(out, (char)('q' | 0x80), value); break;
    case KERNEL_CALL_PERSONALITY:
        if (value == 0)
            put_word_result(out, (char)('t' | 0x80), value);
        else
            put_flags_result(out, "", (char)('t' | 0x80), value);
        break;
    case KERNEL_CALL_TIME: put_date_result(out, value); break;
    case KERNEL_CALL_IOPRIO_GET: put_priority_result(out, value); break;
    case KERNEL_CALL_PRCTL:
        if (call->argument_count == 0 || tool_call_number_at(call, 0) != KERNEL_PR_GET_DUMPABLE)
            return false;
        put_word_result(out, (char)('!' | 0x80), value);
        break;
    case KERNEL_CALL_MEMBARRIER:
        if (value == 0)
            return false;
        put_flags_result(out, "", (char)('z' | 0x80), value);
        break;
    default: return false;
    }
    return true;
}

/* By their letters nothing is known of results: these are the kernel's numbers. */
static bool returns_descriptor(const struct tool_call_values *call)
{
    static const uint16_t numbers[] = {2,   32,  33,  41,  43,  85,  213, 253, 257, 282,
                                       283, 284, 288, 289, 290, 291, 292, 294, 298, 300,
                                       304, 319, 323, 425, 428, 430, 434, 437, 438};
    uint64_t what = call->argument_count > 1 ? tool_call_number_at(call, 1) : 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (call->number == numbers[i])
            return true;
    return call->number == KERNEL_CALL_FCNTL && call->argument_count > 1 &&
           (what == KERNEL_F_DUPFD || what == KERNEL_F_DUPFD_CLOEXEC);
}

void tool_kernel_put_result(struct tool_output *out, const struct tool_call_values *call)
{
    if (call->result_count == 0)
        return;
    int64_t result = (int64_t)call->results[0].number;
    tool_output_text(out, " = ");
    if (tool_kernel_is_error(result))
        put_error(out, result);
    else if (is_address(call->number))
        tool_output_printf(out, "%#" PRIx64, (uint64_t)result);
    else if (!put_own_result(out, call, (uint64_t)result))
        tool_output_printf(out, "%" PRId64 "%s", result,
                           result == 0 && is_waiting(call->number) ? " (Timeout)" : "");
    if (result >= 0 && returns_descriptor(call))
        tool_kernel_put_descriptor(out, call, (int32_t)result);
    if (result > 0 && is_waiting(call->number))
        tool_kernel_put_waited(out, call);
}
