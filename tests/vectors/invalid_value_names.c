/* Broken names of values, spelled out by hand, behind the definition of sites 0 .. 2. */
#include "invalid_vectors.h"

static struct ttest_bytes *chunk(struct ttest_file *file, uint32_t at)
{
    struct ttest_chunk *added = ttest_insert_chunk(file, 3 + at);
    added->head.kind = TTP_CHUNK_VALUE_NAMES;
    return &added->content;
}

/* enumerations: count | name, constant count | value step, name ...
 * sites: count | step, enter count, exit count | name, type, enumeration + 1 ... */
#define NAMES(name, bytes)                                                                         \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(chunk(file, 0), bytes, sizeof(bytes) - 1);                                       \
    }

NAMES(many_enumerations, "\x20\1E\1\2\1A\0")
NAMES(many_constants, "\1\1E\x20\2\1A\0")
NAMES(long_constant, "\1\1E\1\x82\0\1A\0")
NAMES(constant_cut, "\1\1E\1\2\x20\101\0")
NAMES(many_sites, "\0\x20\0\0\0")
NAMES(far_site, "\0\1\xff\xff\xff\x0f\0\0")
NAMES(many_values, "\0\1\0\0\3\1x\3int\0")
NAMES(no_enumeration, "\1\1E\1\2\1A\1\0\1\0\1x\3int\2")
NAMES(name_cut, "\0\1\0\1\0\x20x\0\0")
NAMES(undefined, "\0\1\3\0\0")
NAMES(trailing, "\0\1\1\0\1\1x\3int\0\0")

/* 65,536 constants, each one more than the one before and without a name. */
static void too_many_constants(struct ttest_file *file)
{
    struct ttest_bytes *to = chunk(file, 0);
    ttest_put(to, "\1\1E", 3);
    ttest_put_varint(to, 65536);
    for (uint32_t i = 0; i < 65536; i++)
        ttest_put(to, "\2\0", 2);
    ttest_put8(to, 0);
    file->chunks[3].packed = true;
}

static void too_many_values(struct ttest_file *file)
{
    struct ttest_bytes *to = chunk(file, 0);
    ttest_put(to, "\0\1\0", 3);
    ttest_put_varint(to, 256);
    ttest_put8(to, 0);
    for (uint32_t i = 0; i < 256; i++)
        ttest_put(to, "\0\0\0", 3);
    file->chunks[3].packed = true;
}

static void named_again(struct ttest_file *file)
{
    ttest_put(chunk(file, 0), "\0\2\0\0\0\1\0\0", 8);
    ttest_put(chunk(file, 1), "\0\1\2\0\0", 5);
}

#define C    TTAPE_E_CORRUPT
#define NONE TTEST_REFUSED

static const struct ttest_break breaks[] = {
    {"vnm-01-count", "F-VNM-01", C, NONE, "more enumerations than bytes", many_enumerations, NULL},
    {"vnm-02-count", "F-VNM-02", C, NONE, "more constants than bytes", many_constants, NULL},
    {"vnm-02-many", "F-VNM-02", C, NONE, "an enumeration of 65,536 constants", too_many_constants,
     NULL},
    {"vnm-03-long", "F-VNM-03", C, NONE, "a constant's value has a byte too many", long_constant,
     NULL},
    {"vnm-04-count", "F-VNM-04", C, NONE, "more sites than bytes", many_sites, NULL},
    {"vnm-05-large", "F-VNM-05", C, NONE, "a site is above 2^24", far_site, NULL},
    {"vnm-06-count", "F-VNM-06", C, NONE, "more values than bytes", many_values, NULL},
    {"vnm-06-many", "F-VNM-06", C, NONE, "256 values of an event", too_many_values, NULL},
    {"vnm-07-enumeration", "F-VNM-07", C, NONE, "the second enumeration of one", no_enumeration,
     NULL},
    {"vnm-07-name", "F-SIT-03", C, NONE, "a value's name is longer than the chunk", name_cut, NULL},
    {"vnm-03-name", "F-SIT-03", C, NONE, "a constant's name is longer than the chunk", constant_cut,
     NULL},
    {"vnm-08-undefined", "F-VNM-08", C, NONE, "names of a site that is not defined", undefined,
     NULL},
    {"vnm-08-again", "F-VNM-08", C, NONE, "a site has names in two chunks", named_again, NULL},
    {"vnm-09-trailing", "F-VNM-09", C, NONE, "a byte behind the last value", trailing, NULL},
};

void ttest_make_invalid_value_names(const struct ttest_output *out)
{
    ttest_emit_breaks(out, breaks, sizeof breaks / sizeof breaks[0], true);
}
