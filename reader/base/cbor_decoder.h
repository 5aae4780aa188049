/* Metadata: one CBOR map with text keys, taken apart into entries. */
#ifndef TTP_READER_CBOR_DECODER_H
#define TTP_READER_CBOR_DECODER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>

struct ttp_cbor_entry {
    ttape_string key;
    ttape_metadata_type type;
    ttape_string
        text; /* text; also the bytes of a byte string, whose type is TTAPE_METADATA_OTHER */
    uint64_t number;
    bool is_bytes;
};

/* Called for each pair of the outer map, in order. */
typedef ttape_status (*ttp_cbor_callback)(void *context, const struct ttp_cbor_entry *entry,
                                          ttape_error *err);

/* Decodes exactly `size_bytes` bytes; allocates nothing, whatever the bytes declare. Entries point
 * into `data`, where strings that stand in pieces are joined in place. TTAPE_E_CORRUPT F-MET-01,
 * TTAPE_E_LIMIT past the depth, or what the callback says. Duplicate keys are the caller's to
 * refuse. */
ttape_status ttp_cbor_decode(uint8_t *data, size_t size_bytes, ttp_cbor_callback callback,
                             void *context, ttape_error *err);

#endif
