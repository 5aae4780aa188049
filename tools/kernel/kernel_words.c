/* Letters of a call's arguments, in their order; where a call's own arguments say which of them
 * there are (fcntl, futex, clone, prctl), a function of its own. */
#include "tools/kernel/kernel_words.h"

#include <inttypes.h>
#include <string.h>

#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_flags.h"
#include "tools/kernel/kernel_numbers.h"

#define SIX         "xxxxxx"
#define STRING_MAX  4096u /* a string of as many bytes was cut there */
#define ERROR_FIRST (-4095)

/* Of x86-64, as all numbers of the table are: this may be another machine. */
enum call {
    CALL_OPEN = 2,
    CALL_POLL = 7,
    CALL_MMAP = 9,
    CALL_BRK = 12,
    CALL_SELECT = 23,
    CALL_MREMAP = 25,
    CALL_SHMAT = 30,
    CALL_SOCKET = 41,
    CALL_SOCKETPAIR = 53,
    CALL_SETSOCKOPT = 54,
    CALL_GETSOCKOPT = 55,
    CALL_CLONE = 56,
    CALL_FCNTL = 72,
    CALL_UMASK = 95,
    CALL_PRCTL = 157,
    CALL_FUTEX = 202,
    CALL_OPENAT = 257,
    CALL_PSELECT6 = 270,
    CALL_PPOLL = 271
};

/* ---- one argument ---- */

/* As C writes it; octal digits are as few as are not mistaken for the next character. */
static void put_quoted(struct tool_output *out, ttape_string text, bool is_cut)
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

static void put_address(struct tool_output *out, uint64_t value)
{
    if (value == 0)
        tool_output_text(out, "NULL");
    else
        tool_output_printf(out, "%#" PRIx64, value);
}

static void put_number(struct tool_output *out, char letter, uint64_t value)
{
    if (letter == 'a' && (int32_t)value == KERNEL_AT_FDCWD)
        tool_output_text(out, "AT_FDCWD");
    else if (letter == 'd' || letter == 'f' || letter == 'a')
        tool_output_printf(out, "%" PRId32, (int32_t)value);
    else if (letter == '-' && (uint32_t)value == UINT32_MAX)
        tool_output_text(out, "-1");
    else if (letter == '-' || letter == '4')
        tool_output_printf(out, "%" PRIu32, (uint32_t)value);
    else if (letter == '+')
        tool_output_printf(out, "%" PRId64, (int64_t)value);
    else if (letter == '*' && (uint32_t)value == KERNEL_FUTEX_BITSET_MATCH_ANY)
        tool_output_text(out, "FUTEX_BITSET_MATCH_ANY");
    else if (letter == 'u')
        tool_output_printf(out, "%" PRIu64, value);
    else if (letter == 'm')
        tool_output_printf(out, "%#03" PRIo32, (uint32_t)value & 0xFFFFu);
    else if (letter == '=')
        tool_output_printf(out, "%#" PRIx32, (uint32_t)value);
    else if (letter == 'x' || letter == '*')
        tool_output_printf(out, "%#" PRIx64, value);
    else if (!tool_kernel_put_flags(out, letter, value))
        put_address(out, value);
}

/* Strings with their zeros; without the last zero there was more. */
static void put_list(struct tool_output *out, ttape_string list)
{
    const char *at = list.data, *end = at + list.size_bytes;
    tool_output_text(out, "[");
    while (at < end) {
        const char *zero = memchr(at, 0, (size_t)(end - at)), *behind = zero != NULL ? zero : end;
        put_quoted(out, (ttape_string){at, (size_t)(behind - at)}, zero == NULL);
        at = zero != NULL ? zero + 1 : end;
        if (zero == NULL || at < end)
            tool_output_text(out, zero == NULL ? ", ..." : ", ");
    }
    tool_output_text(out, "]");
}

static void put_value(struct tool_output *out, char letter, const ttape_value *value,
                      uint64_t whole_bytes)
{
    if (value->type == TTAPE_VALUE_STRING)
        put_quoted(out, value->bytes, value->bytes.size_bytes >= STRING_MAX);
    else if (value->type == TTAPE_VALUE_BYTES && letter == '|')
        put_list(out, value->bytes);
    else if (value->type == TTAPE_VALUE_BYTES)
        put_quoted(out, value->bytes, value->bytes.size_bytes < whole_bytes);
    else if (value->type == TTAPE_VALUE_NULL)
        tool_output_text(out, "NULL");
    else
        put_number(out, letter, value->number);
}

/* ---- calls ---- */

static uint64_t number_at(const struct tool_call_values *call, uint32_t i)
{
    return i < call->argument_count ? call->arguments[i].number : 0;
}

