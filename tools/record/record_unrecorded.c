#define _GNU_SOURCE /* asprintf */
#include "tools/record/record_unrecorded.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/binary/elf_hooks.h"
#include "program/elf/elf_head.h"
#include "tools/command/tool.h"
#include "tools/io/unrecorded_words.h"

/* Whether functions of that program were to be patched. */
static bool is_tried(const char *tried, const char *path)
{
    return tried != NULL && (tried[0] == '\0' || (path != NULL && strcmp(tried, path) == 0));
}

static const char *words_of(uint32_t reason, const char *tried, const char *example)
{
    return reason == TTAPE_UNRECORDED_NOT_INSTRUMENTED && is_tried(tried, example)
               ? "without hooks, and with no function that was patched and called"
               : tool_unrecorded_words(reason);
}

/* `text` is consumed; NULL: no memory, or none was there. */
static char *add_words(char *text, bool is_first, uint64_t count, const char *words,
                       const char *example)
{
    char *more = NULL;
    if (text == NULL)
        return NULL;
    const char *between = is_first ? ": " : ", ";
    int size = example == NULL ? asprintf(&more, "%s%s%" PRIu64 " %s", text, between, count, words)
                               : asprintf(&more, "%s%s%" PRIu64 " %s ('%s')", text, between, count,
                                          words, example);
    free(text);
    return size < 0 ? NULL : more;
}

static bool is_any(const ttape_recording *recording, ttape_unrecorded reason, const char **example)
{
    return ttape_recording_get_unrecorded(recording, reason, example) != 0;
}

static bool keeps_rights(const ttape_recording *recording)
{
    const char *example;
    return is_any(recording, TTAPE_UNRECORDED_SET_UID, &example);
}

static const char *static_hint(const char *path)
{
    switch (path != NULL ? tool_elf_language_of(path) : TOOL_LANGUAGE_OTHER) {
    case TOOL_LANGUAGE_GO:
        return "; a Go program calls no C library that could load a recorder: its own "
               "runtime/trace "
               "traces it, and tracetape syscalls shows its system calls";
    case TOOL_LANGUAGE_RUST:
        return "; a Rust program that is built for a target with glibc (x86_64-unknown-linux-gnu) "
               "is recorded as it is; tracetape syscalls shows the system calls of this one";
    default:
        return "; linked without -static it is recorded as it is; tracetape syscalls shows its "
               "system calls";
    }
}

static const char *threads_hint(const char *path)
{
    return path != NULL && tool_elf_language_of(path) == TOOL_LANGUAGE_GO
               ? "; a Go program's own runtime/trace traces it, and tracetape syscalls shows its "
                 "system calls"
               : "; tracetape syscalls --engine ptrace shows their system calls";
}

static const char *machine_hint(const char *path)
{
    struct tool_elf_head head;
    bool is_known = path != NULL && tool_elf_head_of(NULL, path, &head) == NULL;
    return is_known && !head.is_64
               ? "; a 32-bit program is not recorded: build it for x86-64, without -m32"
               : "; programs are recorded on the machine that they are for";
}

/* What to do about it, to stand behind that; "". */
static const char *hint_of(const ttape_recording *recording, const char *tried)
{
    const char *example = NULL;
    if (is_any(recording, TTAPE_UNRECORDED_STATIC, &example))
        return static_hint(example);
    if (is_any(recording, TTAPE_UNRECORDED_SET_UID, &example))
        return "; a copy of such a program (cp) is without the bit, and is recorded; tracetape "
               "syscalls shows the system calls of this one, as root";
    if (is_any(recording, TTAPE_UNRECORDED_OTHER_MACHINE, &example))
        return machine_hint(example);
    if (is_any(recording, TTAPE_UNRECORDED_OTHER_LIBC, &example))
        return "; tracetape syscalls shows the system calls of such a program";
    if (is_any(recording, TTAPE_UNRECORDED_OWN_THREADS, &example))
        return threads_hint(example);
    if (is_any(recording, TTAPE_UNRECORDED_OLDER_LIBC, &example))
        return "; compiled with -finstrument-functions it is recorded";
    if (is_any(recording, TTAPE_UNRECORDED_NOT_INSTRUMENTED, &example) && !is_tried(tried, example))
        return "; with --patch . their functions are patched";
    return "";
}

/* "3 processes: 2 linked statically ('a'), 1 ..."; NULL: there are none. The caller frees it. */
static char *list(const ttape_recording *recording, const char *tried)
{
    char *text = NULL;
    uint64_t total = 0;
    const char *example;
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        total += ttape_recording_get_unrecorded(recording, (ttape_unrecorded)i, &example);
    if (total == 0 || asprintf(&text, "%" PRIu64 " process%s", total, total == 1 ? "" : "es") < 0)
        return NULL;
    bool is_first = true;
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++) {
        uint64_t count = ttape_recording_get_unrecorded(recording, (ttape_unrecorded)i, &example);
        if (count == 0)
            continue;
        text = add_words(text, is_first, count, words_of(i, tried, example), example);
        is_first = false;
    }
    return text;
}

/* Plans that programs waited for in vain explain more than what those processes are. */
static void say_late(const ttape_recording_status *status, const char *shown)
{
    static const char why[] = "not made in time, as the recorder was given too little processor "
                              "time: try again";
    char plans[64] = "the plan of a module was";
    if (status->late_plan_count != 1)
        (void)snprintf(plans, sizeof plans, "the plans of %" PRIu64 " modules were",
                       status->late_plan_count);
    if (status->event_count == 0)
        tool_message("nothing was recorded, and '%s' not written: %s %s", shown, plans, why);
    else
        tool_message("not all was recorded: %s %s", plans, why);
}

void tool_record_say_unrecorded(const ttape_recording *recording,
                                const struct tool_record_outcome *outcome)
{
    ttape_recording_status status;
    ttape_recording_get_status(recording, &status);
    bool has_events = status.event_count != 0;
    if (status.late_plan_count != 0)
        say_late(&status, outcome->shown);
    if (status.late_plan_count != 0 && !has_events)
        return;
    if (!has_events && status.stopped && !status.failed) {
        tool_message("nothing was recorded, and '%s' not written: it was stopped, by its time or a "
                     "request, before a call was seen",
                     outcome->shown);
        return;
    }
    char *text = list(recording, outcome->tried);
    const char *hint = text != NULL ? hint_of(recording, outcome->tried) : "";
    if (has_events && text != NULL)
        tool_message("not recorded: %s%s", text, hint);
    else if (!has_events && outcome->calls_given && !keeps_rights(recording))
        tool_message("nothing was recorded, and no file written: the command made none of these "
                     "system calls where they are seen");
    else if (!has_events)
        tool_message("nothing was recorded, and '%s' not written: %s%s", outcome->shown,
                     text != NULL ? text : "filters left none, or tracing was off", hint);
    free(text);
}
