/* Tables of distances: each entry is added to an address. They lie in memory that nobody writes. */
#include "program/binary/code/ways/ways.h"

/* The bytes at an address that no program can change; NULL: there are not that many. */
static const uint8_t *constant_at(const struct tool_code *code, uint64_t address, size_t bytes)
{
    const struct tool_image *image = code->image;
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct tool_image_segment *segment = &image->segments[i];
        uint64_t into = address - segment->address;
        if (address >= segment->address && into < segment->file_bytes)
            return segment->writable || segment->file_bytes - into < bytes
                       ? NULL
                       : image->bytes + segment->offset + into;
    }
    return NULL;
}

static uint64_t number_at(const uint8_t *bytes, unsigned each, bool is_signed)
{
    uint64_t number = each == 4 ? tool_le32(bytes) : each == 2 ? tool_le16(bytes) : bytes[0];
    uint64_t top = UINT64_C(1) << (each * 8 - 1);
    return is_signed && (number & top) != 0 ? number | ~(top | (top - 1)) : number;
}

bool tool_table_read(struct tool_code *code, const struct tool_fact *targets, tool_table_take take,
                     void *context)
{
    if (targets->each > 4 || targets->each == 3 || targets->each == 0 || targets->stride == 0)
        return false;
    for (uint32_t i = 0; i < targets->count; i++) {
        uint64_t place = targets->place + (uint64_t)i * targets->stride;
        const uint8_t *bytes = constant_at(code, place, targets->each);
        if (bytes == NULL || code->entries_left == 0)
            return false;
        code->entries_left--;
        uint64_t target =
            targets->base + (number_at(bytes, targets->each, targets->is_signed) << targets->shift);
        if (!tool_code_holds(code, target) ||
            tool_code_instruction_at(code, (uint32_t)target) == NULL ||
            !take(context, (uint32_t)target))
            return false;
    }
    return true;
}

/* ---- that nobody was seen to jump by ---- */

#define REST_MOST 4096u

static void set_computed(struct tool_code *code, size_t function)
{
    if (function < code->function_count)
        code->functions[function].flags |= TTP_PLAN_FUNCTION_COMPUTED;
}

static bool is_claimed(const struct tool_code *code, uint32_t place)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    size_t bit = bytes != NULL ? (size_t)(bytes - code->image->bytes) : 0;
    return bytes != NULL && (code->claimed[bit / 64] >> bit % 64 & 1) != 0;
}

void tool_table_claim(struct tool_code *code, uint32_t place)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    size_t bit = bytes != NULL ? (size_t)(bytes - code->image->bytes) : 0;
    if (bytes != NULL)
        code->claimed[bit / 64] |= (uint64_t)1 << bit % 64;
}

/* Until something is no code, or a table begins that a jump is known to go by: nobody knows its
 * bound. */
static void read_rest(struct tool_code *code, const struct tool_table_seen *seen)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, seen->place, &available);
    for (uint32_t i = 0; i < REST_MOST && (i + 1) * 4 <= available; i++) {
        uint64_t target = seen->place + (uint64_t)(int64_t)(int32_t)tool_le32(bytes + i * 4);
        if (!tool_code_holds(code, target) || (i > 0 && is_claimed(code, seen->place + i * 4)))
            return;
        size_t to = tool_code_function_at(code, (uint32_t)target);
        tool_code_set_entered(code, target);
        if (to < code->function_count && code->functions[to].start != target)
            set_computed(code, to);
    }
}

/* Does the first entry, as those of tables do? Of numbers that are small some lead to code. */
static bool leads_to_instruction(const struct tool_code *code, uint32_t place)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    return tool_code_instruction_at(code, place + tool_le32(bytes)) != NULL;
}

void tool_tables_rest(struct tool_code *code)
{
    for (size_t i = 0; i < code->table_count; i++) {
        const struct tool_table_seen *seen = &code->tables[i];
        if (seen->taker < code->function_count)
            code->functions[seen->taker].flags |= TOOL_CODE_TABLES;
        if (is_claimed(code, seen->place) || !leads_to_instruction(code, seen->place))
            continue;
        set_computed(code, seen->taker);
        read_rest(code, seen);
    }
}
