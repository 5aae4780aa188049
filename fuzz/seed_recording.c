/* Seeds of killed recorders' folders, and of blocks' records: two processes, one of them forked,
 * three threads, in the trace, in the spill file and in the arena. */
#include <stddef.h>
#include <string.h>

#include "fuzz_recording.h"
#include "fuzz_seeds.h"
#include "recorder/arena/record.h"
#include "recorder/state/journal.h"

#define BASE 0x400000u

static const uint8_t trace_id[16] = "a recording's id";

static void put_mark(struct fuzz_bytes *to)
{
    fuzz_put(to, FUZZ_PIECE_MARK, sizeof FUZZ_PIECE_MARK - 1);
}

static void put_zeros(struct fuzz_bytes *to, size_t size)
{
    static const uint8_t zeros[16];
    fuzz_put(to, zeros, size);
}

/* ---- records ---- */

static void put_extension(struct fuzz_bytes *to, uint64_t type, uint64_t payload)
{
    fuzz_put_number(to, ttp_record_extension(type, to->size, payload), 8);
}

static void put_message(struct fuzz_bytes *to, uint64_t kind, const struct fuzz_bytes *bytes)
{
    put_extension(to, TTP_EXT_MESSAGE, kind << 24 | bytes->size);
    for (size_t at = 0; at < bytes->size; at += TTP_DATA_BYTES) {
        uint64_t word = 0;
        for (size_t i = 0; i < TTP_DATA_BYTES && at + i < bytes->size; i++)
            word |= (uint64_t)bytes->data[at + i] << (8 * i);
        fuzz_put_number(to, ttp_record_data(word), 8);
    }
}

static void put_call(struct fuzz_bytes *to, uint64_t tag, uint64_t address)
{
    fuzz_put_number(to, ttp_record_call(tag, to->size, address), 8);
}

static struct fuzz_bytes process(uint64_t image, uint64_t parent, const char *path)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, image, 8);
    fuzz_put_number(&bytes, parent, 8);
    fuzz_put_number(&bytes, 1000, 8);
    fuzz_put_number(&bytes, 5000000 + image, 4); /* no process has such numbers */
    fuzz_put_number(&bytes, 5000000 + parent, 4);
    fuzz_put(&bytes, path, strlen(path));
    return bytes;
}

static struct fuzz_bytes module(const char *path)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, BASE, 8);
    fuzz_put_number(&bytes, BASE + 0x10000, 8);
    fuzz_put_number(&bytes, 4, 4);
    fuzz_put(&bytes, "\1\2\3\4", 4);
    fuzz_put(&bytes, path, strlen(path));
    return bytes;
}

static struct fuzz_bytes number(uint64_t value, unsigned size)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, value, size);
    return bytes;
}

static struct fuzz_bytes site(uint64_t address)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, address, 8);
    fuzz_put_number(&bytes, 4, 4);
    fuzz_put_number(&bytes, 77, 4);
    fuzz_put_number(&bytes, 4, 2);
    fuzz_put(&bytes, "sites.c", 7);
    return bytes;
}

static struct fuzz_bytes leaf(uint64_t address)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, address, 8);
    fuzz_put(&bytes, "\0\5\0\0\0\0\0\0\0", 9);
    fuzz_put(&bytes, "\3\2\0\0\0hi", 7);
    return bytes;
}

/* How a process begins. */
static void put_begin(struct fuzz_bytes *to, uint64_t image, uint64_t parent)
{
    struct fuzz_bytes told = process(image, parent, "/bin/prog");
    put_message(to, TTP_MESSAGE_PROCESS, &told);
    told = module("/bin/prog");
    put_message(to, TTP_MESSAGE_MODULE, &told);
    told = number(1, 4);
    put_message(to, TTP_MESSAGE_MODULES_END, &told);
}

static void put_calls(struct fuzz_bytes *to, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        put_call(to, TTP_TAG_ENTER, BASE + 0x100);
        put_call(to, TTP_TAG_ENTER, BASE + 0x200 + i % 3 * 16);
        put_call(to, TTP_TAG_EXIT, BASE + 0x200 + i % 3 * 16);
        put_call(to, TTP_TAG_EXIT, BASE + 0x100);
    }
}

