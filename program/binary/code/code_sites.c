/* System call instructions, and the instructions beside them that make room for a jump.
 *
 *     [...] mov $39,%eax ; syscall ; cmp $-4096,%rax ; ja ...
 *           `--- window of 7 bytes ---'
 *
 * The instructions in front are preferred: there the call's number is. A window is whole
 * instructions that follow each other, with no mark behind its first byte. */
#include <string.h>

#include "program/binary/code/code_move.h"

#define LOOK_BACK    64u /* instructions that are searched for the call's number */
#define LOOK_FORWARD 32u /* and for whether flags are still of use */
#define EXIT         60u
#define EXIT_GROUP   231u

struct place {
    struct tool_code *code;
    const struct tool_instruction *all; /* of the function */
    size_t count, at;                   /* at: the system call's index */
    uint32_t free_from;                 /* the window before ends there */
    bool ends;                          /* the call does not return */
};

static const uint8_t *bytes_of(const struct tool_code *code, const struct tool_instruction *of)
{
    size_t available;
    return tool_image_at(code->image, of->address, &available); /* it was decoded there */
}

static bool follow_each_other(const struct tool_instruction *one)
{
    return one[0].address + one[0].length == one[1].address;
}

static bool ends_flow(const struct tool_instruction *instruction)
{
    return instruction->kind == TOOL_CODE_JUMP || instruction->kind == TOOL_CODE_JUMP_INDIRECT ||
           instruction->kind == TOOL_CODE_RETURN || instruction->kind == TOOL_CODE_STOP;
}

/* Behind the syscall instruction branches may be moved, in front of it none. */
static bool can_move(const struct tool_instruction *instruction, bool is_behind)
{
    switch (instruction->kind) {
    case TOOL_CODE_PLAIN: return true;
    case TOOL_CODE_JUMP:
    case TOOL_CODE_BRANCH:
    case TOOL_CODE_RETURN: return is_behind;
    default: return false;
    }
}

/* Where an instruction has faulted is known byte for byte, so long as no branch has grown. */
static bool hides_fault(const struct tool_instruction *all, size_t from, size_t to)
{
    bool has_grown = false, has_fault = false;
    for (size_t i = from; i <= to; i++) {
        has_grown |= i < to && (all[i].kind == TOOL_CODE_BRANCH || all[i].kind == TOOL_CODE_JUMP);
        has_fault |= all[i].may_fault;
    }
    return has_grown && has_fault;
}

static bool is_same_row(const struct ttp_plan_row *a, const struct ttp_plan_row *b)
{
    return a == b || (a != NULL && b != NULL && a->cfa_kind == b->cfa_kind &&
                      a->cfa_offset == b->cfa_offset && a->rbp_kind == b->rbp_kind &&
                      a->rbp_offset == b->rbp_offset);
}

/* Who unwinds from anywhere in the stub is told that the code is at the system call
 * (runtime/decide/call_stubs.c): its frame is that of all places in the window. */
static bool keeps_frame(const struct place *place, size_t from, size_t to)
{
    const struct tool_instruction *all = place->all;
    const struct ttp_plan_row *row = tool_code_row_at(place->code, all[place->at].address);
    for (size_t i = from; i <= to; i++)
        if (!is_same_row(row, tool_code_row_at(place->code, all[i].address)))
            return false;
    return ends_flow(&all[to]) || (to == place->at && place->ends) ||
           is_same_row(row, tool_code_row_at(place->code, all[to].address + all[to].length));
}

/* A debugger's breakpoint there would change the distance of a jump. */
static bool begins_line(const struct place *place, size_t from)
{
    for (uint32_t byte = 1; byte < TTP_PLAN_WINDOW_MIN; byte++)
        if (tool_code_begins_line(place->code, place->all[from].address + byte))
            return true;
    return false;
}

