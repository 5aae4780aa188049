/* The helper process, and what it says of each frame. Debug information comes from anywhere, and is
 * read by code that is not ours: so nothing that the helper says is trusted, either. */
#include <stdlib.h>
#include <string.h>

#include "program/process/child.h"
#include "tools/command/tool.h"
#include "tools/context/core/core_locals.h"

#define MEMORY_MOST (UINT64_C(2) << 30)
#define WAIT_MS     60000u
#define LINES_MOST  1000000u

static void work(int fd, const void *context)
{
    struct tool_core_state state = *(const struct tool_core_state *)context;
    tool_core_open_again(state.core);
    tool_core_walk(&state, fd);
}

/* Where a line's number goes; NULL: it is of no frame. */
static uint32_t *place_of(struct tool_core_state *state, const struct tool_core_wire *wire)
{
    if (wire->calls >= state->call_count)
        return NULL;
    struct tool_core_calls *calls = &state->calls[wire->calls];
    if (wire->frame == TOOL_CORE_NONE)
        return &calls->first_local;
    if (calls->count == 0 || wire->frame >= calls->stacks[0].count)
        return NULL;
    return &calls->stacks[0].frames[wire->frame].first_local;
}

/* The next line. A frame's lines follow each other. */
static bool take_locals(struct tool_core_state *state, struct tool_core_locals *locals,
                        struct tool_core_wire *before, const struct tool_core_wire *wire,
                        const char *bytes)
{
    bool is_more =
        locals->count != 0 && before->calls == wire->calls && before->frame == wire->frame;
    uint32_t *place = is_more ? &locals->all[locals->count - 1].next : place_of(state, wire);
    if (place == NULL || *place != TOOL_CORE_NONE || locals->count == LINES_MOST)
        return false;
    *place = (uint32_t)locals->count;
    tool_grow((void **)&locals->all, &locals->capacity, locals->count + 1, sizeof *locals->all);
    locals->all[locals->count++] =
        (struct tool_core_local){.name = tool_copy_text(bytes, wire->name_bytes),
                                 .text = tool_copy_text(bytes + wire->name_bytes, wire->text_bytes),
                                 .next = TOOL_CORE_NONE,
                                 .is_line = wire->is_line != 0};
    *before = *wire;
    return true;
}

static const char *receive(struct tool_core_state *state, struct tool_core_locals *locals, int fd)
{
    uint64_t deadline = tool_child_now_ms() + WAIT_MS;
    struct tool_core_wire wire, before = {0};
    char bytes[2 * TOOL_CORE_TEXT_MOST];
    for (;;) {
        if (!tool_child_receive(fd, &wire, sizeof wire, deadline))
            break;
        if (wire.calls == TOOL_CORE_NONE)
            return NULL;
        if (wire.name_bytes > TOOL_CORE_TEXT_MOST || wire.text_bytes > TOOL_CORE_TEXT_MOST ||
            !tool_child_receive(fd, bytes, wire.name_bytes + wire.text_bytes, deadline) ||
            !take_locals(state, locals, &before, &wire, bytes))
            break;
    }
    return tool_child_now_ms() >= deadline
               ? "looking for them took longer than a minute"
               : "reading debug information failed: a file may be damaged";
}

void tool_core_read_locals(struct tool_core_state *state, struct tool_core_locals *locals)
{
    struct tool_child child;
    if (state->call_count == 0)
        return;
    if (!tool_child_start(&child, MEMORY_MOST, work, state)) {
        locals->why = "no process could be started to look for them";
        return;
    }
    locals->why = receive(state, locals, child.fd);
    (void)tool_child_end(&child, true);
}

void tool_core_locals_close(struct tool_core_locals *locals)
{
    for (size_t i = 0; i < locals->count; i++) {
        free(locals->all[i].name);
        free(locals->all[i].text);
    }
    free(locals->all);
}
