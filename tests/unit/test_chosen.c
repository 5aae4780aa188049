/* The one file of what is patched of a module: a choice with its sections is taken whole or not at
 * all. Each field that says where something is is looked at, and whatever else is changed, what is
 * taken can be read without leaving the file. */
#include <stdlib.h>
#include <string.h>

#include "recorder/runtime/decide/decide.h"
#include "tests/asserts.h"

enum { FUNCTIONS = 100, ROWS = 2, PLACES = 4, CODE = 16 };

#define MARKS_BYTES (offsetof(struct marks, names) + 16)
#define CHOICE      UINT64_C(0x1122334455667788)

static const uint8_t content[TTP_PLAN_CONTENT_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

/* One copy of an inlined function, of five bytes. */
struct copies {
    struct ttp_patch_head head;
    struct ttp_patch_function function;
    struct ttp_patch_probe probe;
    uint8_t bytes[CODE];
};

struct values {
    struct ttp_values_head head;
    struct ttp_values_row rows[ROWS];
    struct ttp_value_place places[PLACES];
};

struct marks {
    struct ttp_marks_head head;
    struct ttp_mark_value values[PLACES];
    struct ttp_marks_row rows[ROWS];
    char names[16];
};

struct file {
    struct ttp_chosen_head head;
    uint64_t bits[(FUNCTIONS + 63) / 64];
    struct copies inlined;
    struct values values;
    struct marks marks;
};

static struct copies make_copies(void)
{
    struct copies c = {.head = {.magic = TTP_INLINED_MAGIC,
                                .version = TTP_PATCH_VERSION,
                                .head_bytes = sizeof c.head,
                                .machine = 62,
                                .function_count = 1,
                                .probe_count = 1,
                                .code_start = 0x1000,
                                .code_end = 0x2000,
                                .functions_at = offsetof(struct copies, function),
                                .probes_at = offsetof(struct copies, probe),
                                .fixups_at = offsetof(struct copies, bytes),
                                .bytes_at = offsetof(struct copies, bytes),
                                .byte_count = CODE,
                                .total_bytes = sizeof c},
                       .function = {.start = 0x1801, .end = 0x1806, .probe_count = 1},
                       .probe = {.window = 0x1800,
                                 .jump = 0x1800,
                                 .window_bytes = 5,
                                 .kind = TTP_PATCH_INLINED,
                                 .after_bytes = 5,
                                 .last = 5}};
    memcpy(c.head.content, content, sizeof content);
    return c;
}

static struct file make(void)
{
    struct file f = {
        .head = {.magic = TTP_CHOSEN_MAGIC,
                 .choice = CHOICE,
                 .patch_version = TTP_PATCH_VERSION,
                 .function_count = FUNCTIONS,
                 .plan_bytes = 4711,
                 .total_bytes = sizeof f,
                 .inlined = {offsetof(struct file, inlined), sizeof f.inlined},
                 .values = {offsetof(struct file, values), sizeof f.values},
                 .marks = {offsetof(struct file, marks), MARKS_BYTES}},
        .bits = {5, 1},
        .inlined = make_copies(),
        .values = {.head = {.at = offsetof(struct file, values),
                            .row_count = ROWS,
                            .place_count = PLACES},
                   .rows = {{.start = 0x1100, .first = 0, .given = 2},
                            {.start = 0x1200, .first = 2, .returned = 1}}},
        .marks = {.head = {.row_count = ROWS, .value_count = PLACES, .name_bytes = 16},
                  .rows = {{.address = 0x1100, .value_count = 3},
                           {.address = 0x1101, .first = 3, .name = 8, .value_count = 1}},
                  .names = "ours:aa\0ours:bb"}};
    memcpy(f.head.content, content, sizeof content);
    return f;
}

/* Reads all that a choice says, as who takes it does. */
static uint64_t read_all(const struct ttp_chosen_head *head)
{
    const uint64_t *bits = (const uint64_t *)(head + 1);
    const struct ttp_patch_head *copies = ttp_chosen_inlined(head);
    const struct ttp_values_head *values = ttp_chosen_values(head);
    const struct ttp_marks_head *marks = ttp_chosen_marks(head);
    uint64_t sum = 0;
    for (uint32_t i = 0; marks != NULL && i < marks->row_count; i++) {
        const struct ttp_marks_row *row = &ttp_marks_rows(marks)[i];
        for (uint32_t k = 0; k < row->value_count; k++)
            sum += ttp_marks_values(marks)[row->first + k].kind;
        sum += strlen(ttp_marks_names(marks) + row->name) > 4096;
    }
    for (uint64_t i = 0; i < ttp_chosen_bits_bytes(head->function_count) / 8; i++)
        sum += bits[i];
    if (copies != NULL) {
        const struct ttp_patch_probe *probes = ttp_plan_at(copies, copies->probes_at);
        const uint8_t *bytes = ttp_plan_at(copies, copies->bytes_at);
        for (uint32_t i = 0; i < copies->probe_count; i++)
            for (uint32_t k = 0; probes[i].reason == TTP_PATCH_CAN &&
                                 k < (uint32_t)probes[i].window_bytes + probes[i].after_bytes;
                 k++)
                sum += bytes[probes[i].bytes + k];
    }
    if (values != NULL) {
        const struct ttp_values_row *rows = (const struct ttp_values_row *)(values + 1);
        const struct ttp_value_place *places =
            (const struct ttp_value_place *)(rows + values->row_count);
        ck_assert_ptr_eq(ttp_values_chosen(values), head);
        for (uint32_t i = 0; i < values->row_count; i++)
            for (uint32_t k = 0; k < (uint32_t)rows[i].given + rows[i].returned; k++)
                sum += places[rows[i].first + k].at;
    }
    return sum;
}

/* The copy ends where the file does, so that a sanitizer sees a byte more. */
static bool is_taken(const void *bytes, size_t size_bytes)
{
    void *copy = malloc(size_bytes > 0 ? size_bytes : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size_bytes);
    bool is_good = ttp_chosen_check(copy, size_bytes, CHOICE, content);
    if (is_good)
        (void)read_all(copy);
    free(copy);
    return is_good;
}

START_TEST(a_choice_is_taken_with_and_without_sections)
{
    struct file f = make();
    ck_assert(is_taken(&f, sizeof f));
    ck_assert_uint_eq(read_all(&f.head), 6);
    f.head.values = (struct ttp_chosen_section){0};
    ck_assert(is_taken(&f, sizeof f));
    f.head.marks = (struct ttp_chosen_section){0};
    ck_assert(is_taken(&f, sizeof f));
    ck_assert_ptr_null(ttp_chosen_marks(&f.head));
    ck_assert_ptr_null(ttp_chosen_values(&f.head));
    f.head.inlined = (struct ttp_chosen_section){0};
    f.head.total_bytes = offsetof(struct file, inlined);
    ck_assert(is_taken(&f, offsetof(struct file, inlined)));
    f.head.function_count = 0;
    f.head.flags = TTP_CHOSEN_NONE;
    f.head.total_bytes = sizeof f.head;
    ck_assert(is_taken(&f, sizeof f.head));
}
END_TEST

START_TEST(a_part_of_a_choice_is_none)
{
    struct file f = make();
    for (size_t size = 0; size < sizeof f; size++) {
        ck_assert(!is_taken(&f, size));
        f.head.total_bytes = size; /* whatever it says of itself */
        ck_assert(!is_taken(&f, size));
        f.head.total_bytes = sizeof f;
    }
}
END_TEST

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        struct file f = make();                                                                    \
        change;                                                                                    \
        ck_assert_msg(!is_taken(&f, sizeof f), #change);                                           \
    } while (0)

START_TEST(what_a_choice_says_is_looked_at)
{
    REFUSED(f.head.magic++);
    REFUSED(f.head.choice++);
    REFUSED(f.head.patch_version++);
    REFUSED(f.head.content[15]++);
    REFUSED(f.head.function_count = UINT32_MAX);
    REFUSED(f.head.inlined.at += 4);
    REFUSED(f.head.inlined.at = 8);
    REFUSED(f.head.inlined.at = UINT64_MAX - 7);
    REFUSED(f.head.inlined.bytes--);
    REFUSED(f.head.inlined.bytes = UINT64_MAX);
    REFUSED(f.head.values.bytes += 8);
    REFUSED(f.head.values.at -= 8);
    REFUSED(f.values.head.at -= 8);
    REFUSED(f.values.head.row_count++);
    REFUSED(f.values.head.place_count--);
    REFUSED(f.values.rows[1].start = f.values.rows[0].start);
    REFUSED(f.values.rows[1].first = PLACES);
    REFUSED(f.values.rows[0].given = TTP_VALUES_MAX + 1);
    REFUSED(f.head.marks.bytes--);
    REFUSED(f.head.marks.at += 8);
    REFUSED(f.marks.head.row_count++);
    REFUSED(f.marks.head.value_count--);
    REFUSED(f.marks.head.name_bytes++);
    REFUSED(f.marks.rows[1].address = f.marks.rows[0].address);
    REFUSED(f.marks.rows[0].value_count = TTP_MARK_VALUES_MAX + 1);
    REFUSED(f.marks.rows[1].first = PLACES);
    REFUSED(f.marks.rows[1].name = 16);
    REFUSED(f.marks.names[15] = 'x');
    REFUSED(f.marks.values[3].size_bytes = 9);
    REFUSED((f.inlined.probe.kind = TTP_PATCH_MARK, f.head.marks.bytes = 0));
    REFUSED(f.inlined.head.magic = TTP_PATCH_MAGIC);
    REFUSED(f.inlined.head.content[0]++);
    REFUSED(f.inlined.head.bytes_at += 8);
    REFUSED(f.inlined.probe.kind = TTP_PATCH_ENTRY);
    REFUSED(f.inlined.probe.bytes = 7);
    REFUSED(f.inlined.probe.window = 0x1ffc);
}
END_TEST

START_TEST(each_bit_may_be_another_one)
{
    uint64_t taken = 0;
    for (size_t bit = 0; bit < 8 * sizeof(struct file); bit++) {
        struct file f = make();
        ((uint8_t *)&f)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        taken += is_taken(&f, sizeof f);
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chosen");
    TCase *tests = tcase_create("chosen");
    tcase_add_test(tests, a_choice_is_taken_with_and_without_sections);
    tcase_add_test(tests, a_part_of_a_choice_is_none);
    tcase_add_test(tests, what_a_choice_says_is_looked_at);
    tcase_add_test(tests, each_bit_may_be_another_one);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
