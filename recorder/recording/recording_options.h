/* Options of a recording. */
#ifndef TTP_RECORDING_OPTIONS_H
#define TTP_RECORDING_OPTIONS_H

#include <tracetape/recording.h>

/* Fills in what `options` (may be NULL) leave open; refuses what is out of range. */
ttape_status ttp_recording_options_take(ttape_recording_options *o,
                                        const ttape_recording_options *options, ttape_error *err);
/* Where the caller has given none. */
ttape_status ttp_trace_id_draw(ttape_writer_options *w, ttape_error *err);

#endif
