#include "tools/send/wire.h"

#include <stdio.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"

/* Hello:    0 magic 8 | 8 version 2 | 10 name bytes 2 | 12 reserved 4 | 16 file header 64
 *          80 name    | hash 8
 * Message:  0 kind 2 | 2 text bytes 2 | 4 reserved 4 | 8 offset 8 | 16 prefix 8 | 24 text */
#define MAGIC       "\x89TTsend\n"
#define MAGIC_BYTES 8u
#define VERSION_AT  8u
#define LENGTH_AT   10u
#define RESERVED_AT 12u
#define HEADER_AT   16u
#define NAME_AT     (HEADER_AT + TTP_FILE_HEADER_BYTES)

#define KIND_AT          0u
#define TEXT_BYTES_AT    2u
#define SAID_RESERVED_AT 4u
#define OFFSET_AT        8u
#define PREFIX_AT        16u

#define SCHEME "tcp://"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool tool_send_is_name(const char *name, size_t size_bytes)
{
    size_t suffix = strlen(TOOL_SEND_SUFFIX);
    if (size_bytes <= suffix || size_bytes > TOOL_SEND_NAME_MOST || !is_plain(name[0]) ||
        memcmp(name + size_bytes - suffix, TOOL_SEND_SUFFIX, suffix) != 0)
        return false;
    for (size_t i = 0; i < size_bytes; i++)
        if (!is_plain(name[i]) && (name[i] == '\0' || strchr(".-+@=,", name[i]) == NULL))
            return false;
    return true;
}

bool tool_send_is_question(const struct tool_send_hello *hello)
{
    static const uint8_t zeros[TTP_FILE_HEADER_BYTES];
    return memcmp(hello->header, zeros, sizeof zeros) == 0;
}

size_t tool_send_put_hello(const struct tool_send_hello *hello, uint8_t out[TOOL_SEND_HELLO_MOST])
{
    size_t name_bytes = strlen(hello->name), end = NAME_AT + name_bytes;
    memset(out, 0, NAME_AT);
    memcpy(out, MAGIC, MAGIC_BYTES);
    ttp_store16(out + VERSION_AT, TOOL_SEND_VERSION);
    ttp_store16(out + LENGTH_AT, (uint16_t)name_bytes);
    memcpy(out + HEADER_AT, hello->header, TTP_FILE_HEADER_BYTES);
    memcpy(out + NAME_AT, hello->name, name_bytes);
    ttp_store64(out + end, ttp_checksum(out, end));
    return end + sizeof(uint64_t);
}

enum tool_send_parsed tool_send_get_hello(const uint8_t *data, size_t size_bytes,
                                          struct tool_send_hello *hello, size_t *taken)
{
    size_t have = size_bytes < MAGIC_BYTES ? size_bytes : MAGIC_BYTES;
    if (memcmp(data, MAGIC, have) != 0)
        return TOOL_SEND_BAD;
    if (size_bytes < HEADER_AT)
        return TOOL_SEND_MORE;
    if (ttp_load16(data + VERSION_AT) != TOOL_SEND_VERSION)
        return TOOL_SEND_OTHER_VERSION;
    size_t name_bytes = ttp_load16(data + LENGTH_AT), end = NAME_AT + name_bytes;
    if (name_bytes == 0 || name_bytes > TOOL_SEND_NAME_MOST || ttp_load32(data + RESERVED_AT) != 0)
        return TOOL_SEND_BAD;
    if (size_bytes < end + sizeof(uint64_t))
        return TOOL_SEND_MORE;
    if (ttp_load64(data + end) != ttp_checksum(data, end) ||
        !tool_send_is_name((const char *)data + NAME_AT, name_bytes))
        return TOOL_SEND_BAD;
    memcpy(hello->header, data + HEADER_AT, TTP_FILE_HEADER_BYTES);
    memcpy(hello->name, data + NAME_AT, name_bytes);
    hello->name[name_bytes] = '\0';
    *taken = end + sizeof(uint64_t);
    return TOOL_SEND_GOOD;
}

