/* A system call in words, as its letters have them (kernel_letters.c). */
#include "tools/kernel/kernel_words.h"

#include <inttypes.h>
#include <string.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

#define STRING_MAX 4096u /* a string of as many bytes was cut there */

/* ---- one argument ---- */

void tool_kernel_put_number(struct tool_output *out, char letter, uint64_t value)
{
    switch (letter) {
    case 'd':
    case 'f':
    case 'a':
        if (letter == 'a' && (int32_t)value == KERNEL_AT_FDCWD)
            tool_output_text(out, "AT_FDCWD");
        else
            tool_output_printf(out, "%" PRId32, (int32_t)value);
        break;
    case '-':
        tool_output_printf(out, "%" PRId64,
                           (uint32_t)value == UINT32_MAX ? -1 : (int64_t)(uint32_t)value);
        break;
    case '4': tool_output_printf(out, "%" PRIu32, (uint32_t)value); break;
    case '+': tool_output_printf(out, "%" PRId64, (int64_t)value); break;
    case '*':
        if ((uint32_t)value == KERNEL_FUTEX_BITSET_MATCH_ANY)
            tool_output_text(out, "FUTEX_BITSET_MATCH_ANY");
        else
            tool_output_printf(out, "%#" PRIx32, (uint32_t)value);
        break;
    case 'u': tool_output_printf(out, "%" PRIu64, value); break;
    case 'm': tool_output_printf(out, "%#03" PRIo32, (uint32_t)value & 0xFFFFu); break;
    case '=': tool_output_printf(out, "%#" PRIx32, (uint32_t)value); break;
    case 'x': tool_output_printf(out, "%#" PRIx64, value); break;
    case '^': /* a key of System V */
        if ((uint32_t)value == 0)
            tool_output_text(out, "IPC_PRIVATE");
        else
            tool_output_printf(out, "%#" PRIx32, (uint32_t)value);
        break;
    default:
        if (!tool_kernel_put_flags(out, letter, value))
            tool_kernel_put_address(out, value);
        break;
    }
}

/* Strings with their zeros; without the last zero there was more. */
static void put_list(struct tool_output *out, ttape_string list)
{
    const char *at = list.data, *end = at + list.size_bytes;
    tool_output_text(out, "[");
    while (at < end) {
        const char *zero = memchr(at, 0, (size_t)(end - at)), *behind = zero != NULL ? zero : end;
        tool_kernel_put_quoted(out, (ttape_string){at, (size_t)(behind - at)}, zero == NULL);
        at = zero != NULL ? zero + 1 : end;
        if (zero == NULL || at < end)
            tool_output_text(out, zero == NULL ? ", ..." : ", ");
    }
    tool_output_text(out, "]");
}

/* What the call has filled of argument i: nothing where that was not recorded. Exits have it in the
 * order of the arguments that all calls of this number may fill. */
static const ttape_value *filled_at(const struct tool_call_values *call, uint32_t i)
{
    const struct tool_kernel_call *known =
        call->number <= UINT32_MAX ? tool_kernel_call_numbered((uint32_t)call->number) : NULL;
    const char *at = known != NULL ? known->arguments : NULL;
    uint32_t place = 1;
    struct tool_kernel_token token;
    if (at == NULL || call->result_count < 2)
        return NULL;
    for (uint32_t k = 0; *at != '\0'; k++) {
        at = tool_kernel_token(at, &token);
        bool is_filled = token.sign == ')' || token.sign == ':' ||
                         (token.sign == 0 && (token.letter == '<' || token.letter == '>'));
        if (k == i)
            return is_filled && place < call->result_count &&
                           call->results[place].type == TTAPE_VALUE_BYTES
                       ? &call->results[place]
                       : NULL;
        place += is_filled;
    }
    return NULL;
}

/* A buffer that the call has filled, with as many bytes as it returned. */
static bool put_filled(struct tool_output *out, const struct tool_call_values *call, uint32_t i,
                       char letter)
{
    const ttape_value *filled = filled_at(call, i);
    if (filled == NULL || (int64_t)call->results[0].number < 0)
        return false;
    ttape_string bytes = filled->bytes;
    uint64_t whole = call->results[0].number;
    if (bytes.size_bytes == 0 && (whole > 0 || call->arguments[i].number == 0))
        return false;
    if (letter == '>' && whole > 0 && bytes.size_bytes == whole--)
        bytes.size_bytes--; /* without the zero */
    tool_kernel_put_quoted(out, bytes, bytes.size_bytes < whole);
    return true;
}

void tool_kernel_put_descriptor(struct tool_output *out, const struct tool_call_values *call,
                                int32_t descriptor)
{
    if (call->descriptors != NULL && descriptor >= 0)
        call->descriptors->put(call->descriptors->context, out, descriptor);
}

