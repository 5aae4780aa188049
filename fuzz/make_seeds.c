/* Makes the seed corpora: small traces of every kind, and what stands in them, each as its target
 * wants it.
 *
 *   make_seeds FOLDER VECTORS     FOLDER/<corpus>/NAME; VECTORS is spec/vectors
 *
 * The corpus `trace` serves all targets that read whole traces. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/bytes.h"
#include "format/order/raw_order.h"
#include "format/times/raw_times.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"
#include "fuzz_codec.h"
#include "fuzz_events.h"
#include "fuzz_recode.h"
#include "fuzz_seeds.h"
#include "fuzz_trace.h"

#define NAME_BYTES 32u

static const char *folder;

void fuzz_seed(const char *corpus, const char *name, const struct fuzz_bytes *bytes)
{
    char path[4096], hash[NAME_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, corpus);
    if (name == NULL)
        (void)snprintf(hash, sizeof hash, "%016llx",
                       (unsigned long long)fuzz_hash(0, bytes->data, bytes->size));
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        FUZZ_REQUIRE(!"the folder can be made");
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, corpus, name != NULL ? name : hash);
    FILE *f = fopen(path, "wb");
    FUZZ_REQUIRE(f != NULL && fwrite(bytes->data, 1, bytes->size, f) == bytes->size);
    FUZZ_REQUIRE(fclose(f) == 0);
}

static struct fuzz_bytes with_zeros(unsigned zeros, const void *data, size_t size)
{
    struct fuzz_bytes out = {0};
    for (unsigned i = 0; i < zeros; i++)
        fuzz_put_number(&out, 0, 1);
    fuzz_put(&out, data, size);
    return out;
}

/* ---- sections ---- */

static void put_section(struct fuzz_bytes *to, struct fuzz_partition *p, uint16_t kind)
{
    const struct fuzz_section *s = fuzz_section_of(p, kind);
    if (s != NULL)
        fuzz_put(to, s->content.data, s->content.size);
}

static uint32_t section_bytes(struct fuzz_partition *p, uint16_t kind)
{
    const struct fuzz_section *s = fuzz_section_of(p, kind);
    return s != NULL ? (uint32_t)s->content.size : 0;
}

/* Parameters of fuzz_codec.h for a partition of one segment without open frames. */
static struct fuzz_bytes codec_head(const struct fuzz_view *v, uint32_t first, uint32_t codes)
{
    struct fuzz_bytes out = {0};
    fuzz_put_number(&out, v->head.event_count - 1, 2);
    fuzz_put_number(&out, 0, 3); /* one segment, no frames, no symbols of frames */
    fuzz_put_number(&out, v->head.symbol_count, 2);
    fuzz_put_number(&out, first, 2);
    fuzz_put_number(&out, v->head.wide_count, 2);
    fuzz_put_number(&out, 2, 1);
    fuzz_put_number(&out, codes, 2);
    fuzz_put_number(&out, 0, 2);
    for (uint32_t i = 0; i < codes; i++)
        fuzz_put_number(&out, v->order.codes[i], 2);
    return out;
}

static void seed_codecs(struct fuzz_partition *p, const struct fuzz_view *v)
{
    static const struct {
        const char *corpus;
        uint16_t first, second;
    } forms[] = {{"order_full", TTP_SECTION_CHAIN_HEADER, TTP_SECTION_CHAIN_DATA},
                 {"order_literal", TTP_SECTION_LITERAL_HEADER, TTP_SECTION_LITERAL_DATA},
                 {"order_raw", TTP_SECTION_ORDER_RAW, 0},
                 {"times_static", TTP_SECTION_TIMES_STATIC, 0},
                 {"times_mix", TTP_SECTION_TIMES_MIX, 0},
                 {"times_raw", TTP_SECTION_TIMES_RAW, 0},
                 {"times_phase", TTP_SECTION_TIMES_PHASE, 0}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (fuzz_section_of(p, forms[i].first) == NULL)
            continue;
        struct fuzz_bytes seed =
            codec_head(v, section_bytes(p, forms[i].first), i >= 3 ? v->head.event_count : 0);
        put_section(&seed, p, forms[i].first);
        if (forms[i].second != 0)
            put_section(&seed, p, forms[i].second);
        fuzz_seed(forms[i].corpus, NULL, &seed);
    }
}

static void seed_content(const char *corpus, const struct fuzz_view *v, uint32_t codes,
                         const uint8_t *data, size_t size)
{
    struct fuzz_bytes seed = codec_head(v, (uint32_t)size, codes);
    fuzz_put(&seed, data, size);
    fuzz_seed(corpus, NULL, &seed);
}

