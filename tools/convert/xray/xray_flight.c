/* XRay's flight data recorder, versions 3 to 5: buffers, each of one thread.
 *
 *   extents: how many bytes follow | thread | time of day | process | CPU and ticks | records ...
 *
 * A record's first bit tells calls (8 bytes: kind, function, ticks since the one before) from
 * others (16 bytes, and bytes of an event). Buffers are reused, so a thread's are in any order:
 * they are listed first, and read in the order of their times. */
#include <inttypes.h>

#include "tools/convert/xray/convert_xray.h"

#define CALL_BYTES  8u
#define OTHER_BYTES 16u
#define SORT_BLOCKS 262144u

enum other {
    NEW_BUFFER = 0,
    NEW_CPU = 2,
    TICKS_WRAP = 3,
    TIME_OF_DAY = 4,
    CUSTOM_EVENT = 5,
    ARGUMENT = 6,
    EXTENTS = 7,
    TYPED_EVENT = 8,
    PROCESS = 9
};
#define FIRST_BYTE(other) ((uint8_t)((unsigned)(other) << 1 | 1u))

/* A buffer, behind its extents. */
struct block {
    uint64_t offset, size_bytes;
    uint64_t seconds, nanoseconds;
    uint32_t pid, tid;
};

/* Where a buffer is read. */
struct reading {
    struct tool_xray *xray;
    uint64_t at, end, ticks;
    uint32_t thread;
    bool is_held; /* a call that an argument may follow */
    uint64_t held_ticks;
    struct tool_xray_record held;
};

