/* Where a log has the bytes of each write. A log is written in the order of its writes, but for
 * threads that write at once and for lines of others; so a write is looked for where the last one
 * ended, and then at the beginnings of the next lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/context/context_writes.h"
#include "tools/io/scratch_file.h"

#define HASHED      1024u /* as the runtime does */
#define LINES_AHEAD 1024u
#define LOOKS_FIRST UINT64_C(4000000)
#define LOOKS_WRITE 64u
#define TAKEN_MOST  256u
#define LOG_MOST    (UINT64_C(1) << 30)

/* Bytes behind `from` that a later write was found in already. */
struct taken {
    uint64_t start, end;
};

struct join {
    const char *log;
    uint64_t bytes, from;
    struct taken taken[TAKEN_MOST];
    size_t taken_count;
    uint64_t looks;
};

static bool is_there(const struct join *join, const struct tool_context_write *write, uint64_t at)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    uint64_t size = write->length < HASHED ? write->length : HASHED;
    if (at > join->bytes || write->length > join->bytes - at)
        return false;
    for (uint64_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)join->log[at + i]) * UINT64_C(0x100000001B3);
    return hash == write->hash;
}

/* The end of what is taken at that place, or the place itself. */
static uint64_t behind_taken(const struct join *join, uint64_t at)
{
    for (size_t i = 0; i < join->taken_count; i++)
        if (at >= join->taken[i].start && at < join->taken[i].end)
            return join->taken[i].end;
    return at;
}

static uint64_t next_line(const struct join *join, uint64_t at)
{
    const char *end = memchr(join->log + at, '\n', (size_t)(join->bytes - at));
    return end == NULL ? join->bytes : (uint64_t)(end - join->log) + 1;
}

/* What lies in front of the first place that is not taken is done with. */
static void go_on(struct join *join, uint64_t start, uint64_t end)
{
    if (start == join->from) {
        join->from = end;
        for (uint64_t at; (at = behind_taken(join, join->from)) != join->from;)
            join->from = at;
    } else if (join->taken_count < TAKEN_MOST) {
        join->taken[join->taken_count++] = (struct taken){start, end};
    } else {
        join->from = end; /* lines that were left behind are of others */
    }
    size_t kept = 0;
    for (size_t i = 0; i < join->taken_count; i++)
        if (join->taken[i].start > join->from)
            join->taken[kept++] = join->taken[i];
    join->taken_count = kept;
}

static void take_place(const struct join *join, struct tool_context_write *write, uint64_t at)
{
    const char *from = join->log + at, *end = from + write->length;
    write->offset = at;
    write->is_found = true;
    write->ends_line = end[-1] == '\n';
    while ((from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
        write->lines++;
        from++;
    }
}

static bool find_contexts(struct join *join, struct tool_context_write *write)
{
    uint64_t at = join->from;
    for (uint32_t line = 0; line < LINES_AHEAD && at < join->bytes && join->looks != 0; line++) {
        uint64_t free_at = behind_taken(join, at);
        join->looks--;
        if (free_at == at && is_there(join, write, at)) {
            take_place(join, write, at);
            go_on(join, at, at + write->length);
            return true;
        }
        at = free_at != at ? free_at : next_line(join, at);
    }
    return false;
}

static int compare_places(const void *a, const void *b)
{
    const struct tool_context_write *one = a, *two = b;
    if (one->is_found != two->is_found)
        return one->is_found ? -1 : 1;
    return one->offset < two->offset ? -1 : one->offset > two->offset;
}

int tool_context_join_writes(struct tool_context_writes *writes, int fd)
{
    struct join join = {.looks = LOOKS_FIRST + LOOKS_WRITE * (uint64_t)writes->count};
    off_t end = writes->count == 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (end < 0)
        return tool_fail("cannot read the log: %s", strerror(errno));
    if ((uint64_t)end > LOG_MOST)
        return tool_fail("a log of more than 1 GiB is not joined: cut it");
    char *log = tool_allocate((size_t)end + 1, 1);
    ssize_t got = end == 0 ? 0 : tool_read_full(fd, log, (size_t)end, 0);
    if (got < 0) {
        free(log);
        return tool_fail("cannot read the log: %s", strerror(errno));
    }
    join.log = log;
    join.bytes = (uint64_t)got;
    for (size_t i = 0; i < writes->count; i++)
        writes->found += find_contexts(&join, &writes->all[i]);
    free(log);
    if (writes->count != 0)
        qsort(writes->all, writes->count, sizeof *writes->all, compare_places);
    return TOOL_OK;
}

/* -- behind a line -- */

/* The last write that begins there or before. */
static const struct tool_context_write *find_write(const struct tool_context_writes *writes,
                                                   uint64_t offset)
{
    struct ttp_bisect s = {.end = writes->found};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, writes->all[s.middle].offset <= offset);
    return s.first == 0 ? NULL : &writes->all[s.first - 1];
}

void tool_context_put_writer(struct tool_context_writes *writes, uint64_t offset,
                             struct tool_output *out)
{
    const struct tool_context_write *write = find_write(writes, offset);
    if (write == NULL || offset - write->offset >= write->length)
        return;
    bool is_first = write->offset == offset, is_next = writes->put == write;
    writes->put_line = is_first ? 0 : is_next ? writes->put_line + 1 : UINT32_MAX / 2;
    writes->put = write;
    /* As many calls of stdio as lines: one each. */
    bool is_told = write->ends_line && write->print_count == write->lines &&
                   writes->put_line < write->print_count;
    bool is_whole = is_first && write->ends_line && write->lines == 1;
    uint32_t number =
        is_told ? writes->prints[write->first_print + writes->put_line] : write->stack;
    const char *stack = writes->stacks[number];
    if (stack[0] != '\0')
        tool_output_printf(out, " {%s: %s}",
                           is_told || is_whole ? "likely printed by" : "written by", stack);
}
