#include "tools/calls/json_place.h"

#include "tools/command/output.h"

void tool_json_place(struct tool_json *json, const ttape_reader *reader, uint32_t site)
{
    ttape_site of = {.module = TTAPE_NONE};
    ttape_module module = {0};
    char offset[24];
    bool is_known = ttape_reader_get_site(reader, site, &of) == TTAPE_OK;
    bool has_module = is_known && of.module != TTAPE_NONE &&
                      ttape_reader_get_module(reader, of.module, &module) == TTAPE_OK;
    if (module.build_id.size_bytes > 0)
        tool_json_hex(json, "build_id", (const uint8_t *)module.build_id.data,
                      module.build_id.size_bytes);
    else
        tool_json_null(json, "build_id");
    char *end = tool_put_hex(tool_put_bytes(offset, "0x", 2),
                             has_module ? of.address - module.start : of.address);
    tool_json_string_if(json, "offset",
                        (ttape_string){offset, is_known ? (size_t)(end - offset) : 0});
}
