/* One copy for all options: of readers, writers, reports, trees, recordings and recovery. */
#include "format/base/sized.h"

#include <stdint.h>
#include <string.h>

#include "format/base/fail.h"

ttape_status ttp_take_sized(void *out, size_t known_bytes, const void *options, const char *what,
                            ttape_error *err)
{
    const uint8_t *bytes = options;
    size_t size_bytes;
    memcpy(&size_bytes, options, sizeof size_bytes);
    for (size_t i = known_bytes; i < size_bytes; i++)
        if (bytes[i] != 0)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "%s options have fields that this version does not know", what);
    memcpy(out, options, size_bytes < known_bytes ? size_bytes : known_bytes);
    return TTAPE_OK;
}

ttape_status ttp_check_reserved(const uint64_t *reserved, size_t count, const char *what,
                                ttape_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (reserved[i] != 0)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "a %s has fields that this version does not know", what);
    return TTAPE_OK;
}
