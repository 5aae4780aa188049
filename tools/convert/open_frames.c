/* Open frames of several stacks in one list: stacks are few, and seldom change. */
#include <string.h>

#include "tools/command/tool.h"
#include "tools/convert/open_frames.h"

#define UNWIND_MAX 1024u /* frames that an exit may leave by unwinding: as in the writer */

void tool_frames_push(struct tool_open_frames *open, uint32_t site, uint32_t signal)
{
    tool_grow((void **)&open->frames, &open->capacity, open->count + 1,
              sizeof(struct tool_open_frame));
    open->frames[open->count++] = (struct tool_open_frame){site, signal, open->stack};
}

size_t tool_frames_innermost(const struct tool_open_frames *open, size_t before)
{
    while (before > 0 && open->frames[before - 1].stack != open->stack)
        before--;
    return before;
}

uint32_t tool_frames_find(const struct tool_open_frames *open, uint32_t site, uint32_t signal)
{
    uint32_t count = 0;
    size_t at = open->count + 1;
    while ((at = tool_frames_innermost(open, at - 1)) > 0 && count < UNWIND_MAX) {
        count++;
        if (open->frames[at - 1].site == site && open->frames[at - 1].signal == signal)
            return count;
    }
    return 0;
}

void tool_frames_drop(struct tool_open_frames *open, uint32_t count)
{
    for (size_t at; count > 0 && (at = tool_frames_innermost(open, open->count)) > 0; count--) {
        open->count--;
        memmove(&open->frames[at - 1], &open->frames[at],
                (open->count - (at - 1)) * sizeof(struct tool_open_frame));
    }
}