static void put_plain(struct tool_output *out, const struct tool_call_values *call, uint32_t i,
                      char letter)
{
    const ttape_value *value = &call->arguments[i];
    ttape_string bytes = value->bytes;
    uint64_t whole = tool_call_number_at(call, i + 1);
    bool is_attribute =
        call->number >= KERNEL_CALL_SETXATTR && call->number <= KERNEL_CALL_FSETXATTR;
    if (is_attribute && whole > 0 && bytes.size_bytes == whole &&
        bytes.data[whole - 1] == '\0') { /* a text's zero */
        bytes.size_bytes--;
        whole--;
    }
    if ((letter == '<' || letter == '>') && put_filled(out, call, i, letter))
        return;
    if (value->type == TTAPE_VALUE_STRING)
        tool_kernel_put_quoted(out, bytes, bytes.size_bytes >= STRING_MAX);
    else if (value->type == TTAPE_VALUE_BYTES && letter == '|')
        put_list(out, bytes);
    else if (value->type == TTAPE_VALUE_BYTES)
        tool_kernel_put_quoted(out, bytes, bytes.size_bytes < whole);
    else if (value->type == TTAPE_VALUE_NULL)
        tool_output_text(out, "NULL");
    else
        tool_kernel_put_number(out, letter, value->number);
    if (letter == 'f' || letter == 'a')
        tool_kernel_put_descriptor(out, call, (int32_t)value->number);
}

/* ---- calls ---- */

static struct tool_part part_of(const struct tool_call_values *call, uint32_t i,
                                const struct tool_kernel_token *token)
{
    const ttape_value *value = &call->arguments[i], *filled = filled_at(call, i);
    struct tool_part part = {.call = call,
                             .given = {"", 0},
                             .filled = {"", 0},
                             .address = value->number,
                             .index = i,
                             .sign = token->sign,
                             .letter = token->letter};
    if (value->type == TTAPE_VALUE_BYTES)
        part.given = value->bytes;
    if (filled != NULL)
        part.filled = filled->bytes;
    return part;
}

static void put_letters(struct tool_output *out, const struct tool_call_values *call,
                        const char *letters)
{
    const char *between = "";
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count; i++) {
        letters = tool_kernel_token(letters, &token);
        if (token.sign == 0 && token.letter == ' ')
            continue;
        tool_output_text(out, between);
        if (token.sign == 0 || token.sign == '\'') {
            put_plain(out, call, i, token.letter);
        } else {
            struct tool_part part = part_of(call, i, &token);
            tool_part_put(out, &part);
        }
        between = ", ";
    }
}

/* Its arguments are in an order that few know, so they have names. */
static void put_clone(struct tool_output *out, const struct tool_call_values *call)
{
    uint64_t flags = tool_call_number_at(call, 0);
    tool_output_text(out, "child_stack=");
    tool_kernel_put_address(out, tool_call_number_at(call, 1));
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
        tool_output_printf(out, ", parent_tid=%#" PRIx64, tool_call_number_at(call, 2));
    if ((flags & KERNEL_CLONE_SETTLS) != 0)
        tool_output_printf(out, ", tls=%#" PRIx64, tool_call_number_at(call, 4));
    if ((flags & (KERNEL_CLONE_CHILD_SETTID | KERNEL_CLONE_CHILD_CLEARTID)) != 0)
        tool_output_printf(out, ", child_tidptr=%#" PRIx64, tool_call_number_at(call, 3));
}

void tool_kernel_put_arguments(struct tool_output *out, const struct tool_call_values *call)
{
    if (call->argument_count == 0)
        return;
    tool_output_text(out, "(");
    if (call->number == KERNEL_CALL_CLONE)
        put_clone(out, call);
    else
        put_letters(out, call, tool_kernel_letters(call));
    tool_output_text(out, ")");
}

/* ---- what is in them ---- */

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
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count; i++) {
        letters = tool_kernel_token(letters, &token);
        if (token.sign == 0 && token.letter == 's' &&
            call->arguments[i].type == TTAPE_VALUE_STRING &&
            is_within(call->arguments[i].bytes, path))
            return true;
    }
    return false;
}

bool tool_kernel_has_descriptor(const struct tool_call_values *call, int32_t descriptor)
{
    const char *letters = tool_kernel_letters(call);
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count; i++) {
        letters = tool_kernel_token(letters, &token);
        if (token.sign == 0 && (token.letter == 'f' || token.letter == 'a') &&
            (int32_t)call->arguments[i].number == descriptor)
            return true;
    }
    return false;
}

/* What a call waited for is said with its result. */
void tool_kernel_put_waited(struct tool_output *out, const struct tool_call_values *call)
{
    struct tool_part parts[6];
    const char *letters = tool_kernel_letters(call);
    uint32_t count = 0;
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count && i < 6; i++) {
        letters = tool_kernel_token(letters, &token);
        if (token.sign == ':')
            parts[count++] = part_of(call, i, &token);
    }
    tool_kernel_put_ready(out, call, parts, count);
}
