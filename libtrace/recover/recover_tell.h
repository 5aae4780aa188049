/* What recoveries tell: lines, and a trace's pieces, in the callbacks and in the report. */
#ifndef TTP_LIBTRACE_RECOVER_TELL_H
#define TTP_LIBTRACE_RECOVER_TELL_H

#include <tracetape/recover.h>

#include "reader/check/salvage.h"

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