/* The forms that our writer seldom chooses, of an order that it wrote. */
static void seed_other_forms(const struct fuzz_view *v)
{
    struct fuzz_random random = {v->head.event_count};
    struct ttp_order in = fuzz_codec_encodable(&v->order);
    uint32_t n = in.event_count;
    struct ttp_times times = {
        in.codes, in.segment_start, fuzz_take(n * sizeof(uint32_t)), NULL, n, 1, in.symbol_count, 0,
        0};
    size_t size, bound = ttp_raw_order_bound(n, in.symbol_count) + ttp_time_mix_encode_bound(n);
    struct ttp_buffer to = fuzz_buffer(bound);
    uint8_t *out = to.data;
    for (uint32_t i = 0; i < n; i++)
        times.delta[i] = in.codes[i] * 10 + fuzz_below(&random, 5);
    FUZZ_REQUIRE(ttp_raw_order_encode(&in, out, bound, &size, NULL) == TTAPE_OK);
    seed_content("order_raw", v, 0, out, size);
    FUZZ_REQUIRE(ttp_raw_times_encode(&times, out, bound, &size, NULL) == TTAPE_OK);
    seed_content("times_raw", v, n < 8 ? n : 8, out, size);
    if (ttp_time_mix_encode(&times, fuzz_workspace(ttp_time_mix_encode_workspace(n)), &to, NULL) ==
        TTAPE_OK)
        seed_content("times_mix", v, n, to.data, to.size);
    to.size = 0;
    if (n != 0 && ttp_time_phase_encode_with(&times, 2 + fuzz_below(&random, 30),
                                             fuzz_workspace(ttp_time_phase_workspace(n)), &to,
                                             NULL) == TTAPE_OK)
        seed_content("times_phase", v, n, to.data, to.size);
}

static void seed_light(struct fuzz_partition *p, const struct fuzz_view *v)
{
    struct fuzz_bytes seed = {0};
    fuzz_put_number(&seed, v->head.event_count - 1, 2);
    fuzz_put_number(&seed, v->head.segment_count - 1, 1);
    fuzz_put_number(&seed, v->head.start_frame_count, 1);
    fuzz_put_number(&seed, v->head.end_frame_count, 1);
    fuzz_put_number(&seed, v->head.resolution_ns != 0, 1);
    fuzz_put_number(&seed, (uint64_t)v->head.first_tick, 4);
    fuzz_put_number(&seed, section_bytes(p, TTP_SECTION_SEGMENTS), 2);
    fuzz_put_number(&seed, section_bytes(p, TTP_SECTION_BASES), 2);
    put_section(&seed, p, TTP_SECTION_SEGMENTS);
    put_section(&seed, p, TTP_SECTION_BASES);
    put_section(&seed, p, TTP_SECTION_EDGES);
    fuzz_seed("light", NULL, &seed);
    struct fuzz_bytes rows = {0};
    fuzz_put_number(&rows, v->head.resolution_ns != 0, 1);
    put_section(&rows, p, TTP_SECTION_SUMMARY);
    fuzz_seed("summary", NULL, &rows);
}

static void seed_values(struct fuzz_partition *p, const struct fuzz_view *v)
{
    for (uint32_t kind = TTP_SECTION_VALUES; kind <= TTP_SECTION_DEPTHS; kind++) {
        struct fuzz_bytes seed = {0};
        if (fuzz_section_of(p, (uint16_t)kind) == NULL)
            continue;
        fuzz_put_number(&seed, v->head.event_count - 1, 2);
        fuzz_put_number(&seed, kind - TTP_SECTION_VALUES, 1);
        put_section(&seed, p, (uint16_t)kind);
        fuzz_seed("values", NULL, &seed);
    }
}

static void seed_switches(struct fuzz_partition *p, const struct fuzz_view *v)
{
    struct fuzz_bytes seed = {0};
    if (fuzz_section_of(p, TTP_SECTION_SWITCHES) == NULL)
        return;
    fuzz_put_number(&seed, v->head.event_count - 1, 2);
    fuzz_put_number(&seed, v->head.segment_count - 1, 1);
    for (uint32_t i = 1; i < v->head.segment_count; i++)
        fuzz_put_number(&seed, v->segment_start[i] - v->segment_start[i - 1] - 1, 2);
    put_section(&seed, p, TTP_SECTION_SWITCHES);
    fuzz_seed("switches", NULL, &seed);
}

