/* Pictures of a trace: SVG with real text, light or dark as its reader is. Shapes are bounded, so
 * that any viewer opens one; functions have the colours that `tracetape view` gives them. */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/calls/picture_style.h"
#include "tools/export/export.h"

#define TOOL_PICTURE_WIDTH  1200
#define TOOL_PICTURE_MARGIN 12
#define TOOL_PICTURE_ROW    16 /* height of a bar and its line */
#define TOOL_PICTURE_SHAPES 5000u

struct tool_picture_bar {
    double x, y, width; /* pixels */
    int64_t fill;       /* a site, or one of the above */
    const char *label;  /* in it, as far as it fits; "": none */
    const char *about;  /* what a pointer over it says; "": nothing */
};

/* Texts are escaped for a terminal already; what SVG adds to that is done here. */
void tool_picture_begin(struct tool_output *out, double height, const char *title,
                        const char *about);
void tool_picture_put_bar(struct tool_output *out, const struct tool_picture_bar *bar);
/* A hair line over `height`. */
void tool_picture_put_line(struct tool_output *out, double x, double y, double height);
/* is_faint: of less weight; is_right: it ends at x. */
void tool_picture_put_text(struct tool_output *out, double x, double y, bool is_faint,
                           bool is_right, const char *text);
void tool_picture_end(struct tool_output *out);

/* The file's name, without folders. */
const char *tool_picture_title(const struct tool_export *export);

/* Each draws one picture into export->out, or `out`; a tool_exit. */
int tool_picture_draw_timeline(struct tool_export *export, struct tool_output *out);
int tool_picture_draw_flame(struct tool_export *export, struct tool_output *out);
int tool_picture_draw_tree(struct tool_export *export, struct tool_output *out);
int tool_picture_draw_histogram(struct tool_export *export, struct tool_output *out);

#endif
