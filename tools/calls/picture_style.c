/* Styles of pictures, and the colours of functions. */
#include "tools/calls/picture_style.h"

#include <stdio.h>

#define HUES  12u
#define TONES 3u

static const unsigned hues[HUES] = {212, 28, 168, 340, 48, 262, 130, 8, 190, 300, 78, 232};

static void put_colours(struct tool_output *out, unsigned saturation, unsigned lightness)
{
    for (unsigned i = 0; i < HUES * TONES; i++)
        tool_output_printf(out, ".c%u{fill:hsl(%u %u%% %u%%)}%s", i, hues[i / TONES], saturation,
                           lightness + i % TONES * 5, i % 4 == 3 ? "\n" : "");
}

void tool_picture_put_style(struct tool_output *out, const char *light, const char *dark)
{
    tool_output_text(out, "<style>\n"
                          ":root{color-scheme:light dark;background:#fff}\n"
                          "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1a1d21}\n"
                          ".t{font:600 14px system-ui,sans-serif}.f{fill:#5b6470}.b{fill:#16181b}\n"
                          ".k{fill:#fff}.l{stroke:#d9dee4;stroke-width:1}.m{fill:#c3cad3}"
                          ".x{fill:#b3261e}.s{fill:#8a6d3b}.a{fill:#8fb0dd}\n");
    put_colours(out, 58, 74);
    tool_output_text(out, light);
    tool_output_text(out, "@media(prefers-color-scheme:dark){:root{background:#15181c}"
                          "text{fill:#e6e9ed}.f{fill:#9aa4b0}"
                          ".b{fill:#f3f5f7}.k{fill:#15181c}\n"
                          ".l{stroke:#343b44}.m{fill:#464f5a}.x{fill:#ff8a80}.s{fill:#b9975c}"
                          ".a{fill:#3f6498}\n");
    put_colours(out, 34, 34);
    tool_output_text(out, dark);
    tool_output_text(out, "}\n</style>\n");
}

const char *tool_picture_class(int64_t fill, char room[8])
{
    switch (fill) {
    case TOOL_PICTURE_MIXED: return "m";
    case TOOL_PICTURE_LOST: return "x";
    case TOOL_PICTURE_SIGNAL: return "s";
    case TOOL_PICTURE_AMOUNT: return "a";
    default: break;
    }
    uint32_t mixed = ((uint32_t)fill + 1) * UINT32_C(2654435761); /* as tools/view/page/names.ts */
    (void)snprintf(room, 8, "c%u", (mixed >> 8) % HUES * TONES + (mixed >> 20) % TONES);
    return room;
}
