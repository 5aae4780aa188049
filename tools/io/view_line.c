#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/io/view_line.h"

#define PLACE_BYTES 2048u

bool tool_has_view(void)
{
#ifdef TOOL_HAS_VIEW
    return true;
#else
    return false;
#endif
}

/* Too long a name ends the place in front of it. */
static size_t put_encoded(char *text, size_t at, const char *name)
{
    size_t start = at;
    for (const char *c = name; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '_';
        if (at + 4 > PLACE_BYTES)
            return start;
        at += (size_t)snprintf(text + at, 4, is_plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
    return at;
}

static uint64_t since(uint64_t time_ns, uint64_t start_ns)
{
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void put_place(char *text, const struct tool_input *input, const struct tool_place *place)
{
    ttape_info info;
    size_t at = 0, room = PLACE_BYTES;
    ttape_reader_get_info(input->reader, &info);
    if (place->has_range) {
        uint64_t to_ns = place->to_ns < info.time_last_ns ? place->to_ns : info.time_last_ns;
        at += (size_t)snprintf(text, room, "t=%" PRIu64 "..%" PRIu64 "&",
                               since(place->from_ns, info.time_first_ns),
                               since(to_ns, info.time_first_ns));
    }
    if (place->call != NULL && place->call[0] != '\0')
        at += (size_t)snprintf(text + at, room - at, "n=%s&", place->call);
    if (place->function != NULL) {
        size_t name = put_encoded(text, at + 2, place->function);
        if (name > at + 2 && name + 16 < room) {
            memcpy(text + at, "f=", 2);
            text[name] = '&';
            at = name + 1;
        }
    }
    (void)snprintf(text + at, room - at, "v=%s", place->pane);
}

/* There is nothing to be seen then. */
static bool is_outside(const struct tool_input *input, const struct tool_place *place)
{
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    return place->has_range &&
           (place->from_ns > info.time_last_ns || place->to_ns <= info.time_first_ns);
}

void tool_say_view(const struct tool_input *input, const struct tool_place *place)
{
    char text[PLACE_BYTES + 4];
    if (!tool_has_view() || !tool_terminal_there() || input->fd >= 0)
        return;
    if (place == NULL) {
        tool_message("in the browser: tracetape view '%s'", input->name);
        return;
    }
    if (is_outside(input, place))
        return;
    put_place(text, input, place);
    tool_message("in the browser: tracetape view '%s' --at '%s'", input->name, text);
}
