/* Writes that a recording has hashes of, and the stdio calls that may have filled them. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/calls.h>

#include "tools/calls/inlined/inlined_callers.h"
#include "tools/context/context_writes.h"
#include "tools/io/input.h"

#define PRINTS_MOST 4096u /* between two writes of a thread that are kept */
#define DEEP_MOST   64u   /* calls of a stack that are shown */

struct walk {
    struct tool_context_writes *writes;
    const struct tool_context_recording *recording;
    const ttape_reader *reader;
    struct tool_site_names names;
    struct tool_inlined *inlined;
    uint8_t *kinds; /* by site */
    uint32_t site_count;
    uint32_t *since; /* stacks of stdio calls that ended since the last write */
    size_t since_count, since_capacity;
    uint64_t since_ns;
    bool is_mixed; /* other threads than one, or calls that print parts of lines: no order */
    uint32_t stream;
};

enum { OTHER, FUNCTION, PRINTS, WRITES };

/* Each call of one of these is taken for a line. */
static bool prints_lines(ttape_string name)
{
    static const char *const names[] = {
        "printf", "fprintf",      "vprintf",       "vfprintf",      "puts",
        "fputs",  "__printf_chk", "__fprintf_chk", "__vprintf_chk", "__vfprintf_chk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name.size_bytes == strlen(names[i]) &&
            memcmp(name.data, names[i], name.size_bytes) == 0)
            return true;
    return false;
}

static bool is_write(ttape_string name)
{
    return (name.size_bytes == 5 && memcmp(name.data, "write", 5) == 0) ||
           (name.size_bytes == 6 && memcmp(name.data, "writev", 6) == 0) ||
           (name.size_bytes == 8 && memcmp(name.data, "pwrite64", 8) == 0);
}

/* False: it has no writes. */
static bool list_kinds(struct walk *walk)
{
    bool has_writes = false;
    walk->kinds = tool_allocate((size_t)walk->site_count + 1, 1);
    for (uint32_t i = 0; i < walk->site_count; i++) {
        ttape_site site;
        if (ttape_reader_get_site(walk->reader, i, &site) != TTAPE_OK)
            continue;
        if (site.kind == TTAPE_SITE_SYSCALL && is_write(site.symbol))
            walk->kinds[i] = WRITES;
        else if (site.kind == TTAPE_SITE_FUNCTION)
            walk->kinds[i] = prints_lines(site.symbol) ? PRINTS : FUNCTION;
        has_writes |= walk->kinds[i] == WRITES;
    }
    return has_writes;
}

static uint8_t kind_of(const struct walk *walk, uint32_t site)
{
    return site < walk->site_count ? walk->kinds[site] : OTHER;
}

/* -- stacks -- */

static uint32_t keep_stack(struct tool_context_writes *writes, const char *text, size_t size)
{
    uint64_t key = ttape_context_seed(text, size);
    uint32_t *number = tool_map_at(&writes->stacks_by_text, key, TTAPE_NONE);
    if (*number != TTAPE_NONE && strcmp(writes->stacks[*number], text) == 0)
        return *number;
    tool_grow((void **)&writes->stacks, &writes->stack_capacity, writes->stack_count + 1,
              sizeof *writes->stacks);
    writes->stacks[writes->stack_count] = tool_copy_text(text, size);
    *number = (uint32_t)writes->stack_count;
    return (uint32_t)writes->stack_count++;
}

static void put_inlined(struct walk *walk, uint32_t caller, uint32_t callee,
                        struct tool_output *text)
{
    uint32_t count;
    char *const *names = tool_inlined_between(walk->inlined, caller, callee, &count);
    for (uint32_t i = 0; i < count; i++)
        tool_output_printf(text, " > %s (inlined)", names[i]);
}

/* Functions around a call that ended, and itself where it is one. */
static uint32_t stack_of(struct walk *walk, const ttape_call_cursor *cursor, const ttape_call *call)
{
    const ttape_call *around;
    struct tool_output text;
    uint32_t count, shown = 0;
    ttape_call_cursor_stack(cursor, &around, &count);
    tool_output_open(&text, -1);
    uint32_t first = count > DEEP_MOST ? count - DEEP_MOST : 0, last = TTAPE_NONE;
    if (first != 0)
        tool_output_text(&text, "... ");
    for (uint32_t i = first; i <= count; i++) {
        uint32_t site = i < count ? around[i].site : call->site;
        uint8_t kind = kind_of(walk, site);
        if (kind != FUNCTION && kind != PRINTS)
            continue;
        if (last != TTAPE_NONE)
            put_inlined(walk, last, site, &text);
        last = site;
        tool_output_text(&text, shown++ != 0 || first != 0 ? " > " : "");
        tool_output_text(&text, tool_site_name(&walk->names, site));
    }
    tool_output_bytes(&text, "", 1);
    uint32_t number = keep_stack(walk->writes, text.data, text.size_bytes - 1);
    free(text.data);
    return number;
}

/* -- calls -- */

