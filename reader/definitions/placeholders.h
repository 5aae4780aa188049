/* Definitions that a damaged file has lost: later ones say how many there were, so ids keep their
 * meaning and only names are gone. Only recovery asks for them: no other reader invents a thing. */
#ifndef TTP_READER_PLACEHOLDERS_H
#define TTP_READER_PLACEHOLDERS_H

#include "reader/definitions/definitions_reader.h"

/* Far more than a lost chunk defines, far less than a wrong id can ask for. */
#define TTP_MAX_PLACEHOLDERS       (1u << 20)
#define TTP_MAX_PLACEHOLDER_SCOPES 1024u /* a few KiB each, of the output's writer */

struct ttp_placeholders {
    uint64_t count; /* made so far, of all kinds */
    uint32_t scope_count;
    bool on_demand; /* also for ids that events name and no definition comes behind */
};

/* Makes the scope's ids below `end` exist. F-SIT-02 past the bound. */
ttape_status ttp_placeholders_fill(struct ttp_definition_tables *d, uint32_t scope,
                                   enum ttp_definition_kind kind, uint32_t end, ttape_error *err);
/* As ttp_definitions_find, after the id was made where that is allowed. */
uint32_t ttp_placeholders_find(struct ttp_definition_tables *d, uint32_t scope,
                               enum ttp_definition_kind kind, uint32_t id);
/* Introduces the scopes below `end`; their trace ids are made up of `seed`. F-CHK-09 past the
 * bound. */
ttape_status ttp_placeholders_scopes(struct ttp_definition_tables *d, uint32_t end,
                                     const uint8_t seed[TTP_TRACE_ID_BYTES], ttape_error *err);

#endif
