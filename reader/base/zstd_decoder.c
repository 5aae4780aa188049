/* The frame header is read here before zstd sees the frame, because the stable interface of zstd
 * does not tell the window or the dictionary that a frame asks for:
 *
 *   | magic 4 | descriptor 1 | window 0-1 | dictionary id 0-4 | content size 0-8 | blocks ... | */
#include "reader/base/zstd_decoder.h"

#include <zstd.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"

#define FRAME_MAGIC      0xFD2FB528u
#define WINDOW_MAX_BYTES (128u * 1024u * 1024u)

static bool window_of(const uint8_t *data, size_t size_bytes, uint64_t content_bytes,
                      uint64_t *window_bytes)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    uint32_t magic = ttp_read32(&c);
    uint8_t descriptor = ttp_read8(&c);
    bool single_segment = (descriptor & 0x20) != 0;
    if (c.bad || magic != FRAME_MAGIC || (descriptor & 0x0b) != 0) /* reserved bit, dictionary id */
        return false;
    *window_bytes = content_bytes;
    if (!single_segment) {
        uint8_t window = ttp_read8(&c);
        uint64_t base = UINT64_C(1) << (10 + (window >> 3));
        *window_bytes = base + (base >> 3) * (window & 7);
    }
    return !c.bad;
}

/* Why the frame is refused, or NULL. */
static const char *frame_problem(const uint8_t *data, size_t size_bytes, size_t content_bytes)
{
    uint64_t window_bytes = 0;
    if (!window_of(data, size_bytes, content_bytes, &window_bytes))
        return "compressed data is not one plain zstd frame";
    if (window_bytes > WINDOW_MAX_BYTES)
        return "zstd frame needs a window of more than 128 MiB";
    if (ZSTD_getFrameContentSize(data, size_bytes) != content_bytes)
        return "zstd frame does not have the announced content size";
    size_t frame_bytes = ZSTD_findFrameCompressedSize(data, size_bytes);
    if (ZSTD_isError(frame_bytes) || frame_bytes != size_bytes)
        return "zstd frame does not fill its place exactly";
    return NULL;
}

ttape_status ttp_zstd_decode(struct ttp_zstd *zstd, struct ttp_memory *memory, const uint8_t *data,
                             size_t size_bytes, uint8_t *out, size_t content_bytes,
                             const char *rule, ttape_error *err)
{
    const char *problem = frame_problem(data, size_bytes, content_bytes);
    if (problem != NULL)
        return ttp_fail(err, TTAPE_E_CORRUPT, rule, 0, "%s", problem);
    if (zstd->context == NULL) {
        /* One context of fixed size for the reader's life; only zstd's unstable interface would
         * take our allocator. */
        zstd->context = ZSTD_createDCtx();
        if (zstd->context == NULL)
            return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
        zstd->charged_bytes = ZSTD_sizeof_DCtx(zstd->context);
        ttp_memory_charge(memory, zstd->charged_bytes);
    }
    size_t got = ZSTD_decompressDCtx(zstd->context, out, content_bytes, data, size_bytes);
    if (ZSTD_isError(got) || got != content_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, rule, 0, "zstd frame does not decompress: %s",
                        ZSTD_isError(got) ? ZSTD_getErrorName(got) : "wrong size");
    return TTAPE_OK;
}

void ttp_zstd_reset(struct ttp_zstd *zstd, struct ttp_memory *memory)
{
    (void)ZSTD_freeDCtx(zstd->context);
    ttp_memory_discharge(memory, zstd->charged_bytes);
    *zstd = (struct ttp_zstd){0};
}