static bool is_printing(const struct walk *walk, const ttape_call_cursor *cursor)
{
    const ttape_call *around;
    uint32_t count;
    ttape_call_cursor_stack(cursor, &around, &count);
    for (uint32_t i = 0; i < count; i++)
        if (kind_of(walk, around[i].site) == PRINTS)
            return true;
    return false;
}

/* Within another one it is that one's way of printing. */
static void take_print(struct walk *walk, const ttape_call_cursor *cursor, const ttape_call *call)
{
    if (is_printing(walk, cursor) || call->enter_ns < walk->since_ns)
        return;
    walk->is_mixed |= walk->stream != call->stream && walk->since_count != 0;
    walk->stream = call->stream;
    if (walk->since_count == PRINTS_MOST) {
        walk->is_mixed = true;
        return;
    }
    tool_grow((void **)&walk->since, &walk->since_capacity, walk->since_count + 1,
              sizeof *walk->since);
    walk->since[walk->since_count++] = stack_of(walk, cursor, call);
}

static void keep_prints(struct walk *walk, struct tool_context_write *write)
{
    struct tool_context_writes *writes = walk->writes;
    if (walk->is_mixed)
        return;
    tool_grow((void **)&writes->prints, &writes->print_capacity,
              writes->print_count + walk->since_count + 1, sizeof *writes->prints);
    write->first_print = (uint32_t)writes->print_count;
    for (size_t i = 0; i < walk->since_count; i++)
        writes->prints[writes->print_count++] = walk->since[i];
    write->print_count = (uint32_t)walk->since_count;
}

static void take_write(struct walk *walk, const ttape_call_cursor *cursor, const ttape_call *call)
{
    struct tool_context_writes *writes = walk->writes;
    if (call->result_count < 2 || call->results[0].type != TTAPE_VALUE_SIGNED ||
        call->results[1].type != TTAPE_VALUE_POINTER || (int64_t)call->results[0].number <= 0 ||
        writes->print_count > UINT32_MAX - PRINTS_MOST)
        return;
    struct tool_context_write write = {.length = call->results[0].number,
                                       .hash = call->results[1].number,
                                       .stack = stack_of(walk, cursor, call)};
    if (is_printing(walk, cursor)) { /* it began before, and ends behind it */
        walk->is_mixed |= walk->stream != call->stream && walk->since_count != 0;
        tool_grow((void **)&walk->since, &walk->since_capacity, walk->since_count + 1,
                  sizeof *walk->since);
        walk->since[walk->since_count++] = write.stack;
    }
    keep_prints(walk, &write);
    walk->since_count = 0;
    walk->is_mixed = false;
    walk->since_ns = call->enter_ns;
    tool_grow((void **)&writes->all, &writes->capacity, writes->count + 1, sizeof write);
    writes->all[writes->count++] = write;
}

static int read_calls(struct walk *walk, const struct tool_input *input)
{
    const ttape_call_options options = {.size = sizeof options, .values = true};
    ttape_call_cursor *cursor;
    ttape_error err = {0};
    ttape_call call;
    uint64_t damaged = 0;
    int status = TOOL_OK;
    ttape_status got = ttape_call_cursor_open(&cursor, input->reader, &options, &err);
    if (got != TTAPE_OK)
        return tool_fail_error(input->name, &err);
    while ((got = ttape_call_cursor_next(cursor, &call, &err)) != TTAPE_END) {
        if (got != TTAPE_OK) {
            if (!tool_input_go_on(input, &err, &damaged, &status))
                break;
            continue;
        }
        uint8_t kind = kind_of(walk, call.site);
        if (kind == PRINTS)
            take_print(walk, cursor, &call);
        else if (kind == WRITES)
            take_write(walk, cursor, &call);
    }
    ttape_call_cursor_close(cursor);
    return status;
}

static int walk_all(void *context, const struct tool_input *input)
{
    struct walk *walk = context;
    ttape_info info;
    int status = TOOL_OK;
    ttape_reader_get_info(input->reader, &info);
    walk->reader = input->reader;
    walk->site_count = info.site_count;
    if (list_kinds(walk)) {
        tool_site_names_open_as(&walk->names, input->reader, walk->recording->names);
        walk->inlined = tool_inlined_open(input->reader, walk->recording->names);
        status = read_calls(walk, input);
        tool_inlined_close(walk->inlined);
        tool_site_names_close(&walk->names);
    }
    free(walk->kinds);
    free(walk->since);
    return status;
}

int tool_context_read_writes(struct tool_context_writes *writes,
                             const struct tool_context_recording *recording)
{
    struct walk walk = {.writes = writes, .recording = recording};
    return tool_input_run(recording->path, 1, recording->memory_bytes, walk_all, &walk);
}

void tool_context_close_writes(struct tool_context_writes *writes)
{
    for (size_t i = 0; i < writes->stack_count; i++)
        free(writes->stacks[i]);
    free(writes->stacks);
    free(writes->all);
    free(writes->prints);
    tool_map_close(&writes->stacks_by_text);
}
