/* Windows: where a jump to a stub can be put, and what has to be moved for it.
 *
 *     entry     whole instructions from the start on, until there is room
 *     exit      from the instruction itself on, into what fills up behind it: nobody can come in
 *               between; else with instructions in front, if nothing leads there
 *     both      where an exit has no room of its own behind the entry's
 *
 * In a function with a jump whose targets are not known only windows are taken that begin with
 * the one instruction that they have. */
#include "program/binary/patch/patch_place.h"

static bool ends_flow(const struct tool_instruction *instruction)
{
    return instruction->kind == TOOL_CODE_JUMP || instruction->kind == TOOL_CODE_JUMP_INDIRECT ||
           instruction->kind == TOOL_CODE_RETURN;
}

static uint32_t end_of(const struct tool_instruction *instruction)
{
    return instruction->address + instruction->length;
}

/* The instruction at an address behind the range: a nop, or int3; a jump to the next function where
 * is_jump is given. */
static bool filler_at(const struct tool_patch_place *place, uint32_t address, uint32_t *length,
                      bool *is_jump)
{
    size_t available;
    struct tool_instruction next;
    const uint8_t *bytes = tool_image_at(place->patch->code->image, address, &available);
    uint64_t room = (uint64_t)place->limit - address;
    if (bytes == NULL || address >= place->limit)
        return false;
    *length = 1;
    if (bytes[0] == 0xcc)
        return true;
    if (!tool_decode(bytes, available < room ? available : (size_t)room, address, &next))
        return false;
    *length = next.length;
    if (is_jump != NULL && next.kind == TOOL_CODE_JUMP && next.target == place->limit)
        return *is_jump = true;
    return next.is_nop;
}

/* What assemblers and linkers fill up with: nops, or a jump over nothing but nops. */
static bool fill_at(const struct tool_patch_place *place, uint32_t address, uint32_t *length)
{
    bool is_jump = false, is_fill = filler_at(place, address, length, &is_jump);
    uint32_t next = address + *length, more;
    while (is_fill && is_jump && next < place->limit) {
        is_fill = filler_at(place, next, &more, NULL);
        next += is_fill ? more : 0;
    }
    return is_fill;
}

/* Bytes behind an instruction that ends the flow which nothing executes: no more than needed. */
static uint32_t fill_behind(const struct tool_patch_place *place, size_t at)
{
    const struct tool_code *code = place->patch->code;
    uint32_t start = end_of(&place->all[at]), end = start, length;
    while (end - start < place->least && fill_at(place, end, &length)) {
        for (uint32_t i = 0; i < length; i++)
            if (tool_code_is_marked(code, end + i))
                return end - start;
        end += length;
    }
    return end - start;
}

/* Whether an instruction can be moved; the last one of a window may leave it. */
static bool can_move(const struct tool_patch_place *place, size_t i, size_t to, bool is_entry)
{
    const struct tool_instruction *found = &place->all[i];
    switch (found->kind) {
    case TOOL_CODE_PLAIN: return true;
    case TOOL_CODE_BRANCH:
        return is_entry || i == to ||
               tool_patch_exit_of(place->patch, place->range, found) == TOOL_EXIT_NONE;
    case TOOL_CODE_JUMP:
    case TOOL_CODE_JUMP_INDIRECT:
    case TOOL_CODE_RETURN: return i == to;
    case TOOL_CODE_CALL:
    case TOOL_CODE_CALL_INDIRECT: return i == to && is_entry && found->target != end_of(found);
    default: return false;
    }
}

/* Who unwinds in between finds the same frame. */
static bool has_same_row(const struct tool_code *code, uint32_t one, uint32_t other)
{
    const struct ttp_plan_row *a = tool_code_row_at(code, one), *b = tool_code_row_at(code, other);
    return a != NULL && b != NULL && a->cfa_kind == b->cfa_kind && a->cfa_offset == b->cfa_offset &&
           a->rbp_kind == b->rbp_kind && a->rbp_offset == b->rbp_offset;
}

/* A branch that grows where it is moved to puts what is behind it off its place, for who unwinds:
 * that must not matter. Where the code goes on behind the window, its frame is that, too. */
