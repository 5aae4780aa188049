/* Makes a large trace by repeating real streams:
 *
 *   make_big [-n] [-t THREADS] OUTPUT EVENTS JOBS FILE...
 *
 * The first 2,000,000 events of the longest stream of each FILE are appended again and again, in
 * turns, with the times moved on and open frames closed at the end of each round, until there are
 * EVENTS events. Each FILE is a process of its own. -n: without overviews. -t: so many threads in
 * place of one of each FILE, which all have as many events, side by side. Through the public
 * interface only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tracetape.h>

enum { BATCH = 8192, MAX_EVENTS = 2000000, MAX_FRAMES = 65536 };

struct repeated {
    ttape_event *events;
    size_t count;
    uint64_t first_ns, length_ns;
    uint32_t stream;
};

static void check(ttape_status status, const ttape_error *err, const char *what)
{
    if (status == TTAPE_OK)
        return;
    fprintf(stderr, "make_big: %s: status %d: %s\n", what, (int)status, err->message);
    exit(1);
}

static void *need(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "make_big: out of memory\n");
        exit(1);
    }
    return memory;
}

static uint32_t longest_stream(const ttape_reader *reader)
{
    ttape_stream_info stream;
    uint64_t most = 0;
    uint32_t longest = 0;
    for (uint32_t i = 0; ttape_reader_get_stream(reader, i, &stream) == TTAPE_OK; i++) {
        if (stream.event_count > most) {
            most = stream.event_count;
            longest = i;
        }
    }
    return longest;
}

/* What repeats must be plain calls: leaves out what depends on frames from before, closes what
 * stays open. */
static void close_frames(struct repeated *r)
{
    static uint32_t sites[MAX_FRAMES];
    size_t depth = 0, kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        ttape_event e = r->events[i];
        if (e.kind == TTAPE_EVENT_ENTER && depth < MAX_FRAMES)
            sites[depth++] = e.site;
        else if (e.kind == TTAPE_EVENT_EXIT && depth > 0)
            depth--;
        else if (e.kind == TTAPE_EVENT_UNWIND && e.lost_count != TTAPE_UNWIND_LEFT &&
                 e.argument <= depth)
            depth -= e.argument; /* by ends that were not seen, which answers have to mind */
        else
            continue;
        e.depth = TTAPE_DEPTH_AUTO;
        r->events[kept++] = e;
    }
    uint64_t last_ns = kept != 0 ? r->events[kept - 1].time_ns : 0;
    for (; depth > 0 && kept < MAX_EVENTS + (size_t)MAX_FRAMES; depth--)
        r->events[kept++] = (ttape_event){.time_ns = last_ns += 40,
                                          .kind = TTAPE_EVENT_EXIT,
                                          .site = sites[depth - 1],
                                          .depth = TTAPE_DEPTH_AUTO};
    r->count = kept;
    r->first_ns = kept != 0 ? r->events[0].time_ns : 0;
    r->length_ns = last_ns - r->first_ns + 1000;
}

static void define(ttape_writer *writer, ttape_reader *reader, struct repeated *r, uint64_t pid)
{
    ttape_error err = {0};
    ttape_process process = {.pid = pid, .parent = TTAPE_NONE, .name = {"big", 3}};
    ttape_stream stream = {.tid = pid, .name = {"big", 3}};
    ttape_site site;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    uint32_t *sites = need((info.site_count + 1) * sizeof *sites);
    check(ttape_writer_add_process(writer, &process, &stream.process, &err), &err, "process");
    check(ttape_writer_add_stream(writer, &stream, &r->stream, &err), &err, "stream");
    for (uint32_t i = 0; ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++) {
        site.module = TTAPE_NONE;
        check(ttape_writer_add_site(writer, &site, &sites[i], &err), &err, "site");
    }
    for (size_t i = 0; i < r->count; i++)
        if (r->events[i].site != TTAPE_NONE)
            r->events[i].site = sites[r->events[i].site];
    free(sites);
}

static void load(ttape_writer *writer, const char *path, struct repeated *r, uint64_t pid)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *reader;
    ttape_cursor *cursor;
    size_t count;
    r->events = need((MAX_EVENTS + (size_t)MAX_FRAMES) * sizeof *r->events);
    check(ttape_source_file_open(&source, path, &err), &err, path);
    check(ttape_reader_open(&reader, &source, NULL, &err), &err, path);
    check(ttape_cursor_open(&cursor, reader, longest_stream(reader), &err), &err, path);
    while (r->count < MAX_EVENTS &&
           ttape_cursor_next_events(cursor, r->events + r->count, MAX_EVENTS - r->count, &count,
                                    &err) == TTAPE_OK)
        r->count += count;
    ttape_cursor_close(cursor);
    close_frames(r);
    define(writer, reader, r, pid);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

