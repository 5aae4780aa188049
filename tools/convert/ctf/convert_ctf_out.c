/* The end of the pipe at which the process that reads CTF says what it read. */
#include <stdlib.h>
#include <string.h>

#include "program/process/child.h"
#include "tools/convert/ctf/convert_ctf.h"

#define OUT_BYTES (256u * 1024u)

bool tool_ctf_out_begin(struct tool_ctf_out *out, int fd)
{
    out->fd = fd;
    out->bytes = malloc(OUT_BYTES);
    return out->bytes != NULL;
}

void tool_ctf_out_flush(struct tool_ctf_out *out)
{
    out->failed = out->failed || !tool_child_send(out->fd, out->bytes, out->used, 0);
    out->used = 0;
}

void tool_ctf_out_send(struct tool_ctf_out *out, struct tool_ctf_wire *wire)
{
    wire->text_bytes = (uint32_t)out->text_bytes;
    if (OUT_BYTES - out->used < sizeof(*wire) + out->text_bytes)
        tool_ctf_out_flush(out);
    memcpy(out->bytes + out->used, wire, sizeof(*wire));
    out->used += sizeof(*wire);
    memcpy(out->bytes + out->used, out->text, out->text_bytes);
    out->used += out->text_bytes;
    out->text_bytes = 0;
}

void tool_ctf_out_text(struct tool_ctf_out *out, const char *text)
{
    size_t room = TOOL_CTF_TEXT_MAX / 4 - 1; /* of each: there are at most four */
    size_t size = text != NULL ? strlen(text) : 0;
    size = size < room ? size : room;
    if (size > 0)
        memcpy(out->text + out->text_bytes, text, size);
    out->text[out->text_bytes + size] = '\0';
    out->text_bytes += size + 1;
}
