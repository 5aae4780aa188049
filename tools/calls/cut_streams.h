/* Which events of each thread lie in a cut: by time, by threads, by numbers. */
#ifndef TOOL_CUT_STREAMS_H
#define TOOL_CUT_STREAMS_H

#include "tools/calls/stream_choice.h"

/* Events [from[s], to[s]) of each stream s. */
struct tool_cut {
    ttape_reader *reader;
    uint32_t stream_count;
    uint64_t *from, *to;
};

/* How much of a partition lies in it. */
enum tool_cover { TOOL_COVER_NONE, TOOL_COVER_PART, TOOL_COVER_WHOLE };

/* Returns a tool_exit; what failed has been reported. */
int tool_cut_open(struct tool_cut *cut, const struct tool_input *input,
                  const struct tool_choice *choice);
void tool_cut_close(struct tool_cut *cut);
ttape_status tool_cut_cover(const struct tool_cut *cut, uint32_t partition, enum tool_cover *cover,
                            ttape_error *err);

#endif
