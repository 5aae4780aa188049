/* Static probes: what notes say, and where values are. Whatever the bytes, nothing is read beyond
 * them; what is not understood is a value that is not known, and what is no note is no mark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/binary/marks/marks.h"
#include "tests/asserts.h"

#define COUNTER UINT64_C(0x4010)

static bool find(void *context, ttape_string name, uint64_t *address)
{
    (void)context;
    *address = COUNTER;
    return name.size_bytes == 7 && memcmp(name.data, "counter", 7) == 0;
}

static uint32_t parse(const char *text, struct ttp_mark_value values[TTP_MARK_VALUES_MAX])
{
    size_t size = strlen(text);
    char *copy = malloc(size > 0 ? size : 1); /* ends where it ends */
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    uint32_t count = tool_mark_values((ttape_string){copy, size}, find, NULL, values);
    free(copy);
    return count;
}

static const struct {
    const char *text;
    struct ttp_mark_value value;
} known[] = {
    {"4@%ebx", {0, TTP_MARK_REGISTER, TTAPE_VALUE_UNSIGNED, 4, TTP_MARK_RBX, 0, 0, 0, 0}},
    {"-1@%ah", {0, TTP_MARK_REGISTER, TTAPE_VALUE_SIGNED, 1, TTP_MARK_RAX, 0, 0, 8, 0}},
    {"-2@%r15w", {0, TTP_MARK_REGISTER, TTAPE_VALUE_SIGNED, 2, 15, 0, 0, 0, 0}},
    {"8@%rbp", {0, TTP_MARK_REGISTER, TTAPE_VALUE_UNSIGNED, 8, TTP_MARK_RBP, 0, 0, 0, 0}},
    {"1@%sil", {0, TTP_MARK_REGISTER, TTAPE_VALUE_UNSIGNED, 1, TTP_MARK_RSI, 0, 0, 0, 0}},
    {"8f@%xmm13", {0, TTP_MARK_REGISTER, TTAPE_VALUE_FLOAT, 8, TTP_MARK_XMM + 13, 0, 0, 0, 0}},
    {"-4@$-5", {-5, TTP_MARK_NUMBER, TTAPE_VALUE_SIGNED, 4, 0, 0, 0, 0, 0}},
    {"8@$0xffffffffffffffff", {-1, TTP_MARK_NUMBER, TTAPE_VALUE_UNSIGNED, 8, 0, 0, 0, 0, 0}},
    {"8@$counter+8", {COUNTER + 8, TTP_MARK_ADDRESS, TTAPE_VALUE_UNSIGNED, 8, 0, 0, 0, 0, 0}},
    {"8@-16(%rbp)", {-16, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 8, TTP_MARK_RBP, 33, 1, 0, 0}},
    {"4@(%rax)", {0, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 4, TTP_MARK_RAX, 33, 1, 0, 0}},
    {"4@8+4(%rax,%r9,8)", {12, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 4, 0, 9, 8, 0, 0}},
    {"4@64(,%rbx,4)", {64, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 4, 33, 3, 4, 0, 0}},
    {"4@counter-4(%rip)",
     {COUNTER - 4, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 4, TTP_MARK_RIP, 33, 1, 0, 0}},
    {"-8@counter", {COUNTER, TTP_MARK_MEMORY, TTAPE_VALUE_SIGNED, 8, TTP_MARK_RIP, 33, 0, 0, 0}},
    {"%rdi", {0, TTP_MARK_REGISTER, TTAPE_VALUE_UNSIGNED, 8, TTP_MARK_RDI, 0, 0, 0, 0}},
    {"8(%rdi)", {8, TTP_MARK_MEMORY, TTAPE_VALUE_UNSIGNED, 8, TTP_MARK_RDI, 33, 1, 0, 0}},
};

START_TEST(values_are_where_the_compiler_had_them)
{
    struct ttp_mark_value values[TTP_MARK_VALUES_MAX];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_msg(parse(known[i].text, values) == 1, "%s", known[i].text);
        ck_assert_msg(memcmp(&values[0], &known[i].value, sizeof values[0]) == 0, "%s",
                      known[i].text);
    }
}
END_TEST

