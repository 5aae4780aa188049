/* What a caller gave, and the reading that follows from it. */
#include "libtrace/recover/recover_options.h"

#include "format/base/fail.h"
#include "format/base/sized.h"

ttape_status ttp_recover_options(ttape_recover_options *out, const ttape_recover_options *options,
                                 ttape_error *err)
{
    *out = (ttape_recover_options){.size = sizeof *out};
    if (options == NULL)
        return TTAPE_OK;
    if (options->size < sizeof options->size)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "recovery options without their size");
    TTP_TRY(ttp_take_sized(out, sizeof *out, options, "recovery", err));
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
