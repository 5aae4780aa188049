/* Makes rollups of as many hosts as one says:
 *
 *   make_rollups FOLDER COUNT FUNCTIONS BUILDS
 *
 * Each is of a trace of its own, in which each of FUNCTIONS functions was called three times; hosts
 * have one of BUILDS builds of the program, one behind the other, whose functions differ in part.
 * Through the public interface only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tracetape.h>

static void check(ttape_status status, const ttape_error *err, const char *what)
{
    if (status == TTAPE_OK)
        return;
    fprintf(stderr, "make_rollups: %s: status %d: %s\n", what, (int)status, err->message);
    exit(1);
}

static void define(ttape_writer *writer, uint32_t functions, uint32_t build, ttape_error *err)
{
    uint32_t id;
    char build_id[21];
    (void)snprintf(build_id, sizeof build_id, "build %014u", build);
    const ttape_module module = {.start = 0x400000,
                                 .end = 0x4000000,
                                 .process = TTAPE_NONE,
                                 .path = {"/usr/bin/program", 16},
                                 .build_id = {build_id, 20}};
    const ttape_process process = {.pid = 1, .parent = TTAPE_NONE, .name = {"program", 7}};
    const ttape_stream stream = {.process = 0, .tid = 1, .name = {"main", 4}};
    check(ttape_writer_add_module(writer, &module, &id, err), err, "module");
    check(ttape_writer_add_process(writer, &process, &id, err), err, "process");
    check(ttape_writer_add_stream(writer, &stream, &id, err), err, "stream");
    for (uint32_t i = 0; i < functions; i++) {
        char symbol[64], file[32];
        int length = snprintf(symbol, sizeof symbol, "component_%u_function_with_a_name_%u", i / 40,
                              i + (i % 50 == 0 ? build : 0));
        int file_length = snprintf(file, sizeof file, "component_%u.c", i / 40);
        const ttape_site site = {.address = 0x400000 + 0x40 * i + build,
                                 .module = 0,
                                 .line = 10 + i % 40 * 20,
                                 .symbol = {symbol, (size_t)length},
                                 .file = {file, (size_t)file_length}};
        check(ttape_writer_add_site(writer, &site, &id, err), err, "site");
    }
}

static void append(ttape_writer *writer, uint32_t functions, uint32_t number, ttape_error *err)
{
    uint64_t now = 1000, seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (uint32_t call = 0; call < 3 * functions; call++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const ttape_event events[] = {{.kind = TTAPE_EVENT_ENTER,
                                       .site = call % functions,
                                       .time_ns = now,
                                       .depth = TTAPE_DEPTH_AUTO},
                                      {.kind = TTAPE_EVENT_EXIT,
                                       .site = call % functions,
                                       .depth = TTAPE_DEPTH_AUTO,
                                       .time_ns = now + 100 + (seed >> 33) % 1000000}};
        now = events[1].time_ns + 50;
        check(ttape_writer_append(writer, 0, events, 2, err), err, "events");
    }
}

static ttape_memory_sink make_trace(uint32_t number, uint32_t functions, uint32_t build)
{
    ttape_error err = {0};
    ttape_memory_sink bytes = {0};
    ttape_sink sink = ttape_sink_memory(&bytes);
    ttape_writer_options options = {.size = sizeof options, .level = 1, .has_trace_id = true};
    ttape_writer *writer;
    memcpy(options.trace_id, &number, sizeof number);
    check(ttape_writer_open(&writer, &sink, &options, &err), &err, "writer");
    define(writer, functions, build, &err);
    append(writer, functions, number, &err);
    check(ttape_writer_finish(writer, &err), &err, "finish");
    ttape_writer_close(writer);
    return bytes;
}

static void make_rollup(const char *folder, uint32_t number, const ttape_memory_sink *bytes)
{
    ttape_error err = {0};
    char path[4096], host[32];
    ttape_source source = ttape_source_memory(bytes->data, bytes->size_bytes);
    ttape_reader *reader;
    ttape_rollup *rollup;
    ttape_file_sink *file;
    int length = snprintf(host, sizeof host, "host%05u", number);
    const ttape_rollup_selection selection = {
        .size = sizeof selection, .name = {"run.ttape", 9}, .host = {host, (size_t)length}};
    (void)snprintf(path, sizeof path, "%s/%s.rollup", folder, host);
    check(ttape_reader_open(&reader, &source, NULL, &err), &err, "reader");
    check(ttape_rollup_open(&rollup, NULL, &err), &err, "rollup");
    check(ttape_rollup_add_trace(rollup, reader, &selection, &err), &err, "adding");
    check(ttape_file_sink_open(&file, path, true, &err), &err, path);
    ttape_sink sink = ttape_file_sink_sink(file);
    sink.sync = NULL;
    check(ttape_rollup_write(rollup, &sink, &err), &err, path);
    check(ttape_file_sink_commit(file, &err), &err, path);
    ttape_file_sink_close(file);
    ttape_rollup_close(rollup);
    ttape_reader_close(reader);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    uint32_t count = (uint32_t)atoi(argv[2]), functions = (uint32_t)atoi(argv[3]);
    uint32_t builds = (uint32_t)atoi(argv[4]);
    for (uint32_t i = 0; i < count; i++) {
        ttape_memory_sink bytes = make_trace(i, functions, i % builds);
        make_rollup(argv[1], i, &bytes);
        ttape_memory_sink_close(&bytes);
    }
    return 0;
}