static bool keeps_frame(const struct tool_patch_place *place, size_t from, size_t to, bool goes_on)
{
    const struct tool_instruction *all = place->all;
    const struct tool_code *code = place->patch->code;
    size_t grown = from;
    while (grown < to && all[grown].kind != TOOL_CODE_BRANCH)
        grown++;
    for (size_t i = grown + 2; i <= to; i++)
        if (!has_same_row(code, all[grown + 1].address, all[i].address))
            return false;
    return grown == to || !goes_on || has_same_row(code, all[grown + 1].address, end_of(&all[to]));
}

static bool may_fault(const struct tool_patch_place *place, size_t i)
{
    const struct tool_instruction *at = &place->all[i];
    const struct ttp_plan_row *row = tool_code_row_at(place->patch->code, at->address);
    return at->may_fault && (!at->by_frame || row == NULL || row->cfa_kind != TTP_PLAN_CFA_RBP);
}

/* A handler is shown where a fault was, and may go on anywhere in the window: that is known byte
 * for byte, where no branch has grown before. */
static bool hides_fault(const struct tool_patch_place *place, size_t from, size_t to)
{
    bool has_grown = false, has_fault = false;
    for (size_t i = from; i <= to; i++) {
        has_grown |= i < to && place->all[i].kind == TOOL_CODE_BRANCH;
        has_fault |= may_fault(place, i);
    }
    return has_grown && has_fault;
}

/* A breakpoint at a line that begins in the distance of a jump changes that. For a jump of five
 * bytes the runtime can find a distance that stays the same, for one of two it cannot; a host is
 * looked for that has no such line first. */
static bool breaks_jump(const struct tool_patch_place *place, uint32_t start)
{
    const struct tool_code *code = place->patch->code;
    if (place->least == TTP_PATCH_SHORT_MIN)
        return tool_code_begins_line(code, start + 1);
    for (uint32_t i = 1; place->is_lineless && i < TTP_PATCH_HOST_MIN; i++)
        if (tool_code_begins_line(code, start + i))
            return true;
    return false;
}

/* Whether the instructions [from, to] can be a window, and of how many bytes. */
static enum ttp_patch_reason judge_window(const struct tool_patch_place *place, size_t from,
                                          size_t to, bool is_entry, uint32_t *bytes)
{
    const struct tool_instruction *all = place->all;
    *bytes = end_of(&all[to]) - all[from].address;
    if (all[from].address < place->free_from)
        return TTP_PATCH_SHARED;
    for (size_t i = from; i <= to; i++) {
        if (!can_move(place, i, to, is_entry))
            return TTP_PATCH_IMMOVABLE;
        for (uint32_t byte = i == from; byte < all[i].length; byte++)
            if (tool_code_is_marked(place->patch->code, all[i].address + byte))
                return TTP_PATCH_BRANCHED;
    }
    if (hides_fault(place, from, to))
        return TTP_PATCH_FAULTS;
    if (from < to && place->is_computed)
        return TTP_PATCH_COMPUTED;
    enum ttp_plan_kind closed = tool_code_closed(place->patch->code, all[from].address, *bytes);
    if (closed != TTP_PLAN_CAN)
        return closed == TTP_PLAN_RESTARTABLE ? TTP_PATCH_RESTARTABLE : TTP_PATCH_UNDECODED;
    if (!keeps_frame(place, from, to, is_entry && !ends_flow(&all[to])))
        return TTP_PATCH_IMMOVABLE;
    if (breaks_jump(place, all[from].address))
        return TTP_PATCH_LINES;
    if (*bytes >= place->least)
        return *bytes <= TTP_PLAN_WINDOW_MAX ? TTP_PATCH_CAN : TTP_PATCH_FAR;
    if (!ends_flow(&all[to]) || *bytes + fill_behind(place, to) < place->least)
        return TTP_PATCH_NO_ROOM;
    *bytes = place->least;
    return TTP_PATCH_CAN;
}

static bool is_exit(const struct tool_patch_place *place, size_t at)
{
    enum tool_patch_exit exit = tool_patch_exit_of(place->patch, place->range, &place->all[at]);
    return exit == TOOL_EXIT_RETURN || exit == TOOL_EXIT_TAIL || exit == TOOL_EXIT_TAIL_IF;
}

