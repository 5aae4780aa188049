/* Slots of the spill file that are damaged: what is lost with them, and what is elsewhere too. */
#ifndef TTP_LIBTRACE_RECOVER_SLOTS_H
#define TTP_LIBTRACE_RECOVER_SLOTS_H

#include "libtrace/recover/recover_files.h"
#include "libtrace/recover/recover_tell.h"

/* One line for those that are a loss, one for the others. How many are a loss. To be called when
 * the journal was replayed. */
uint64_t ttp_slots_tell(const struct ttp_telling *t, const struct ttp_recovered_files *files,
                        const ttape_recording *r);

#endif
