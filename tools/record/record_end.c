#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/reader.h>

#include "program/binary/elf_hooks.h"
#include "tools/calls/end_words.h"
#include "tools/calls/hook_cost.h"
#include "tools/calls/losses.h"
#include "tools/command/tool.h"
#include "tools/io/view_line.h"
#include "tools/record/record_end.h"

#define STATUS_SIGNALED 128
#define WAIT_SAID_NS    10000000u /* that programs waited is worth a line */
#define COST_SHARE_SAID 0.1       /* of the time in functions: info has less, too */

int tool_record_exit(int exit_code, int signal_number)
{
    return signal_number == 0 ? exit_code : STATUS_SIGNALED + signal_number;
}

char *tool_record_first_file(const char *output, uint32_t pid, bool are_several)
{
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash != NULL ? slash : output, '.');
    size_t stem = dot != NULL ? (size_t)(dot - output) : strlen(output);
    size_t room = strlen(output) + 40;
    char *name = tool_allocate(room, 1);
    if (!are_several)
        (void)snprintf(name, room, "%s", output);
    else if (pid == 0)
        (void)snprintf(name, room, "%.*s.0001%s", (int)stem, output, output + stem);
    else
        (void)snprintf(name, room, "%.*s.%" PRIu32 "-0%s", (int)stem, output, pid, output + stem);
    if (pid != 0 && are_several && access(name, F_OK) != 0)
        (void)snprintf(name, room, "%.*s.PID-N%s", (int)stem, output, output + stem);
    return name;
}

void tool_record_say_end(const char *output, int exit_code, int signal_number)
{
    char how[TOOL_END_BYTES];
    bool exited = signal_number == 0;
    tool_process_end_words(exited ? TTAPE_PROCESS_END_EXIT : TTAPE_PROCESS_END_SIGNAL,
                           (uint64_t)(exited ? exit_code : signal_number), how);
    const char *verb = exited ? "report" : "last";
    if (tool_has_view() && strcmp(output, "-") != 0)
        tool_message("the command %s: see tracetape %s '%s', or tracetape view '%s'", how, verb,
                     output, output);
    else
        tool_message("the command %s: see tracetape %s '%s'", how, verb, output);
}