static uint64_t append_round(ttape_writer *writer, const struct repeated *r, uint64_t start_ns,
                             uint64_t most)
{
    static ttape_event batch[BATCH];
    ttape_error err = {0};
    uint64_t shift = start_ns - r->first_ns, done = 0;
    while (done < r->count && done < most) {
        size_t count = 0;
        for (; count < BATCH && done < r->count && done < most; count++, done++) {
            batch[count] = r->events[done];
            batch[count].time_ns += shift;
        }
        check(ttape_writer_append(writer, r->stream, batch, count, &err), &err, "append");
    }
    return done;
}

static void fill(ttape_writer *writer, struct repeated *sources, int count, uint64_t events)
{
    uint64_t start_ns = UINT64_C(1000000000), longest_ns = 0, all = 0, done = 0;
    for (int i = 0; i < count; i++) {
        all += sources[i].count;
        if (sources[i].length_ns > longest_ns)
            longest_ns = sources[i].length_ns;
    }
    while (all > 0 && done < events) {
        for (int i = 0; i < count; i++)
            done += append_round(writer, &sources[i], start_ns, events - done);
        start_ns += longest_ns;
    }
}

/* Of all threads the next events, in turns: from here and there in what is repeated, so that they
 * do not look alike. Behind the last events frames stay open. */
static void fill_threads(ttape_writer *writer, struct repeated *sources, int count,
                         uint32_t threads, uint64_t events)
{
    static ttape_event batch[BATCH];
    ttape_error err = {0};
    uint64_t each = events / threads;
    uint32_t *streams = need(threads * sizeof *streams);
    for (uint32_t i = 0; i < threads; i++) {
        ttape_stream stream = {
            .process = (uint32_t)(i % (uint32_t)count), .tid = 1000 + i, .name = {"worker", 6}};
        check(ttape_writer_add_stream(writer, &stream, &streams[i], &err), &err, "stream");
    }
    for (uint64_t done = 0; done < each; done += BATCH) {
        for (uint32_t i = 0; i < threads; i++) {
            const struct repeated *r = &sources[i % (uint32_t)count];
            size_t wanted = each - done < BATCH ? (size_t)(each - done) : BATCH;
            for (size_t k = 0; k < wanted; k++) {
                uint64_t at = (done + k) % r->count, round = (done + k) / r->count;
                batch[k] = r->events[at];
                batch[k].time_ns += UINT64_C(1000000000) + 100000 * (uint64_t)(i % 977) +
                                    round * r->length_ns - r->first_ns;
            }
            check(ttape_writer_append(writer, streams[i], batch, wanted, &err), &err, "append");
        }
    }
    free(streams);
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_writer_options options = {.size = sizeof(options)};
    ttape_file_sink *file;
    ttape_writer *writer;
    uint32_t threads = 0;
    if (argc > 1 && strcmp(argv[1], "-n") == 0) {
        options.overview_period = UINT64_MAX;
        argc--;
        argv++;
    }
    if (argc > 2 && strcmp(argv[1], "-t") == 0) {
        threads = (uint32_t)strtoul(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    if (argc < 5) {
        fprintf(stderr, "usage: make_big [-n] [-t THREADS] OUTPUT EVENTS JOBS FILE...\n");
        return 2;
    }
    int count = argc - 4;
    struct repeated *sources = calloc((size_t)count, sizeof *sources);
    if (sources == NULL)
        return 1;
    options.jobs = (uint32_t)strtoul(argv[3], NULL, 10);
    check(ttape_file_sink_open(&file, argv[1], true, &err), &err, argv[1]);
    ttape_sink sink = ttape_file_sink_sink(file);
    check(ttape_writer_open(&writer, &sink, &options, &err), &err, argv[1]);
    for (int i = 0; i < count; i++)
        load(writer, argv[4 + i], &sources[i], 100 + (uint64_t)i);
    if (threads > 0)
        fill_threads(writer, sources, count, threads, strtoull(argv[2], NULL, 10));
    else
        fill(writer, sources, count, strtoull(argv[2], NULL, 10));
    check(ttape_writer_finish(writer, &err), &err, argv[1]);
    ttape_writer_close(writer);
    check(ttape_file_sink_commit(file, &err), &err, argv[1]);
    ttape_file_sink_close(file);
    for (int i = 0; i < count; i++)
        free(sources[i].events);
    free(sources);
    return 0;
}
