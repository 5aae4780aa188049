/* Plans are kept in the user's cache, in a folder that nobody else can write: what the runtime puts
 * into programs comes from there. */
#include "tools/record/engines/record_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/syscalls.h>

#include "program/binary/plan_file.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/kernel/kernel_words.h"

#define ERROR_FIRST  (-4095) /* of what the kernel returns */
#define DATA_DEFAULT 32u     /* as strace has it */
#define DATA_MAX     4096u

/* A module without a plan is not seen, and the runtime says so. */
void tool_record_calls_plan(void *context, const char *module_path)
{
    const struct tool_plan_wish wish = {.path = module_path, .cache = context};
    struct tool_plan_given given;
    (void)tool_plan_give(&wish, &given);
    tool_plan_given_close(&given);
}

const char *tool_record_no_plans(const struct tool_plan_cache *cache)
{
    return cache->refused != NULL ? cache->refused
                                  : "no folder for plans can be written below XDG_CACHE_HOME, "
                                    "~/.cache, TMPDIR or /tmp";
}

bool tool_record_plans_open(struct tool_plan_cache *cache)
{
    if (cache->path != NULL)
        return true;
    if (!tool_plan_cache_open(cache))
        return false;
    if (cache->refused != NULL)
        tool_message("%s: plans of what is patched are %s '%s'", cache->refused,
                     cache->is_passing ? "made anew each time, in" : "kept in", cache->path);
    return true;
}

bool tool_parse_record_calls(const char *text, void *into)
{
    struct tool_record_calls *calls = into;
    calls->given = true;
    return text == NULL || tool_parse_call_choice(text, &calls->choice);
}