static uint64_t lost_sandboxed(const char *output)
{
    uint64_t lost = 0;
    ttape_source source;
    ttape_reader *reader = NULL;
    ttape_error err = {0};
    if (ttape_source_file_open(&source, output, &err) != TTAPE_OK)
        return 0; /* several files, with names of their own */
    if (ttape_reader_open(&reader, &source, NULL, &err) == TTAPE_OK)
        lost = tool_lost_sandboxed(reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return lost;
}

/* Of calls that a thread could not record at all, as it had no state or no block, only their number
 * is known. What was lost in a sandbox has a gap that says from when on, whether that counts it or
 * not. */
static void say_lost(const char *output, const ttape_recording_status *s)
{
    uint64_t sandboxed = s->lost_count != 0 ? lost_sandboxed(output) : 0;
    sandboxed = sandboxed < s->lost_count ? sandboxed : s->lost_count;
    uint64_t lost = s->lost_count - sandboxed;
    uint64_t placed = lost > s->unplaced_count ? lost - s->unplaced_count : 0;
    if (placed == lost && lost != 0)
        tool_message("%" PRIu64 " events were lost: the trace says where (see --block, --buffer, "
                     "--spill)",
                     lost);
    else if (placed != 0)
        tool_message("%" PRIu64 " events were lost: the trace says where %" PRIu64 " of them are "
                     "missing (see --block, --buffer, --spill)",
                     lost, placed);
    else if (lost != 0)
        tool_message("%" PRIu64 " events were lost, and it is not known where: their threads could "
                     "not record them",
                     lost);
    if (sandboxed != 0)
        tool_message("%" PRIu64 " events were lost in a sandbox, which a program made for itself: "
                     "the trace says from when on",
                     sandboxed);
}

/* By module: is a function in it that was recorded. NULL: there are blocks; nothing is amiss. */
static bool *find_modules(const ttape_reader *reader, const ttape_info *info)
{
    ttape_site site;
    bool *called = tool_allocate((size_t)info->module_count + 1, sizeof *called);
    for (uint32_t i = 0; i < info->site_count; i++) {
        if (ttape_reader_get_site(reader, i, &site) != TTAPE_OK)
            continue;
        if (site.kind == TTAPE_SITE_BLOCK) {
            free(called);
            return NULL;
        }
        if (site.kind == TTAPE_SITE_FUNCTION && site.module < info->module_count)
            called[site.module] = true;
    }
    return called;
}

static void say_blocks(const ttape_reader *reader)
{
    ttape_info info;
    ttape_module module;
    ttape_reader_get_info(reader, &info);
    bool *called = find_modules(reader, &info), is_said = false;
    for (uint32_t i = 0; called != NULL && i < info.module_count && !is_said; i++) {
        if (!called[i] || ttape_reader_get_module(reader, i, &module) != TTAPE_OK)
            continue;
        char *path = tool_copy_text(module.path.data, module.path.size_bytes);
        is_said = tool_elf_keeps_blocks(path);
        if (is_said)
            tool_message("'%s' was compiled to tell of its basic blocks, but tells clang's own "
                         "callbacks, so none were recorded: link it with $(pkg-config --libs "
                         "tracetape-blocks)",
                         path);
        free(path);
    }
    free(called);
}

void tool_record_say_trace(const char *output, bool wants_blocks)
{
    ttape_source source;
    ttape_reader *reader = NULL;
    ttape_error err = {0};
    struct tool_hook_cost cost = {0};
    char words[TOOL_HOOK_WORDS_BYTES];
    if (ttape_source_file_open(&source, output, &err) != TTAPE_OK)
        return; /* several files, with names of their own */
    if (ttape_reader_open(&reader, &source, NULL, &err) == TTAPE_OK) {
        tool_hook_cost_find(&cost, reader);
        if (wants_blocks)
            say_blocks(reader);
    }
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    if (cost.is_known && cost.share >= COST_SHARE_SAID)
        tool_message("recording itself took %s", tool_hook_cost_words(&cost, words));
}

void tool_record_say_events(const char *path, const char *output, bool is_kept,
                            const ttape_recording_status *s)
{
    struct stat file;
    unsigned long long events = s->event_count + s->end_count; /* as info counts them */
    if (is_kept && stat(path, &file) == 0)
        tool_message("'%s': %llu bytes, the last of %llu events of %u process%s and %u thread%s",
                     output, (unsigned long long)file.st_size, events, s->process_count,
                     s->process_count == 1 ? "" : "es", s->thread_count,
                     s->thread_count == 1 ? "" : "s");
    else
        tool_message("'%s': %llu events of %u process%s and %u thread%s in %llu bytes, "
                     "%.3f an event",
                     output, events, s->process_count, s->process_count == 1 ? "" : "es",
                     s->thread_count, s->thread_count == 1 ? "" : "s",
                     (unsigned long long)s->written_bytes,
                     (double)s->written_bytes / (double)events);
    if (s->snapshot_count != 0)
        tool_message("%llu %s made while it was recorded: '%s.snapshot-N'",
                     (unsigned long long)s->snapshot_count,
                     s->snapshot_count == 1 ? "copy was" : "copies were", output);
    if (s->hit_count > s->hit_copy_count)
        tool_message("%llu of %llu entries of --checkpoint's functions have no copy of their own: "
                     "copies may take a tenth of the time",
                     (unsigned long long)(s->hit_count - s->hit_copy_count),
                     (unsigned long long)s->hit_count);
    if (s->snapshot_failed_count != 0)
        tool_message("%llu copies could not be written",
                     (unsigned long long)s->snapshot_failed_count);
    if (s->waited_ns >= WAIT_SAID_NS)
        tool_message("the program waited for the recorder %llu times, %.3f s in all (threads added "
                     "up)",
                     (unsigned long long)s->wait_count, (double)s->waited_ns / 1e9);
    say_lost(path, s);
}
