/* Full-form order codec: records of function values and of chains share a table, so that where two
 * contexts have the same hash, one finds what the other was taught. What is found may be no value
 * and no chain at all: encoder and decoder have to treat it alike, and bytes that follow it are
 * refused. */
#include <stdlib.h>
#include <string.h>

#include "format/chain/chain_token.h"
#include "tests/asserts.h"

#define SYMBOLS 300u
#define KNOWN   2u
#define FRAME   1u
#define ROOM    4096u

struct side {
    struct ttp_chain_coder coder;
    struct ttp_chain_context context;
    struct ttp_chain_choice choice;
    struct ttp_symbol symbols[SYMBOLS];
    void *model;
};

static uint8_t streams[2][ROOM];
static size_t lengths[2];

static void start(struct side *s, uint32_t known, bool defining)
{
    struct ttp_chain_sizes sizes = ttp_chain_sizes_for(1000, SYMBOLS);
    memset(s, 0xff, sizeof *s);
    memset(&s->coder, 0, sizeof s->coder);
    s->model = malloc(ttp_chain_model_bytes(&sizes));
    s->coder.view = ttp_chain_model_init(s->model, &sizes);
    s->coder.view.model->symbol_count = known;
    s->coder.symbols = s->symbols;
    s->coder.symbol_capacity = SYMBOLS;
    for (uint32_t i = 0; i < known; i++)
        s->symbols[i] = (struct ttp_symbol){i, TTP_CLASS_ENTER};
    ttp_chain_context_init(&s->context, FRAME, 0, defining);
}

/* As if another context of the same hash had been taught it. */
static void teach(struct side *s, uint32_t hash, uint32_t next)
{
    for (uint32_t i = 0; i < 3; i++)
        ttp_chain_update(s->coder.view.functions, s->coder.view.model->function_bits, hash, next);
}

static void start_encoder(struct side *s)
{
    for (uint32_t i = 0; i < 2; i++)
        s->coder.port[i].enc = ttp_encoder_init(streams[i], ROOM);
}

static void finish_encoder(struct side *s)
{
    for (uint32_t i = 0; i < 2; i++)
        lengths[i] = ttp_encoder_finish(&s->coder.port[i].enc);
    free(s->model);
}

static void start_decoder(struct side *s)
{
    for (uint32_t i = 0; i < 2; i++)
        s->coder.port[i].dec = ttp_decoder_init(streams[i], lengths[i]);
    s->choice.token = s->choice.value = 0;
}

static uint32_t step_hash(void) { return ttp_chain_hash(FRAME + (4u << 24), 0, 0); }

/* A symbol that is new is coded where a step offers `offered`; its class is `offered_class`, which
 * only the encoder knows. */
static void new_symbol_where(uint32_t offered, uint8_t offered_class)
{
    struct side in, out;
    start(&in, KNOWN, true);
    for (uint32_t i = KNOWN; i < SYMBOLS; i++)
        in.symbols[i] = (struct ttp_symbol){i, TTP_CLASS_ENTER};
    if (offered - 1 != KNOWN && offered <= SYMBOLS)
        in.symbols[offered - 1].event_class = offered_class;
    teach(&in, step_hash(), offered);
    start_encoder(&in);
    in.choice.token = TTP_CHAIN_NEW;
    in.choice.value = KNOWN + 1;
    ttp_chain_code_token(&in.coder, &in.context, &in.choice, false);
    ck_assert_ptr_null(in.coder.rule);
    finish_encoder(&in);

    start(&out, KNOWN, true);
    teach(&out, step_hash(), offered);
    start_decoder(&out);
    ttp_chain_code_token(&out.coder, &out.context, &out.choice, true);
    ck_assert_msg(out.coder.rule == NULL, "offered %u: %s", offered, out.coder.rule);
    ck_assert_uint_eq(out.choice.value, KNOWN + 1);
    ck_assert_uint_eq(out.choice.token, TTP_CHAIN_NEW);
    ck_assert_uint_eq(out.coder.view.model->symbol_count, KNOWN + 1);
    ck_assert_uint_eq(out.symbols[KNOWN].event_class, TTP_CLASS_ENTER);
    free(out.model);
}

START_TEST(a_step_offers_what_no_symbol_is)
{
    for (int i = 0; i < TTP_CLASS_COUNT; i++) {
        new_symbol_where(151, (uint8_t)i);
        new_symbol_where(SYMBOLS, (uint8_t)i);
    }
    new_symbol_where(KNOWN + 1, TTP_CLASS_ENTER); /* the one that comes, but nothing defines it */
    new_symbol_where(400000, TTP_CLASS_ENTER);    /* a chain of a large partition */
    new_symbol_where(TTP_CHAIN_SYMBOL - 1, TTP_CLASS_ENTER);
}
END_TEST

START_TEST(bytes_that_follow_it_are_refused)
{
    struct side in, out;
    start(&in, 200, true);
    teach(&in, step_hash(), 151);
    start_encoder(&in);
    in.choice.token = TTP_CHAIN_NEW;
    in.choice.value = 151;
    ttp_chain_code_token(&in.coder, &in.context, &in.choice, false);
    finish_encoder(&in);

    start(&out, KNOWN, true);
    teach(&out, step_hash(), 151);
    start_decoder(&out);
    ttp_chain_code_token(&out.coder, &out.context, &out.choice, true);
    ck_assert_str_eq(out.coder.rule, "O-FUL-33");
    free(out.model);
}
END_TEST

/* A chain step of symbol 1 offers `offered`, and the bytes follow it. */
static const char *chain_where(uint32_t offered)
{
    struct side sides[2];
    const uint32_t value = 2;
    for (uint32_t i = 0; i < 2; i++) {
        struct side *s = &sides[i];
        start(s, KNOWN, false);
        (void)ttp_chain_add(&s->coder, 0, 1);
        (void)ttp_chain_add(&s->coder, value - 1, 1);
        teach(s, ttp_chain_hash(FRAME + (7u << 24), value, 0), offered);
        s->choice.excluded_count = 0;
        s->choice.value = value;
        if (i == 0) {
            start_encoder(s);
            s->choice.token = offered;
        } else {
            start_decoder(s);
            s->choice.value = value;
        }
        ttp_chain_code_chain(&s->coder, &s->context, &s->choice, i == 1);
        if (i == 0)
            finish_encoder(s);
    }
    ck_assert(sides[1].coder.rule != NULL || sides[1].choice.token == offered);
    free(sides[1].model);
    return sides[1].coder.rule;
}

START_TEST(a_chain_step_offers_what_is_none)
{
    ck_assert_ptr_null(chain_where(TTP_CHAIN_FIRST + 1));
    ck_assert_str_eq(chain_where(TTP_CHAIN_END), "O-FUL-43");
    ck_assert_str_eq(chain_where(TTP_CHAIN_CLOSE), "O-FUL-43");
    ck_assert_str_eq(chain_where(TTP_CHAIN_FIRST), "O-FUL-43"); /* of another symbol */
    ck_assert_str_eq(chain_where(TTP_CHAIN_FIRST + 2), "O-FUL-43");
    ck_assert_str_eq(chain_where(TTP_CHAIN_SYMBOL - 1), "O-FUL-43");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain_same_hash");
    TCase *tc = tcase_create("chain_same_hash");
    tcase_add_test(tc, a_step_offers_what_no_symbol_is);
    tcase_add_test(tc, bytes_that_follow_it_are_refused);
    tcase_add_test(tc, a_chain_step_offers_what_is_none);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