/* Numbers from 0 to 63, with commas between. */
bool tool_parse_log_fd(const char *text, void *into)
{
    struct tool_record_calls *calls = into;
    for (;;) {
        uint32_t number = 0;
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 2)
            return false;
        for (size_t i = 0; i < digits; i++)
            number = number * 10 + (uint32_t)(text[i] - '0');
        if (number > 63)
            return false;
        calls->lines |= UINT64_C(1) << number;
        text += digits;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

bool tool_parse_stacks(const char *text, void *into)
{
    struct tool_record_calls *calls = into;
    calls->stacks = true;
    calls->application = text != NULL && strcmp(text, "application") == 0;
    return text == NULL || calls->application || strcmp(text, "whole") == 0;
}

bool tool_parse_data(const char *text, void *into)
{
    uint32_t *bytes = into;
    *bytes = DATA_DEFAULT;
    return text == NULL || (tool_parse_u32(text, bytes) && *bytes > 0 && *bytes <= DATA_MAX);
}

bool tool_parse_measure(const char *text, void *into)
{
    const char **measure = into;
    for (uint32_t i = 0; ttape_trace_counter(i) != NULL; i++)
        if (strcmp(text, ttape_trace_counter(i)) == 0) {
            *measure = text;
            return true;
        }
    return false;
}

bool tool_record_counts_outside(const struct tool_record_calls *calls)
{
    static const char *const inside[] = {"cpu-time", "page-faults", "context-switches"};
    for (size_t i = 0; calls->measure != NULL && i < sizeof inside / sizeof *inside; i++)
        if (strcmp(calls->measure, inside[i]) == 0)
            return false;
    return calls->measure != NULL;
}

bool tool_parse_stack_rate(const char *text, void *into)
{
    char number[16];
    size_t size = strlen(text), end = strcspn(text, "/");
    if (end >= sizeof(number) || (end < size && strcmp(text + end, "/s") != 0))
        return false;
    memcpy(number, text, end);
    number[end] = '\0';
    return tool_parse_u32(number, into);
}

/* Where nothing was chosen all are. The last one stands for all numbers beyond. */
static void choose_calls(const struct tool_call_choice *choice, ttape_syscall_options *into)
{
    for (uint32_t i = 0; i < TTAPE_SYSCALL_NUMBERS; i++) {
        char unnamed[sizeof "syscall_0x" + 8];
        const char *name = ttape_system_call_name(i);
        (void)snprintf(unnamed, sizeof unnamed, "syscall_0x%x", i);
        if (choice->count == 0 || tool_call_is_chosen(choice, name != NULL ? name : unnamed))
            into->chosen[i / 64] |= UINT64_C(1) << i % 64;
    }
}

static bool is_error(int64_t result) { return result < 0 && result >= ERROR_FIRST; }

/* Calls that have no result: rt_sigreturn, exit, exit_group. */
static bool never_fails(uint32_t number) { return number == 15 || number == 60 || number == 231; }

/* One that did not return has not failed yet; what interrupted it may end it so. */
static bool keep_call(void *context, uint32_t number, const ttape_value *arguments, uint32_t count,
                      const int64_t *result)
{
    const struct tool_record_calls *calls = context;
    const struct tool_call_values values = {
        .number = number, .arguments = arguments, .argument_count = count};
    if (calls->failed && (never_fails(number) || (result != NULL && !is_error(*result))))
        return false;
    return (calls->path == NULL || tool_kernel_has_path(&values, calls->path)) &&
           (!calls->descriptor.given ||
            tool_kernel_has_descriptor(&values, (int32_t)calls->descriptor.value));
}

void tool_record_calls_warn(const struct tool_record_calls *calls, bool is_attached)
{
    bool has_calls = calls->given || calls->lines != 0 || calls->measure != NULL || is_attached;
    if ((calls->stacks || calls->data_bytes != 0) && !has_calls)
        tool_message("--stacks and --data are of system calls: --syscalls records them");
}

void tool_record_calls_begin(struct tool_record_calls *calls)
{
    calls->given |= calls->complete || calls->measure != NULL;
    calls->only_lines = calls->lines != 0 && !calls->given;
    calls->given |= calls->lines != 0;
}

static void choose_writes(ttape_syscall_options *into)
{
    static const uint32_t writes[] = {1, 18, 20}; /* write, pwrite64, writev */
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        into->chosen[0] |= UINT64_C(1) << writes[i];
}

bool tool_record_calls_open(struct tool_record_calls *calls, ttape_recording_options *options)
{
    ttape_syscall_options *into = &options->syscalls;
    calls->given |= calls->by_ptrace;
    bool by_argument = calls->path != NULL || calls->descriptor.given;
    calls->arguments |= calls->data_bytes != 0 || by_argument || calls->failed;
    calls->stacks |= calls->stack_every != 0 || calls->stack_rate != 0;
    if (!calls->given)
        return true;
    if (calls->lines != 0 && calls->by_ptrace)
        return tool_fail("--log-fd needs a program that the runtime can be loaded into") != 0 &&
               false;
    if (!calls->only_lines)
        choose_calls(&calls->choice, into);
    if (calls->lines != 0)
        choose_writes(into);
    options->line_descriptors = calls->lines;
    into->arguments = calls->arguments;
    if (by_argument || calls->failed) {
        options->keep_call = keep_call;
        options->keep_context = calls;
    }
    into->data_bytes = calls->data_bytes;
    into->measure = calls->by_ptrace ? NULL : calls->measure;
    into->stacks = calls->stacks;
    into->traced = calls->complete && !calls->by_ptrace;
    into->stack_every = calls->stack_every;
    into->stack_rate = calls->stack_rate;
    if (calls->by_ptrace)
        return true; /* nothing is patched */
    if (!tool_record_plans_open(calls->cache))
        return false;
    into->plan_folder = calls->cache->path;
    into->plan = tool_record_calls_plan;
    into->plan_context = calls->cache;
    return true;
}

void tool_record_calls_close(struct tool_record_calls *calls)
{
    tool_call_choice_close(&calls->choice);
}