/* Whether the instructions [from, to] can be a window, and if not, why. */
static enum ttp_plan_kind judge_site(const struct place *place, size_t from, size_t to)
{
    const struct tool_instruction *all = place->all;
    enum ttp_plan_kind worst = TTP_PLAN_CAN;
    if (all[from].address < place->free_from)
        worst = TTP_PLAN_SHARED;
    for (size_t i = from; i <= to; i++) {
        bool is_behind = i > place->at;
        if (i > from && !follow_each_other(&all[i - 1]))
            return TTP_PLAN_NO_ROOM;
        if (i > place->at + 1 && ends_flow(&all[i - 1]))
            return TTP_PLAN_NO_ROOM;
        if (i != place->at && all[i].kind == TOOL_CODE_SYSCALL)
            return TTP_PLAN_SHARED;
        if (i != place->at && !can_move(&all[i], is_behind))
            worst = TTP_PLAN_IMMOVABLE;
        for (uint32_t byte = i == from; byte < all[i].length; byte++)
            if (tool_code_is_marked(place->code, all[i].address + byte))
                return TTP_PLAN_BRANCHED;
    }
    enum ttp_plan_kind closed = tool_code_closed(
        place->code, all[from].address, all[to].address + all[to].length - all[from].address);
    if (closed != TTP_PLAN_CAN)
        return closed;
    if (worst == TTP_PLAN_CAN &&
        (!keeps_frame(place, from, to) || hides_fault(all, from, to) || begins_line(place, from)))
        worst = TTP_PLAN_IMMOVABLE;
    return worst;
}

static uint32_t span(const struct place *place, size_t from, size_t to)
{
    return place->all[to].address + place->all[to].length - place->all[from].address;
}

/* The best window [*from, *to]: in front alone, then behind alone, then both; of each the shortest.
 */
static enum ttp_plan_kind find_window(const struct place *place, size_t *from, size_t *to)
{
    enum ttp_plan_kind reason = TTP_PLAN_REASONS;
    const size_t most = TTP_PLAN_WINDOW_MIN - 2;
    size_t before_most = place->at < most ? place->at : most;
    size_t after_most = place->count - 1 - place->at < most ? place->count - 1 - place->at : most;
    for (unsigned turn = 0; turn < 3; turn++) {
        for (size_t before = turn != 1; before <= (turn == 1 ? 0 : before_most); before++) {
            for (size_t after = turn != 0; after <= (turn == 0 ? 0 : after_most); after++) {
                *from = place->at - before;
                *to = place->at + after;
                if (span(place, *from, *to) < TTP_PLAN_WINDOW_MIN ||
                    span(place, *from, *to) > TTP_PLAN_WINDOW_MAX)
                    continue;
                enum ttp_plan_kind kind = judge_site(place, *from, *to);
                if (kind == TTP_PLAN_CAN)
                    return kind;
                reason = kind < reason ? kind : reason;
            }
        }
    }
    return reason == TTP_PLAN_REASONS ? TTP_PLAN_NO_ROOM : reason;
}

static bool add_fixups(struct tool_code *code, const struct tool_moved *moved)
{
    void *array = code->fixups;
    size_t count = code->fixup_count + moved->fixup_count;
    if (!tool_bounded_grow(&code->memory, &array, &code->fixup_capacity, count,
                           sizeof *code->fixups))
        return false;
    code->fixups = array;
    if (moved->fixup_count > 0)
        memcpy(code->fixups + code->fixup_count, moved->fixups,
               moved->fixup_count * sizeof *code->fixups);
    code->fixup_count = count;
    return true;
}

/* The call's number, where every way to the instruction sets it: only straight ones are followed.
 */
static void find_number(const struct place *place, struct ttp_plan_site *site)
{
    site->number = TTP_PLAN_NO_NUMBER;
    for (size_t i = place->at; i > 0 && place->at - i < LOOK_BACK; i--) {
        const struct tool_instruction *before = &place->all[i - 1];
        if (tool_code_is_marked(place->code, place->all[i].address) || !follow_each_other(before) ||
            ends_flow(before) || before->kind == TOOL_CODE_SYSCALL)
            return;
        struct tool_instruction_effects effects =
            tool_decode_effects(bytes_of(place->code, before), before->length);
        if (!effects.writes_rax)
            continue;
        site->number_known = effects.rax_known;
        site->number = effects.rax_known ? effects.rax : TTP_PLAN_NO_NUMBER;
        return;
    }
}

/* Whether flags are set again before anything reads them, on the straight way and, at branches, on
 * none: a branch on flags reads them. */
