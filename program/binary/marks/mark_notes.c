/* The notes, each at a multiple of four bytes:
 *
 *     u32 size of the owner (8), u32 size of what follows it, u32 type (3), "stapsdt\0",
 *     u64 address of the nop, u64 where .stapsdt.base was then, u64 semaphore or 0,
 *     provider, name, arguments, each with a zero behind it */
#include <string.h>

#include "program/binary/frames/image.h"
#include "program/binary/marks/marks.h"

#define NOTE_HEAD  12u
#define NOTE_TYPE  3u
#define OWNER      "stapsdt"
#define NUMBERS    24u /* bytes of the three addresses */
#define ALIGNED(n) (((uint64_t)(n) + 3) & ~(uint64_t)3)

/* A text with its zero, and what stands behind it. */
static bool take_text(const uint8_t **at, const uint8_t *end, ttape_string *text)
{
    const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
    if (zero == NULL)
        return false;
    *text = (ttape_string){(const char *)*at, (size_t)(zero - *at)};
    *at = zero + 1;
    return true;
}

/* Where a place is now: a file may have been moved as a whole since (prelink). */
static bool move(uint64_t said, uint64_t base_said, uint64_t base, uint32_t *address)
{
    uint64_t moved = base == 0 ? said : said + (base - base_said);
    *address = (uint32_t)moved;
    return moved != 0 && moved <= TOOL_IMAGE_ADDRESS_MAX;
}

static bool parse(const uint8_t *at, size_t size_bytes, uint64_t base, struct tool_mark *mark)
{
    const uint8_t *text = at + NUMBERS, *end = at + size_bytes;
    *mark = (struct tool_mark){.semaphore = 0};
    if (size_bytes < NUMBERS || !move(tool_le64(at), tool_le64(at + 8), base, &mark->address) ||
        !take_text(&text, end, &mark->provider) || !take_text(&text, end, &mark->name) ||
        !take_text(&text, end, &mark->arguments) || mark->name.size_bytes == 0 ||
        mark->provider.size_bytes + 1 + mark->name.size_bytes >= TOOL_MARK_NAME_MAX)
        return false;
    return tool_le64(at + 16) == 0 ||
           move(tool_le64(at + 16), tool_le64(at + 8), base, &mark->semaphore);
}

void tool_mark_notes(const uint8_t *notes, size_t size_bytes, uint64_t base, tool_take_mark take,
                     void *context)
{
    for (size_t at = 0; size_bytes - at >= NOTE_HEAD;) {
        const uint8_t *head = notes + at;
        uint64_t owner_bytes = ALIGNED(tool_le32(head)), left = size_bytes - at - NOTE_HEAD;
        uint64_t bytes = tool_le32(head + 4);
        struct tool_mark mark;
        if (owner_bytes > left || bytes > left - owner_bytes)
            return;
        bool is_mark = tool_le32(head + 8) == NOTE_TYPE && tool_le32(head) == sizeof OWNER &&
                       memcmp(head + NOTE_HEAD, OWNER, sizeof OWNER) == 0;
        if (is_mark && parse(head + NOTE_HEAD + owner_bytes, (size_t)bytes, base, &mark))
            take(context, &mark);
        uint64_t next = owner_bytes + ALIGNED(bytes);
        at += NOTE_HEAD + (size_t)(next < left ? next : left);
    }
}
