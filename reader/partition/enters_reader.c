/* Whoever reads the section asks first whether there is one, as most files have none. */
#include "reader/partition/enters_reader.h"

#include "format/base/fail.h"
#include "reader/partition/section_reader.h"

bool ttp_has_enters(const struct ttp_loaded *p)
{
    return ttp_partition_section(&p->head, TTP_SECTION_ENTERS) != NULL;
}

ttape_status ttp_enters_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                             struct ttp_entered *out, ttape_error *err)
{
    const struct ttp_section *section = ttp_partition_section(&p->head, TTP_SECTION_ENTERS);
    struct ttp_content content;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    ttape_status status = ttp_enters_read(content.data, content.size_bytes, &p->segments, out, err);
    if (status != TTAPE_OK)
        ttp_content_rebase(&content, err);
    ttp_content_close(d, &content);
    return status;
}
