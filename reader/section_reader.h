/* The content of one section of a partition: read, verified, decompressed. */
#ifndef TTP_READER_SECTION_READER_H
#define TTP_READER_SECTION_READER_H

#include "reader/partition_reader.h"
#include "reader/reader_internal.h"

struct ttp_content {
    const uint8_t *data;
    size_t size_bytes;
    uint8_t *stored, *plain; /* owned, or NULL */
    const struct ttp_section *section;
    uint64_t offset; /* of the section in the file */
};

/* Light sections come out of loaded->light, others from the source. On failure nothing is held. */
ttape_status ttp_content_open(ttape_reader *r, const struct ttp_loaded *p,
                              const struct ttp_section *section, struct ttp_content *out,
                              ttape_error *err);
void ttp_content_close(ttape_reader *r, struct ttp_content *content);

/* An error's offset in the content becomes one in the file. */
void ttp_content_rebase(const struct ttp_content *content, ttape_error *err);

#endif
