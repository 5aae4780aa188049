#include "tools/values/call_site.h"

#define SHOWN_BYTES 4096u /* of a name */

void tool_put_call_site(struct tool_output *out, const ttape_reader *reader, uint32_t number)
{
    char text[SHOWN_BYTES];
    size_t size = ttape_call_site_name(reader, number, text, sizeof text);
    size = size < sizeof text ? size : sizeof text - 1;
    tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){text, size});
}
