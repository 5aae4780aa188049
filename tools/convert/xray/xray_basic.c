/* XRay's basic mode: records of 32 bytes, each thread's in its order.
 *
 *   u16 0 | u8 CPU | u8 kind | i32 function | u64 ticks | u32 thread | u32 process | 8 bytes
 *   u16 1 | 2 bytes          | i32 function | u32 thread | u32 process | u64 argument | 8 bytes
 *
 * The second form follows an enter, and gives it an argument. */
#include <inttypes.h>

#include "tools/convert/xray/convert_xray.h"

#define RECORD_BYTES 32u

/* An enter that an argument may follow. */
struct held {
    bool is_there;
    uint64_t ticks;
    struct tool_xray_record record;
};

static void release(struct tool_xray *xray, struct held *held)
{
    if (held->is_there)
        tool_xray_add(xray, held->ticks, held->record);
    held->is_there = false;
}

static void take_argument(struct tool_xray *xray, const uint8_t *at, uint64_t offset,
                          struct held *held)
{
    const struct tool_xray_record *enter = &held->record;
    bool fits = held->is_there && enter->function == tool_xray_load(at + 4, 4) &&
                xray->threads[enter->thread].tid == tool_xray_load(at + 8, 4);
    if (!fits) {
        tool_conversion_warn(xray->conversion,
                             "an argument of no call at byte %" PRIu64 ": left out", offset);
        return;
    }
    held->record.value = tool_xray_load(at + 16, 8);
    held->record.size_bytes = 1;
    release(xray, held);
}

static void take_record(struct tool_xray *xray, const uint8_t *at, uint64_t offset,
                        struct held *held)
{
    uint64_t type = tool_xray_load(at, 2);
    if (type == 1) {
        take_argument(xray, at, offset, held);
        return;
    }
    release(xray, held);
    if (type != 0 || at[3] > TOOL_XRAY_ENTER_ARGUMENT) {
        tool_conversion_warn(xray->conversion,
                             "a record of an unknown kind at byte %" PRIu64 ": left out", offset);
        return;
    }
    uint64_t tid = tool_xray_load(at + 16, 4);
    uint64_t pid = xray->version >= 3 ? tool_xray_load(at + 20, 4) : 0;
    held->is_there = true;
    held->ticks = tool_xray_load(at + 8, 8);
    held->record = (struct tool_xray_record){.kind = at[3],
                                             .function = (uint32_t)tool_xray_load(at + 4, 4),
                                             .thread = tool_xray_thread_of(xray, pid, tid)};
}

void tool_xray_read_basic(struct tool_xray *xray)
{
    struct held held = {0};
    uint64_t offset = TOOL_XRAY_HEAD_BYTES;
    const uint8_t *at;
    while (!xray->failed && (at = tool_xray_bytes(xray, offset, RECORD_BYTES)) != NULL) {
        take_record(xray, at, offset, &held);
        offset += RECORD_BYTES;
    }
    release(xray, &held);
    if (offset < xray->size_bytes && xray->failed_errno == 0)
        tool_conversion_warn(xray->conversion, "the last record is cut at byte %" PRIu64, offset);
}
