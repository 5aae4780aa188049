/* The enters section: of our writer, and broken in partition 1 of the base trace. There main stays
 * open in stream 0, above which two frames end; in stream 1 work ends, and main begins with the
 * second event. */
#include "format/base/coder.h"
#include "invalid_vectors.h"

struct enters {
    struct ttp_number_model left, above, enter;
    struct ttp_encoder e;
    uint8_t room[256];
};

static void put(struct ttest_file *file, const uint64_t numbers[5], bool is_cut)
{
    struct enters s;
    ttp_number_init(&s.left);
    ttp_number_init(&s.above);
    ttp_number_init(&s.enter);
    s.e = ttp_encoder_init(s.room, sizeof s.room);
    ttp_encode_number(&s.e, &s.left, numbers[0]);
    ttp_encode_number(&s.e, &s.above, numbers[1]);
    ttp_encode_number(&s.e, &s.left, numbers[2]);
    ttp_encode_number(&s.e, &s.enter, numbers[3]);
    ttp_encode_number(&s.e, &s.above, numbers[4]);
    size_t size = ttp_encoder_finish(&s.e);
    ttest_put(&ttest_insert_section(ttest_partition_of(file, 1), TTP_SECTION_ENTERS)->content,
              s.room, is_cut ? 0 : size);
}

#define ENTERS(name, is_cut, ...)                                                                  \
    static void name(struct ttest_file *file) { put(file, (uint64_t[5]){__VA_ARGS__}, is_cut); }

ENTERS(more_above, false, 1, 3, 1, 1, 0)
ENTERS(other_event, false, 1, 2, 1, 0, 0)
ENTERS(many_left, false, 3, 2, 1, 1, 0)
ENTERS(many_stay, false, 0, 2, 1, 1, 0)
ENTERS(late_event, false, 1, 2, 1, 2, 0)
ENTERS(cut, true, 1, 2, 1, 1, 0)

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break breaks[] = {
    {"ent-01-above", "F-ENT-01", C, ALL, "three frames ended where two did", more_above, NULL},
    {"ent-01-enter", "F-ENT-01", C, ALL, "a frame begins with another event", other_event, NULL},
    {"ent-02-left", "F-ENT-02", C, ALL, "three of two frames leave", many_left, NULL},
    {"ent-02-stay", "F-ENT-02", C, ALL, "two frames stay where one is open", many_stay, NULL},
    {"ent-02-event", "F-ENT-02", C, ALL, "the third event of two", late_event, NULL},
    {"ent-03-cut", "F-ENT-03", C, ALL, "all of its bytes are missing", cut, NULL},
};

void ttest_make_invalid_enters(const struct ttest_output *out)
{
    ttest_emit_breaks(out, breaks, sizeof breaks / sizeof breaks[0], true);
}

/* It is made where it is asked for alone: files of others have another minor version. */
void ttest_make_enters(const struct ttest_output *out)
{
    ttape_writer_options options = {.call_numbers = 1};
    struct ttest_trace *t = ttest_begin("enters",
                                        "enters: frames that stay, leave, begin behind others, on "
                                        "three stacks; a site of a kind to come",
                                        &options);
    uint32_t process = ttest_process(t, 100, TTAPE_NONE, "program");
    ttest_stream(t, process, 100, "main");
    ttest_stream(t, process, 101, "other");
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint32_t g = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "g");
    ttest_site(t, 0x403000, 300, "later");
    ttape_event open = {.time_ns = 900, .kind = TTAPE_EVENT_OPEN, .site = f, .depth = TTEST_AUTO};
    ttest_event(t, 0, &open);
    ttest_enter(t, 0, 1000, g);
    ttest_exit(t, 0, 1100, g);
    ttest_enter(t, 0, 1200, g);
    ttest_enter(t, 1, 1250, f);
    ttest_special(t, 0, 1300, TTAPE_EVENT_SWITCH, 7);
    ttest_enter(t, 0, 1400, f);
    ttest_flush(t);
    for (uint32_t i = 0; i < 3; i++) {
        ttest_enter(t, 0, 2000 + 100 * i, g);
        ttest_exit(t, 0, 2050 + 100 * i, g);
    }
    ttest_special(t, 0, 2500, TTAPE_EVENT_SIGNAL_BEGIN, 14);
    ttest_special(t, 0, 2600, TTAPE_EVENT_SWITCH, 0);
    ttest_exit(t, 0, 2700, g);
    ttest_enter(t, 0, 2800, f);
    ttest_special(t, 0, 2900, TTAPE_EVENT_SWITCH, 3);
    ttest_enter(t, 0, 2950, f);
    ttest_flush(t);
    ttest_special(t, 0, 3000, TTAPE_EVENT_SWITCH, 7);
    ttest_special(t, 0, 3100, TTAPE_EVENT_UNWIND, 2);
    ttest_special(t, 0, 3200, TTAPE_EVENT_SWITCH, 0);
    ttest_enter(t, 0, 3250, g);
    ttest_flush(t);
    ttest_exit(t, 0, 3300, g);
    ttest_exit(t, 0, 3400, f);
    ttest_exit(t, 1, 3500, f);
    ttest_emit_trace(out, t);
}