/* With one segment with two frames, from tick 0 to 1000: what the section says is about others. */
static void seed_instants(struct fuzz_partition *p)
{
    struct fuzz_bytes seed = {0};
    if (fuzz_section_of(p, TTP_SECTION_INSTANTS) == NULL)
        return;
    fuzz_put_number(&seed, 0, 1);
    fuzz_put_number(&seed, 2, 1);
    fuzz_put_number(&seed, 0, 2);
    fuzz_put_number(&seed, 1000, 2);
    put_section(&seed, p, TTP_SECTION_INSTANTS);
    fuzz_seed("instants", NULL, &seed);
}

/* The same of a segment of 100 events, with two frames that stay and two that it adds. */
static void seed_enters(struct fuzz_partition *p)
{
    static const uint8_t segment[] = {0, 2, 1, 1, 2, 1, 1, 99, 0, 2};
    struct fuzz_bytes seed = {0};
    if (fuzz_section_of(p, TTP_SECTION_ENTERS) == NULL)
        return;
    for (size_t i = 0; i < sizeof segment; i++)
        fuzz_put_number(&seed, segment[i], 1);
    put_section(&seed, p, TTP_SECTION_ENTERS);
    fuzz_seed("enters", NULL, &seed);
}

static void seed_single(struct fuzz_partition *p, const struct fuzz_view *v)
{
    seed_codecs(p, v);
    seed_other_forms(v);
}

/* What stands in one trace. */
static void seed_parts(const struct fuzz_bytes *trace)
{
    struct fuzz_file *file = fuzz_file_parse(trace->data, trace->size);
    struct fuzz_bytes definitions = {0};
    for (uint32_t i = 0; file != NULL && i < file->chunk_count; i++) {
        struct fuzz_chunk *chunk = &file->chunks[i];
        uint16_t kind = fuzz_chunk_kind(chunk);
        struct fuzz_view view;
        if (kind == TTP_CHUNK_SITES || kind == TTP_CHUNK_STREAMS || kind == TTP_CHUNK_PATHS ||
            kind == TTP_CHUNK_VALUE_NAMES) {
            unsigned number = kind == TTP_CHUNK_VALUE_NAMES ? 3
                              : kind == TTP_CHUNK_PATHS     ? 2
                                                            : kind == TTP_CHUNK_STREAMS;
            fuzz_put_number(&definitions, number, 1);
            fuzz_put_number(&definitions, chunk->content.size, 2);
            fuzz_put(&definitions, chunk->content.data, chunk->content.size);
        } else if (kind == TTP_CHUNK_METADATA) {
            fuzz_seed("metadata", NULL, &chunk->content);
        } else if (kind == TTP_CHUNK_INDEX && chunk->content.size > 1) {
            struct fuzz_bytes entries = {chunk->content.data + 1, chunk->content.size - 1, 0};
            fuzz_seed("index", NULL, &entries);
        } else if (kind == TTP_CHUNK_OVERVIEW) {
            fuzz_seed("overview", NULL, &chunk->content);
        } else if (chunk->partition != NULL && fuzz_view_open(chunk->partition, &view)) {
            seed_light(chunk->partition, &view);
            seed_values(chunk->partition, &view);
            seed_switches(chunk->partition, &view);
            seed_instants(chunk->partition);
            seed_enters(chunk->partition);
            if (view.has_order && view.head.segment_count == 1 && view.head.start_frame_count == 0)
                seed_single(chunk->partition, &view);
        }
    }
    if (definitions.size > 0)
        fuzz_seed("definitions", NULL, &definitions);
}

static void seed_trace(const struct fuzz_bytes *trace, const char *name)
{
    struct fuzz_bytes input = with_zeros(FUZZ_PARAMETER_BYTES, trace->data, trace->size);
    fuzz_seed("trace", name, &input);
    if (strstr(name, "program") != NULL) { /* two of them, for merge and for crossing */
        fuzz_put(&input, trace->data, trace->size);
        fuzz_seed("merge", name, &input);
    }
    seed_parts(trace);
}

/* ---- programs ---- */

