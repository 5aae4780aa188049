/* Debug builds decode every partition that they seal and compare: a coder that lies is found where
 * it lies. */
#ifndef TTP_WRITER_SELF_CHECK_H
#define TTP_WRITER_SELF_CHECK_H

#include "format/times/times.h"
#include "writer/writer_internal.h"

/* Aborts when the job's payload does not decode to exactly what went in. Does nothing with NDEBUG.
 */
void ttp_self_check_order(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_order *order);
void ttp_self_check_times(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_times *times);

#endif
