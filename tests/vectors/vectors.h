/* The three groups of vectors, each a list of makers that hand what they make to a sink. */
#ifndef TTEST_VECTORS_H
#define TTEST_VECTORS_H

#include "vector_trace.h"

struct ttest_output {
    ttest_vector_sink sink;
    void *context;
};

void ttest_emit(const struct ttest_output *out, const struct ttest_expectation *expectation,
                const struct ttest_bytes *file);
/* Finishes a trace and emits it as it is. */
void ttest_emit_trace(const struct ttest_output *out, struct ttest_trace *t);

void ttest_make_writer_vectors(const struct ttest_output *out);
void ttest_make_value_names(const struct ttest_output *out); /* one of them */
void ttest_make_enters(const struct ttest_output *out);
void ttest_make_writer_form_vectors(const struct ttest_output *out);
void ttest_make_overview_vectors(const struct ttest_output *out);
void ttest_make_foreign_vectors(const struct ttest_output *out);
void ttest_make_invalid_vectors(const struct ttest_output *out);

/* Everything, in a fixed order. */
void ttest_make_vectors(ttest_vector_sink sink, void *context);

#endif
