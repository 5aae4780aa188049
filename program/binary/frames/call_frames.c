/* .eh_frame: CIEs and FDEs, front to back. */
#include <string.h>

#include "program/binary/frames/call_frames.h"
#include "program/binary/frames/pointers.h"

struct common {
    const uint8_t *instructions, *end;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointers, landing_pads; /* encodings */
    bool is_signal, is_augmented;
};

static struct tool_cursor cursor_at(const struct tool_image *image, size_t at, size_t size_bytes)
{
    const uint8_t *bytes = image->frames.bytes + at;
    return (struct tool_cursor){bytes, bytes + size_bytes, image->frames.address + at, false};
}

/* An entry: its length, then (for 4 bytes of ones, 8 of length) what is in it. False: the end. */
static bool entry_at(const struct tool_image *image, size_t at, struct tool_cursor *entry,
                     size_t *next)
{
    struct tool_cursor cursor = cursor_at(image, at, image->frames.size_bytes - at);
    uint64_t length = tool_cursor_number(&cursor, 4);
    if (length == UINT32_MAX)
        length = tool_cursor_number(&cursor, 8);
    if (cursor.is_bad || length < 4 || length > tool_cursor_left(&cursor))
        return false;
    size_t start = (size_t)(cursor.at - image->frames.bytes);
    *entry = cursor_at(image, start, (size_t)length);
    *next = start + (size_t)length;
    return true;
}

static bool read_augmentation(struct tool_cursor *entry, const char *letters, struct common *common)
{
    uint64_t size_bytes = tool_cursor_uleb(entry);
    struct tool_cursor data = *entry;
    if (tool_cursor_take(entry, size_bytes) == NULL)
        return false;
    data.end = entry->at;
    for (const char *letter = letters + 1; *letter != 0; letter++) {
        switch (*letter) {
        case 'R': common->pointers = (uint8_t)tool_cursor_number(&data, 1); break;
        case 'L': common->landing_pads = (uint8_t)tool_cursor_number(&data, 1); break;
        case 'P': {
            uint8_t encoding = (uint8_t)tool_cursor_number(&data, 1);
            (void)tool_cursor_pointer(&data, encoding & (uint8_t)~TOOL_POINTER_INDIRECT);
            break;
        }
        case 'S': common->is_signal = true; break;
        default: return !data.is_bad; /* what is unknown is at the end */
        }
    }
    return !data.is_bad;
}

static bool read_common(const struct tool_image *image, size_t at, struct common *common)
{
    struct tool_cursor entry;
    size_t next;
    *common = (struct common){.landing_pads = TOOL_POINTER_OMIT};
    if (at >= image->frames.size_bytes || !entry_at(image, at, &entry, &next) ||
        tool_cursor_number(&entry, 4) != 0)
        return false;
    uint64_t version = tool_cursor_number(&entry, 1);
    const char *letters = (const char *)entry.at;
    const uint8_t *end = memchr(entry.at, 0, tool_cursor_left(&entry));
    if (end == NULL || tool_cursor_take(&entry, (uint64_t)(end + 1 - entry.at)) == NULL)
        return false;
    common->code_factor = tool_cursor_uleb(&entry);
    common->data_factor = tool_cursor_sleb(&entry);
    uint64_t column = version == 1 ? tool_cursor_number(&entry, 1) : tool_cursor_uleb(&entry);
    common->is_augmented = letters[0] == 'z';
    if ((version != 1 && version != 3) || column != TOOL_FRAMES_COLUMNS - 1 || entry.is_bad ||
        (!common->is_augmented && letters[0] != 0) ||
        (common->is_augmented && !read_augmentation(&entry, letters, common)))
        return false;
    common->instructions = entry.at;
    common->end = entry.end;
    return tool_cursor_left(&entry) <= TOOL_FRAMES_CIE_MAX;
}

static bool read_frame(const struct tool_image *image, struct tool_cursor entry,
                       struct tool_frame *frame)
{
    struct common common;
    size_t at = (size_t)(entry.at - image->frames.bytes);
    uint64_t back = tool_cursor_number(&entry, 4);
    if (back > at || !read_common(image, at - (size_t)back, &common))
        return false;
    uint64_t start = tool_cursor_pointer(&entry, common.pointers);
    uint64_t size_bytes = tool_cursor_pointer(&entry, common.pointers & 0x0f);
    *frame = (struct tool_frame){.is_signal = common.is_signal,
                                 .common = common.instructions,
                                 .common_end = common.end,
                                 .code_factor = common.code_factor,
                                 .data_factor = common.data_factor,
                                 .pointers = common.pointers};
    if (common.is_augmented) {
        uint64_t augmentation = tool_cursor_uleb(&entry);
        struct tool_cursor data = entry;
        if (tool_cursor_take(&entry, augmentation) == NULL)
            return false;
        data.end = entry.at;
        if (common.landing_pads != TOOL_POINTER_OMIT && augmentation > 0)
            frame->landing_pads = tool_cursor_pointer(&data, common.landing_pads);
        entry.is_bad |= data.is_bad;
    }
    frame->own = entry.at;
    frame->own_end = entry.end;
    frame->address = entry.address;
    if (entry.is_bad || size_bytes == 0 || start < image->code_start || start >= image->code_end ||
        size_bytes > image->code_end - start)
        return false;
    frame->start = (uint32_t)start;
    frame->end = (uint32_t)(start + size_bytes);
    return true;
}

bool tool_frames_next(const struct tool_image *image, struct tool_frames_walk *walk,
                      struct tool_frame *frame)
{
    while (walk->at < image->frames.size_bytes) {
        struct tool_cursor entry;
        size_t next, at = walk->at;
        if (!entry_at(image, at, &entry, &next))
            return false;
        walk->at = next;
        if (tool_le32(entry.at) == 0) /* a CIE */
            continue;
        if (read_frame(image, entry, frame)) {
            frame->entry_at = at;
            return true;
        }
        walk->bad_count++;
    }
    return false;
}

bool tool_frames_at(const struct tool_image *image, size_t at, struct tool_frame *frame)
{
    struct tool_cursor entry;
    size_t next;
    *frame = (struct tool_frame){0};
    if (at >= image->frames.size_bytes || !entry_at(image, at, &entry, &next) ||
        !read_frame(image, entry, frame))
        return false;
    frame->entry_at = at;
    return true;
}
