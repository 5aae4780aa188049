/* Plain records, which are nearly all: enters, exits and blocks of sites that have an id. */
#ifndef TTP_RECORDING_PLAIN_BATCH_H
#define TTP_RECORDING_PLAIN_BATCH_H

#include <stdint.h>

#include <tracetape/writer.h>

#define TTP_PLAIN_BATCH 1024u /* as many as a batch of events has */
#define TTP_PLAIN_SITES 1024u

/* A site as it was found last by its address. */
struct ttp_plain_site {
    uint64_t address;
    uint32_t id;
    uint32_t
        tags; /* of the records that it may have, as bits of plain_calls.c; 0: nothing was found */
};

/* Calls that wait for the writer, in half of the room of events: there are none where events wait.
 * And a memory of a layout's sites, because a map's place takes longer to find than all the rest of
 * a call. */
struct ttp_plain {
    ttape_enter_exit calls[TTP_PLAIN_BATCH];
    uint32_t count;
    uint32_t layout_plus_one; /* whose sites they are; 0: nobody's */
    struct ttp_plain_site sites[TTP_PLAIN_SITES];
};

/* Addresses may mean other sites from now on. */
static inline void ttp_plain_forget(struct ttp_plain *plain) { plain->layout_plus_one = 0; }

#endif
