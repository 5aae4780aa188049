/* One-shot zstd frames. One context per call: compression here is rare and large (tables, values,
 * literal order). */
#include "writer/encode/zstd_encoder.h"

#include <zstd.h>

#include "format/base/fail.h"

#define LONG_WINDOW_LOG 27 /* 128 MiB, the most that a reader takes */

/* Levels 5 to 12 look for matches by rows or by chains, which makes other bytes. zstd decides by
 * the machine's vector instructions where the window has 15 to 17 bits; with them by rows from 15
 * bits on, and that is what we ask for everywhere. The parameter is one of its "experimental" ones:
 * a version that does not have it refuses it. */
#define ROWS_FROM_BYTES ((1u << 14) + 1)

static void ask_for_rows(ZSTD_CCtx *context, size_t size_bytes)
{
#if ZSTD_VERSION_NUMBER >= 10501
    const int use_rows = 1;
    if (size_bytes >= ROWS_FROM_BYTES)
        ZSTD_CCtx_setParameter(context, ZSTD_c_experimentalParam14, use_rows);
#else
    (void)context, (void)size_bytes;
#endif
}

size_t ttp_zstd_bound(size_t size_bytes) { return ZSTD_compressBound(size_bytes); }

ttape_status ttp_zstd_encode(const void *data, size_t size_bytes, int level, void *out,
                             size_t out_bytes, size_t *packed_bytes, ttape_error *err)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ask_for_rows(context, size_bytes);
    if (level >= 19 && size_bytes > 1u << 23) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
        ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, LONG_WINDOW_LOG);
    }
    size_t size = ZSTD_compress2(context, out, out_bytes, data, size_bytes);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(size)) /* there is room for anything: only memory can be missing */
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "compression failed: %s",
                        ZSTD_getErrorName(size));
    *packed_bytes = size < size_bytes ? size : 0;
    return TTAPE_OK;
}