/* System calls: with a path of one frame in the program and one in no module, what it was given and
 * what it returned; one that a handler interrupts; one that fails; one that does not end. */
static void put_system_calls(struct fuzz_bytes *to)
{
    const uint64_t key = TTP_CALL_KEYS_PATH + 1;
    struct fuzz_bytes told = {0}, path = number(key, 8);
    struct fuzz_bytes given = fuzz_copy("\0\5\0\0\0\0\0\0\0\3\2\0\0\0hi", 16);
    struct fuzz_bytes done = fuzz_copy("\1\2\0\0\0\0\0\0\0\4\1\0\0\0x", 15);
    struct fuzz_bytes failed = fuzz_copy("\1\376\377\377\377\377\377\377\377", 9);
    fuzz_put_number(&told, key, 8);
    fuzz_put_number(&told, TTAPE_SITE_SYSCALL, 4);
    fuzz_put_number(&told, 2, 4);
    fuzz_put_number(&told, 4, 2);
    fuzz_put(&told, "open", 4);
    fuzz_put_number(&path, 2, 4);
    fuzz_put_number(&path, BASE + 0x110, 8);
    fuzz_put_number(&path, 0x99, 8);
    put_message(to, TTP_MESSAGE_SITE, &told);
    put_message(to, TTP_MESSAGE_PATH, &path);
    for (unsigned i = 0; i < 4; i++) {
        put_call(to, TTP_TAG_ENTER, key);
        put_message(to, TTP_MESSAGE_VALUES, &given);
        if (i == 1) {
            put_extension(to, TTP_EXT_SIGNAL_BEGIN, 10);
            put_calls(to, 1);
            put_extension(to, TTP_EXT_SIGNAL_END, 0);
        }
        if (i < 3) {
            put_call(to, TTP_TAG_EXIT, key);
            put_message(to, TTP_MESSAGE_VALUES, i == 2 ? &failed : &done);
        }
    }
}

/* One of each. */
static void put_all(struct fuzz_bytes *to)
{
    struct fuzz_bytes told = site(0x77), named = fuzz_copy("worker", 6), value = leaf(0x77);
    put_message(to, TTP_MESSAGE_SITE, &told);
    put_message(to, TTP_MESSAGE_THREAD, &named);
    put_call(to, TTP_TAG_ENTER, BASE + 0x100);
    put_message(to, TTP_MESSAGE_LEAF, &value);
    put_extension(to, TTP_EXT_SIGNAL_BEGIN, 11);
    put_calls(to, 1);
    put_call(to, TTP_TAG_ENTER, BASE + 0x300);
    put_extension(to, TTP_EXT_SIGNAL_END, 0);
    put_extension(to, TTP_EXT_SWITCH, 2);
    put_call(to, TTP_TAG_ENTER, BASE + 0x310);
    put_extension(to, TTP_EXT_UNWIND, ttp_unwind_payload(TTP_UNWIND_COUNT, 1));
    put_extension(to, TTP_EXT_SWITCH, 0);
    fuzz_put_number(to, ttp_record_epoch(5), 8);
    put_extension(to, TTP_EXT_GAP, 5 << 3 | 1);
    put_extension(to, TTP_EXT_OPEN, 0);
    put_call(to, TTP_TAG_ENTER, BASE + 0x320);
    put_extension(to, TTP_EXT_UNSEEN, 0);
    put_call(to, TTP_TAG_EXIT, BASE + 0x330);
    put_extension(to, TTP_EXT_NOTHING, 0);
    fuzz_put_number(to, 0, 8);
    put_extension(to, TTP_EXT_UNWIND, ttp_unwind_signals(1, 1));
    put_extension(to, TTP_EXT_UNWIND, ttp_unwind_payload(TTP_UNWIND_ALL_BUT, 0));
    value = fuzz_copy("\1\7\0\0\0\0\0\0\0", 9);
    put_message(to, TTP_MESSAGE_VALUES, &value);
    put_system_calls(to);
    put_extension(to, 15, 0);
}

/* ---- slots and blocks ---- */

