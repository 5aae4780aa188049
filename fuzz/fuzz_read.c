/* What is read is checked on the way: it must follow the contracts of reader.h, whatever the bytes.
 */
#include "fuzz_read.h"

#include <string.h>

ttape_reader_options fuzz_reader_options(struct fuzz_input *in, struct fuzz_memory *memory)
{
    uint32_t flags = fuzz_number(in, 1), cache = fuzz_number(in, 1);
    (void)fuzz_number(in, 2);
    ttape_reader_options options = {.size = sizeof options,
                                    .cache_bytes = (uint64_t)cache << 10,
                                    .ignore_index = flags & 1,
                                    .jobs = flags & 2 ? 2 : 0,
                                    .allocator = &memory->allocator};
    options.limits.partition_events = flags & 4 ? 0 : 65536;
    options.limits.memory_bytes = flags & 8 ? 0 : 24u << 20;
    options.limits.site_count = options.limits.stream_count = flags >> 4 == 15 ? 0 : 4096;
    fuzz_memory_open(memory, flags & 8 ? 256u << 20 : 24u << 20);
    return options;
}

static void hash_string(struct fuzz_sum *sum, ttape_string s)
{
    FUZZ_REQUIRE(s.size_bytes == 0 || s.data != NULL);
    sum->hash = fuzz_hash(sum->hash, s.data, s.size_bytes);
}

#define HASH_NUMBERS(sum, ...)                                                                     \
    do {                                                                                           \
        uint64_t numbers[] = {__VA_ARGS__};                                                        \
        (sum)->hash = fuzz_hash((sum)->hash, numbers, sizeof numbers);                             \
    } while (0)

static void hash_places(struct fuzz_sum *sum, const ttape_reader *reader)
{
    ttape_site site;
    ttape_module module;
    for (uint32_t i = 0; ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++) {
        HASH_NUMBERS(sum, site.address, site.module, site.line, site.kind);
        hash_string(sum, site.symbol);
        hash_string(sum, site.file);
    }
    for (uint32_t i = 0; ttape_reader_get_module(reader, i, &module) == TTAPE_OK; i++) {
        HASH_NUMBERS(sum, module.start, module.end, module.process);
        hash_string(sum, module.path);
        hash_string(sum, module.build_id);
    }
}

struct fuzz_sum fuzz_read_definitions(const ttape_reader *reader)
{
    struct fuzz_sum sum = {0};
    ttape_process process;
    ttape_stream_info stream;
    ttape_metadata_entry entry;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    FUZZ_REQUIRE(info.event_count <= info.file_bytes * FUZZ_EVENTS_PER_BYTE);
    const ttape_byte_counts *b = &info.bytes;
    uint64_t bytes = b->order + b->times + b->values + b->summaries + b->sites + b->models;
    FUZZ_REQUIRE(bytes + b->other == info.file_bytes);
    HASH_NUMBERS(&sum, info.event_count, info.partition_count, info.gap_count, info.lost_count,
                 info.time_first_ns, info.time_last_ns, info.resolution_ns, info.scope_count);
    hash_places(&sum, reader);
    for (uint32_t i = 0; ttape_reader_get_process(reader, i, &process) == TTAPE_OK; i++) {
        HASH_NUMBERS(&sum, process.pid, process.parent, process.start_time_ns);
        hash_string(&sum, process.name);
    }
    for (uint32_t i = 0; ttape_reader_get_stream(reader, i, &stream) == TTAPE_OK; i++) {
        HASH_NUMBERS(&sum, stream.stream.process, stream.stream.tid, stream.pid, stream.scope,
                     stream.stream.start_time_ns, stream.event_count, stream.first_event);
        hash_string(&sum, stream.stream.name);
    }
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++) {
        HASH_NUMBERS(&sum, entry.scope, entry.type, entry.number);
        hash_string(&sum, entry.key);
        hash_string(&sum, entry.text);
    }
    return sum;
}

static void hash_edge(struct fuzz_sum *sum, const ttape_edge *edge)
{
    HASH_NUMBERS(sum, edge->event_number, edge->time_ns, edge->stack, edge->unknown_depth,
                 (uint64_t)edge->depth_offset, edge->frame_count);
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *f = &edge->frames[i];
        HASH_NUMBERS(sum, f->kind, f->site, f->argument, f->stack, f->enter_time_ns,
                     (uint64_t)f->self_ns);
    }
}

