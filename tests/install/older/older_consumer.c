/* Writes a trace to memory and reads it back with the calls that fill structs. Behind each struct
 * are bytes that nobody may write; reserved words are 0; rows stand where the older size of a row
 * says. */
#include "older_tracetape.h"

#include <stdio.h>
#include <string.h>

#define GUARD_BYTES 64

#define GUARDED(type)                                                                              \
    struct {                                                                                       \
        type value;                                                                                \
        uint8_t guard[GUARD_BYTES];                                                                \
    }

static int failures;

static void require(int holds, const char *what)
{
    if (!holds) {
        printf("%s\n", what);
        failures++;
    }
}

static int all_are(const void *bytes, size_t size_bytes, uint8_t wanted)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (((const uint8_t *)bytes)[i] != wanted)
            return 0;
    return 1;
}

/* Fills a guarded struct by a call, and looks at what the call left. */
#define FILL(g, call)                                                                              \
    do {                                                                                           \
        memset(&(g), 0xA5, sizeof(g));                                                             \
        require(call, #call);                                                                      \
        require(all_are((g).guard, GUARD_BYTES, 0xA5), "written too far: " #call);                 \
        require(all_are((g).value.reserved, sizeof(g).value.reserved, 0), "not zero: " #call);     \
    } while (0)

static ttape_string text(const char *s) { return (ttape_string){s, strlen(s)}; }

static void write_trace(ttape_memory_sink *file)
{
    static const ttape_event calls[] = {
        {.time_ns = 100, .kind = TTAPE_EVENT_ENTER, .site = 0, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 130, .kind = TTAPE_EVENT_ENTER, .site = 1, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 170, .kind = TTAPE_EVENT_EXIT, .site = 1, .depth = TTAPE_DEPTH_AUTO},
        {.time_ns = 200, .kind = TTAPE_EVENT_EXIT, .site = 0, .depth = TTAPE_DEPTH_AUTO},
    };
    GUARDED(ttape_writer_progress) progress;
    ttape_sink sink = ttape_sink_memory(file);
    ttape_writer_options options = {.size = sizeof options, .level = 3};
    ttape_writer *writer;
    uint32_t id;
    ttape_module module = {.start = 0x1000, .end = 0x9000, .path = text("/bin/m")};
    ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = text("older")};
    ttape_stream stream = {.tid = 8};
    ttape_site sites[] = {{.address = 0x1100, .symbol = text("outer")},
                          {.address = 0x1200, .symbol = text("inner")}};
    require(ttape_writer_open(&writer, &sink, &options, NULL) == TTAPE_OK, "open");
    require(ttape_writer_set_text(writer, "command", text("older"), NULL) == TTAPE_OK, "text");
    require(ttape_writer_add_process(writer, &process, &id, NULL) == TTAPE_OK, "process");
    require(ttape_writer_add_module(writer, &module, &id, NULL) == TTAPE_OK, "module");
    require(ttape_writer_add_stream(writer, &stream, &id, NULL) == TTAPE_OK, "stream");
    for (int i = 0; i < 2; i++)
        require(ttape_writer_add_site(writer, &sites[i], &id, NULL) == TTAPE_OK, "site");
    require(ttape_writer_append(writer, 0, calls, 4, NULL) == TTAPE_OK, "append");
    require(ttape_writer_finish(writer, NULL) == TTAPE_OK, "finish");
    FILL(progress, (ttape_writer_get_progress(writer, &progress.value), 1));
    require(progress.value.event_count == 4, "events written");
    ttape_writer_close(writer);
}

static void read_definitions(const ttape_reader *reader)
{
    GUARDED(ttape_info) info;
    GUARDED(ttape_site) site;
    GUARDED(ttape_module) module;
    GUARDED(ttape_process) process;
    GUARDED(ttape_stream_info) stream;
    GUARDED(ttape_metadata_entry) entry;
    FILL(info, (ttape_reader_get_info(reader, &info.value), 1));
    require(all_are(info.value.bytes.reserved, sizeof info.value.bytes.reserved, 0), "counts");
    FILL(site, ttape_reader_get_site(reader, 2, &site.value) == TTAPE_E_NOT_FOUND);
    FILL(site, ttape_reader_get_site(reader, 1, &site.value) == TTAPE_OK);
    FILL(module, ttape_reader_get_module(reader, 1, &module.value) == TTAPE_E_NOT_FOUND);
    FILL(module, ttape_reader_get_module(reader, 0, &module.value) == TTAPE_OK);
    FILL(process, ttape_reader_get_process(reader, 1, &process.value) == TTAPE_E_NOT_FOUND);
    FILL(process, ttape_reader_get_process(reader, 0, &process.value) == TTAPE_OK);
    FILL(stream, ttape_reader_get_stream(reader, 1, &stream.value) == TTAPE_E_NOT_FOUND);
    FILL(stream, ttape_reader_get_stream(reader, 0, &stream.value) == TTAPE_OK);
    FILL(entry, ttape_reader_get_metadata(reader, 99, &entry.value) == TTAPE_E_NOT_FOUND);
    FILL(entry, ttape_reader_get_metadata(reader, 0, &entry.value) == TTAPE_OK);
    require(info.value.event_count == 4 && info.value.site_count == 2, "counts of the file");
    require(site.value.address == 0x1200 && site.value.symbol.size_bytes == 5, "a site");
    require(module.value.end == 0x9000 && process.value.pid == 7, "a module and a process");
    require(stream.value.stream.tid == 8 && stream.value.event_count == 4, "a stream");
    require(entry.value.scope == 0 && entry.value.key.size_bytes > 0, "metadata");
}

static void read_partition(ttape_reader *reader)
{
    GUARDED(ttape_partition_info) partition;
    GUARDED(ttape_segment_info) segment;
    const ttape_summary_row *rows;
    uint32_t count;
    FILL(partition, ttape_reader_get_partition(reader, 1, &partition.value) == TTAPE_E_NOT_FOUND);
    FILL(partition, ttape_reader_get_partition(reader, 0, &partition.value) == TTAPE_OK);
    FILL(segment, ttape_reader_get_segment(reader, 0, 0, &segment.value, NULL) == TTAPE_OK);
    require(partition.value.event_count == 4 && segment.value.event_count == 4, "a partition");
    require(ttape_reader_get_summary(reader, 0, &rows, &count, NULL) == TTAPE_OK, "a summary");
    require(count == 2 && rows[1].site == 1 && rows[1].total_ns == 40, "the second row");
    require(rows[1].squares.low == 1600 && rows[1].squares.high == 0, "squares");
}

static void read_events(ttape_reader *reader)
{
    GUARDED(ttape_event_item) item;
    GUARDED(ttape_edge) edge;
    ttape_event events[3];
    ttape_cursor *cursor;
    size_t count;
    require(ttape_cursor_open(&cursor, reader, 0, NULL) == TTAPE_OK, "a cursor");
    FILL(item, ttape_cursor_next(cursor, &item.value, NULL) == TTAPE_OK);
    FILL(edge, ttape_cursor_get_edge(cursor, &edge.value, NULL) == TTAPE_OK);
    require(edge.value.frame_count == 1 && edge.value.frames[0].site == 0, "an edge");
    require(ttape_cursor_next_events(cursor, events, 3, &count, NULL) == TTAPE_OK, "events");
    require(count == 3 && events[2].time_ns == 200 && events[2].site == 0, "the last event");
    require(ttape_cursor_next(cursor, &item.value, NULL) == TTAPE_END, "the end");
    ttape_cursor_close(cursor);
}

static void read_answers(ttape_reader *reader)
{
    GUARDED(ttape_node) node;
    GUARDED(ttape_report_info) info;
    ttape_node_id whole = {.kind = TTAPE_NODE_TRACE};
    ttape_report_options how = {.size = sizeof how, .by = TTAPE_REPORT_BY_FUNCTION};
    ttape_tree *tree;
    ttape_report *report;
    uint32_t count;
    require(ttape_tree_open(&tree, reader, NULL, NULL) == TTAPE_OK, "a tree");
    FILL(node, ttape_tree_get_node(tree, &whole, TTAPE_TREE_FULL, &node.value, NULL) == TTAPE_OK);
    require(node.value.time_ns == 100 && node.value.call_count == 2, "the tree's root");
    ttape_tree_close(tree);
    require(ttape_report_make(&report, reader, &how, NULL) == TTAPE_OK, "a report");
    FILL(info, (ttape_report_get_info(report, &info.value), 1));
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    require(count == 2 && rows[1].site == 1 && rows[1].total_ns == 40, "the report's second row");
    ttape_report_close(report);
}

int main(void)
{
    ttape_memory_sink file = {0};
    write_trace(&file);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader_options options = {.size = sizeof options, .jobs = 1};
    ttape_reader *reader;
    uint64_t findings = 1;
    require(ttape_reader_open(&reader, &source, &options, NULL) == TTAPE_OK, "open");
    if (failures == 0) {
        read_definitions(reader);
        read_partition(reader);
        read_events(reader);
        read_answers(reader);
    }
    ttape_reader_close(reader);
    require(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, NULL) == TTAPE_OK, "verify");
    require(findings == 0, "nothing is wrong with the file");
    ttape_memory_sink_close(&file);
    return failures != 0;
}