static void put_slot(struct fuzz_bytes *to, uint32_t first, uint64_t image, uint64_t serial,
                     uint64_t sequence, const struct fuzz_bytes *records)
{
    struct ttp_block_head head = {.serial = serial,
                                  .sequence = sequence,
                                  .started = 1000,
                                  .process_id = 5000000 + (uint32_t)image,
                                  .thread_id = 5000000 + (uint32_t)serial,
                                  .image = image,
                                  .name = "thread"};
    fuzz_put_number(to, first, 2);
    fuzz_put(to, &head, sizeof head);
    fuzz_put(to, records->data, records->size);
}

static void put_slots(struct fuzz_bytes *to)
{
    struct fuzz_bytes begin = {0}, more = {0}, child = {0}, all = {0};
    put_begin(&begin, 1, 0);
    put_calls(&begin, 3);
    put_mark(to);
    put_slot(to, 0, 1, 1, 1, &begin);
    put_calls(&more, 2);
    put_mark(to);
    put_slot(to, (uint32_t)(begin.size / 8), 1, 1, 1, &more);
    put_begin(&child, 3, 1);
    put_calls(&child, 1);
    put_mark(to);
    put_slot(to, 0, 3, 3, 1, &child);
    put_all(&all);
    put_mark(to);
    put_slot(to, 0, 1, 2, 1, &all);
}

static void put_arena(struct fuzz_bytes *to)
{
    struct fuzz_bytes begin = {0}, more = {0}, all = {0};
    struct ttp_arena_head head = {.magic = TTP_ARENA_MAGIC,
                                  .version = TTP_ARENA_VERSION,
                                  .block_bytes = TTP_BLOCK_BYTES,
                                  .block_capacity = 128,
                                  .clock = TTP_CLOCK_MONOTONIC,
                                  .blocks_offset = 98304,
                                  .mode = TTP_MODE_ON,
                                  .block_ready = 3,
                                  .lost = 2};
    memcpy(head.trace_id, trace_id, sizeof trace_id);
    put_mark(to);
    fuzz_put(to, &head, sizeof head);
    put_calls(&more, 2);
    put_mark(to);
    fuzz_put_number(to, 5000001 << 2 | TTP_BLOCK_FILLING, 4);
    put_slot(to, 0, 1, 1, 2, &more);
    put_begin(&begin, 4, 1);
    put_calls(&begin, 1);
    put_mark(to);
    fuzz_put_number(to, 5000004 << 2 | TTP_BLOCK_DONE, 4);
    put_slot(to, 0, 4, 4, 1, &begin);
    put_all(&all);
    put_mark(to);
    fuzz_put_number(to, 5000001 << 2 | TTP_BLOCK_FULL, 4);
    put_slot(to, 0, 1, 2, 2, &all);
}

/* ---- the journal ---- */

static void put_entry(struct fuzz_bytes *to, uint32_t kind, const struct fuzz_bytes *bytes)
{
    put_mark(to);
    fuzz_put_number(to, kind, 1);
    fuzz_put(to, bytes->data, bytes->size);
}

static void put_start(struct fuzz_bytes *to, uint32_t clock, uint32_t naming)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, clock, 4);
    fuzz_put_number(&bytes, naming != 0 ? 16 : 0, 4);
    put_zeros(&bytes, 16);
    fuzz_put_number(&bytes, UINT64_C(1) << 32, 8);
    fuzz_put_number(&bytes, 1, 8);
    fuzz_put_number(&bytes, 3, 4);
    fuzz_put_number(&bytes, 0, 4);
    fuzz_put_number(&bytes, naming, 4);
    fuzz_put_number(&bytes, TTP_ARENA_VERSION, 4);
    fuzz_put(&bytes, trace_id, sizeof trace_id);
    put_entry(to, TTP_JOURNAL_START, &bytes);
}

static void put_checkpoint(struct fuzz_bytes *to, uint32_t file, uint64_t partitions)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, file, 8);
    fuzz_put_number(&bytes, partitions, 8);
    put_entry(to, TTP_JOURNAL_CHECKPOINT, &bytes);
}

static void put_told(struct fuzz_bytes *to, uint64_t serial, uint32_t kind,
                     const struct fuzz_bytes *message)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, serial, 8);
    fuzz_put_number(&bytes, kind, 4);
    fuzz_put(&bytes, message->data, message->size);
    put_entry(to, TTP_JOURNAL_MESSAGE, &bytes);
}