size_t tool_send_put_said(const struct tool_send_said *said, uint8_t out[TOOL_SEND_SAID_MOST])
{
    size_t text_bytes = strlen(said->text);
    memset(out, 0, TOOL_SEND_SAID_BYTES);
    ttp_store16(out + KIND_AT, (uint16_t)said->kind);
    ttp_store16(out + TEXT_BYTES_AT, (uint16_t)text_bytes);
    ttp_store64(out + OFFSET_AT, said->offset);
    ttp_store64(out + PREFIX_AT, said->prefix);
    memcpy(out + TOOL_SEND_SAID_BYTES, said->text, text_bytes);
    return TOOL_SEND_SAID_BYTES + text_bytes;
}

enum tool_send_parsed tool_send_get_said(const uint8_t *data, size_t size_bytes,
                                         struct tool_send_said *said, size_t *taken)
{
    if (size_bytes < TOOL_SEND_SAID_BYTES)
        return TOOL_SEND_MORE;
    uint16_t kind = ttp_load16(data + KIND_AT);
    size_t text_bytes = ttp_load16(data + TEXT_BYTES_AT);
    if (kind < TOOL_SEND_HAS || kind > TOOL_SEND_NOT_NOW || text_bytes > TOOL_SEND_TEXT_MOST ||
        ttp_load32(data + SAID_RESERVED_AT) != 0)
        return TOOL_SEND_BAD;
    if (size_bytes < TOOL_SEND_SAID_BYTES + text_bytes)
        return TOOL_SEND_MORE;
    const uint8_t *text = data + TOOL_SEND_SAID_BYTES;
    if (text_bytes != 0 && memchr(text, '\0', text_bytes) != NULL)
        return TOOL_SEND_BAD;
    said->kind = (enum tool_send_kind)kind;
    said->offset = ttp_load64(data + OFFSET_AT);
    said->prefix = ttp_load64(data + PREFIX_AT);
    memcpy(said->text, text, text_bytes);
    said->text[text_bytes] = '\0';
    *taken = TOOL_SEND_SAID_BYTES + text_bytes;
    return TOOL_SEND_GOOD;
}

bool tool_send_is_url(const char *text) { return strncmp(text, SCHEME, strlen(SCHEME)) == 0; }

/* Copies `size_bytes` as a string. */
static bool keep(char *into, size_t room, const char *text, size_t size_bytes)
{
    if (size_bytes == 0 || size_bytes >= room)
        return false;
    memcpy(into, text, size_bytes);
    into[size_bytes] = '\0';
    return true;
}

bool tool_send_parse_place(const char *text, struct tool_send_place *place, const char **why)
{
    const char *at = tool_send_is_url(text) ? text + strlen(SCHEME) : text;
    const char *host = at, *host_end;
    *place = (struct tool_send_place){0};
    *why = "a place is tcp://HOST:PORT, with /NAME behind it for a name, and [..] around an IPv6 "
           "address";
    if (*at == '[') {
        host = at + 1;
        host_end = strchr(host, ']');
        at = host_end != NULL ? host_end + 1 : host;
    } else {
        host_end = at + strcspn(at, ":/");
        at = host_end;
    }
    if (host_end == NULL || *at != ':' ||
        !keep(place->host, sizeof place->host, host, (size_t)(host_end - host)))
        return false;
    size_t digits = strspn(++at, "0123456789");
    unsigned port = 0;
    if (!keep(place->port, sizeof place->port, at, digits) ||
        sscanf(place->port, "%u", &port) != 1 || port > 65535)
        return false;
    at += digits;
    if (*at == '\0')
        return true;
    *why = "its NAME has letters, digits and ._-+@=, only, begins with a letter, a digit or _, "
           "ends in .ttape, and has at most 200 of them";
    return *at++ == '/' && tool_send_is_name(at, strlen(at)) &&
           keep(place->name, sizeof place->name, at, strlen(at));
}
