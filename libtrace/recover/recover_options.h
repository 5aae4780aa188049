/* A recovery's options as this version knows them. */
#ifndef TTP_LIBTRACE_RECOVER_OPTIONS_H
#define TTP_LIBTRACE_RECOVER_OPTIONS_H

#include <tracetape/recover.h>

/* A copy; NULL gives the defaults. What this version does not know is refused. */
ttape_status ttp_recover_options(ttape_recover_options *out, const ttape_recover_options *options,
                                 ttape_error *err);
/* For reading one file; of what is decoded once nothing need be kept. */
ttape_reader_options ttp_recover_reading(const ttape_recover_options *options);

#endif
