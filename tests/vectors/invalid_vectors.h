/* Invalid files: the base trace with one rule broken, everything outside of it fixed up. */
#ifndef TTEST_INVALID_VECTORS_H
#define TTEST_INVALID_VECTORS_H

#include "base_trace.h"
#include "vectors.h"

/* What a reader still gets. */
enum ttest_left {
    TTEST_REFUSED, /* nothing: the file does not open */
    TTEST_ALL,     /* every event */
    TTEST_CHANGED, /* as many events, not all as they went in */
    TTEST_FIRST,   /* partition 0, not partition 1 */
    TTEST_SECOND   /* partition 1, not partition 0 */
};

struct ttest_break {
    const char *name; /* of the vector */
    const char *rule; /* that verify reports */
    ttape_status status;
    enum ttest_left left;
    const char *notes;
    void (*edit)(struct ttest_file *file);
    void (*damage)(struct ttest_file *file, struct ttest_bytes *bytes); /* of the file as written */
};

/* How the file of ttest_emit_breaks is made. */
typedef struct ttest_file *(*ttest_base_maker)(const char *name, const char *group,
                                               const char *notes, struct ttest_expectation *e);
void ttest_emit_breaks_of(const struct ttest_output *out, const struct ttest_break *breaks,
                          size_t count, ttest_base_maker base);
void ttest_emit_breaks(const struct ttest_output *out, const struct ttest_break *breaks,
                       size_t count, bool timed);

void ttest_make_invalid_files(const struct ttest_output *out);       /* F-FIL, F-CHK, F-FOO */
void ttest_make_invalid_definitions(const struct ttest_output *out); /* F-MET, F-SIT, F-STR */
void ttest_make_invalid_paths(const struct ttest_output *out);       /* F-PTH */
void ttest_make_invalid_value_names(const struct ttest_output *out); /* F-VNM */
void ttest_make_invalid_heads(const struct ttest_output *out);       /* F-PAR */
void ttest_make_invalid_sections(const struct ttest_output *out);    /* F-SEG to F-DEP */
void ttest_make_invalid_orders(const struct ttest_output *out);      /* F-EVT, O-, T- */
void ttest_make_invalid_indexes(const struct ttest_output *out);     /* F-IDX */
void ttest_make_invalid_instants(const struct ttest_output *out);    /* F-INS */
void ttest_make_invalid_enters(const struct ttest_output *out);      /* F-ENT */
void ttest_make_invalid_overviews(const struct ttest_output *out);   /* F-OVR */
void ttest_make_invalid_listed(const struct ttest_output *out);      /* F-OVR-11, F-OVR-12 */
void ttest_make_invalid_merged(const struct ttest_output *out);      /* F-OVR-13, F-OVR-14 */
void ttest_make_truncated(const struct ttest_output *out);

#endif
