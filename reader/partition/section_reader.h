/* The content of one section of a partition: read, verified, decompressed. */
#ifndef TTP_READER_SECTION_READER_H
#define TTP_READER_SECTION_READER_H

#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

/* Light sections come out of loaded->light, others from the source. On failure nothing is held. */
ttape_status ttp_content_open(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                              const struct ttp_section *section, struct ttp_content *out,
                              ttape_error *err);
void ttp_content_close(struct ttp_trace_decoder *d, struct ttp_content *content);

/* An error's offset in the content becomes one in the file. */
void ttp_content_rebase(const struct ttp_content *content, ttape_error *err);

#endif
