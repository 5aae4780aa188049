/* What flow_facts.c and flow_meet.c share. */
#ifndef TOOL_FLOW_INSIDE_H
#define TOOL_FLOW_INSIDE_H

#include "program/binary/code/ways/flow_facts.h"

/* The largest number of 8, 16 and 32 bits. */
static inline uint32_t tool_fact_whole(unsigned width)
{
    return width == 0 ? UINT8_MAX : width == 1 ? UINT16_MAX : UINT32_MAX;
}

/* Which of the three widths a number of bytes is; 3: none of them. */
unsigned tool_fact_width(uint8_t bytes);

struct tool_fact tool_fact_new(enum tool_fact_kind kind);
/* A number without sign that is at most `limit`. */
void tool_fact_limit(struct tool_fact *fact, uint32_t limit);
/* What a value is that may be one or the other. */
enum tool_fact_kind tool_fact_of_both(const struct tool_fact *one, const struct tool_fact *other);

/* The holder of a slot's word; TOOL_FACTS_HOLDER: it is not kept. */
unsigned tool_facts_slot_at(const struct tool_facts *facts, const struct tool_fact_slot *wanted);
void tool_facts_free_slot(struct tool_facts *facts, unsigned holder);

#endif
