/* The look of all pictures: SVG's styles, light or dark as its reader is, and the colours of
 * functions, which `tracetape view` gives them, too. */
#ifndef TOOL_PICTURE_STYLE_H
#define TOOL_PICTURE_STYLE_H

#include <stdint.h>

#include "tools/command/output.h"

/* Fills of what is no function. */
enum {
    TOOL_PICTURE_MIXED = -1,  /* calls that are too short to be drawn */
    TOOL_PICTURE_LOST = -2,   /* events are missing */
    TOOL_PICTURE_SIGNAL = -3, /* a handler of a signal */
    TOOL_PICTURE_AMOUNT = -4  /* a bar of a chart */
};

/* A <style>, with more rules for a light and for a dark reader. */
void tool_picture_put_style(struct tool_output *out, const char *light, const char *dark);
/* The class of a fill: a site, or one of the above. */
const char *tool_picture_class(int64_t fill, char room[8]);

#endif