static void put_thread(struct fuzz_bytes *to, uint64_t serial, uint64_t image, uint32_t stream)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, serial, 8);
    fuzz_put_number(&bytes, image, 8);
    fuzz_put_number(&bytes, 1000, 8);
    fuzz_put_number(&bytes, 1, 8); /* sequence, epoch, time, records taken */
    fuzz_put_number(&bytes, 0, 8);
    fuzz_put_number(&bytes, 2000, 8);
    fuzz_put_number(&bytes, 4, 4);
    fuzz_put_number(&bytes, 5000000 + serial, 4);
    fuzz_put_number(&bytes, stream, 4);
    fuzz_put_number(&bytes, 5000000 + image, 4);
    fuzz_put_number(&bytes, stream == TTAPE_NONE ? TTAPE_NONE : 0, 4);
    fuzz_put(&bytes, "thread\0\0\0\0\0\0\0\0\0\0", 16);
    put_entry(to, TTP_JOURNAL_THREAD, &bytes);
}

static void put_edge(struct fuzz_bytes *to, uint64_t serial)
{
    struct fuzz_bytes bytes = {0};
    fuzz_put_number(&bytes, serial, 8);
    fuzz_put_number(&bytes, 40, 8);
    fuzz_put_number(&bytes, 2000, 8);
    put_zeros(&bytes, 12);
    for (uint64_t i = 0; i < 2; i++) {
        fuzz_put_number(&bytes, BASE + 0x100, 8);
        fuzz_put_number(&bytes, 1500, 8);
        fuzz_put_number(&bytes, 100, 8);
        put_zeros(&bytes, 12);
        fuzz_put_number(&bytes, 1, 4);
    }
    put_entry(to, TTP_JOURNAL_EDGE, &bytes);
}

static struct fuzz_bytes journal(const char *arena, uint32_t clock, uint32_t naming,
                                 uint32_t stream)
{
    struct fuzz_bytes to = {0}, path = fuzz_copy(arena, strlen(arena)), told;
    put_start(&to, clock, naming);
    put_entry(&to, TTP_JOURNAL_ARENA, &path);
    put_entry(&to, TTP_JOURNAL_COMMAND, &path);
    put_checkpoint(&to, 0, 0);
    put_thread(&to, 1, 1, stream);
    told = process(1, 0, "/bin/prog");
    put_told(&to, 1, TTP_MESSAGE_PROCESS, &told);
    told = module("/bin/prog");
    put_told(&to, 1, TTP_MESSAGE_MODULE, &told);
    told = number(1, 4);
    put_told(&to, 1, TTP_MESSAGE_MODULES_END, &told);
    told = site(0x77);
    put_told(&to, 1, TTP_MESSAGE_SITE, &told);
    if (naming & TTP_JOURNAL_PIECES)
        put_edge(&to, 1);
    put_checkpoint(&to, 0, stream == 0 ? 1 : 0);
    return to;
}

/* ---- the trace ---- */