START_TEST(what_is_not_understood_is_not_known)
{
    static const char *const texts[] = {"4@",          "4@%",           "4@%zmm1",
                                        "4@%r16",      "4@%r7d",        "4@%st",
                                        "3@%eax",      "16@%rax",       "1f@%xmm0",
                                        "4@$",         "4@$other",      "4@other(%rip)",
                                        "4@8",         "4@8(%eax)",     "4@(%xmm1)",
                                        "4@(%rax,2)",  "4@(%rax",       "4@(%rax,%rbx,3)",
                                        "4@8(%rip)",   "4@(%rax,%rsp)", "4@%eax,",
                                        "4@--8(%rax)", "4@%fs:8",       "4@$99999999999999999999",
                                        "-",           "4@$-counter",   "4@counter+counter",
                                        "4@(%ah)",     "4@%rip",        "4@$5x"};
    struct ttp_mark_value values[TTP_MARK_VALUES_MAX];
    static const struct ttp_mark_value unknown = {.kind = TTP_MARK_UNKNOWN};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_msg(parse(texts[i], values) == 1, "%s", texts[i]);
        ck_assert_msg(memcmp(&values[0], &unknown, sizeof unknown) == 0, "%s", texts[i]);
    }
    ck_assert_uint_eq(parse(" 4@%zmm0  -4@%edx ", values), 2); /* the next one is */
    ck_assert_uint_eq(values[0].kind, TTP_MARK_UNKNOWN);
    ck_assert_uint_eq(values[1].base, 2);
    ck_assert_uint_eq(parse("", values), 0);
    ck_assert_uint_eq(parse("1 1 1 1 1 1 1 1 1 1 1 1 1 1", values), TTP_MARK_VALUES_MAX);
}
END_TEST

/* -- notes -- */

struct note {
    uint32_t owner_bytes, bytes, type;
    char owner[8];
    uint32_t numbers[6]; /* low and high half of each address */
    char texts[24];
};

struct taken {
    uint32_t count, address, semaphore;
    size_t bytes;
};

static void take(void *context, const struct tool_mark *mark)
{
    struct taken *taken = context;
    taken->count++;
    taken->address = mark->address;
    taken->semaphore = mark->semaphore;
    taken->bytes += mark->provider.size_bytes + mark->name.size_bytes + mark->arguments.size_bytes;
    for (size_t i = 0; i < mark->arguments.size_bytes; i++)
        taken->bytes += mark->arguments.data[i] == '\0';
}

static struct note make(void)
{
    struct note note = {.owner_bytes = 8,
                        .bytes = sizeof note.numbers + sizeof note.texts,
                        .type = 3,
                        .owner = "stapsdt",
                        .numbers = {0x1100, 0, 0x2000, 0, 0x3004, 0}};
    memcpy(note.texts,
           "ours\0work\0"
           "4@%eax\0",
           18);
    return note;
}

static struct taken look(const void *bytes, size_t size, uint64_t base)
{
    struct taken taken = {.count = 0};
    uint8_t *copy = malloc(size > 0 ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size);
    tool_mark_notes(copy, size, base, take, &taken);
    free(copy);
    return taken;
}

START_TEST(notes_say_what_there_is)
{
    struct note notes[2] = {make(), make()};
    struct taken taken = look(notes, sizeof notes, 0x2000);
    ck_assert_uint_eq(taken.count, 2);
    ck_assert_uint_eq(taken.address, 0x1100);
    ck_assert_uint_eq(taken.bytes, 2 * (4 + 4 + 6));
    taken = look(notes, sizeof notes, 0x2500); /* the file has been moved since */
    ck_assert_uint_eq(taken.address, 0x1600);
    ck_assert_uint_eq(taken.semaphore, 0x3504);
    notes[0].type = 4; /* another kind of note is passed over */
    ck_assert_uint_eq(look(notes, sizeof notes, 0).count, 1);
    notes[0] = make();
    notes[0].numbers[1] = 256; /* beyond 32 bits */
    ck_assert_uint_eq(look(notes, sizeof notes, 0).count, 1);
}
END_TEST

/* Every end, every bit: no read beyond (a sanitizer sees it), and no more marks than there are. */
START_TEST(damaged_notes_are_read_within_bounds)
{
    struct note notes[2] = {make(), make()};
    for (size_t size = 0; size <= sizeof notes; size++)
        ck_assert_uint_le(look(notes, size, 0x2000).count, size / sizeof *notes);
    for (size_t bit = 0; bit < 8 * sizeof notes; bit++) {
        uint8_t *bytes = (uint8_t *)notes;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_uint_le(look(notes, sizeof notes, 0x2000).count, 2);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("marks");
    TCase *tests = tcase_create("marks");
    tcase_add_test(tests, values_are_where_the_compiler_had_them);
    tcase_add_test(tests, what_is_not_understood_is_not_known);
    tcase_add_test(tests, notes_say_what_there_is);
    tcase_add_test(tests, damaged_notes_are_read_within_bounds);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
