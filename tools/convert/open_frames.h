/* The open frames of a thread, as converters keep them for inputs that name what is left. */
#ifndef TOOL_OPEN_FRAMES_H
#define TOOL_OPEN_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* An open frame; site TTAPE_NONE: the handler of a signal, whose number is in `signal`. */
struct tool_open_frame {
    uint32_t site, signal, stack;
};

struct tool_open_frames {
    struct tool_open_frame *frames; /* of all stacks, in the order in which they began */
    size_t count, capacity;
    uint32_t stack; /* the current one */
};

void tool_frames_push(struct tool_open_frames *open, uint32_t site, uint32_t signal);
/* Index + 1 of the innermost frame of the current stack below `before`, 0: none. */
size_t tool_frames_innermost(const struct tool_open_frames *open, size_t before);
/* How many frames up (from 1) the current stack has this site (or this signal); 0: it has not,
 * among as many frames as an exit may leave by unwinding. */
uint32_t tool_frames_find(const struct tool_open_frames *open, uint32_t site, uint32_t signal);
/* Takes the innermost frames of the current stack away. */
void tool_frames_drop(struct tool_open_frames *open, uint32_t count);

#endif
