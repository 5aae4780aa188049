/* Decodes every event of a trace through the public interface, one stream after the other:
 *
 *   decode_all FILE [JOBS]
 *
 * It never goes back, so it has the reader keep one partition: memory is used again, not asked for.
 * Prints the number of events and a sum over all of them, so that none can be left out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tracetape/reader.h>

enum { BATCH = 4096 };

static int fail(const char *what, const ttape_error *err)
{
    fprintf(stderr, "decode_all: %s: %s (%s)\n", what, err->message, err->rule);
    return 1;
}

static int decode_stream(ttape_reader *reader, uint32_t stream, uint64_t *events, uint64_t *sum)
{
    static ttape_event batch[BATCH];
    ttape_error err = {0};
    ttape_cursor *cursor;
    size_t count = 0;
    ttape_status status;
    if (ttape_cursor_open(&cursor, reader, stream, &err) != TTAPE_OK)
        return fail("cursor", &err);
    while ((status = ttape_cursor_next_events(cursor, batch, BATCH, &count, &err)) == TTAPE_OK) {
        for (size_t i = 0; i < count; i++)
            *sum += batch[i].time_ns ^ batch[i].site << 8 ^ batch[i].kind;
        *events += count;
    }
    ttape_cursor_close(cursor);
    return status == TTAPE_END ? 0 : fail("events", &err);
}

int main(int argc, char **argv)
{
    ttape_reader_options options = {.size = sizeof(options)};
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *reader;
    ttape_info info;
    uint64_t events = 0, sum = 0;
    int failed = 0;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: decode_all FILE [JOBS]\n");
        return 2;
    }
    options.cache_bytes = 1;
    options.jobs = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    if (ttape_source_file_open(&source, argv[1], &err) != TTAPE_OK)
        return fail(argv[1], &err);
    if (ttape_reader_open(&reader, &source, &options, &err) != TTAPE_OK)
        return fail(argv[1], &err);
    ttape_reader_get_info(reader, &info);
    for (uint32_t stream = 0; stream < info.stream_count && !failed; stream++)
        failed = decode_stream(reader, stream, &events, &sum);
    printf("%" PRIu64 " events, sum %" PRIx64 "\n", events, sum);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return failed;
}
