/* A small program that uses libtracetape: it writes a trace of two nested calls to memory and reads
 * it back. Prints one line per event. */
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
        {.time_ns = 200, .kind = TTAPE_EVENT_EXIT, .site = 0, .depth = TTAPE_DEPTH_AUTO},
    };
    uint32_t process, stream, site;
    ttape_process who = {.pid = 1, .parent = TTAPE_NONE, .name = text("consumer")};
    ttape_status status = ttape_writer_add_process(writer, &who, &process, err);
    ttape_stream thread = {.process = process, .tid = 1};
    if (status == TTAPE_OK)
        status = ttape_writer_add_stream(writer, &thread, &stream, err);
    ttape_site outer = {.address = 0x1000, .module = TTAPE_NONE, .symbol = text("outer")};
    ttape_site inner = {.address = 0x2000, .module = TTAPE_NONE, .symbol = text("inner")};
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(writer, &outer, &site, err);
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(writer, &inner, &site, err);
    if (status == TTAPE_OK)
        status = ttape_writer_append(writer, stream, calls, sizeof calls / sizeof calls[0], err);
    return status == TTAPE_OK ? ttape_writer_finish(writer, err) : status;
}

static ttape_status print_trace(ttape_reader *reader, ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_site site;
    ttape_status status = ttape_cursor_open(&cursor, reader, 0, err);
    while (status == TTAPE_OK && (status = ttape_cursor_next(cursor, &item, err)) == TTAPE_OK) {
        status = ttape_reader_get_site(reader, item.event.site, &site);
        printf("%llu %s %.*s\n", (unsigned long long)item.event.time_ns,
               ttape_event_kind_name(item.event.kind, TTAPE_SITE_FUNCTION),
               (int)site.symbol.size_bytes, site.symbol.data);
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
