/* Instructions that were not decoded as those that are executed: code between functions, and what
 * is entered within an instruction. */
#include <stdlib.h>

#include "program/binary/code/ways/ways.h"

/* ---- ranges that are closed ---- */

bool tool_closed_add(struct tool_code *code, uint32_t start, uint32_t end, enum ttp_plan_kind why)
{
    void *array = code->closed;
    if (!tool_bounded_grow(&code->memory, &array, &code->closed_capacity, code->closed_count + 1,
                           sizeof *code->closed))
        return false;
    code->closed = array;
    code->closed[code->closed_count++] = (struct tool_closed){start, end, (uint8_t)why};
    return true;
}

static int compare_closed(const void *a, const void *b)
{
    const struct tool_closed *one = a, *other = b;
    return one->start != other->start ? (one->start < other->start ? -1 : 1)
                                      : (one->end > other->end) - (one->end < other->end);
}

void tool_closed_sort(struct tool_code *code)
{
    size_t kept = 0;
    if (code->closed_count > 0)
        qsort(code->closed, code->closed_count, sizeof *code->closed, compare_closed);
    for (size_t i = 0; i < code->closed_count; i++) {
        struct tool_closed *last = kept > 0 ? &code->closed[kept - 1] : NULL;
        if (last == NULL || code->closed[i].start > last->end) {
            code->closed[kept++] = code->closed[i];
            continue;
        }
        if (code->closed[i].end > last->end)
            last->end = code->closed[i].end;
        if (code->closed[i].why == TTP_PLAN_RESTARTABLE)
            last->why = TTP_PLAN_RESTARTABLE;
    }
    code->closed_count = kept;
}

enum ttp_plan_kind tool_code_closed(const struct tool_code *code, uint32_t start, uint32_t bytes)
{
    size_t from = 0, end = code->closed_count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (code->closed[middle].end <= start)
            from = middle + 1;
        else
            end = middle;
    }
    bool is_closed =
        from < code->closed_count && code->closed[from].start < (uint64_t)start + bytes;
    return is_closed ? (enum ttp_plan_kind)code->closed[from].why : TTP_PLAN_CAN;
}

/* ---- code that is no function's ---- */

struct hiding {
    struct tool_code *code;
    uint64_t *gone; /* a bit for each byte at which instructions of gaps were gone on from */
    bool is_new;    /* there is a mark that was not there before */
    bool has_looked;
    bool fits;
};

static void enter_address(struct hiding *hiding, uint64_t address)
{
    if (!tool_code_holds(hiding->code, address) ||
        tool_code_is_entered(hiding->code, (uint32_t)address))
        return;
    tool_code_set_entered(hiding->code, address);
    hiding->is_new = true;
}

/* Where a branch leads. */
static void go_by(struct hiding *hiding, const struct tool_instruction *found)
{
    if (found->kind == TOOL_CODE_CALL || found->kind == TOOL_CODE_JUMP ||
        found->kind == TOOL_CODE_BRANCH || found->kind == TOOL_CODE_LOOP)
        enter_address(hiding, found->target);
}

/* What may be addresses in a file at fixed places. */
static void enter_constants(struct hiding *hiding, const struct tool_instruction *found)
{
    if (!hiding->code->image->is_fixed)
        return;
    enter_address(hiding, found->constant);
    if (!found->has_place)
        enter_address(hiding, found->target);
}

static bool ends_flow(const struct tool_instruction *found)
{
    return found->kind == TOOL_CODE_JUMP || found->kind == TOOL_CODE_JUMP_INDIRECT ||
           found->kind == TOOL_CODE_RETURN || found->kind == TOOL_CODE_STOP;
}

/* Is it the first time? What is behind an address is the same each time. */
static bool go_first(struct hiding *hiding, uint32_t at)
{
    uint64_t bit = at - hiding->code->image->code_start, one = UINT64_C(1) << bit % 64;
    bool is_first = (hiding->gone[bit / 64] & one) == 0;
    hiding->gone[bit / 64] |= one;
    return is_first;
}

/* Instructions from an address on: all, or as far as they are executed one after another. */
static void go_on(struct hiding *hiding, uint32_t at, uint32_t end, bool is_all)
{
    while (at < end && go_first(hiding, at)) {
        size_t available;
        struct tool_instruction found;
        const uint8_t *bytes = tool_image_at(hiding->code->image, at, &available);
        if (bytes == NULL)
            return;
        if (!tool_decode(bytes, available, at, &found)) {
            if (!is_all)
                return;
            at++;
            continue;
        }
        go_by(hiding, &found);
        enter_constants(hiding, &found);
        at += found.length;
        if (ends_flow(&found) && !is_all)
            return;
    }
}