/* One partition, and no end. */
static struct fuzz_bytes unfinished(void)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_writer_options options = {.size = sizeof options, .has_trace_id = true};
    ttape_writer *writer;
    uint32_t id;
    memcpy(options.trace_id, trace_id, sizeof trace_id);
    FUZZ_REQUIRE(ttape_writer_open(&writer, &sink, &options, NULL) == TTAPE_OK);
    ttape_process program = {
        .pid = 5000001, .parent = TTAPE_NONE, .start_time_ns = 1000, .name = {"prog", 4}};
    ttape_stream stream = {.tid = 5000001, .start_time_ns = 1000, .name = {"thread", 6}};
    ttape_module image = {.start = BASE,
                          .end = BASE + 0x10000,
                          .path = {"/bin/prog", 9},
                          .build_id = {"\1\2\3\4", 4}};
    ttape_site function = {.address = BASE + 0x100, .symbol = {"", 0}, .file = {"", 0}};
    FUZZ_REQUIRE(ttape_writer_add_process(writer, &program, &id, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_writer_add_stream(writer, &stream, &id, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_writer_add_module(writer, &image, &id, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_writer_add_site(writer, &function, &id, NULL) == TTAPE_OK);
    for (uint64_t i = 0; i < 5; i++) {
        ttape_event event = {.time_ns = 1000 + i * 100,
                             .kind = i % 2 ? TTAPE_EVENT_EXIT : TTAPE_EVENT_ENTER,
                             .depth = TTAPE_DEPTH_AUTO};
        FUZZ_REQUIRE(ttape_writer_append(writer, 0, &event, 1, NULL) == TTAPE_OK);
    }
    FUZZ_REQUIRE(ttape_writer_seal(writer, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_writer_flush(writer, false, NULL) == TTAPE_OK);
    struct fuzz_bytes trace = fuzz_copy(out.data, out.size_bytes);
    ttape_writer_close(writer);
    ttape_memory_sink_close(&out);
    return trace;
}

/* ---- seeds ---- */

static void pack(struct fuzz_bytes *to, const char *name, const struct fuzz_bytes *bytes)
{
    fuzz_folder_pack(to, name, bytes->data, bytes->size);
}

static void seed_folder(const char *name, uint32_t flags, const struct fuzz_bytes *its_journal,
                        const char *trace_name)
{
    static const char written[] =
        FUZZ_PIECE_MARK "\1\x50\0\0\1" FUZZ_PIECE_MARK "\2\x40\0\0\xff\xff\xff\xff";
    struct fuzz_bytes seed = {0}, spill = {0}, arena = {0}, trace = unfinished();
    fuzz_put_number(&seed, flags, 1);
    pack(&seed, "journal", its_journal);
    if (trace_name != NULL)
        pack(&seed, trace_name, &trace);
    put_slots(&spill);
    pack(&seed, "spill", &spill);
    put_arena(&arena);
    pack(&seed, "arena", &arena);
    if (flags & 16)
        fuzz_folder_pack(&seed, "writes", written, sizeof written - 1);
    fuzz_seed("recording", name, &seed);
}

static void seed_records(void)
{
    for (uint32_t i = 0; i < 11; i++) {
        char name[] = {'r', 'e', 'c', 'o', 'r', 'd', 's', (char)('a' + i), 0};
        struct fuzz_bytes seed = {0};
        fuzz_put_number(&seed, i * 37, 1);
        fuzz_put_number(&seed, i < 8 ? i * 9 : (i - 7) << 6,
                        1); /* rules: the last of system calls */
        fuzz_put_number(&seed, i < 8 ? 100 : 0, 2);
        put_slots(&seed);
        fuzz_seed("records", name, &seed);
    }
}

void fuzz_seed_recordings(void)
{
    static const char in_folder[] = "/elsewhere/a.ttape.recording/" FUZZ_ARENA "/arena";
    struct fuzz_bytes plain = journal(in_folder, TTAPE_CLOCK_MONOTONIC, 0, 0);
    seed_folder("plain", 0, &plain, "trace.0");
    seed_folder("removed", 8 | 64, &plain, "trace.0");
    seed_folder("as-they-are", 7, &plain, "trace.0");
    seed_folder("written-over", 16, &plain, "trace.0");
    seed_folder("trace-gone", 0, &plain, NULL);
    struct fuzz_bytes victim =
        journal("/dev/shm/" FUZZ_VICTIM "/arena", TTAPE_CLOCK_MONOTONIC, 0, 0);
    seed_folder("victim", 64, &victim, "trace.0");
    struct fuzz_bytes untimed = journal(in_folder, TTAPE_CLOCK_NONE, 0, TTAPE_NONE);
    seed_folder("untimed", 0, &untimed, NULL);
    struct fuzz_bytes separate = journal(in_folder, TTAPE_CLOCK_TSC, TTP_JOURNAL_SEPARATE, 0);
    seed_folder("separate", 0, &separate, "trace.0");
    struct fuzz_bytes live = journal(in_folder, TTAPE_CLOCK_TSC, TTP_JOURNAL_LIVE, 0);
    seed_folder("live", 0, &live, "../a.ttape");
    struct fuzz_bytes pieces = journal(in_folder, TTAPE_CLOCK_TSC, TTP_JOURNAL_PIECES, TTAPE_NONE);
    seed_folder("pieces", 0, &pieces, "trace.1");
    seed_records();
}
