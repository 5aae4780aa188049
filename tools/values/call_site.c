#include "tools/values/call_site.h"

#include <inttypes.h>

#include "tools/calls/site_name.h"

uint32_t tool_call_site_index(const ttape_reader *reader, uint32_t site, const ttape_value *values,
                              uint32_t count)
{
    ttape_site found;
    for (uint32_t i = count; i-- > 0;)
        if (values[i].type == TTAPE_VALUE_POINTER &&
            ttape_reader_get_site(reader, ttape_reader_find_target(reader, site, values[i].number),
                                  &found) == TTAPE_OK &&
            found.kind == TTAPE_SITE_CALL)
            return i;
    return count;
}

static ttape_string without_folder(ttape_string path)
{
    for (size_t i = path.size_bytes; i-- > 0;)
        if (path.data[i] == '/')
            return (ttape_string){path.data + i + 1, path.size_bytes - i - 1};
    return path;
}

void tool_put_call_site(struct tool_output *out, const ttape_reader *reader, uint32_t number)
{
    ttape_site site = {0};
    (void)ttape_reader_get_site(reader, number, &site);
    if (site.file.size_bytes > 0 && site.line > 0) {
        tool_output_escaped(out, TTP_ESCAPE_TEXT, without_folder(site.file));
        tool_output_printf(out, ":%" PRIu32, site.line);
    } else if (site.symbol.size_bytes > 0) {
        tool_output_escaped(out, TTP_ESCAPE_TEXT, site.symbol);
    } else {
        char label[TOOL_LABEL_BYTES];
        size_t size = ttape_site_name(reader, number, label, sizeof label);
        tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){label, size});
    }
}
