/* The formats svg and png: which picture is drawn, and PNG through librsvg's `rsvg-convert`, which
 * gets the SVG as its standard input. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/export/picture/picture.h"
#include "tools/io/other_program.h"

static const struct {
    const char *name;
    int (*draw)(struct tool_export *export, struct tool_output *out);
} pictures[] = {{"timeline", tool_picture_draw_timeline},
                {"flame", tool_picture_draw_flame},
                {"tree", tool_picture_draw_tree},
                {"histogram", tool_picture_draw_histogram}};
#define PICTURE_COUNT (sizeof pictures / sizeof pictures[0])

bool tool_picture_is_name(const char *name)
{
    for (size_t i = 0; i < PICTURE_COUNT; i++)
        if (name == NULL || strcmp(pictures[i].name, name) == 0)
            return true;
    return false;
}

const char *tool_picture_title(const struct tool_export *export)
{
    const char *name = strrchr(export->input->name, '/');
    return name != NULL ? name + 1 : export->input->name;
}

static int draw(struct tool_export *export, struct tool_output *out)
{
    for (size_t i = 1; i < PICTURE_COUNT; i++)
        if (export->picture != NULL && strcmp(pictures[i].name, export->picture) == 0)
            return pictures[i].draw(export, out);
    return pictures[0].draw(export, out);
}

static int run_svg(struct tool_export *export) { return draw(export, &export->out); }

/* ---- PNG ---- */

static int copy_file(FILE *from, struct tool_output *out)
{
    char bytes[65536];
    off_t at = 0;
    for (;;) {
        ssize_t size = pread(fileno(from), bytes, sizeof bytes, at);
        if (size < 0)
            return tool_fail("cannot read back a temporary file: %s", strerror(errno));
        if (size == 0)
            return TOOL_OK;
        tool_output_bytes(out, bytes, (size_t)size);
        at += size;
    }
}

static int run_png(struct tool_export *export)
{
    char *const converter[] = {(char *)"rsvg-convert", (char *)"--format=png", (char *)"--zoom=2",
                               NULL};
    FILE *vector = tmpfile(), *pixels = tmpfile();
    struct tool_output out;
    int status = TOOL_CANNOT;
    if (vector == NULL || pixels == NULL) {
        status = tool_fail("cannot make a temporary file: %s", strerror(errno));
    } else {
        tool_output_open(&out, fileno(vector));
        int drawn = draw(export, &out);
        status = tool_output_close(&out);
        if (status == TOOL_OK && drawn != TOOL_CANNOT)
            status = tool_filter_run(converter, fileno(vector), fileno(pixels),
                                     "cannot draw: 'rsvg-convert' is not installed, which "
                                     "Debian's package librsvg2-bin has (--format svg needs none)");
        if (status == TOOL_OK && drawn != TOOL_CANNOT)
            status = copy_file(pixels, &export->out);
        status = status == TOOL_OK ? drawn : status;
    }
    if (vector != NULL)
        fclose(vector);
    if (pixels != NULL)
        fclose(pixels);
    return status;
}

const struct tool_export_format tool_export_svg = {.name = "svg",
                                                   .summary = "a picture",
                                                   .shape = TOOL_EXPORT_TEXT,
                                                   .run = run_svg,
                                                   .is_picture = true};
const struct tool_export_format tool_export_png = {.name = "png",
                                                   .summary = "a picture in pixels",
                                                   .shape = TOOL_EXPORT_BINARY,
                                                   .run = run_png,
                                                   .is_picture = true};
