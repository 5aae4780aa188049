/* Metadata that waits for its chunk: encoded pairs, one for each key. */
#ifndef TTP_WRITER_METADATA_PAIRS_H
#define TTP_WRITER_METADATA_PAIRS_H

#include "writer/writer_internal.h"

/* Sets a key of the scope's next metadata chunk; what was set before under that key is forgotten
 * (F-MET-01). `head` is the value's head, `text` what follows it. TTAPE_E_ARGUMENT: a string over
 * the limit, or the key "trace_id", which is the scope's own. TTAPE_E_LIMIT: more keys than a
 * reader takes. */
ttape_status ttp_metadata_set(ttape_writer *w, struct ttp_scope *scope, ttape_string key,
                              const uint8_t *head, size_t head_bytes, ttape_string text,
                              ttape_error *err);
/* Appends all pairs to a list of bytes, in the order in which their keys were first set, and
 * forgets them. *count gets how many there were. */
ttape_status ttp_metadata_collect(ttape_writer *w, struct ttp_definitions *d,
                                  struct ttp_growing *to, uint32_t *count, ttape_error *err);

#endif
