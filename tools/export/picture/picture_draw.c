/* The look of all pictures, and SVG's own escapes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/export/picture/picture.h"
#include "tools/io/table.h"

#define LETTER      6.7 /* the width of a letter */
#define LABEL_LEAST 22  /* a narrower bar has no label */
#define ABOUT_BYTES 4096u
#define HUES        12u
#define TONES       3u

static const unsigned hues[HUES] = {212, 28, 168, 340, 48, 262, 130, 8, 190, 300, 78, 232};

/* Where a character starts that XML does not allow: U+FFFE and U+FFFF; controls are escaped. */
static bool is_forbidden(const char *text)
{
    return memcmp(text, "\xef\xbf", 2) == 0 && (text[2] == '\xbe' || text[2] == '\xbf');
}

static void put_text(struct tool_output *out, const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        const char *as = text[i] == '&'   ? "&amp;"
                         : text[i] == '<' ? "&lt;"
                         : text[i] == '>' ? "&gt;"
                                          : NULL;
        if (text[i] == '\xef' && i + 2 < size_bytes && is_forbidden(&text[i])) {
            as = "?";
            i += 2;
        }
        if (as != NULL)
            tool_output_text(out, as);
        else
            tool_output_bytes(out, &text[i], 1);
    }
}

static void put_style(struct tool_output *out)
{
    tool_output_text(out, "<style>\n"
                          "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1a1d21}\n"
                          ".t{font:600 14px system-ui,sans-serif}.f{fill:#5b6470}.b{fill:#16181b}\n"
                          ".k{fill:#fff}.l{stroke:#d9dee4;stroke-width:1}.m{fill:#c3cad3}"
                          ".x{fill:#b3261e}.s{fill:#8a6d3b}.a{fill:#8fb0dd}\n");
    for (unsigned i = 0; i < HUES * TONES; i++)
        tool_output_printf(out, ".c%u{fill:hsl(%u 58%% %u%%)}%s", i, hues[i / TONES],
                           74 + i % TONES * 5, i % 4 == 3 ? "\n" : "");
    tool_output_text(out, "@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.f{fill:#9aa4b0}"
                          ".b{fill:#f3f5f7}.k{fill:#15181c}\n"
                          ".l{stroke:#343b44}.m{fill:#464f5a}.x{fill:#ff8a80}.s{fill:#b9975c}"
                          ".a{fill:#3f6498}\n");
    for (unsigned i = 0; i < HUES * TONES; i++)
        tool_output_printf(out, ".c%u{fill:hsl(%u 34%% %u%%)}%s", i, hues[i / TONES],
                           34 + i % TONES * 5, i % 4 == 3 ? "\n" : "");
    tool_output_text(out, "}\n</style>\n");
}

void tool_picture_begin(struct tool_output *out, double height, const char *title,
                        const char *about)
{
    tool_output_printf(out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                       "viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>",
                       TOOL_PICTURE_WIDTH, height, TOOL_PICTURE_WIDTH, height);
    put_text(out, title, strlen(title));
    tool_output_text(out, "</title>\n");
    put_style(out);
    tool_output_text(out, "<rect class=\"k\" width=\"100%\" height=\"100%\"/>\n");
    tool_output_printf(out, "<text class=\"t\" x=\"%d\" y=\"22\">", TOOL_PICTURE_MARGIN);
    put_text(out, title, strlen(title));
    tool_output_text(out, "</text>\n");
    tool_picture_put_text(out, TOOL_PICTURE_MARGIN, 40, true, false, about);
}

static const char *class_of(int64_t fill, char room[8])
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

void tool_picture_put_bar(struct tool_output *out, const struct tool_picture_bar *bar)
{
    char room[8];
    double gap = bar->width > 3 ? 0.5 : 0; /* bars beside each other stay apart */
    size_t size = strlen(bar->label), letters = (size_t)(fmax(bar->width - 6, 0) / LETTER);
    size_t cut = tool_text_cut(bar->label, size, letters);
    tool_output_printf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"",
                       class_of(bar->fill, room), bar->x, bar->y, bar->width - gap,
                       TOOL_PICTURE_ROW - 1);
    if (bar->about[0] != '\0') {
        tool_output_text(out, "><title>");
        put_text(out, bar->about, strnlen(bar->about, ABOUT_BYTES));
        tool_output_text(out, "</title></rect>\n");
    } else {
        tool_output_text(out, "/>\n");
    }
    if (bar->width < LABEL_LEAST || cut == 0)
        return;
    if (cut < size && letters > 2)
        cut = tool_text_cut(bar->label, size, letters - 1);
    tool_output_printf(out, "<text class=\"b\" x=\"%.2f\" y=\"%.0f\">", bar->x + 3, bar->y + 11);
    put_text(out, bar->label, cut);
    tool_output_text(out, cut < size ? "\xe2\x80\xa6</text>\n" : "</text>\n");
}

void tool_picture_put_line(struct tool_output *out, double x, double y, double height)
{
    tool_output_printf(out, "<line class=\"l\" x1=\"%.2f\" y1=\"%.0f\" x2=\"%.2f\" y2=\"%.0f\"/>\n",
                       x, y, x, y + height);
}

void tool_picture_put_text(struct tool_output *out, double x, double y, bool is_faint,
                           bool is_right, const char *text)
{
    tool_output_printf(out, "<text%s%s x=\"%.2f\" y=\"%.0f\">", is_faint ? " class=\"f\"" : "",
                       is_right ? " text-anchor=\"end\"" : "", x, y);
    put_text(out, text, strlen(text));
    tool_output_text(out, "</text>\n");
}

void tool_picture_end(struct tool_output *out) { tool_output_text(out, "</svg>\n"); }
