/* What a caller of a recovery gives, its options, and is told: lines, and the pieces of a trace, in
 * the callbacks and in the report. */
#ifndef TTP_LIBTRACE_RECOVER_TELL_H
#define TTP_LIBTRACE_RECOVER_TELL_H

#include <tracetape/recover.h>

#include "answers/check/salvage.h"

/* A copy; NULL gives the defaults. What this version does not know is refused. */
ttape_status ttp_recover_options(ttape_recover_options *out, const ttape_recover_options *options,
                                 ttape_error *err);
/* For reading one file; of what is decoded once nothing need be kept. */
ttape_reader_options ttp_recover_reading(const ttape_recover_options *options);

struct ttp_telling {
    const ttape_recover_options *options;
    ttape_recover_report *report;
    const char *file; /* in the folder; NULL: there is only one */
};

/* One finding. */
void ttp_tell(const struct ttp_telling *t, bool is_loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* All findings about a file. is_open: that it has no end is no news. */
void ttp_tell_salvage(const struct ttp_telling *t, const struct ttp_salvage *s, bool is_open);

#endif