/* The first marked address from `address` on; `end`: there is none in front of it. */
static uint32_t next_mark(const struct tool_code *code, uint32_t address, uint32_t end)
{
    while (address < end) {
        uint64_t bit = address - code->image->code_start;
        uint64_t word = code->marks[bit / 64] >> bit % 64;
        uint64_t left = 64 - bit % 64, into = word != 0 ? (uint64_t)__builtin_ctzll(word) : left;
        if (into >= end - address)
            return end;
        address += (uint32_t)into;
        if (word != 0)
            return address;
    }
    return end;
}

/* Data of a file at fixed places may be between functions, too. */
static void mark_words(struct tool_code *code, uint32_t start, uint32_t end)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, start, &available);
    for (uint64_t i = 0; bytes != NULL && i + 4 <= available && i + 4 <= end - start; i++) {
        uint32_t word = tool_le32(bytes + i);
        if (tool_code_holds(code, word) && tool_code_instruction_at(code, word) != NULL)
            tool_code_set_entered(code, word);
    }
}

static void look_at_gap(struct hiding *hiding, uint64_t start, uint64_t end, bool is_first)
{
    if (start >= end)
        return;
    if (is_first && hiding->code->image->is_fixed)
        mark_words(hiding->code, (uint32_t)start, (uint32_t)end);
    if (is_first)
        go_on(hiding, (uint32_t)start, (uint32_t)end, true);
    for (uint32_t at = (uint32_t)start; (at = next_mark(hiding->code, at, (uint32_t)end)) < end;
         at++)
        go_on(hiding, at, (uint32_t)end, false);
}

/* What no function covers of an executable segment. */
static void look_at_gaps(struct hiding *hiding, const struct tool_image_segment *segment,
                         bool is_first)
{
    const struct tool_code *code = hiding->code;
    uint64_t at = segment->address, end = segment->address + segment->file_bytes;
    for (size_t i = 0; i < code->function_count && at < end; i++) {
        const struct tool_function *function = &code->functions[i];
        if (function->end <= at)
            continue;
        look_at_gap(hiding, at, function->start < end ? function->start : end, is_first);
        at = function->end;
    }
    look_at_gap(hiding, at, end, is_first);
}

/* ---- entered within an instruction ---- */

/* Other instructions than those that were decoded, until both are the same again: there no window
 * may be. */
static void follow_function(struct hiding *hiding, const struct tool_function *function,
                            uint32_t within, uint32_t address)
{
    struct tool_code *code = hiding->code;
    uint32_t at = address;
    while (at < function->end && code->entries_left > 0 &&
           tool_code_instruction_at(code, at) == NULL) {
        size_t available;
        struct tool_instruction found;
        const uint8_t *bytes = tool_image_at(code->image, at, &available);
        bool is_there = bytes != NULL && tool_decode(bytes, available, at, &found);
        code->entries_left--;
        if (is_there)
            go_by(hiding, &found);
        at += is_there ? found.length : 1;
    }
    hiding->fits = hiding->fits && tool_closed_add(code, within, at, TTP_PLAN_NO_ROOM);
}

static void look_within(struct hiding *hiding, const struct tool_function *function)
{
    const struct tool_code *code = hiding->code;
    size_t i = function->first, last = function->first + function->count;
    for (uint32_t at = function->start; (at = next_mark(code, at, function->end)) < function->end;
         at++) {
        while (i < last && code->instructions[i].address + code->instructions[i].length <= at)
            i++;
        if (i < last && code->instructions[i].address < at)
            follow_function(hiding, function, code->instructions[i].address, at);
    }
}

/* Until nothing new is found; what leads out of gaps is found before functions are looked at. */
static void look_at_all_gaps(struct hiding *hiding)
{
    const struct tool_image *image = hiding->code->image;
    for (hiding->is_new = true; hiding->is_new; hiding->has_looked = true) {
        hiding->is_new = false;
        for (uint32_t i = 0; i < image->segment_count; i++)
            if (image->segments[i].executable)
                look_at_gaps(hiding, &image->segments[i], !hiding->has_looked);
    }
}

bool tool_hidden_mark(struct tool_code *code)
{
    uint64_t code_bytes = code->image->code_end - code->image->code_start;
    struct hiding hiding = {
        .code = code, .is_new = true, .gone = tool_code_new_bits(code, code_bytes)};
    hiding.fits = hiding.gone != NULL;
    while (hiding.is_new && hiding.fits) {
        look_at_all_gaps(&hiding);
        code->closed_count = 0;
        for (size_t i = 0; hiding.fits && i < code->function_count; i++)
            if ((code->functions[i].flags & TTP_PLAN_FUNCTION_LOOKED) != 0)
                look_within(&hiding, &code->functions[i]);
    }
    free(hiding.gone);
    return hiding.fits;
}
