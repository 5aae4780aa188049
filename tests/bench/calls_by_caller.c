/* Counts who called whom, through the public interface:
 *
 *   calls_by_caller FILE [walk]
 *
 * With `walk` it goes through every call instead. Prints pairs, calls, and a sum over the pairs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/calls.h>

static int fail(const char *what, const ttape_error *err)
{
    fprintf(stderr, "calls_by_caller: %s: %s (%s)\n", what, err->message, err->rule);
    return 1;
}

/* Of pairs that are counted one by one or all at once, the same. */
static uint64_t mark(uint32_t caller, uint32_t site)
{
    return ((uint64_t)caller << 32 | site) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

static int count(ttape_reader *reader)
{
    ttape_error err = {0};
    ttape_call_counts *counts;
    size_t pairs;
    uint64_t calls = 0, sum = 0;
    if (ttape_call_counts_make(&counts, reader, &err) != TTAPE_OK)
        return fail("counts", &err);
    const ttape_call_count *rows = ttape_call_counts_get(counts, &pairs);
    for (size_t i = 0; i < pairs; i++) {
        calls += rows[i].count;
        sum += rows[i].count * mark(rows[i].caller, rows[i].site);
    }
    printf("%" PRIu64 " calls, sum %" PRIx64 ", %zu pairs\n", calls, sum, pairs);
    ttape_call_counts_close(counts);
    return 0;
}

static int walk(ttape_reader *reader)
{
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    const ttape_call_step *step;
    ttape_status status;
    uint64_t calls = 0, sum = 0;
    if (ttape_call_cursor_open(&cursor, reader, NULL, &err) != TTAPE_OK)
        return fail("calls", &err);
    while ((status = ttape_call_cursor_step(cursor, &step, &err)) == TTAPE_OK) {
        if (step->kind != TTAPE_STEP_EVENT || step->event->kind != TTAPE_EVENT_ENTER)
            continue;
        calls++;
        sum += mark(step->began->caller, step->began->site);
    }
    printf("%" PRIu64 " calls, sum %" PRIx64 "\n", calls, sum);
    ttape_call_cursor_close(cursor);
    return status == TTAPE_END ? 0 : fail("calls", &err);
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *reader;
    if (argc != 2 && (argc != 3 || strcmp(argv[2], "walk") != 0)) {
        fprintf(stderr, "usage: calls_by_caller FILE [walk]\n");
        return 2;
    }
    if (ttape_source_file_open(&source, argv[1], &err) != TTAPE_OK)
        return fail(argv[1], &err);
    if (ttape_reader_open(&reader, &source, NULL, &err) != TTAPE_OK)
        return fail(argv[1], &err);
    int failed = argc == 3 ? walk(reader) : count(reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return failed;
}
