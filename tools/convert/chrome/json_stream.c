/* Finding the ends of JSON values: quotes, escapes and brackets, nothing more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/convert/chrome/json_stream.h"

#define READ_BYTES (256u * 1024u)
#define LOOK_BYTES (1024u * 1024u) /* in which an object tells what it is */
#define NULL_BYTES 4u              /* in the place of a value that is left out */

void tool_json_stream_open(struct tool_json_stream *json, int fd, const void *head,
                           size_t head_bytes)
{
    *json = (struct tool_json_stream){.fd = fd};
    tool_grow((void **)&json->buffer, &json->capacity, head_bytes + READ_BYTES, 1);
    memcpy(json->buffer, head, head_bytes);
    json->end = head_bytes;
    json->at = head_bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

void tool_json_stream_close(struct tool_json_stream *json)
{
    free(json->buffer);
    *json = (struct tool_json_stream){0};
}

uint64_t tool_json_stream_offset(const struct tool_json_stream *json)
{
    return json->offset + json->at;
}

/* Makes null of the value that is read, up to `stop`. False: it is short itself. */
static bool drop_value(struct tool_json_stream *json, size_t stop)
{
    size_t start = json->kept + json->value + NULL_BYTES;
    if (json->value == 0 || stop < start)
        return false;
    size_t gone = stop - start;
    memcpy(json->buffer + start - NULL_BYTES, "null", NULL_BYTES);
    memmove(json->buffer + start, json->buffer + stop, json->end - stop);
    json->at -= gone;
    json->end -= gone;
    json->offset += gone; /* of what follows */
    json->is_dropping = json->has_dropped = true;
    return true;
}

/* Reads more behind what must be kept. False: there is no more. */
static bool fill_buffer(struct tool_json_stream *json)
{
    if (json->ended || (json->is_looking && json->end - json->kept > LOOK_BYTES))
        return false;
    if (json->is_keeping && json->end - json->kept > TOOL_JSON_OBJECT_MAX &&
        (!drop_value(json, json->at) || json->end - json->kept > TOOL_JSON_OBJECT_MAX)) {
        json->is_keeping = false;
        json->has_overrun = true;
    }
    size_t first = json->is_keeping ? json->kept : json->at;
    memmove(json->buffer, json->buffer + first, json->end - first);
    json->offset += first;
    json->at -= first;
    json->end -= first;
    json->kept = 0;
    tool_grow((void **)&json->buffer, &json->capacity, json->end + READ_BYTES, 1);
    ssize_t got;
    do {
        got = read(json->fd, json->buffer + json->end, READ_BYTES);
    } while (got < 0 && errno == EINTR);
    json->failed_errno = got < 0 ? errno : 0;
    json->ended = got <= 0;
    json->end += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static inline int next_byte(struct tool_json_stream *json)
{
    if (json->at == json->end && !fill_buffer(json))
        return -1;
    return (unsigned char)json->buffer[json->at++];
}

int tool_json_stream_peek(struct tool_json_stream *json)
{
    int byte;
    do {
        byte = next_byte(json);
    } while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t');
    json->at -= byte >= 0;
    return byte;
}

void tool_json_stream_skip(struct tool_json_stream *json) { (void)next_byte(json); }

/* Behind an opening quote: moves behind the closing one. False: the input ends. */
static bool pass_string(struct tool_json_stream *json)
{
    for (int byte; (byte = next_byte(json)) >= 0;) {
        if (byte == '"')
            return true;
        if (byte == '\\' && next_byte(json) < 0)
            return false;
    }
    return false;
}

bool tool_json_stream_string(struct tool_json_stream *json, char *into, size_t capacity)
{
    size_t size = 0;
    bool is_escaped = false;
    (void)next_byte(json);
    for (int byte; (byte = next_byte(json)) >= 0 && (byte != '"' || is_escaped);) {
        is_escaped = byte == '\\' && !is_escaped;
        if (size < capacity)
            into[size] = (char)byte;
        size++;
    }
    bool fits = size < capacity;
    into[fits ? size : 0] = '\0';
    return fits;
}

bool tool_json_stream_pass(struct tool_json_stream *json)
{
    uint64_t depth = 0;
    int byte = tool_json_stream_peek(json);
    bool is_scalar = byte != '{' && byte != '[' && byte != '"';
    while ((byte = next_byte(json)) >= 0) {
        switch (byte) {
        case '{':
        case '[': depth++; break;
        case '"':
            if (!pass_string(json))
                return false;
            if (depth == 0)
                return true;
            break;
        case '}':
        case ']':
        case ',':
            if (depth == 0) { /* ends a number or word; belongs to what is around */
                json->at--;
                return true;
            }
            depth -= byte != ',';
            if (depth == 0 && byte != ',')
                return true;
            break;
        default: break;
        }
    }
    return is_scalar;
}

/* ---- objects ---- */

/* Where a scan of an object is. */
struct scan {
    uint64_t depth;
    bool is_key; /* the next string at depth 1 is a key */
    size_t key;  /* where the last key at depth 1 starts, behind its quote */
    size_t key_bytes;
    struct tool_json_part *value; /* the value that is read */
};

static size_t place(const struct tool_json_stream *json) { return json->at - json->kept; }

static struct tool_json_part *part_of(const struct tool_json_stream *json, const struct scan *at,
                                      struct tool_json_object *out)
{
    const char *key = json->buffer + json->kept + at->key;
    if (at->key_bytes == 2 && memcmp(key, "ts", 2) == 0)
        return &out->ts;
    return at->key_bytes == 3 && memcmp(key, "dur", 3) == 0 ? &out->dur : NULL;
}

static void end_value(struct tool_json_stream *json, struct scan *at)
{
    if (json->is_dropping)
        (void)drop_value(json, json->at - 1);
    json->is_dropping = false;
    json->value = 0;
    if (at->value != NULL) {
        at->value->size_bytes = place(json) - 1 - at->value->start;
        at->value = NULL;
    }
}

/* One byte of an object. False: the input ends. */
static bool take_object(struct tool_json_stream *json, struct scan *at,
                        struct tool_json_object *out, int byte)
{
    switch (byte) {
    case '"': {
        size_t start = place(json);
        if (!pass_string(json))
            return false;
        if (at->depth == 1 && at->is_key) {
            at->key = start;
            at->key_bytes = place(json) - 1 - start;
        }
        break;
    }
    case ':':
        if (at->depth == 1 && at->is_key) {
            at->is_key = false;
            json->value = place(json);
            at->value = part_of(json, at, out);
            if (at->value != NULL)
                at->value->start = place(json);
        }
        break;
    case ',':
        if (at->depth == 1) {
            end_value(json, at);
            at->is_key = true;
        }
        break;
    case '{':
    case '[': at->depth++; break;
    case '}':
    case ']':
        if (at->depth == 1)
            end_value(json, at);
        at->depth--;
        break;
    default: break;
    }
    return true;
}

/* The rest of an object that is too long to keep. False: the input ends in it. */
static bool pass_rest(struct tool_json_stream *json, uint64_t depth)
{
    while (depth > 0) {
        int byte = next_byte(json);
        if (byte < 0 || (byte == '"' && !pass_string(json)))
            return false;
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
    }
    return true;
}

static void begin_keeping(struct tool_json_stream *json)
{
    json->is_keeping = true;
    json->has_overrun = json->has_dropped = json->is_dropping = false;
    json->value = 0;
    json->kept = json->at;
}

static enum tool_json_what what_of(const struct tool_json_stream *json, const struct scan *at)
{
    const char *key = json->buffer + json->kept + at->key;
    if (at->key_bytes == 2 && memcmp(key, "ph", 2) == 0)
        return TOOL_JSON_EVENT;
    return at->key_bytes == 11 && memcmp(key, "traceEvents", 11) == 0 ? TOOL_JSON_CONTAINER
                                                                      : TOOL_JSON_OTHER;
}

enum tool_json_what tool_json_stream_look(struct tool_json_stream *json)
{
    struct scan at = {.is_key = true};
    struct tool_json_object ignored = {0};
    enum tool_json_what what = TOOL_JSON_OTHER;
    bool goes_on = true;
    begin_keeping(json);
    json->is_looking = true;
    while (goes_on && what == TOOL_JSON_OTHER) {
        int byte = next_byte(json);
        goes_on = byte >= 0 && take_object(json, &at, &ignored, byte) && at.depth > 0;
        if (goes_on && byte == ':' && at.depth == 1)
            what = what_of(json, &at);
    }
    json->at = json->kept;
    json->is_keeping = json->is_looking = false;
    return what;
}

void tool_json_stream_object(struct tool_json_stream *json, struct tool_json_object *out)
{
    struct scan at = {.is_key = true};
    *out = (struct tool_json_object){.offset = tool_json_stream_offset(json), .is_complete = true};
    begin_keeping(json);
    do {
        int byte = next_byte(json);
        out->is_complete = byte >= 0 && take_object(json, &at, out, byte);
    } while (out->is_complete && at.depth > 0 && !json->has_overrun);
    out->is_too_long = json->has_overrun;
    out->has_dropped = json->has_dropped;
    if (out->is_too_long) {
        out->is_complete = out->is_complete && pass_rest(json, at.depth);
        return;
    }
    out->text = json->buffer + json->kept;
    out->size_bytes = place(json);
    json->is_keeping = false;
}