/* The window of an exit: of itself, else the shortest with instructions in front. */
enum ttp_patch_reason tool_patch_find_exit(const struct tool_patch_place *place, size_t at,
                                           struct tool_patch_window *window)
{
    enum ttp_patch_reason first = TTP_PATCH_CAN;
    *window = (struct tool_patch_window){.from = at, .to = at};
    for (size_t from = at + 1; from-- > 0 && at - from <= TTP_PLAN_WINDOW_MIN;) {
        enum ttp_patch_reason reason = judge_window(place, from, at, false, &window->bytes);
        window->from = from;
        if (reason == TTP_PATCH_CAN)
            return reason;
        if (first == TTP_PATCH_CAN || first == TTP_PATCH_NO_ROOM)
            first = reason;
        if (reason != TTP_PATCH_NO_ROOM)
            break; /* further in front it is no better */
    }
    return first;
}

/* An exit so near behind the entry's window that it has no room of its own: then both have one. */
static void join_exit(const struct tool_patch_place *place, struct tool_patch_window *window)
{
    struct tool_patch_place behind = *place;
    struct tool_patch_window own;
    uint32_t bytes;
    behind.free_from = place->all[window->from].address + window->bytes;
    for (size_t at = window->to + 1; at < place->count; at++) {
        if (judge_window(place, window->from, at, true, &bytes) != TTP_PATCH_CAN ||
            tool_instruction_is_call(&place->all[at]))
            return;
        if (!ends_flow(&place->all[at]))
            continue;
        if (is_exit(place, at) && tool_patch_find_exit(&behind, at, &own) != TTP_PATCH_CAN)
            *window = (struct tool_patch_window){.from = window->from, .to = at, .bytes = bytes};
        return;
    }
}

/* Whole instructions from `from` on. */
static enum ttp_patch_reason find_start(const struct tool_patch_place *place, size_t from,
                                        struct tool_patch_window *window)
{
    enum ttp_patch_reason reason = TTP_PATCH_NO_ROOM;
    for (size_t to = from; to < place->count && reason == TTP_PATCH_NO_ROOM; to++) {
        const struct tool_instruction *last = &place->all[to];
        *window = (struct tool_patch_window){.from = from, .to = to};
        reason = judge_window(place, from, to, true, &window->bytes);
        if (ends_flow(last) || tool_instruction_is_call(last))
            break;
    }
    return reason;
}

enum ttp_patch_reason tool_patch_find_entry(const struct tool_patch_place *place, size_t from,
                                            struct tool_patch_window *window)
{
    enum ttp_patch_reason reason = find_start(place, from, window);
    if (reason == TTP_PATCH_CAN && !place->is_parted && !ends_flow(&place->all[window->to]) &&
        !tool_instruction_is_call(&place->all[window->to]))
        join_exit(place, window);
    return reason;
}

static bool is_free(const struct tool_patch_place *place, uint32_t address, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (tool_patch_is_taken(place->patch, address + i))
            return false;
    return true;
}

enum ttp_patch_reason tool_patch_find_inlined(const struct tool_patch_place *place, size_t from,
                                              struct tool_patch_window *window)
{
    enum ttp_patch_reason reason = find_start(place, from, window);
    bool is_other =
        reason == TTP_PATCH_CAN && !is_free(place, place->all[window->from].address, window->bytes);
    return is_other ? TTP_PATCH_SHARED : reason;
}

enum ttp_patch_reason tool_patch_find_mark(const struct tool_patch_place *place, size_t at,
                                           struct tool_patch_window *window)
{
    enum ttp_patch_reason first = tool_patch_find_inlined(place, at, window);
    if (first == TTP_PATCH_CAN || place->all[at].kind != TOOL_CODE_PLAIN)
        return first;
    for (size_t from = at; from-- > 0 && at - from <= TTP_PLAN_WINDOW_MIN;) {
        *window = (struct tool_patch_window){.from = from, .to = at, .is_behind = true};
        enum ttp_patch_reason reason = judge_window(place, from, at, true, &window->bytes);
        if (reason == TTP_PATCH_CAN && is_free(place, place->all[from].address, window->bytes))
            return reason;
        if (reason != TTP_PATCH_NO_ROOM)
            break; /* further in front it is no better */
    }
    return first;
}

