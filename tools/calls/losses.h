/* What a recording lost, as every verb that counts or draws tells it. */
#ifndef TOOL_LOSSES_H
#define TOOL_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/io/input.h"

/* Events that are known to be lost: what gaps count, and what the recorder counted without a place
 * for it. */
uint64_t tool_lost_events(const ttape_reader *reader);

/* Those of them that the recorder counted without a place. */
uint64_t tool_lost_nowhere(const ttape_reader *reader);
/* Those that a program lost because it had forbidden itself what recording takes: all, and what no
 * gap counts of them, as it only says from when on. */
uint64_t tool_lost_sandboxed(const ttape_reader *reader);
uint64_t tool_lost_silenced(const ttape_reader *reader);

/* One line on standard error where there are any. */
void tool_losses_warn(const struct tool_input *input);

/* Whether the stacks of some system calls only were recorded; and a line then, of verbs that draw
 * the paths of all. */
bool tool_stacks_are_sampled(const ttape_reader *reader);
void tool_stacks_warn(const struct tool_input *input);

/* Whether calls of the site are times in which a thread waited for the recorder (spec/recording.md,
 * 2.5). */
bool tool_site_is_recorder(const ttape_reader *reader, uint32_t number);

#endif
