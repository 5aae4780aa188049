/* What pictures are made of, and SVG's own escapes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/export/picture/picture.h"

#define LETTER      6.7 /* the width of a letter */
#define LABEL_LEAST 22  /* a narrower bar has no label */
#define ABOUT_BYTES 4096u

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

void tool_picture_begin(struct tool_output *out, double height, const char *title,
                        const char *about)
{
    tool_output_printf(out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                       "viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>",
                       TOOL_PICTURE_WIDTH, height, TOOL_PICTURE_WIDTH, height);
    put_text(out, title, strlen(title));
    tool_output_text(out, "</title>\n");
    tool_picture_put_style(out, "", "");
    tool_output_text(out, "<rect class=\"k\" width=\"100%\" height=\"100%\"/>\n");
    tool_output_printf(out, "<text class=\"t\" x=\"%d\" y=\"22\">", TOOL_PICTURE_MARGIN);
    put_text(out, title, strlen(title));
    tool_output_text(out, "</text>\n");
    tool_picture_put_text(out, TOOL_PICTURE_MARGIN, 40, true, false, about);
}

void tool_picture_put_bar(struct tool_output *out, const struct tool_picture_bar *bar)
{
    char room[8];
    double gap = bar->width > 3 ? 0.5 : 0; /* bars beside each other stay apart */
    size_t size = strlen(bar->label), letters = (size_t)(fmax(bar->width - 6, 0) / LETTER);
    size_t cut = ttp_text_cut(bar->label, size, letters);
    tool_output_printf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"",
                       tool_picture_class(bar->fill, room), bar->x, bar->y, bar->width - gap,
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
        cut = ttp_text_cut(bar->label, size, letters - 1);
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