static bool is_in_reach(uint32_t from, uint32_t to)
{
    int64_t distance = (int64_t)to - ((int64_t)from + (int64_t)TTP_PATCH_SHORT_MIN);
    return distance >= INT8_MIN && distance <= INT8_MAX;
}

/* Instructions from `from` on that can be a host's. */
static bool find_host(const struct tool_patch_place *place, size_t from,
                      struct tool_patch_window *host)
{
    struct tool_patch_place wide = *place;
    wide.least = TTP_PATCH_HOST_MIN;
    wide.free_from = 0;
    for (size_t to = from; to < place->count; to++) {
        const struct tool_instruction *last = &place->all[to];
        if (last->kind != TOOL_CODE_PLAIN && last->kind != TOOL_CODE_BRANCH)
            return false;
        if (last->kind == TOOL_CODE_BRANCH && is_exit(place, to))
            return false;
        *host = (struct tool_patch_window){.from = from, .to = to};
        enum ttp_patch_reason reason = judge_window(&wide, from, to, false, &host->bytes);
        if (reason != TTP_PATCH_NO_ROOM)
            return reason == TTP_PATCH_CAN && keeps_frame(place, from, to, true);
    }
    return false;
}

static bool is_host_at(const struct tool_patch_place *place, size_t i,
                       const struct tool_patch_window *window, struct tool_patch_window *host)
{
    uint32_t at = place->all[i].address, own = place->all[window->from].address;
    return find_host(place, i, host) && (host->to < window->from || host->from > window->to) &&
           is_free(place, at, host->bytes) && has_same_row(place->patch->code, at, own) &&
           has_same_row(place->patch->code, at + TTP_PLAN_WINDOW_MIN, own);
}

/* A host whose second jump is in the reach of a window, with the same frame there, as who unwinds
 * may find the program at that jump; in front or behind. */
static bool find_near(const struct tool_patch_place *place, const struct tool_patch_window *window,
                      struct tool_patch_window *host)
{
    const struct tool_instruction *all = place->all;
    uint32_t start = all[window->from].address;
    for (size_t i = window->from;
         i-- > 0 && is_in_reach(start, all[i].address + TTP_PLAN_WINDOW_MIN);)
        if (is_host_at(place, i, window, host))
            return true;
    for (size_t i = window->to + 1;
         i < place->count && is_in_reach(start, all[i].address + TTP_PLAN_WINDOW_MIN); i++)
        if (is_host_at(place, i, window, host))
            return true;
    return false;
}

/* Where no line begins within its jumps, if there is such a place. */
static bool find_host_of(const struct tool_patch_place *place,
                         const struct tool_patch_window *window, struct tool_patch_window *host)
{
    struct tool_patch_place lineless = *place;
    lineless.is_lineless = true;
    return find_near(&lineless, window, host) || find_near(place, window, host);
}

bool tool_patch_find_relay(const struct tool_patch_place *place, size_t at,
                           struct tool_patch_window *window, struct tool_patch_window *host)
{
    struct tool_patch_place narrow = *place;
    narrow.least = TTP_PATCH_SHORT_MIN;
    narrow.free_from = 0;
    for (size_t from = at + 1; from-- > 0;) {
        *window = (struct tool_patch_window){.from = from, .to = at};
        enum ttp_patch_reason reason = judge_window(&narrow, from, at, false, &window->bytes);
        if (reason == TTP_PATCH_NO_ROOM || reason == TTP_PATCH_LINES)
            continue;
        if (reason != TTP_PATCH_CAN || !is_free(place, place->all[from].address, window->bytes))
            return false;
        if (find_host_of(place, window, host))
            return true;
    }
    return false;
}

bool tool_patch_find_free(const struct tool_patch_place *place, size_t at,
                          struct tool_patch_window *window)
{
    struct tool_patch_place whole = *place;
    whole.free_from = 0;
    for (size_t from = at + 1; from-- > 0;) {
        *window = (struct tool_patch_window){.from = from, .to = at};
        enum ttp_patch_reason reason = judge_window(&whole, from, at, false, &window->bytes);
        if (reason == TTP_PATCH_CAN)
            return is_free(place, place->all[from].address, window->bytes);
        if (reason != TTP_PATCH_NO_ROOM)
            return false;
    }
    return false;
}