static struct fuzz_bytes random_program(uint32_t number)
{
    struct fuzz_random random = {number};
    struct fuzz_bytes p = {0};
    fuzz_put_number(&p, number % 12, 1);                 /* level or literal form */
    fuzz_put_number(&p, number % 5 ? number % 7 : 0, 1); /* resolution */
    fuzz_put_number(&p, 20 + 40 * fuzz_below(&random, 5), 2);
    fuzz_put_number(&p, number % 16 == 15 ? 255 : 0, 1);
    fuzz_put_number(&p, number % 3 ? 0 : fuzz_below(&random, FUZZ_STREAMS), 1);
    fuzz_put_number(&p, 3 + fuzz_below(&random, 20), 1);
    fuzz_put_number(&p, number % 4 == 1 ? 2 : 255, 1);
    fuzz_put_number(&p, number % 4 == 2 ? 1 : 0, 1);
    fuzz_put_number(&p, 0, 7);
    bool plain = number % 4 == 0; /* calls only */
    for (uint32_t i = 30 + fuzz_below(&random, 120); i > 0; i--) {
        uint32_t what = fuzz_below(&random, plain ? 20 : 32), more = fuzz_below(&random, 40);
        what = fuzz_below(&random, 3) ? fuzz_below(&random, 2) * 9 : what;
        what |= plain ? 0 : more == 0 ? 32 : more == 1 ? 64 : more == 2 ? 128 : 0;
        fuzz_put_number(&p, what, 1);
        fuzz_put_number(&p, fuzz_below(&random, 4) ? 64 + fuzz_below(&random, 3) : 3, 1);
        fuzz_put_number(&p,
                        (what & 31) == 31         ? 1 + fuzz_below(&random, 8)
                        : fuzz_below(&random, 30) ? fuzz_below(&random, 100)
                                                  : 200 + fuzz_below(&random, 48),
                        1);
    }
    return p;
}

static void seed_programs(void)
{
    for (uint32_t i = 0; i < 48; i++) {
        char name[32];
        struct fuzz_bytes program = random_program(i), trace;
        struct fuzz_program *p = fuzz_program_make((struct fuzz_input){program.data, program.size},
                                                   FUZZ_STEPS_MAX, FUZZ_PARTITIONS);
        (void)snprintf(name, sizeof name, "program-%02u", i);
        fuzz_seed("roundtrip", name, &program);
        if (fuzz_program_write(p, &p->options, true, &trace) == TTAPE_OK)
            seed_trace(&trace, name);
        fuzz_release_all();
    }
}

/* More than one block. */
static void seed_blocks(void)
{
    struct fuzz_bytes seed = {0};
    struct fuzz_view view = {.head = {.event_count = 33000, .symbol_count = 3}};
    struct fuzz_random random = {9};
    uint32_t codes[4] = {0, 2, 3, 1}, n = view.head.event_count, start[2] = {0, n};
    view.order.codes = codes;
    uint32_t *all = fuzz_take(n * sizeof *all), *delta = fuzz_take(n * sizeof *delta);
    for (uint32_t i = 0; i < n; i++) {
        all[i] = codes[i % 4];
        delta[i] = 7 + i % 4 + (fuzz_below(&random, 64) == 0);
    }
    struct ttp_times times = {all, start, delta, NULL, n, 1, 3, 0, 0};
    struct ttp_buffer out = fuzz_buffer(ttp_time_static_encode_bound(n));
    struct ttp_workspace ws = fuzz_workspace(ttp_time_static_encode_workspace(n));
    FUZZ_REQUIRE(ttp_time_static_encode(&times, ws, &out, NULL) == TTAPE_OK);
    seed = codec_head(&view, (uint32_t)out.size, 4);
    fuzz_put(&seed, out.data, out.size);
    fuzz_seed("times_static", "blocks", &seed);
    fuzz_release_all();
}

static void seed_vectors(const char *vectors)
{
    DIR *d = opendir(vectors);
    FUZZ_REQUIRE(d != NULL);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        static uint8_t data[65536];
        char path[4096];
        const char *dot = strrchr(e->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ttape") != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", vectors, e->d_name);
        FILE *f = fopen(path, "rb");
        FUZZ_REQUIRE(f != NULL);
        struct fuzz_bytes trace = {data, fread(data, 1, sizeof data, f), 0};
        (void)fclose(f);
        seed_trace(&trace, e->d_name);
        fuzz_release_all();
    }
    (void)closedir(d);
}

/* No recorder writes spans of one interval that overlap: 600 ns and 700 ns, both from its start. */
static void seed_overlap(void)
{
    static const uint8_t bytes[] = {1, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0xD8, 4, 0xBC, 5};
    struct fuzz_bytes seed = {0};
    fuzz_put(&seed, bytes, sizeof bytes);
    fuzz_seed("switches", "overlap", &seed);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s FOLDER VECTORS\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        perror(folder);
        return 2;
    }
    seed_vectors(argv[2]);
    seed_programs();
    seed_blocks();
    seed_overlap();
    fuzz_seed_texts();
    fuzz_seed_binary();
    fuzz_seed_converters();
    fuzz_seed_recordings();
    fuzz_release_all();
    return 0;
}
