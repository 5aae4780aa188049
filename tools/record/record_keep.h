/* The flight recorder's end: the pieces that were kept become one trace. */
#ifndef RECORD_KEEP_H
#define RECORD_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/recording.h>

/* How much to keep: a size or a time. */
struct tool_keep {
    bool given;
    uint64_t size_bytes, time_ns;
};

/* Option parser: "64M" is a size, "10s" a time. */
bool tool_parse_keep(const char *text, void *into);

/* Joins the recording's files under the name that was asked for. Returns a tool_exit. */
int tool_keep_merge(const ttape_recording *recording, const char *output, bool force);

#endif
