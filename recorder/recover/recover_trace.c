/* Recovery of a trace: one file, which is all there is. */
#include <tracetape/recover.h>

#include "format/base/fail.h"
#include "recorder/recover/recover_salvaged.h"
#include "recorder/recover/recover_tell.h"

static ttape_status write_trace(struct ttp_salvaged *v, ttape_writer **writer,
                                const ttape_sink *sink, const struct ttp_telling *telling,
                                ttape_error *err)
{
    /* No models of its own: copied ones have the numbers that it would give. */
    ttape_writer_options options = {.size = sizeof options,
                                    .model_period = UINT32_MAX,
                                    .allocator = telling->options->allocator};
    TTP_TRY(ttape_writer_open(writer, sink, &options, err));
    TTP_TRY(ttp_salvaged_copy(v, *writer, NULL, telling->report, err));
    return ttape_writer_finish(*writer, err);
}

ttape_status ttape_recover_trace(const ttape_source *source, const ttape_sink *sink,
                                 const ttape_recover_options *options, ttape_recover_report *report,
                                 ttape_error *err)
{
    ttape_recover_report unused;
    ttape_recover_options how;
    struct ttp_salvaged v = {.copier = NULL};
    struct ttp_telling telling = {.options = &how, .report = report != NULL ? report : &unused};
    ttape_writer *writer = NULL;
    *telling.report = (ttape_recover_report){0};
    if (source == NULL || source->read_at == NULL || sink == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no source, or no sink");
    TTP_TRY(ttp_recover_options(&how, options, err));
    ttape_reader_options reading = ttp_recover_reading(&how);
    ttape_status status = ttp_salvage_open(&v.salvage, source, &reading, NULL, err);
    if (status == TTAPE_OK) {
        ttp_tell_salvage(&telling, &v.salvage, false);
        status = write_trace(&v, &writer, sink, &telling, err);
    }
    ttp_salvaged_close(&v);
    ttape_writer_close(writer);
    return status;
}