static void put_argument(struct tool_output *out, const struct tool_call_values *call, uint32_t i,
                         char letter)
{
    const ttape_value *value = &call->arguments[i];
    uint64_t whole = number_at(call, i + 1);
    ttape_value filled;
    if ((letter == '<' || letter == '>') && call->result_count > 1 &&
        call->results[1].type == TTAPE_VALUE_BYTES) {
        filled = call->results[1];
        whole = call->results[0].number;
        value = &filled;
        if (letter == '>' && whole > 0 && filled.bytes.size_bytes == whole--)
            filled.bytes.size_bytes--; /* without the zero */
    }
    put_value(out, letter, value, whole);
}

/* `letters`: of arguments 0, 1, ...; a blank leaves one out. */
static void put_letters(struct tool_output *out, const struct tool_call_values *call,
                        const char *letters)
{
    const char *between = "";
    for (uint32_t i = 0; letters[i] != '\0' && i < call->argument_count; i++) {
        if (letters[i] == ' ')
            continue;
        tool_output_text(out, between);
        put_argument(out, call, i, letters[i]);
        between = ", ";
    }
}

static const char *fcntl_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case KERNEL_F_GETFD:
    case KERNEL_F_GETFL:
    case KERNEL_F_GETOWN:
    case KERNEL_F_GETSIG:
    case KERNEL_F_GETLEASE:
    case KERNEL_F_GETPIPE_SZ:
    case KERNEL_F_GET_SEALS: return "fF";
    case KERNEL_F_SETFD: return "fFe";
    case KERNEL_F_SETFL: return "fFo";
    case KERNEL_F_SETSIG: return "fFg";
    case KERNEL_F_DUPFD:
    case KERNEL_F_DUPFD_CLOEXEC:
    case KERNEL_F_SETOWN:
    case KERNEL_F_SETPIPE_SZ: return "fFd";
    default: return "fFp";
    }
}

static const char *futex_letters(uint64_t what)
{
    switch (what & KERNEL_FUTEX_CMD_MASK) {
    case KERNEL_FUTEX_WAIT: return "pj4p";
    case KERNEL_FUTEX_WAKE: return "pjd";
    case KERNEL_FUTEX_LOCK_PI:
    case KERNEL_FUTEX_LOCK_PI2: return "pj p";
    case KERNEL_FUTEX_UNLOCK_PI:
    case KERNEL_FUTEX_TRYLOCK_PI: return "pj";
    case KERNEL_FUTEX_WAIT_BITSET: return "pj4p *";
    case KERNEL_FUTEX_WAKE_BITSET: return "pjd  *";
    case KERNEL_FUTEX_REQUEUE: return "pjddp";
    case KERNEL_FUTEX_CMP_REQUEUE: return "pjddp4";
    default: return "pj4pp=";
    }
}

static const char *prctl_letters(uint64_t what)
{
    switch ((uint32_t)what) {
    case KERNEL_PR_GET_DUMPABLE:
    case KERNEL_PR_GET_KEEPCAPS:
    case KERNEL_PR_GET_SECCOMP:
    case KERNEL_PR_GET_TIMERSLACK: return "r";
    case KERNEL_PR_SET_NAME:
    case KERNEL_PR_GET_NAME:
    case KERNEL_PR_GET_PDEATHSIG: return "rp";
    case KERNEL_PR_SET_PDEATHSIG: return "rg";
    case KERNEL_PR_SET_DUMPABLE:
    case KERNEL_PR_SET_KEEPCAPS:
    case KERNEL_PR_CAPBSET_READ: return "ru";
    default: return "rxxxx";
    }
}

static const char *socket_option_letters(uint64_t level, bool is_set)
{
    if ((uint32_t)level == KERNEL_SOL_SOCKET)
        return is_set ? "fLOpd" : "fLOpp";
    if ((uint32_t)level == KERNEL_IPPROTO_TCP)
        return is_set ? "fLYpd" : "fLYpp";
    return is_set ? "fLdpd" : "fLdpp";
}

/* Its arguments are in an order that few know, so they have names. */
static void put_clone(struct tool_output *out, const struct tool_call_values *call)
{
    uint64_t flags = number_at(call, 0);
    tool_output_text(out, "child_stack=");
    put_address(out, number_at(call, 1));
    tool_output_text(out, ", flags=");
    if ((flags & ~(uint64_t)KERNEL_CSIGNAL) != 0)
        (void)tool_kernel_put_flags(out, 'C', flags & ~(uint64_t)KERNEL_CSIGNAL);
    if ((flags & KERNEL_CSIGNAL) != 0) {
        tool_output_text(out, (flags & ~(uint64_t)KERNEL_CSIGNAL) != 0 ? "|" : "");
        (void)tool_kernel_put_flags(out, 'g', flags & KERNEL_CSIGNAL);
    } else if (flags == 0) {
        tool_output_text(out, "0");
    }
    if ((flags & (KERNEL_CLONE_PARENT_SETTID | KERNEL_CLONE_PIDFD)) != 0)
        tool_output_printf(out, ", parent_tid=%#" PRIx64, number_at(call, 2));
    if ((flags & KERNEL_CLONE_SETTLS) != 0)
        tool_output_printf(out, ", tls=%#" PRIx64, number_at(call, 4));
    if ((flags & (KERNEL_CLONE_CHILD_SETTID | KERNEL_CLONE_CHILD_CLEARTID)) != 0)
        tool_output_printf(out, ", child_tidptr=%#" PRIx64, number_at(call, 3));
}

