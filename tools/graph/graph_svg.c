/* A graph as SVG, through Graphviz's `dot`, which gets it as its standard input. What it draws is
 * given the look of the other pictures: its shapes have classes (graph_dot.c), and styles are put
 * in front of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/calls/picture_style.h"
#include "tools/graph/graph_view.h"
#include "tools/io/other_program.h"

#define HEAD_BYTES 65536u /* the element that all are in begins within these */

static const char light[] =
    ".graph>polygon{fill:#fff}.graph>text{font:600 14px system-ui,sans-serif}"
    ".lost>text{fill:#b3261e}\n"
    ".node ellipse,.node polygon{fill:inherit;fill-opacity:.2;stroke:#5b6470}"
    ".light ellipse{fill-opacity:.6}.dark ellipse{fill-opacity:1;stroke-width:1.5}\n"
    ".node text{font-size:11px}.edge text{font-size:9px;fill:#5b6470}"
    ".edge path,.edge polygon{stroke:#5b6470}.edge polygon{fill:#5b6470}"
    ".through polygon{fill:none}.through path{stroke:#9aa4b0}\n";
static const char dark[] =
    ".graph>polygon{fill:#15181c}.lost>text{fill:#ff8a80}"
    ".node ellipse,.node polygon,.edge path,.edge polygon{stroke:#9aa4b0}\n"
    ".edge text{fill:#9aa4b0}.edge polygon{fill:#9aa4b0}.through polygon{fill:none}"
    ".through path{stroke:#5b6470}\n";

/* Where the styles go: behind the first tag of the picture. */
static size_t find_inside(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i + 4 < size_bytes; i++)
        if (memcmp(text + i, "<svg", 4) == 0) {
            const char *end = memchr(text + i, '>', size_bytes - i);
            return end != NULL ? (size_t)(end - text) + 1 : 0;
        }
    return 0;
}

static int copy_with_style(int from)
{
    char bytes[HEAD_BYTES];
    struct tool_output out;
    off_t at = 0;
    ssize_t size;
    tool_output_open(&out, STDOUT_FILENO);
    while ((size = pread(from, bytes, sizeof bytes, at)) > 0) {
        size_t inside = at == 0 ? find_inside(bytes, (size_t)size) : 0;
        tool_output_bytes(&out, bytes, inside);
        if (inside > 0) {
            tool_output_text(&out, "\n");
            tool_picture_put_style(&out, light, dark);
        }
        tool_output_bytes(&out, bytes + inside, (size_t)size - inside);
        at += size;
    }
    int status =
        size < 0 ? tool_fail("cannot read back a temporary file: %s", strerror(errno)) : TOOL_OK;
    int closed = tool_output_close(&out);
    return status != TOOL_OK ? status : closed;
}

int tool_graph_draw(void (*put)(void *context, struct tool_output *out), void *context)
{
    struct tool_output out;
    FILE *graph = tmpfile(), *picture = tmpfile();
    int status = TOOL_CANNOT;
    if (graph == NULL || picture == NULL) {
        status = tool_fail("cannot make a temporary file: %s", strerror(errno));
    } else {
        tool_output_open(&out, fileno(graph));
        put(context, &out);
        status = tool_output_close(&out);
        if (status == TOOL_OK)
            status = tool_filter_run(
                (char *[]){(char *)"dot", (char *)"-Tsvg", NULL}, fileno(graph), fileno(picture),
                "cannot draw: Graphviz's 'dot' is not installed (--format dot needs none)");
        if (status == TOOL_OK)
            status = copy_with_style(fileno(picture));
    }
    if (graph != NULL)
        fclose(graph);
    if (picture != NULL)
        fclose(picture);
    return status;
}
