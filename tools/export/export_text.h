/* Texts that an exporter builds piece by piece and keeps: names as outputs may show them. */
#ifndef TOOL_EXPORT_TEXT_H
#define TOOL_EXPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "base/escape.h"
#include "tools/command/tool.h"

/* Longer names are cut: a name of a mebibyte is legal, but not a million times in one output. */
#define TOOL_EXPORT_NAME_BYTES 16384u

/* Bytes that grow; zeroed is empty. Always NUL-terminated once something was added. */
struct tool_buffer {
    char *data;
    size_t size_bytes, capacity;
};

void tool_buffer_add(struct tool_buffer *buffer, const void *data, size_t size_bytes);
void tool_buffer_text(struct tool_buffer *buffer, const char *text);
void tool_buffer_number(struct tool_buffer *buffer, uint64_t number);
void tool_buffer_printf(struct tool_buffer *buffer, const char *format, ...) TOOL_PRINTF(2, 3);
/* A name from a file, escaped, cut where it is longer than TOOL_EXPORT_NAME_BYTES. */
void tool_buffer_name(struct tool_buffer *buffer, enum ttp_escape_style style, ttape_string name);
/* The same with its quotes, for JSON. */
void tool_buffer_json(struct tool_buffer *buffer, ttape_string name);
void tool_buffer_close(struct tool_buffer *buffer);

/* One value; JSON has no number for pointers, infinities and integers over 2^53: strings. */
void tool_buffer_json_value(struct tool_buffer *buffer, const ttape_value *value);
/* Values as text, "(1, 0x2, "three")", escaped. */
void tool_buffer_values(struct tool_buffer *buffer, const ttape_value *values, uint32_t count);

/* What value `index` is called: "return" of an exit, otherwise "arg1" and so on; in `room`. */
const char *tool_value_name(char room[16], uint32_t event_kind, uint32_t index, uint32_t count);

#endif
