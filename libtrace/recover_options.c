/* Options of a newer library may be longer, those of an older one shorter. */
#include "libtrace/recover_options.h"

#include <string.h>

#include "format/fail.h"

ttape_status ttp_recover_options(ttape_recover_options *out, const ttape_recover_options *options,
                                 ttape_error *err)
{
    *out = (ttape_recover_options){.size = sizeof *out};
    if (options == NULL)
        return TTAPE_OK;
    size_t known = options->size < sizeof *out ? options->size : sizeof *out;
    const uint8_t *bytes = (const uint8_t *)options;
    if (options->size < sizeof options->size)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "recovery options without their size");
    for (size_t i = known; i < options->size; i++)
        if (bytes[i] != 0)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "recovery options that this version does not know");
    memcpy(out, options, known);
    out->size = sizeof *out;
    return TTAPE_OK;
}

ttape_reader_options ttp_recover_reading(const ttape_recover_options *options)
{
    return (ttape_reader_options){.size = sizeof(ttape_reader_options),
                                  .limits = options->limits,
                                  .cache_bytes = 1, /* one partition is always kept */
                                  .allocator = options->allocator};
}
