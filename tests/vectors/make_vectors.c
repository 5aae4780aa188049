/* All vectors, group by group. test_vectors.c writes them or compares them. */
#include "vectors.h"

void ttest_emit(const struct ttest_output *out, const struct ttest_expectation *expectation,
                const struct ttest_bytes *file)
{
    out->sink(out->context, expectation, file);
}

void ttest_emit_trace(const struct ttest_output *out, struct ttest_trace *t)
{
    struct ttest_bytes file = ttest_finish(t);
    ttest_emit(out, &t->expectation, &file);
}

void ttest_make_vectors(ttest_vector_sink sink, void *context)
{
    struct ttest_output out = {sink, context};
    void (*groups[])(const struct ttest_output *) = {
        ttest_make_writer_vectors, ttest_make_writer_form_vectors, ttest_make_overview_vectors,
        ttest_make_foreign_vectors, ttest_make_invalid_vectors};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        groups[i](&out);
        ttest_release_all();
    }
}
