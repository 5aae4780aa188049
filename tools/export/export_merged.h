/* All selected threads at once: what their walks say, in one order of time.
 *
 *   call cursor -> one walk for each thread -> a heap -> record, record, ... */
#ifndef TOOL_EXPORT_MERGED_H
#define TOOL_EXPORT_MERGED_H

#include "tools/export/export.h"

enum tool_record_kind {
    TOOL_RECORD_BEGIN, /* number: 1 where the frame was open before */
    TOOL_RECORD_END,   /* number: tool_ending */
    TOOL_RECORD_POINT, /* event: its kind */
    TOOL_RECORD_GAP,   /* event: reason, number: lost events */
    TOOL_RECORD_SWITCH /* number: the stack that the thread's next records are about */
};

struct tool_record {
    uint64_t time_ns, sequence;
    uint32_t stream; /* index in export->streams */
    uint32_t kind, event;
    uint32_t site; /* TTAPE_NONE: of a signal */
    uint32_t signal;
    uint64_t number;
    char *values; /* as text, NULL: none; the taker frees it */
};

struct tool_merged;

/* Opens every thread where the selection starts. NULL: reported, in export->status. */
struct tool_merged *tool_merged_open(struct tool_export *export);
/* The next record. False: none is left, or export->status is TOOL_CANNOT. */
bool tool_merged_next(struct tool_merged *merged, struct tool_record *out);
void tool_merged_close(struct tool_merged *merged);

#endif