static int compare_numbers(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare_blocks(const void *a, const void *b)
{
    const struct block *one = a, *two = b;
    const uint64_t left[] = {one->pid, one->tid, one->seconds, one->nanoseconds, one->offset};
    const uint64_t right[] = {two->pid, two->tid, two->seconds, two->nanoseconds, two->offset};
    int order = 0;
    for (int i = 0; i < 5 && order == 0; i++)
        order = compare_numbers(left[i], right[i]);
    return order;
}

/* What stands before a buffer's first call. */
static void read_block_head(struct tool_xray *xray, struct block *block)
{
    const uint8_t *at;
    uint64_t offset = block->offset, end = block->offset + block->size_bytes;
    for (; end - offset >= OTHER_BYTES; offset += OTHER_BYTES) {
        at = tool_xray_bytes(xray, offset, OTHER_BYTES);
        if (at == NULL || (at[0] & 1u) == 0)
            return;
        switch (at[0] >> 1) {
        case NEW_BUFFER: block->tid = (uint32_t)tool_xray_load(at + 1, 4); break;
        case PROCESS: block->pid = (uint32_t)tool_xray_load(at + 1, 4); break;
        case TIME_OF_DAY:
            block->seconds = tool_xray_load(at + 1, 8);
            block->nanoseconds = tool_xray_load(at + 9, 4);
            break;
        case NEW_CPU: return; /* it comes last */
        default: break;
        }
    }
}

/* Finds the next extents from an offset on: between buffers anything may stand. */
static bool find_block(struct tool_xray *xray, uint64_t *offset, struct block *block)
{
    const uint8_t *at = NULL;
    while ((at = tool_xray_bytes(xray, *offset, 1)) != NULL && *at != FIRST_BYTE(EXTENTS))
        ++*offset;
    at = at != NULL ? tool_xray_bytes(xray, *offset, OTHER_BYTES) : NULL;
    if (at == NULL)
        return false;
    *block =
        (struct block){.offset = *offset + OTHER_BYTES, .size_bytes = tool_xray_load(at + 1, 8)};
    uint64_t left = xray->size_bytes - block->offset;
    if (block->size_bytes > left) {
        tool_conversion_warn(xray->conversion,
                             "the buffer at byte %" PRIu64 " is cut: %" PRIu64 " of %" PRIu64
                             " bytes",
                             *offset, left, block->size_bytes);
        block->size_bytes = left;
    }
    *offset = block->offset + block->size_bytes;
    read_block_head(xray, block);
    return true;
}

static void release(struct reading *read)
{
    if (read->is_held)
        tool_xray_add(read->xray, read->held_ticks, read->held);
    read->is_held = false;
}

static void hold(struct reading *read, struct tool_xray_record record)
{
    release(read);
    record.thread = read->thread;
    read->held = record;
    read->held_ticks = read->ticks;
    read->is_held = true;
}

/* An event with bytes of its own behind it. False: they are not all there. */
static bool take_event(struct reading *read, const uint8_t *body, uint32_t kind)
{
    struct tool_xray_record event = {.kind = kind, .value = read->at};
    uint64_t size = tool_xray_load(body, 4);
    if (size == 0 || size > INT32_MAX || size > read->end - read->at)
        return false;
    event.size_bytes = (uint32_t)size;
    uint64_t before = read->ticks;
    if (kind == TOOL_XRAY_CUSTOM && read->xray->version < 5)
        read->ticks = tool_xray_load(body + 4, 8); /* not what the next call counts from */
    else
        read->ticks += (uint64_t)(int64_t)(int32_t)(uint32_t)tool_xray_load(body + 4, 4);
    if (kind == TOOL_XRAY_TYPED)
        event.function = (uint32_t)tool_xray_load(body + 8, 2);
    hold(read, event);
    if (kind == TOOL_XRAY_CUSTOM && read->xray->version < 5)
        read->ticks = before;
    read->at += size;
    return true;
}

/* A record of 16 bytes, at whose end read->at stands. False: it makes no sense. */
static bool take_other(struct reading *read, const uint8_t *at)
{
    const uint8_t *body = at + 1;
    switch (at[0] >> 1) {
    case NEW_BUFFER:
    case TIME_OF_DAY:
    case PROCESS: return true; /* known already */
    case NEW_CPU: read->ticks = tool_xray_load(body + 2, 8); return true;
    case TICKS_WRAP: read->ticks = tool_xray_load(body, 8); return true;
    case ARGUMENT:
        if (!read->is_held || read->held.size_bytes != 0)
            return read->is_held; /* of several the first one */
        read->held.value = tool_xray_load(body, 8);
        read->held.size_bytes = 1;
        return true;
    case CUSTOM_EVENT: return take_event(read, body, TOOL_XRAY_CUSTOM);
    case TYPED_EVENT: return take_event(read, body, TOOL_XRAY_TYPED);
    default: return false;
    }
}

static bool take_call(struct reading *read, const uint8_t *at)
{
    uint32_t word = (uint32_t)tool_xray_load(at, 4), kind = word >> 1 & 7u;
    read->ticks += tool_xray_load(at + 4, 4);
    if (kind > TOOL_XRAY_ENTER_ARGUMENT)
        return false;
    hold(read, (struct tool_xray_record){.kind = kind, .function = word >> 4});
    return true;
}

static void read_block(struct tool_xray *xray, const struct block *block)
{
    struct reading read = {.xray = xray,
                           .at = block->offset,
                           .end = block->offset + block->size_bytes,
                           .thread = tool_xray_thread_of(xray, block->pid, block->tid)};
    while (read.at < read.end && !xray->failed) {
        uint64_t start = read.at;
        const uint8_t *at = tool_xray_bytes(xray, start, 1);
        bool is_call = at != NULL && (*at & 1u) == 0;
        size_t size = is_call ? CALL_BYTES : OTHER_BYTES;
        at = size <= read.end - start ? tool_xray_bytes(xray, start, size) : NULL;
        read.at += size;
        if (at == NULL || !(is_call ? take_call(&read, at) : take_other(&read, at))) {
            if (xray->failed_errno == 0)
                tool_conversion_warn(xray->conversion,
                                     "no record at byte %" PRIu64
                                     ": the rest of this buffer is left out, %" PRIu64 " bytes",
                                     start, read.end - start);
            break;
        }
    }
    release(&read);
}

void tool_xray_read_flight(struct tool_xray *xray)
{
    struct tool_sorter *blocks =
        tool_sorter_open(sizeof(struct block), SORT_BLOCKS, compare_blocks);
    struct block block;
    uint64_t offset = TOOL_XRAY_HEAD_BYTES;
    while (!xray->failed && find_block(xray, &offset, &block))
        xray->failed = !tool_sorter_add(blocks, &block);
    xray->failed = xray->failed || !tool_sorter_finish(blocks);
    while (!xray->failed && tool_sorter_next(blocks, &block))
        read_block(xray, &block);
    xray->failed = xray->failed || tool_sorter_failed(blocks);
    tool_sorter_close(blocks);
}