static bool creates(uint64_t flags)
{
    return (flags & KERNEL_O_CREAT) != 0 || (flags & KERNEL_O_TMPFILE) != 0;
}

const char *tool_kernel_letters(const struct tool_call_values *call)
{
    const struct tool_kernel_call *known =
        call->number <= UINT32_MAX ? tool_kernel_call_numbered((uint32_t)call->number) : NULL;
    switch (call->number) {
    case CALL_OPEN: return creates(number_at(call, 1)) ? "som" : "so";
    case CALL_OPENAT: return creates(number_at(call, 2)) ? "asom" : "aso";
    case CALL_FCNTL: return fcntl_letters(number_at(call, 1));
    case CALL_FUTEX: return futex_letters(number_at(call, 1));
    case CALL_PRCTL: return prctl_letters(number_at(call, 0));
    case CALL_SETSOCKOPT: return socket_option_letters(number_at(call, 1), true);
    case CALL_GETSOCKOPT: return socket_option_letters(number_at(call, 1), false);
    case CALL_SOCKET:
    case CALL_SOCKETPAIR:
        if ((uint32_t)number_at(call, 0) == KERNEL_AF_INET ||
            (uint32_t)number_at(call, 0) == KERNEL_AF_INET6)
            return call->number == CALL_SOCKET ? "NKV" : "NKVp";
        break;
    case CALL_MREMAP:
        if ((number_at(call, 3) & 2) == 0) /* its fifth is there with MREMAP_FIXED only */
            return "puuz";
        break;
    default: break;
    }
    return known != NULL && known->arguments != NULL ? known->arguments : SIX;
}

/* A slash at the path's end says nothing, and all that begins with one is below "/". */
static bool is_within(ttape_string text, const char *path)
{
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    if (text.size_bytes <= size)
        return size > 0 && text.size_bytes == size && memcmp(text.data, path, size) == 0;
    return memcmp(text.data, path, size) == 0 && text.data[size] == '/';
}

bool tool_kernel_has_path(const struct tool_call_values *call, const char *path)
{
    const char *letters = tool_kernel_letters(call);
    for (uint32_t i = 0; letters[i] != '\0' && i < call->argument_count; i++)
        if (letters[i] == 's' && call->arguments[i].type == TTAPE_VALUE_STRING &&
            is_within(call->arguments[i].bytes, path))
            return true;
    return false;
}

bool tool_kernel_has_descriptor(const struct tool_call_values *call, int32_t descriptor)
{
    const char *letters = tool_kernel_letters(call);
    for (uint32_t i = 0; letters[i] != '\0' && i < call->argument_count; i++)
        if ((letters[i] == 'f' || letters[i] == 'a') &&
            (int32_t)call->arguments[i].number == descriptor)
            return true;
    return false;
}

void tool_kernel_put_arguments(struct tool_output *out, const struct tool_call_values *call)
{
    if (call->argument_count == 0)
        return;
    tool_output_text(out, "(");
    if (call->number == CALL_CLONE)
        put_clone(out, call);
    else
        put_letters(out, call, tool_kernel_letters(call));
    tool_output_text(out, ")");
}

/* ---- results ---- */

static bool is_address(uint64_t number)
{
    return number == CALL_MMAP || number == CALL_BRK || number == CALL_MREMAP ||
           number == CALL_SHMAT;
}

static bool is_timeout(uint64_t number)
{
    return number == CALL_POLL || number == CALL_PPOLL || number == CALL_SELECT ||
           number == CALL_PSELECT6;
}

static void put_flags_result(struct tool_output *out, char letter, uint64_t value)
{
    tool_output_printf(out, "%#" PRIx64, value);
    if (value == 0 && letter == 'e')
        return;
    tool_output_text(out, " (flags ");
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

void tool_kernel_put_result(struct tool_output *out, const struct tool_call_values *call)
{
    if (call->result_count == 0)
        return;
    int64_t result = (int64_t)call->results[0].number;
    bool is_fcntl = call->number == CALL_FCNTL && call->argument_count > 1;
    tool_output_text(out, " = ");
    if (result < 0 && result >= ERROR_FIRST)
        put_error(out, result);
    else if (is_address(call->number))
        tool_output_printf(out, "%#" PRIx64, (uint64_t)result);
    else if (call->number == CALL_UMASK)
        tool_output_printf(out, "%#03" PRIo64, (uint64_t)result);
    else if (is_fcntl && number_at(call, 1) == KERNEL_F_GETFL)
        put_flags_result(out, 'o', (uint64_t)result);
    else if (is_fcntl && number_at(call, 1) == KERNEL_F_GETFD)
        put_flags_result(out, 'e', (uint64_t)result);
    else
        tool_output_printf(out, "%" PRId64 "%s", result,
                           result == 0 && is_timeout(call->number) ? " (Timeout)" : "");
}
