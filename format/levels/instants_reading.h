/* What decoders of instants share: stacks by what left and what came. */
#ifndef TTP_FORMAT_INSTANTS_READING_H
#define TTP_FORMAT_INSTANTS_READING_H

#include "format/levels/instants.h"
#include "format/levels/instants_model.h"

struct ttp_instant_reading {
    struct ttp_decoder d;
    struct ttp_instant_model m;
    struct ttp_symbol *stack;
    uint32_t height;
    struct ttp_instants *out;
    const char *end_rule; /* of a stream that ends early */
    ttape_error *err;
};

ttape_status ttp_instant_refuse(const struct ttp_instant_reading *r, const char *rule,
                                const char *what);
ttape_status ttp_instant_check_end(const struct ttp_instant_reading *r);
/* `count` frames on the stack, and behind those that out->frames has: as many fit there. */
ttape_status ttp_instant_read_frames(struct ttp_instant_reading *r, uint32_t count);
/* How many frames the number says: no more than still fit. */
ttape_status ttp_instant_read_count(struct ttp_instant_reading *r, struct ttp_number_model *model,
                                    uint32_t *count);
/* What is left of the stack before. */
ttape_status ttp_instant_read_kept(struct ttp_instant_reading *r, uint32_t *kept, bool *has_gap);
ttape_status ttp_instant_read(struct ttp_instant_reading *r, struct ttp_instant *to);

#endif
