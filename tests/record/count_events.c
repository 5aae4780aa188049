/* How many events of each kind and symbol a trace has: a line for each pair, with tabs between. For
 * traces.py: `dump` and a script that counts its lines would take half a second for a million. */
#include <stdio.h>
#include <stdlib.h>

#include <tracetape/reader.h>

enum { BATCH = 4096 };

static ttape_error err;

static int fail(const char *what)
{
    (void)fprintf(stderr, "count_events: %s: %s\n", what, err.message);
    return 1;
}

/* Leaves of markers and of other sites have different names. */
static const char *kind_of(const ttape_reader *reader, uint32_t kind, uint32_t site)
{
    ttape_site of = {0};
    if (site != TTAPE_NONE)
        (void)ttape_reader_get_site(reader, site, &of);
    return ttape_event_kind_name(kind, of.kind);
}

static void print(const ttape_reader *reader, const uint64_t *counts, uint32_t site_count)
{
    ttape_site site;
    for (uint32_t kind = 0; kind < TTAPE_EVENT_KIND_COUNT; kind++)
        for (uint32_t i = 0; i <= site_count; i++) {
            uint64_t count = counts[(size_t)kind * (site_count + 1) + i];
            (void)ttape_reader_get_site(reader, i < site_count ? i : TTAPE_NONE, &site);
            if (count != 0)
                (void)printf("%llu\t%s\t%.*s\n", (unsigned long long)count,
                             kind_of(reader, kind, i < site_count ? i : TTAPE_NONE),
                             (int)site.symbol.size_bytes, site.symbol.data);
        }
}

static int count_stream(ttape_reader *reader, uint32_t stream, uint64_t *counts,
                        uint32_t site_count)
{
    static ttape_event events[BATCH];
    ttape_cursor *cursor;
    size_t got;
    if (ttape_cursor_open(&cursor, reader, stream, &err) != TTAPE_OK)
        return fail("open");
    ttape_status status;
    while ((status = ttape_cursor_next_events(cursor, events, BATCH, &got, &err)) == TTAPE_OK)
        for (size_t i = 0; i < got; i++) {
            uint32_t site = events[i].site < site_count ? events[i].site : site_count;
            counts[(size_t)events[i].kind * (site_count + 1) + site]++;
        }
    ttape_cursor_close(cursor);
    return status == TTAPE_END ? 0 : fail("read");
}

int main(int argc, char **argv)
{
    ttape_reader *reader;
    ttape_info info = {0};
    if (argc != 2 || ttape_reader_open_path(&reader, argv[1], NULL, &err) != TTAPE_OK)
        return fail(argc == 2 ? argv[1] : "one trace");
    ttape_reader_get_info(reader, &info);
    uint64_t *counts =
        calloc(((size_t)info.site_count + 1) * TTAPE_EVENT_KIND_COUNT, sizeof *counts);
    int status = counts == NULL;
    for (uint32_t i = 0; i < info.stream_count && status == 0; i++)
        status = count_stream(reader, i, counts, info.site_count);
    if (status == 0)
        print(reader, counts, info.site_count);
    free(counts);
    ttape_reader_close(reader);
    return status;
}
