/* Broken path tables. They are spelled out by hand, behind the definition of sites 0 .. 2. */
#include "invalid_vectors.h"

static struct ttest_bytes *table(struct ttest_file *file, uint32_t at)
{
    struct ttest_chunk *chunk = ttest_insert_chunk(file, 3 + at);
    chunk->head.kind = TTP_CHUNK_PATHS;
    return &chunk->content;
}

/* first, count | parents | frame sites + 1 | link count | sites | paths */
#define PATHS(name, bytes)                                                                         \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(table(file, 0), bytes, sizeof(bytes) - 1);                                       \
    }

PATHS(from_zero, "\0\1\1\1\0")
PATHS(hole, "\2\1\1\1\0")
PATHS(range_cut, "\1")
PATHS(many, "\1\x20\1\1\0")
PATHS(huge, "\1\xff\xff\xff\7\1\1\0")
PATHS(own_parent, "\1\1\0\1\0")
PATHS(far_parent, "\1\1\2\1\0")
PATHS(inner_cut, "\1\2\1\1\1\0\0")
PATHS(large_frame, "\1\1\1\x81\x80\x80\x08\0")
PATHS(frame_undefined, "\1\1\1\4\0")
PATHS(many_links, "\1\1\1\1\x10\0\2")
PATHS(links_cut, "\1\1\1\1")
PATHS(site_large, "\1\1\1\1\1\xff\xff\xff\x0f\2")
PATHS(site_undefined, "\1\1\1\1\1\3\2")
PATHS(path_zero, "\1\1\1\1\1\0\0")
PATHS(path_negative, "\1\1\1\1\1\0\1")
PATHS(path_undefined, "\1\1\1\1\1\0\4")
PATHS(path_large, "\1\1\1\1\1\0\x80\x80\x80\x10")
PATHS(trailing, "\1\1\1\1\1\0\2\0")

static void links_again(struct ttest_file *file)
{
    ttest_put(table(file, 0), "\1\1\1\1\1\1\2", 7);
    ttest_put(table(file, 1), "\2\0\1\1\2", 5);
}

static void ids_again(struct ttest_file *file)
{
    ttest_put(table(file, 0), "\1\1\1\1\0", 5);
    ttest_put(table(file, 1), "\1\1\1\1\0", 5);
}

static void deep(struct ttest_file *file)
{
    struct ttest_bytes *to = table(file, 0);
    ttest_put8(to, 1);
    ttest_put_varint(to, 65536);
    for (uint32_t i = 0; i < 2 * 65536; i++)
        ttest_put8(to, 1);
    ttest_put8(to, 0);
    file->chunks[3].packed = true;
}

#define C    TTAPE_E_CORRUPT
#define NONE TTEST_REFUSED

static const struct ttest_break breaks[] = {
    {"pth-01-zero", "F-PTH-01", C, NONE, "path ids begin at 0", from_zero, NULL},
    {"pth-01-hole", "F-PTH-01", C, NONE, "path ids leave one out", hole, NULL},
    {"pth-01-again", "F-PTH-01", C, NONE, "a path id is defined again", ids_again, NULL},
    {"pth-01-cut", "F-PTH-01", C, NONE, "ends inside its range", range_cut, NULL},
    {"pth-01-count", "F-PTH-01", C, NONE, "more paths than bytes", many, NULL},
    {"pth-01-huge", "F-PTH-01", C, NONE, "2^24 - 1 paths in a few bytes", huge, NULL},
    {"pth-02-own", "F-PTH-02", C, NONE, "a path is its own parent", own_parent, NULL},
    {"pth-02-far", "F-PTH-02", C, NONE, "a parent before the first path", far_parent, NULL},
    {"pth-03-inner", "F-PTH-03", C, NONE, "frames are not known within a path", inner_cut, NULL},
    {"pth-03-large", "F-PTH-03", C, NONE, "a frame's site is above 2^24", large_frame, NULL},
    {"pth-04-deep", "F-PTH-04", C, NONE, "a path of 65,536 frames", deep, NULL},
    {"pth-05-count", "F-PTH-05", C, NONE, "more links than bytes", many_links, NULL},
    {"pth-05-cut", "F-PTH-05", C, NONE, "ends before its links", links_cut, NULL},
    {"pth-05-large", "F-PTH-05", C, NONE, "a link's site is above 2^24", site_large, NULL},
    {"pth-05-again", "F-PTH-05", C, NONE, "links of a second table do not ascend", links_again,
     NULL},
    {"pth-06-zero", "F-PTH-06", C, NONE, "a link to path 0", path_zero, NULL},
    {"pth-06-negative", "F-PTH-06", C, NONE, "a link to a path below 0", path_negative, NULL},
    {"pth-06-undefined", "F-PTH-06", C, NONE, "a link's path is not defined", path_undefined, NULL},
    {"pth-06-large", "F-PTH-06", C, NONE, "a link's path is above 2^24", path_large, NULL},
    {"pth-07-frame", "F-PTH-07", C, NONE, "a frame's site is not defined", frame_undefined, NULL},
    {"pth-07-link", "F-PTH-07", C, NONE, "a link's site is not defined", site_undefined, NULL},
    {"pth-08-trailing", "F-PTH-08", C, NONE, "a byte behind the last link", trailing, NULL},
};

void ttest_make_invalid_paths(const struct ttest_output *out)
{
    ttest_emit_breaks(out, breaks, sizeof breaks / sizeof breaks[0], true);
}
