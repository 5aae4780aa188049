/* Broken merged instants, of the base trace's two partitions, which have instants. Stream 0 has a
 * segment from tick 1000 to 1015 and one up to 1045, stream 1 one at 1016 and one up to 1060: of
 * multiples of 2^40 ticks there are none. */
#include <string.h>

#include "format/container/measures/overview.h"
#include "format/levels/merged_model.h"
#include "invalid_vectors.h"

struct field {
    struct ttp_instant_model model;
    struct ttp_merged_model series;
    struct ttp_encoder e;
    uint8_t room[256];
};

static void untold(struct field *f, uint32_t segments)
{
    ttp_encode_number(&f->e, &f->series.untold, segments);
}

static void head(struct field *f, uint32_t exponent, int64_t first, uint32_t count, uint32_t height)
{
    untold(f, 0);
    ttp_encode_number(&f->e, &f->model.exponent, exponent);
    ttp_encode_signed(&f->e, &f->series.first, first);
    ttp_encode_number(&f->e, &f->series.count, count);
    ttp_encode_number(&f->e, &f->series.height, height);
}

static void frame(struct field *f, uint32_t rank, int64_t argument)
{
    ttp_encode_number(&f->e, &f->model.rank, rank);
    ttp_encode_bit(&f->e, &f->model.is_signal, 0);
    ttp_encode_signed(&f->e, &f->model.argument, argument);
}

static void end(struct field *f, bool gap, uint32_t left, uint64_t added)
{
    ttp_encode_bit(&f->e, &f->model.has_gap, gap);
    ttp_encode_number(&f->e, &f->model.left, left);
    ttp_encode_number(&f->e, &f->model.added, added);
}

/* In place of the one that the file has. Of stream 1 nothing is told. */
static void put(struct ttest_file *file, void (*say)(struct field *f), size_t less)
{
    struct ttest_bytes *content = &ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 0)->content;
    struct ttp_overview o;
    struct field f = {.e = {0}};
    uint8_t start[TTP_OVERVIEW_HEAD_BOUND];
    ttest_require(ttp_overview_open(content->data, content->size, &o, NULL) == TTAPE_OK &&
                      o.fields[TTP_OVERVIEW_INSTANTS].data != NULL,
                  "the base's overview has instants");
    ttp_instant_model_init(&f.model);
    ttp_merged_model_init(&f.series);
    f.e = ttp_encoder_init(f.room, sizeof f.room);
    say(&f);
    untold(&f, 2);
    size_t size = ttp_encoder_finish(&f.e) - less, before = 0;
    before = ttp_overview_field_write(TTP_OVERVIEW_INSTANTS,
                                      o.fields[TTP_OVERVIEW_INSTANTS].size_bytes, start);
    content->size -= before + o.fields[TTP_OVERVIEW_INSTANTS].size_bytes;
    ttest_put(content, start, ttp_overview_field_write(TTP_OVERVIEW_INSTANTS, size, start));
    ttest_put(content, f.room, size);
}

#define INSTANTS(name, less, statements)                                                           \
    static void say_##name(struct field *f) { statements; }                                        \
    static void name(struct ttest_file *file) { put(file, say_##name, less); }

/* main goes on, work ended and a gap is there */
INSTANTS(many_untold, 0, untold(f, 3))
INSTANTS(large_exponent, 0, (head(f, 64, 1, 0, 0), end(f, true, 0, 1)))
INSTANTS(far_tick, 0, (head(f, 40, INT64_C(1) << 23, 1, 0), end(f, true, 0, 1)))
INSTANTS(large_stack, 0, (head(f, 40, 1, 0, 0), end(f, true, 0, UINT64_C(1) << 32)))
INSTANTS(other_end, 0, (head(f, 40, 1, 0, 0), end(f, true, 0, 2)))
INSTANTS(no_gap, 0, (head(f, 40, 1, 0, 0), end(f, false, 0, 1)))
INSTANTS(other_first, 0, (head(f, 40, 2, 0, 0), end(f, true, 0, 1)))
INSTANTS(other_start, 0, (head(f, 40, 1, 0, 1), frame(f, 0, 1), end(f, true, 0, 0)))
INSTANTS(many_left, 0, (head(f, 40, 1, 0, 0), end(f, true, 1, 1)))
INSTANTS(large_rank, 0, (head(f, 40, 1, 0, 1), frame(f, 1, 1), end(f, true, 0, 0)))
INSTANTS(many_frames, 0, head(f, 40, 1, 0, TTP_INSTANT_FRAMES_MOST + 1))
INSTANTS(many_instants, 0, head(f, 1, 0, TTP_INSTANTS_MOST + 1, 0))
INSTANTS(too_fine, 0, (head(f, 0, 0, 0, 0), end(f, true, 0, 1)))
INSTANTS(cut, 12,
         (head(f, 40, 1, 0, 5), frame(f, 0, 0x12345678), frame(f, 0, 0x35791357),
          frame(f, 0, -0x31415926), frame(f, 0, 0x27182818), frame(f, 0, -0x16180339),
          end(f, true, 1, 1)))

static void section_missing(struct ttest_file *file)
{
    ttest_drop_section(ttest_partition_of(file, 1), TTP_SECTION_INSTANTS);
}

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break breaks[] = {
    {"ovr-13-cut", "F-OVR-13", C, ALL, "twelve bytes are missing", cut, NULL},
    {"ovr-13-untold", "F-OVR-13", C, ALL, "three of two segments are not told of", many_untold,
     NULL},
    {"ovr-13-exponent", "F-OVR-13", C, ALL, "an exponent of 64", large_exponent, NULL},
    {"ovr-13-tick", "F-OVR-13", C, ALL, "an instant at tick 2^63", far_tick, NULL},
    {"ovr-13-stack", "F-OVR-13", C, ALL, "2^32 frames at the end", large_stack, NULL},
    {"ovr-13-end", "F-OVR-13", C, ALL, "another frame at the end", other_end, NULL},
    {"ovr-13-gap", "F-OVR-13", C, ALL, "a gap is missing", no_gap, NULL},
    {"ovr-13-first", "F-OVR-13", C, ALL, "another first instant", other_first, NULL},
    {"ovr-13-start", "F-OVR-13", C, ALL, "a start frame that is not there", other_start, NULL},
    {"ovr-13-left", "F-INS-03", C, ALL, "F-OVR-13: one of no frames leaves", many_left, NULL},
    {"ovr-13-rank", "F-INS-05", C, ALL, "F-OVR-13: the second frame of none", large_rank, NULL},
    {"ovr-14-frames", "F-INS-04", C, ALL, "F-OVR-14: 65,537 frames at once", many_frames, NULL},
    {"ovr-14-instants", "F-OVR-14", C, ALL, "4,097 instants", many_instants, NULL},
    {"ovr-14-fine", "F-OVR-14", C, ALL, "each tick, which partitions do not tell", too_fine, NULL},
    {"ovr-14-section", "F-OVR-14", C, ALL, "a partition that tells nothing", section_missing, NULL},
};

void ttest_make_invalid_merged(const struct ttest_output *out)
{
    ttest_emit_breaks_of(out, breaks, sizeof breaks / sizeof breaks[0], ttest_base_instants);
}
