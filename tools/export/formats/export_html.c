/* HTML: the page of `tracetape view` with the trace in it (tools/html/). */
#include "tools/export/export.h"
#include "tools/html/html.h"

static int write_html(struct tool_export *export)
{
    return html_write(export->html, export->input, export->path, &export->out);
}

const struct tool_export_format tool_export_html = {.name = "html",
                                                    .summary = "a page that anybody opens",
                                                    .shape = TOOL_EXPORT_BINARY,
                                                    .run = write_html};
