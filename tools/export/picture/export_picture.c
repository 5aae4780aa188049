/* The formats svg and png: which picture is drawn, and PNG through librsvg's `rsvg-convert`, which
 * gets the SVG as its standard input. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/export/picture/picture.h"

extern char **environ;

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

static int start_converter(pid_t *child, FILE *from, FILE *into)
{
    char *const arguments[] = {(char *)"rsvg-convert", (char *)"--format=png", (char *)"--zoom=2",
                               NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0) {
        (void)posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
        (void)posix_spawn_file_actions_adddup2(&actions, fileno(into), STDOUT_FILENO);
        code = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (code == ENOENT)
        return tool_fail("cannot draw: 'rsvg-convert' is not installed, which Debian's package "
                         "librsvg2-bin has (--format svg needs none)");
    return code != 0 ? tool_fail("cannot start 'rsvg-convert': %s", strerror(code)) : TOOL_OK;
}

static int convert(FILE *from, FILE *into)
{
    pid_t child = 0;
    int result = 0;
    int status = lseek(fileno(from), 0, SEEK_SET) == 0
                     ? start_converter(&child, from, into)
                     : tool_fail("cannot read back a temporary file: %s", strerror(errno));
    if (status != TOOL_OK)
        return status;
    while (waitpid(child, &result, 0) < 0)
        if (errno != EINTR)
            return tool_fail("cannot wait for 'rsvg-convert': %s", strerror(errno));
    if (WIFSIGNALED(result))
        return tool_fail("'rsvg-convert' was ended by signal %d", WTERMSIG(result));
    return WEXITSTATUS(result) == 0 ? TOOL_OK
                                    : tool_fail("'rsvg-convert' failed (%d)", WEXITSTATUS(result));
}

static int copy(FILE *from, struct tool_output *out)
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
            status = convert(vector, pixels);
        if (status == TOOL_OK && drawn != TOOL_CANNOT)
            status = copy(pixels, &export->out);
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
