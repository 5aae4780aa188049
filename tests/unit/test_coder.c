/* Numbers of the adaptive coder: what was written is read; and of any bytes whatever, the decoder
 * says what one says that goes bit by bit, as the specification tells it, to the last model. */
#include <string.h>

#include "format/base/coder.h"
#include "tests/asserts.h"

#define BYTES 512u

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* F-COD: length in ones, then the bits below the leading one, from the highest on. */
static uint64_t plain_number(struct ttp_decoder *d, struct ttp_number_model *m)
{
    unsigned length = 0;
    while (length < 63 && ttp_decode_bit(d, &m->length[length]) != 0)
        length++;
    uint64_t prefix = 1;
    for (unsigned i = length; i-- > 0;) {
        unsigned context = length < 4 ? (1u << length) + (unsigned)(prefix & 7)
                                      : 16 + 2 * length + (i == length - 1);
        prefix = prefix << 1 | ttp_decode_bit(d, &m->bits[context]);
    }
    return prefix - 1;
}

static int64_t plain_signed(struct ttp_decoder *d, struct ttp_signed_model *m)
{
    if (ttp_decode_bit(d, &m->least) != 0)
        return INT64_MIN;
    uint64_t v = plain_number(d, &m->zigzag);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* So many numbers of these bytes, and beyond their end. */
static void compare(const uint8_t *bytes, size_t size_bytes)
{
    struct ttp_decoder d = ttp_decoder_init(bytes, size_bytes), plain = d;
    struct ttp_number_model number, plain_of_number;
    struct ttp_signed_model with_sign, plain_with_sign;
    ttp_number_init(&number);
    ttp_signed_init(&with_sign);
    plain_of_number = number;
    plain_with_sign = with_sign;
    for (unsigned i = 0; i < 150; i++) {
        if ((draw() & 1) != 0)
            ck_assert_uint_eq(ttp_decode_number(&d, &number),
                              plain_number(&plain, &plain_of_number));
        else
            ck_assert_int_eq(ttp_decode_signed(&d, &with_sign),
                             plain_signed(&plain, &plain_with_sign));
        ck_assert_uint_eq(d.lo, plain.lo);
        ck_assert_uint_eq(d.hi, plain.hi);
        ck_assert_uint_eq(d.code, plain.code);
        ck_assert_uint_eq(d.past_end, plain.past_end);
        ck_assert_ptr_eq(d.at, plain.at);
    }
    ck_assert_int_eq(memcmp(&number, &plain_of_number, sizeof number), 0);
    ck_assert_int_eq(memcmp(&with_sign, &plain_with_sign, sizeof with_sign), 0);
}

START_TEST(any_bytes_decode_as_bit_by_bit)
{
    uint8_t bytes[BYTES];
    for (unsigned round = 0; round < 4000; round++) {
        size_t size = draw() % BYTES;
        uint8_t mask = (uint8_t)(draw() & draw());
        for (size_t i = 0; i < size; i++)
            bytes[i] = round % 4 == 0   ? 0
                       : round % 4 == 1 ? 255
                       : round % 4 == 2 ? (uint8_t)draw() & mask
                                        : (uint8_t)draw() | mask;
        compare(bytes, size);
    }
}
END_TEST

static uint64_t some_number(unsigned i)
{
    return i % 3 == 0 ? UINT64_MAX - 1 - (i & 1) : draw() >> (1 + draw() % 63);
}

START_TEST(what_was_written_is_read)
{
    static uint8_t bytes[64 * 1024];
    static uint64_t numbers[2000];
    struct ttp_number_model model;
    struct ttp_signed_model with_sign;
    struct ttp_encoder e = ttp_encoder_init(bytes, sizeof bytes);
    ttp_number_init(&model);
    ttp_signed_init(&with_sign);
    for (unsigned i = 0; i < 2000; i++) {
        numbers[i] = some_number(i);
        ttp_encode_number(&e, &model, numbers[i]);
        ttp_encode_signed(&e, &with_sign, i % 7 == 0 ? INT64_MIN : (int64_t)numbers[i]);
    }
    size_t size = ttp_encoder_finish(&e);
    ck_assert_uint_ne(size, 0);
    struct ttp_decoder d = ttp_decoder_init(bytes, size);
    ttp_number_init(&model);
    ttp_signed_init(&with_sign);
    for (unsigned i = 0; i < 2000; i++) {
        ck_assert_uint_eq(ttp_decode_number(&d, &model), numbers[i]);
        ck_assert_int_eq(ttp_decode_signed(&d, &with_sign),
                         i % 7 == 0 ? INT64_MIN : (int64_t)numbers[i]);
    }
    ck_assert(!ttp_decoder_cut(&d));
    compare(bytes, size);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coder");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, any_bytes_decode_as_bit_by_bit);
    tcase_add_test(tests, what_was_written_is_read);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
