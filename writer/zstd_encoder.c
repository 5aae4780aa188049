/* One-shot zstd frames. One context per call: compression here is rare and large (tables, values,
 * literal order). */
#include "writer/zstd_encoder.h"

#include <zstd.h>

#include "format/fail.h"

#define LONG_WINDOW_LOG 27 /* 128 MiB, the most that a reader takes */

size_t ttp_zstd_bound(size_t size_bytes) { return ZSTD_compressBound(size_bytes); }

ttape_status ttp_zstd_encode(const void *data, size_t size_bytes, int level, void *out,
                             size_t out_bytes, size_t *packed_bytes, ttape_error *err)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
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
