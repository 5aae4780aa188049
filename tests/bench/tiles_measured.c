/* Tiles that a view asks for, of the longest stream of a trace:
 *
 *   tiles_measured FILE
 *
 * Prints milliseconds, of the wall clock and of the processor, and how many segments came whence:
 * of a screen of 1,920 buckets over all of the stream, as at first, with 1 instant a bucket, and
 * with 16; and of the same in its middle, at each level from the next finer one on to buckets of 64
 * ticks. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tracetape/tracetape.h>

enum { SCREEN = 1920 };

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const ttape_error *err)
{
    fprintf(stderr, "tiles_measured: %s\n", err->message);
    exit(1);
}

/* The tiles of a screen whose first bucket has a tick. */
static void measure(ttape_reader *reader, ttape_tile_options options, int64_t tick)
{
    ttape_error err = {0};
    unsigned long overviews = 0, sections = 0, events = 0;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    int64_t first = tick >> options.level >> 8;
    int64_t last = ((tick >> options.level) + SCREEN - 1) >> 8;
    for (options.index = first; options.index <= last; options.index++) {
        ttape_tile *tile;
        ttape_tile_info info;
        if (ttape_tile_make(&tile, reader, &options, &err) != TTAPE_OK)
            fail(&err);
        ttape_tile_get_info(tile, &info);
        overviews += info.overview_count;
        sections += info.section_count;
        events += info.event_count;
        ttape_tile_close(tile);
    }
    printf("%u %u %.3f %.3f %lu %lu %lu\n", options.level, options.instants,
           now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, overviews, sections,
           events);
}

static uint32_t longest_stream(ttape_reader *reader, ttape_tile_axis *axis)
{
    ttape_error err = {0};
    ttape_info info;
    uint32_t longest = 0;
    ttape_reader_get_info(reader, &info);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_tile_axis a;
        if (ttape_tile_get_axis(reader, s, &a, &err) != TTAPE_OK)
            fail(&err);
        if (s == 0 || a.last_tick - a.first_tick > axis->last_tick - axis->first_tick) {
            longest = s;
            *axis = a;
        }
    }
    return longest;
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_tile_axis axis = {.has_times = false};
    ttape_tile_options options = {.size = sizeof options};
    if (argc != 2)
        return 2;
    if (ttape_reader_open_path(&reader, argv[1], NULL, &err) != TTAPE_OK)
        fail(&err);
    options.stream = longest_stream(reader, &axis);
    int64_t ticks = axis.last_tick - axis.first_tick;
    while (ticks >> options.level >= SCREEN)
        options.level++;
    for (options.instants = 1; options.instants <= TTAPE_TILE_INSTANTS; options.instants *= 16)
        measure(reader, options, axis.first_tick);
    while (options.level-- > 6)
        for (options.instants = 1; options.instants <= TTAPE_TILE_INSTANTS; options.instants *= 16)
            measure(reader, options, axis.first_tick + ticks / 2);
    ttape_reader_close(reader);
    return 0;
}
