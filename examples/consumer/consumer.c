/* A small program that uses libtracetape: it writes a trace of three calls and a signal to memory
 * and reads it back. Prints one line per event. */
#include <tracetape/tracetape.h>

#include <stdio.h>
#include <string.h>

static ttape_string text(const char *s) { return (ttape_string){s, strlen(s)}; }

static ttape_status write_trace(ttape_writer *writer, ttape_error *err)
{
    static const ttape_event calls[] = {
        {.time_ns = 100, .kind = TTAPE_EVENT_ENTER, .site = 0, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 130, .kind = TTAPE_EVENT_ENTER, .site = 1, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 170, .kind = TTAPE_EVENT_EXIT, .site = 1, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 175, .kind = TTAPE_EVENT_ENTER, .site = 2, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 180,
         .kind = TTAPE_EVENT_SIGNAL_BEGIN,
         .site = TTAPE_NONE,
         .argument = 14,
         .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 185,
         .kind = TTAPE_EVENT_SIGNAL_END,
         .site = TTAPE_NONE,
         .argument = 14,
         .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 190, .kind = TTAPE_EVENT_EXIT, .site = 2, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 200, .kind = TTAPE_EVENT_EXIT, .site = 0, .depth = TTAPE_DEPTH_AUTO},
    };
    uint32_t process, module, stream, site;
    ttape_process who = {.pid = 1, .parent = TTAPE_NONE, .name = text("consumer")};
    ttape_status status = ttape_writer_add_process(writer, &who, &process, err);
    ttape_stream thread = {.process = process, .tid = 1};
    if (status == TTAPE_OK)
        status = ttape_writer_add_stream(writer, &thread, &stream, err);
    ttape_module plugin = {
        .start = 0x7000, .end = 0x9000, .process = TTAPE_NONE, .path = text("/usr/lib/plugin.so")};
    if (status == TTAPE_OK)
        status = ttape_writer_add_module(writer, &plugin, &module, err);
    ttape_site outer = {.address = 0x1000, .module = TTAPE_NONE, .symbol = text("outer")};
    ttape_site inner = {.address = 0x2000, .module = TTAPE_NONE, .symbol = text("inner")};
    ttape_site nameless = {.address = 0x7010, .module = 0};
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(writer, &outer, &site, err);
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(writer, &inner, &site, err);
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(writer, &nameless, &site, err);
    if (status == TTAPE_OK)
        status = ttape_writer_append(writer, stream, calls, sizeof calls / sizeof calls[0], err);
    return status == TTAPE_OK ? ttape_writer_finish(writer, err) : status;
}

static ttape_status print_trace(ttape_reader *reader, ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    char name[64];
    ttape_status status = ttape_cursor_open(&cursor, reader, 0, err);
    while (status == TTAPE_OK && (status = ttape_cursor_next(cursor, &item, err)) == TTAPE_OK) {
        /* Not every site has a symbol, and not every event has a site. */
        ttape_site_name(reader, item.event.site, name, sizeof name);
        printf("%llu %s %s\n", (unsigned long long)item.event.time_ns,
               ttape_event_kind_name(item.event.kind, TTAPE_SITE_FUNCTION), name);
    }
    ttape_cursor_close(cursor);
    return status == TTAPE_END ? TTAPE_OK : status;
}

int main(void)
{
    ttape_error err = {0};
    ttape_memory_sink file = {0};
    ttape_sink sink = ttape_sink_memory(&file);
    ttape_writer *writer;
    ttape_reader *reader = NULL;
    printf("libtracetape %s\n", ttape_version_string());
    ttape_status status = ttape_writer_open(&writer, &sink, NULL, &err);
    if (status == TTAPE_OK)
        status = write_trace(writer, &err);
    ttape_writer_close(writer);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    if (status == TTAPE_OK)
        status = ttape_reader_open(&reader, &source, NULL, &err);
    if (status == TTAPE_OK)
        status = print_trace(reader, &err);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&file);
    if (status != TTAPE_OK)
        fprintf(stderr, "consumer: %s\n", err.message);
    return status != TTAPE_OK;
}