static void hash_summary(struct fuzz_sum *sum, ttape_reader *reader, uint32_t partition)
{
    const ttape_summary_row *rows;
    uint32_t count;
    if (ttape_reader_get_summary(reader, partition, &rows, &count, NULL) != TTAPE_OK) {
        sum->errors++;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(i == 0 || rows[i].site > rows[i - 1].site);
        HASH_NUMBERS(sum, rows[i].site, rows[i].call_count, rows[i].exit_count,
                     (uint64_t)rows[i].self_ns, (uint64_t)rows[i].total_ns,
                     (uint64_t)rows[i].min_ns, (uint64_t)rows[i].max_ns, rows[i].squares.high,
                     rows[i].squares.low);
    }
}

static void hash_off(struct fuzz_sum *sum, ttape_reader *reader, uint32_t partition,
                     uint32_t segment)
{
    const ttape_off_span *spans;
    uint32_t count;
    bool is_known;
    if (ttape_reader_get_off(reader, partition, segment, &spans, &count, &is_known, NULL) !=
        TTAPE_OK) {
        sum->errors++;
        return;
    }
    FUZZ_REQUIRE(is_known || count == 0);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(i == 0 || spans[i].event >= spans[i - 1].event);
        HASH_NUMBERS(sum, spans[i].event, (uint64_t)spans[i].start_ns, spans[i].length_ns,
                     spans[i].kind);
    }
}

struct fuzz_sum fuzz_read_partitions(ttape_reader *reader)
{
    struct fuzz_sum sum = {0};
    ttape_partition_info info;
    for (uint32_t p = 0; ttape_reader_get_partition(reader, p, &info) == TTAPE_OK; p++) {
        ttape_segment_info segment;
        ttape_status status = TTAPE_OK;
        HASH_NUMBERS(&sum, info.offset, info.stored_bytes, info.sequence, info.event_count,
                     info.model, info.time_first_ns, info.time_end_ns);
        for (uint32_t s = 0; s < info.segment_count && status == TTAPE_OK; s++) {
            status = ttape_reader_get_segment(reader, p, s, &segment, NULL);
            if (status != TTAPE_OK)
                break;
            HASH_NUMBERS(&sum, segment.stream, segment.event_count, segment.min_depth);
            hash_edge(&sum, &segment.start);
            hash_edge(&sum, &segment.end);
            hash_off(&sum, reader, p, s);
        }
        sum.errors += status != TTAPE_OK;
        hash_summary(&sum, reader, p);
    }
    return sum;
}

void fuzz_hash_item(struct fuzz_sum *sum, const ttape_event_item *item)
{
    const ttape_event *e = &item->event;
    FUZZ_REQUIRE(e->kind < TTAPE_EVENT_KIND_COUNT);
    HASH_NUMBERS(sum, e->time_ns, e->lost_count, e->kind, e->site, e->argument, e->depth,
                 item->stream, item->number, item->value_count);
    for (uint32_t i = 0; i < item->value_count; i++) {
        const ttape_value *v = &item->values[i];
        FUZZ_REQUIRE(v->type <= TTAPE_VALUE_NULL);
        HASH_NUMBERS(sum, v->type, v->number);
        hash_string(sum, v->bytes);
    }
    sum->events++;
}

struct fuzz_sum fuzz_read_stream(ttape_reader *reader, uint32_t stream)
{
    struct fuzz_sum sum = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    if (ttape_cursor_open(&cursor, reader, stream, NULL) != TTAPE_OK)
        return (struct fuzz_sum){.errors = 1};
    while (sum.events < FUZZ_EVENTS_MAX) {
        ttape_error err = {0};
        ttape_status status = ttape_cursor_next(cursor, &item, &err);
        if (status == TTAPE_END)
            break;
        if (status == TTAPE_OK) {
            FUZZ_REQUIRE(item.stream < info.stream_count);
            fuzz_hash_item(&sum, &item);
            continue;
        }
        FUZZ_REQUIRE(err.status == status && err.message[0] != '\0');
        /* Reading goes on behind each damaged partition: once for each stream. */
        FUZZ_REQUIRE(++sum.errors <= (info.partition_count + 1) * (info.stream_count + 1ull));
    }
    ttape_cursor_close(cursor);
    return sum;
}

static void add(struct fuzz_sum *to, struct fuzz_sum one)
{
    HASH_NUMBERS(to, to->hash, one.hash);
    to->events += one.events;
    to->errors += one.errors;
}

struct fuzz_sum fuzz_read_all(ttape_reader *reader)
{
    struct fuzz_sum sum = fuzz_read_definitions(reader);
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    add(&sum, fuzz_read_partitions(reader));
    for (uint32_t s = 0; s < info.stream_count && sum.events < 8 * FUZZ_EVENTS_MAX; s++)
        add(&sum, fuzz_read_stream(reader, s));
    add(&sum, fuzz_read_stream(reader, TTAPE_ALL_STREAMS));
    return sum;
}
