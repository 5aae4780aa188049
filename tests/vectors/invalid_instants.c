/* Broken instants of partition 1: of the segment of stream 0, from tick 1015 to 1045, where main
 * and work are open, work ends at 1020 and a gap stands at 1025. Of multiples of 32 it has one. */
#include "format/levels/instants.h"
#include "format/levels/instants_model.h"
#include "invalid_vectors.h"

struct instants {
    struct ttp_instant_model model;
    struct ttp_encoder e;
    uint8_t room[256];
};

static void instant(struct instants *s, bool gap, uint32_t left)
{
    ttp_encode_bit(&s->e, &s->model.has_gap, gap);
    ttp_encode_number(&s->e, &s->model.left, left);
}

static void added(struct instants *s, uint32_t count)
{
    ttp_encode_number(&s->e, &s->model.added, count);
}

static void frame(struct instants *s, uint32_t rank, int64_t argument)
{
    ttp_encode_number(&s->e, &s->model.rank, rank);
    ttp_encode_bit(&s->e, &s->model.is_signal, 0);
    ttp_encode_signed(&s->e, &s->model.argument, argument);
}

/* Of the second segment nothing is told. */
static void put(struct ttest_file *file, uint32_t exponent, void (*say)(struct instants *s),
                size_t less)
{
    struct instants s;
    ttp_instant_model_init(&s.model);
    s.e = ttp_encoder_init(s.room, sizeof s.room);
    ttp_encode_number(&s.e, &s.model.exponent, exponent);
    say(&s);
    ttp_encode_number(&s.e, &s.model.exponent, 0);
    size_t size = ttp_encoder_finish(&s.e);
    ttest_put(&ttest_insert_section(ttest_partition_of(file, 1), TTP_SECTION_INSTANTS)->content,
              s.room, size - less);
}

#define INSTANTS(name, exponent, less, statements)                                                 \
    static void say_##name(struct instants *s) { statements; }                                     \
    static void name(struct ttest_file *file) { put(file, exponent, say_##name, less); }

INSTANTS(large_exponent, 66, 0, instant(s, true, 1))
INSTANTS(no_gap, 41, 0, instant(s, false, 1))
INSTANTS(none_left, 41, 0, instant(s, true, 0))
INSTANTS(other_frame, 6, 0,
         (instant(s, false, 1), added(s, 1), frame(s, 0, 1), instant(s, true, 1)))
INSTANTS(many_left, 41, 0, instant(s, true, 9))
INSTANTS(many_frames, 6, 0, (instant(s, false, 1), added(s, TTP_INSTANT_FRAMES_MOST + 1)))
INSTANTS(large_rank, 6, 0, (instant(s, false, 1), added(s, 1), frame(s, 1, 1)))
INSTANTS(no_site, 6, 0, (instant(s, false, 1), added(s, 1), frame(s, 0, -1)))
INSTANTS(cut, 6, 12,
         (instant(s, false, 1), added(s, 5), frame(s, 0, 0x12345678), frame(s, 0, 0x35791357),
          frame(s, 0, -0x31415926), frame(s, 0, 0x27182818), frame(s, 0, -0x16180339),
          instant(s, true, 1)))

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break breaks[] = {
    {"ins-01-cut", "F-INS-01", C, ALL, "twelve bytes are missing", cut, NULL},
    {"ins-02-exponent", "F-INS-02", C, ALL, "an exponent of 66", large_exponent, NULL},
    {"ins-02-gap", "F-INS-02", C, ALL, "a gap is missing", no_gap, NULL},
    {"ins-02-left", "F-INS-02", C, ALL, "a frame did not stay", none_left, NULL},
    {"ins-02-frame", "F-INS-02", C, ALL, "a frame that is not there", other_frame, NULL},
    {"ins-03-left", "F-INS-03", C, ALL, "nine of two frames leave", many_left, NULL},
    {"ins-04-frames", "F-INS-04", C, ALL, "65,537 frames at once", many_frames, NULL},
    {"ins-05-rank", "F-INS-05", C, ALL, "the second frame of none", large_rank, NULL},
    {"ins-05-argument", "F-INS-05", C, ALL, "site -1", no_site, NULL},
};

void ttest_make_invalid_instants(const struct ttest_output *out)
{
    ttest_emit_breaks(out, breaks, sizeof breaks / sizeof breaks[0], true);
}
