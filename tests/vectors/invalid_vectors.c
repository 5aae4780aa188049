/* How an invalid vector is made, and the ones that only end too early. */
#include "invalid_vectors.h"

static void set_left(struct ttest_expectation *e, enum ttest_left left)
{
    e->opens = left != TTEST_REFUSED;
    e->changed = left == TTEST_CHANGED;
    e->lost_partition = left == TTEST_FIRST ? 1 : left == TTEST_SECOND ? 0 : TTAPE_NONE;
}

void ttest_emit_breaks_of(const struct ttest_output *out, const struct ttest_break *breaks,
                          size_t count, ttest_base_maker base)
{
    for (size_t i = 0; i < count; i++) {
        const struct ttest_break *b = &breaks[i];
        struct ttest_expectation e;
        struct ttest_file *file = base(b->name, "invalid", b->notes, &e);
        e.valid = false;
        e.status = b->status;
        e.rule = b->rule;
        set_left(&e, b->left);
        if (b->edit != NULL)
            b->edit(file);
        struct ttest_bytes bytes = ttest_file_write(file);
        if (b->damage != NULL)
            b->damage(file, &bytes);
        ttest_emit(out, &e, &bytes);
        ttest_release_all();
    }
}

void ttest_emit_breaks(const struct ttest_output *out, const struct ttest_break *breaks,
                       size_t count, bool timed)
{
    ttest_emit_breaks_of(out, breaks, count, timed ? ttest_base : ttest_base_untimed);
}

struct cut {
    const char *name, *rule, *notes;
    ttape_status status;
    uint32_t partitions; /* that are left whole; UINT32_MAX: the file is refused */
    uint32_t chunk; /* the cut is `bytes` behind the start of this chunk; UINT32_MAX: of the file */
    uint32_t bytes;
};

/* The base has chunks 0 metadata, 1 streams, 2 sites, 3 partition, 4 partition, and then the index.
 */
static const struct cut cuts[] = {
    {"cut-0", "F-FIL-01", "no byte is left", TTAPE_E_NOT_TRACE, UINT32_MAX, UINT32_MAX, 0},
    {"cut-magic", "F-FIL-01", "ends inside the magic", TTAPE_E_NOT_TRACE, UINT32_MAX, UINT32_MAX,
     7},
    {"cut-header", "F-FIL-03", "ends inside the file header", TTAPE_E_TRUNCATED, UINT32_MAX,
     UINT32_MAX, 63},
    {"cut-no-chunk", "F-FOO-06", "a file header and nothing else", TTAPE_E_TRUNCATED, 0, 0, 0},
    {"cut-chunk-header", "F-CHK-10", "ends inside the first chunk's header", TTAPE_E_TRUNCATED, 0,
     0, 40},
    {"cut-metadata", "F-CHK-10", "ends inside the first chunk's payload", TTAPE_E_TRUNCATED, 0, 0,
     70},
    {"cut-partition-header", "F-CHK-10", "ends inside the header of the second partition",
     TTAPE_E_TRUNCATED, 1, 4, 63},
    {"cut-partition", "F-CHK-10", "ends one byte before the end of the second partition",
     TTAPE_E_TRUNCATED, 1, 5, UINT32_MAX},
    {"cut-between", "F-FOO-06", "ends between chunks: an unfinished file", TTAPE_E_TRUNCATED, 1, 4,
     0},
};

static void emit_cut(const struct ttest_output *out, const struct cut *cut)
{
    struct ttest_expectation e;
    struct ttest_file *file = ttest_base(cut->name, "truncated", cut->notes, &e);
    struct ttest_bytes bytes = ttest_file_write(file);
    uint64_t start = cut->chunk == UINT32_MAX          ? 0
                     : cut->chunk == file->chunk_count ? file->index_offset
                                                       : file->chunks[cut->chunk].offset;
    bytes.size = (size_t)(start + (uint64_t)(int64_t)(int32_t)cut->bytes);
    e.valid = false;
    e.status = cut->status;
    e.rule = cut->rule;
    e.opens = cut->partitions != UINT32_MAX;
    e.partition_count = cut->partitions;
    e.lost_partition = 1;
    if (cut->partitions == 0)
        e.row_count = e.stream_count = 0;
    ttest_emit(out, &e, &bytes);
    ttest_release_all();
}

void ttest_make_truncated(const struct ttest_output *out)
{
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        emit_cut(out, &cuts[i]);
}

void ttest_make_invalid_vectors(const struct ttest_output *out)
{
    ttest_make_invalid_files(out);
    ttest_make_invalid_definitions(out);
    ttest_make_invalid_paths(out);
    ttest_make_invalid_value_names(out);
    ttest_make_invalid_heads(out);
    ttest_make_invalid_sections(out);
    ttest_make_invalid_orders(out);
    ttest_make_invalid_indexes(out);
    ttest_make_invalid_instants(out);
    ttest_make_invalid_enters(out);
    ttest_make_invalid_overviews(out);
    ttest_make_invalid_listed(out);
    ttest_make_invalid_merged(out);
    ttest_make_truncated(out);
}