static bool flags_are_dead(const struct place *place)
{
    for (size_t i = place->at + 1; i < place->count && i - place->at < LOOK_FORWARD; i++) {
        const struct tool_instruction *next = &place->all[i];
        if (!follow_each_other(next - 1))
            return false;
        if (tool_instruction_is_call(next) || next->kind == TOOL_CODE_RETURN ||
            next->kind == TOOL_CODE_STOP)
            return true; /* functions get no flags, and give none back */
        if (next->kind != TOOL_CODE_PLAIN && next->kind != TOOL_CODE_SYSCALL)
            return false;
        struct tool_instruction_effects effects =
            tool_decode_effects(bytes_of(place->code, next), next->length);
        if (effects.reads_flags && next->kind == TOOL_CODE_PLAIN)
            return false;
        if (effects.writes_flags && next->kind == TOOL_CODE_PLAIN)
            return true;
    }
    return false;
}

/* A C library (glibc from 2.41) cancels a thread by where it is found: at an instruction up to this
 * one or not. There it is:  mov %r11,8(%rsp); syscall; ret  */
static bool is_compared(const struct place *place)
{
    static const uint8_t before[] = {0x4c, 0x89, 0x5c, 0x24, 0x08};
    const struct tool_instruction *site = &place->all[place->at];
    return place->at > 0 && place->at + 1 < place->count && follow_each_other(site - 1) &&
           follow_each_other(site) && site[-1].length == sizeof before &&
           memcmp(bytes_of(place->code, site - 1), before, sizeof before) == 0 &&
           site[1].kind == TOOL_CODE_RETURN;
}

static bool fill_window(struct place *place, struct tool_site *site, size_t from, size_t to)
{
    struct ttp_plan_site *plan = &site->plan;
    struct tool_moved moved = {0};
    size_t before = 0;
    plan->window = place->all[from].address;
    plan->window_bytes = (uint8_t)span(place, from, to);
    plan->flags_dead = flags_are_dead(place);
    plan->first_fixup = (uint32_t)place->code->fixup_count;
    for (size_t i = from; i <= to; i++)
        if (i == place->at)
            before = moved.used;
        else if (!tool_code_move(place->code->image, &place->all[i], &moved))
            return false; /* windows are so small that it fits */
    plan->before_bytes = (uint8_t)before;
    plan->after_bytes = (uint8_t)(moved.used - before);
    plan->fixup_count = (uint8_t)moved.fixup_count;
    memcpy(site->moved, moved.bytes, moved.used);
    place->free_from = plan->window + plan->window_bytes;
    return add_fixups(place->code, &moved);
}

static bool add_site(struct place *place, size_t function)
{
    struct tool_code *code = place->code;
    void *array = code->sites;
    if (code->site_count >= TTP_PLAN_SITES_MAX ||
        !tool_bounded_grow(&code->memory, &array, &code->site_capacity, code->site_count + 1,
                           sizeof *code->sites))
        return false;
    code->sites = array;
    struct tool_site *site = &code->sites[code->site_count++];
    const struct tool_function *of = &code->functions[function];
    struct tool_frame frame;
    size_t from, to;
    *site = (struct tool_site){
        .plan = {.address = place->all[place->at].address, .function = (uint32_t)function}};
    find_number(place, &site->plan);
    place->ends = site->plan.number == EXIT || site->plan.number == EXIT_GROUP;
    enum ttp_plan_kind kind = find_window(place, &from, &to);
    if (kind == TTP_PLAN_CAN && (of->flags & TTP_PLAN_FUNCTION_COMPUTED) != 0)
        kind = TTP_PLAN_COMPUTED;
    if (is_compared(place))
        kind = TTP_PLAN_COMPARED;
    site->plan.kind = (uint8_t)kind;
    if (kind != TTP_PLAN_CAN)
        return true;
    if (of->frame_at != TOOL_CODE_NO_FRAME && tool_frames_at(code->image, of->frame_at, &frame))
        site->plan.rule_bytes =
            (uint8_t)tool_frame_rules_at(&frame, site->plan.address, site->rules);
    return fill_window(place, site, from, to);
}

bool tool_code_sites(struct tool_code *code)
{
    struct place place = {.code = code};
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        place.all = code->instructions + function->first;
        place.count = function->count;
        for (place.at = 0; place.at < place.count; place.at++)
            if (place.all[place.at].kind == TOOL_CODE_SYSCALL && !add_site(&place, i))
                return false;
    }
    return true;
}
