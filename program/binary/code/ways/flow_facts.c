/* Registers, the frame's words and what was compared; the same low bits may be in several. */
#include <string.h>

#include "program/binary/code/ways/flow_inside.h"

#define CALLER_SAVED 0x0FC7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define RSP          4u
#define RBP          5u

/* Which of the three widths a number of bytes is; 3: none of them. */
unsigned tool_fact_width(uint8_t bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

struct tool_fact tool_fact_new(enum tool_fact_kind kind)
{
    return (struct tool_fact){
        .kind = (uint8_t)kind,
        .limits = {tool_fact_whole(0), tool_fact_whole(1), tool_fact_whole(2)}};
}

static struct tool_fact new_place(uint32_t place)
{
    struct tool_fact fact = tool_fact_new(TOOL_FACT_PLACE);
    fact.place = place;
    fact.is_narrow = true;
    while (fact.low_zeros < 32 && (place >> fact.low_zeros & 1) == 0)
        fact.low_zeros++;
    for (unsigned i = 0; i < 3; i++)
        fact.limits[i] = place & tool_fact_whole(i);
    return fact;
}

/* A number without sign that is at most `limit`. */
void tool_fact_limit(struct tool_fact *fact, uint32_t limit)
{
    fact->is_narrow = true;
    for (unsigned i = 0; i < 3; i++)
        if (limit < fact->limits[i])
            fact->limits[i] = limit;
}

void tool_facts_start(struct tool_facts *facts, bool is_given)
{
    memset(facts, 0, sizeof *facts);
    for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++)
        facts->of[i] = tool_fact_new(is_given ? TOOL_FACT_WORD : TOOL_FACT_UNKNOWN);
}

/* What a value is that may be one or the other. */
enum tool_fact_kind tool_fact_of_both(const struct tool_fact *one, const struct tool_fact *other)
{
    enum tool_fact_kind kind = TOOL_FACT_WORD;
    for (unsigned i = 0; i < 2; i++) {
        uint8_t found = (i == 0 ? one : other)->kind;
        if (found == TOOL_FACT_ANYTHING || found == TOOL_FACT_ENTRY || found == TOOL_FACT_TARGETS)
            return TOOL_FACT_ANYTHING;
        kind = found == TOOL_FACT_UNKNOWN ? TOOL_FACT_UNKNOWN : kind;
    }
    return kind;
}

/* ---- who holds what ---- */

/* holders: a bit each. */
static void forget_holders(struct tool_facts *facts, uint32_t holders)
{
    for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++) {
        struct tool_fact *fact = &facts->of[i];
        for (unsigned width = 0; width < 3; width++)
            fact->same[width] &= ~holders;
        if (fact->added_to != 0 && (holders >> (fact->added_to - 1u) & 1) != 0)
            fact->added_to = 0;
    }
    facts->compared_holders &= ~holders;
}

static void forget_holder(struct tool_facts *facts, unsigned holder)
{
    forget_holders(facts, 1u << holder);
}

static bool reads_register(const struct tool_step_memory *memory, unsigned holder)
{
    return holder < TOOL_FLOW_REGISTERS && (memory->base == holder || memory->index == holder);
}

static void set_fact(struct tool_facts *facts, unsigned holder, struct tool_fact fact)
{
    forget_holder(facts, holder);
    for (unsigned width = 0; width < 3; width++)
        fact.same[width] = 0;
    facts->of[holder] = fact;
    if (reads_register(&facts->bounded_memory, holder))
        facts->has_bounded = false;
    if (facts->compared_holders == 0 && reads_register(&facts->compared_memory, holder))
        facts->has_compared = false;
}

/* `to` holds the low bits of `from`, as far as `bytes` of them go, from now on. */
static void share_value(struct tool_facts *facts, unsigned to, unsigned from, uint8_t bytes)
{
    for (unsigned width = 0; width < 3 && 1u << width <= bytes; width++) {
        uint32_t holders = facts->of[from].same[width] | 1u << from | 1u << to;
        for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++)
            if ((holders >> i & 1) != 0)
                facts->of[i].same[width] = holders & ~(1u << i);
    }
}

/* The low bytes of a fact, the rest 0 or its sign. */
static struct tool_fact extend(const struct tool_fact *from, uint8_t each, bool is_signed,
                               uint8_t to_bytes)
{
    struct tool_fact to = *from;
    unsigned width = tool_fact_width(each);
    if (width == 3)
        return to;
    bool is_low = from->is_narrow && from->limits[2] <= tool_fact_whole(width) >> is_signed;
    if (from->kind == TOOL_FACT_ENTRY && each >= from->each) {
        to.is_signed = each == from->each ? is_signed : from->is_signed;
    } else if (from->kind == TOOL_FACT_PLACE && is_low) {
        return to;
    } else {
        to = tool_fact_new(TOOL_FACT_ANYTHING);
        to.low_zeros = from->low_zeros;
        for (unsigned i = 0; i <= width; i++)
            to.limits[i] = from->limits[i];
    }
    bool is_positive = from->limits[width] <= tool_fact_whole(width) / 2;
    to.is_narrow = (!is_signed || is_positive) || to_bytes == 4;
    for (unsigned i = width + 1; i < 3; i++)
        to.limits[i] = !is_signed || is_positive ? from->limits[width] : tool_fact_whole(i);
    return to;
}

/* ---- slots ---- */

static bool find_place(const struct tool_step_memory *memory, bool is_framed, int32_t cfa,
                       struct tool_fact_slot *slot)
{
    *slot = (struct tool_fact_slot){.is_used = true};
    if (memory->is_thread || memory->index != TOOL_STEP_NOTHING ||
        (memory->base != RSP && memory->base != RBP))
        return false;
    slot->by_rbp = memory->base == RBP;
    slot->place = memory->displacement - (slot->by_rbp ? 0 : cfa);
    return slot->by_rbp || is_framed;
}

unsigned tool_facts_slot_at(const struct tool_facts *facts, const struct tool_fact_slot *wanted)
{
    for (unsigned i = 0; i < TOOL_FACTS_SLOTS; i++)
        if (facts->slots[i].is_used && facts->slots[i].by_rbp == wanted->by_rbp &&
            facts->slots[i].place == wanted->place)
            return TOOL_FLOW_REGISTERS + i;
    return TOOL_FACTS_HOLDER;
}

void tool_facts_free_slot(struct tool_facts *facts, unsigned holder)
{
    forget_holder(facts, holder);
    facts->of[holder] = tool_fact_new(TOOL_FACT_WORD);
    facts->slots[holder - TOOL_FLOW_REGISTERS] = (struct tool_fact_slot){0};
}

/* Something else may have been stored there: numbers are not known any more, addresses are, as
 * nobody else changes what a compiler puts aside. */
static void doubt_slots(struct tool_facts *facts)
{
    forget_holders(facts, (1u << TOOL_FACTS_HOLDER) - (1u << TOOL_FLOW_REGISTERS));
    for (unsigned i = TOOL_FLOW_REGISTERS; i < TOOL_FACTS_HOLDER; i++) {
        struct tool_fact *fact = &facts->of[i];
        for (unsigned width = 0; width < 3; width++) {
            fact->same[width] = 0;
            fact->limits[width] =
                fact->kind == TOOL_FACT_PLACE ? fact->limits[width] : tool_fact_whole(width);
        }
    }
}

/* Does an instruction write to memory that was compared? By another register it does not, or who
 * compared would not read it again. */
static bool is_touched(const struct tool_step_memory *memory, uint8_t each,
                       const struct tool_step *step)
{
    const struct tool_step_memory *other = &step->memory;
    int64_t apart = (int64_t)other->displacement - memory->displacement +
                    ((int64_t)other->place - memory->place);
    return step->kind != TOOL_STEP_STORE || !step->has_memory ||
           (memory->base == other->base && memory->index == other->index && apart < each &&
            apart > -(int64_t)step->each);
}

static void store(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                  int32_t cfa)
{
    struct tool_fact_slot slot;
    if (is_touched(&facts->bounded_memory, facts->bounded_each, step))
        facts->has_bounded = false;
    if (facts->compared_holders == 0 &&
        is_touched(&facts->compared_memory, facts->compared_each, step))
        facts->has_compared = false;
    if (!find_place(&step->memory, is_framed, cfa, &slot)) {
        doubt_slots(facts);
        return;
    }
    unsigned holder = tool_facts_slot_at(facts, &slot);
    for (unsigned i = 0; i < TOOL_FACTS_SLOTS; i++) { /* those that it overlaps */
        const struct tool_fact_slot *other = &facts->slots[i];
        int64_t apart = (int64_t)other->place - slot.place;
        if (other->is_used && other->by_rbp == slot.by_rbp && apart != 0 && apart > -8 &&
            apart < step->each)
            tool_facts_free_slot(facts, TOOL_FLOW_REGISTERS + i);
    }
    if (step->kind != TOOL_STEP_STORE || step->from == TOOL_STEP_NOTHING || step->each < 4) {
        if (holder < TOOL_FACTS_HOLDER)
            tool_facts_free_slot(facts, holder);
        return;
    }
    if (holder == TOOL_FACTS_HOLDER)
        holder = TOOL_FLOW_REGISTERS + facts->next_slot++ % TOOL_FACTS_SLOTS;
    slot.bytes = step->each;
    facts->slots[holder - TOOL_FLOW_REGISTERS] = slot;
    struct tool_fact fact = facts->of[step->from];
    set_fact(facts, holder, step->each == 4 ? extend(&fact, 4, false, 8) : fact);
    share_value(facts, holder, step->from, step->each);
}

/* ---- instructions ---- */

static bool is_same_memory(const struct tool_step_memory *one, const struct tool_step_memory *other)
{
    return one->base == other->base && one->index == other->index && one->scale == other->scale &&
           one->is_known == other->is_known && one->is_thread == other->is_thread &&
           one->place == other->place && one->displacement == other->displacement;
}

static bool add_limits(uint32_t one, uint32_t factor, uint32_t other, uint32_t *sum)
{
    uint64_t all = (uint64_t)one * factor + other;
    *sum = (uint32_t)all;
    return all < UINT32_MAX;
}

static bool is_from_elsewhere(const struct tool_fact *fact)
{
    return fact->kind == TOOL_FACT_WORD || fact->kind == TOOL_FACT_UNKNOWN;
}

/* The sum of a place or number and a number times a factor. Of two words from elsewhere nothing is
 * known: a module's address, say, and a symbol's value. */
static struct tool_fact add_facts(const struct tool_fact *one, const struct tool_fact *other,
                                  unsigned shift)
{
    bool is_elsewhere = is_from_elsewhere(one) && is_from_elsewhere(other) && shift == 0;
    struct tool_fact sum = tool_fact_new(is_elsewhere ? TOOL_FACT_UNKNOWN : TOOL_FACT_ANYTHING);
    uint32_t limit;
    if (one->kind == TOOL_FACT_PLACE && other->kind == TOOL_FACT_PLACE)
        return new_place(one->place + (other->place << shift));
    if (one->kind == TOOL_FACT_PLACE && other->kind == TOOL_FACT_ENTRY) {
        sum = *other;
        sum.kind = TOOL_FACT_TARGETS;
        sum.base = one->place;
        sum.shift = (uint8_t)(other->shift + shift);
        sum.is_narrow = false;
        for (unsigned i = 0; i < 3; i++)
            sum.limits[i] = tool_fact_whole(i);
        return sum;
    }
    if (one->is_narrow && other->is_narrow &&
        add_limits(other->limits[2], 1u << shift, one->limits[2], &limit))
        tool_fact_limit(&sum, limit);
    unsigned zeros = other->low_zeros + shift;
    sum.low_zeros = (uint8_t)(zeros < one->low_zeros ? zeros : one->low_zeros);
    return sum;
}

static unsigned shift_of(uint8_t scale) { return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2; }

struct tool_fact tool_facts_address(const struct tool_facts *facts,
                                    const struct tool_step_memory *memory)
{
    struct tool_fact sum = new_place(memory->is_known ? memory->place : 0);
    if (memory->base != TOOL_STEP_NOTHING)
        sum = facts->of[memory->base];
    if (memory->base != TOOL_STEP_NOTHING && memory->displacement != 0) {
        struct tool_fact more = new_place((uint32_t)memory->displacement);
        more.is_narrow = memory->displacement > 0;
        sum = add_facts(&more, &sum, 0);
    }
    if (memory->index == TOOL_STEP_NOTHING)
        return sum;
    const struct tool_fact *index = &facts->of[memory->index];
    unsigned shift = shift_of(memory->scale);
    if (sum.kind != TOOL_FACT_PLACE && index->kind == TOOL_FACT_PLACE && shift == 0)
        return add_facts(index, &sum, 0);
    return add_facts(&sum, index, shift);
}

/* Which entries of which table an operand may read. Of base and index each may be the table. */
static bool find_entries(const struct tool_facts *facts, const struct tool_step_memory *memory,
                         uint8_t each, struct tool_fact *entry)
{
    struct tool_step_memory fixed = *memory;
    unsigned index = memory->index, shift = shift_of(memory->scale);
    if (memory->is_known && index == TOOL_STEP_NOTHING) {
        *entry = tool_fact_new(TOOL_FACT_ENTRY);
        entry->place = memory->place;
        entry->each = each;
        entry->stride = 1;
        entry->count = 1;
        return true;
    }
    if (index == TOOL_STEP_NOTHING) {
        index = memory->base;
        fixed.base = TOOL_STEP_NOTHING;
        fixed.is_known = true;
        fixed.place = (uint32_t)memory->displacement;
    } else if (facts->of[index].kind == TOOL_FACT_PLACE && shift == 0 &&
               memory->base != TOOL_STEP_NOTHING &&
               facts->of[memory->base].kind != TOOL_FACT_PLACE) {
        index = memory->base;
        fixed.base = memory->index;
    }
    fixed.index = TOOL_STEP_NOTHING;
    if (index >= TOOL_FLOW_REGISTERS || memory->is_thread)
        return false;
    struct tool_fact table = tool_facts_address(facts, &fixed);
    const struct tool_fact *number = &facts->of[index];
    uint64_t most = (uint64_t)number->limits[2] << shift;
    unsigned zeros = number->low_zeros + shift;
    uint32_t stride = zeros < 4 ? 1u << zeros : 8;
    if (table.kind != TOOL_FACT_PLACE || !number->is_narrow || most / stride >= UINT16_MAX)
        return false;
    *entry = tool_fact_new(TOOL_FACT_ENTRY);
    entry->place = table.place;
    entry->each = each;
    entry->stride = (uint16_t)stride;
    entry->count = (uint32_t)(most / stride) + 1;
    return true;
}

static void load_register(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                          int32_t cfa)
{
    struct tool_fact_slot slot;
    struct tool_fact found = tool_fact_new(step->each == 8 ? TOOL_FACT_WORD : TOOL_FACT_ANYTHING);
    unsigned holder = TOOL_FACTS_HOLDER, width = tool_fact_width(step->each);
    if (find_place(&step->memory, is_framed, cfa, &slot))
        holder = tool_facts_slot_at(facts, &slot);
    if (holder < TOOL_FACTS_HOLDER && facts->slots[holder - TOOL_FLOW_REGISTERS].bytes < step->each)
        holder = TOOL_FACTS_HOLDER; /* the rest was there before */
    if (holder < TOOL_FACTS_HOLDER)
        found = facts->of[holder];
    else if (step->each < 8)
        (void)find_entries(facts, &step->memory, step->each, &found);
    if (width < 3 && facts->has_bounded && facts->bounded_each == step->each &&
        is_same_memory(&facts->bounded_memory, &step->memory))
        found.limits[width] =
            facts->bounded < found.limits[width] ? facts->bounded : found.limits[width];
    if (step->each < 8)
        found = extend(&found, step->each, step->is_signed, step->to_bytes);
    set_fact(facts, step->to, found);
    if (holder < TOOL_FACTS_HOLDER)
        share_value(facts, step->to, holder, step->each);
}

static struct tool_fact change(const struct tool_facts *facts, const struct tool_step *step)
{
    const struct tool_fact word = tool_fact_new(TOOL_FACT_WORD);
    const struct tool_fact *from =
        step->from < TOOL_FLOW_REGISTERS ? &facts->of[step->from] : &word;
    struct tool_fact old = facts->of[step->to], fact = tool_fact_new(TOOL_FACT_ANYTHING);
    uint64_t constant = (uint64_t)step->constant;
    switch (step->kind) {
    case TOOL_STEP_ADD:
        fact = old.kind == TOOL_FACT_PLACE ? add_facts(&old, from, 0) : add_facts(from, &old, 0);
        break;
    case TOOL_STEP_ADD_CONSTANT:
        if (old.kind == TOOL_FACT_PLACE ||
            (old.kind == TOOL_FACT_ENTRY && constant <= UINT32_MAX)) {
            struct tool_fact more = new_place((uint32_t)constant);
            fact = add_facts(&more, &old, 0);
        }
        break;
    case TOOL_STEP_MASK:
        if (constant <= UINT32_MAX || step->to_bytes == 4)
            tool_fact_limit(&fact, (uint32_t)constant);
        if (old.is_narrow)
            tool_fact_limit(&fact, old.limits[2]);
        break;
    case TOOL_STEP_UP:
        if (constant < 32 && old.kind == TOOL_FACT_ENTRY) {
            fact = old;
            fact.shift = (uint8_t)(fact.shift + constant);
            fact.is_narrow = false;
            fact.limits[2] = tool_fact_whole(2);
        } else if (constant < 32 && old.is_narrow && old.limits[2] < UINT32_MAX >> constant) {
            tool_fact_limit(&fact, old.limits[2] << constant);
        }
        fact.low_zeros = (uint8_t)(constant < 32 ? old.low_zeros + constant : 0);
        break;
    case TOOL_STEP_DOWN:
        if (constant < 32 && old.is_narrow)
            tool_fact_limit(&fact, old.limits[2] >> constant);
        break;
    default: break;
    }
    return fact;
}

/* Half a register that is written makes the upper half 0. */
static struct tool_fact narrow(struct tool_fact fact, const struct tool_step *step)
{
    bool is_part = fact.kind == TOOL_FACT_TARGETS || fact.kind == TOOL_FACT_WORD ||
                   fact.kind == TOOL_FACT_UNKNOWN;
    if (step->to_bytes != 4)
        return fact;
    if (is_part || (fact.kind == TOOL_FACT_ENTRY && fact.is_signed))
        fact.kind = TOOL_FACT_ANYTHING;
    fact.is_narrow = true;
    return fact;
}

static void write_register(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                           int32_t cfa)
{
    struct tool_fact fact;
    switch (step->kind) {
    case TOOL_STEP_CONSTANT:
        fact = tool_fact_new(TOOL_FACT_ANYTHING);
        if ((step->constant >= 0 && step->constant <= UINT32_MAX) || step->to_bytes == 4)
            fact = new_place((uint32_t)step->constant);
        break;
    case TOOL_STEP_COPY:
        fact = step->each == 8
                   ? facts->of[step->from]
                   : extend(&facts->of[step->from], step->each, step->is_signed, step->to_bytes);
        break;
    case TOOL_STEP_LOAD: load_register(facts, step, is_framed, cfa); return;
    case TOOL_STEP_ADDRESS: fact = tool_facts_address(facts, &step->memory); break;
    case TOOL_STEP_POP: fact = tool_fact_new(TOOL_FACT_WORD); break;
    case TOOL_STEP_GUARD:
        fact = tool_fact_new(tool_fact_of_both(&facts->of[step->to], &facts->of[step->to]));
        break;
    case TOOL_STEP_CHOOSE: {
        struct tool_facts other = *facts; /* as it is where the other value is taken */
        set_fact(&other, step->to, facts->of[step->from]);
        (void)tool_facts_meet(facts, &other);
        return;
    }
    default: fact = change(facts, step); break;
    }
    if (step->kind == TOOL_STEP_COPY && step->to == step->from) {
        struct tool_fact *kept = &facts->of[step->to]; /* the low bits are as they were */
        for (unsigned width = 0; width < 3; width++)
            fact.same[width] = 1u << width <= step->each ? kept->same[width] : 0;
        *kept = narrow(fact, step);
        return;
    }
    set_fact(facts, step->to, narrow(fact, step));
    if (step->kind == TOOL_STEP_COPY)
        share_value(facts, step->to, step->from, step->each);
    if (step->kind == TOOL_STEP_ADDRESS && step->to_bytes == 4 && !step->memory.is_known &&
        step->memory.index == TOOL_STEP_NOTHING && step->memory.base != step->to &&
        step->memory.displacement > 0) {
        facts->of[step->to].added_to = step->memory.base + 1;
        facts->of[step->to].added = (uint32_t)step->memory.displacement;
    }
}

static void compare_step(struct tool_facts *facts, const struct tool_step *step)
{
    unsigned width = tool_fact_width(step->compared_each);
    facts->has_compared = step->has_compared && (width < 3 || step->compared_each == 8);
    if (!facts->has_compared)
        return;
    facts->compared = step->compared;
    facts->compared_each = step->compared_each;
    facts->compared_holders = 0;
    facts->compared_memory = step->memory;
    if (step->compared_register >= TOOL_FLOW_REGISTERS)
        return;
    facts->compared_holders = 1u << step->compared_register;
    facts->compared_memory =
        (struct tool_step_memory){.base = TOOL_STEP_NOTHING, .index = TOOL_STEP_NOTHING};
    if (width < 3)
        facts->compared_holders |= facts->of[step->compared_register].same[width];
}

/* A slot that is compared holds what registers hold that were stored there. */
static void compare_slot(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                         int32_t cfa)
{
    struct tool_fact_slot slot;
    unsigned width = tool_fact_width(step->compared_each), holder;
    if (!facts->has_compared || facts->compared_holders != 0 || width == 3 ||
        !find_place(&step->memory, is_framed, cfa, &slot))
        return;
    holder = tool_facts_slot_at(facts, &slot);
    if (holder < TOOL_FACTS_HOLDER)
        facts->compared_holders = 1u << holder | facts->of[holder].same[width];
}

void tool_facts_step(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                     int32_t cfa)
{
    bool is_written = step->kind != TOOL_STEP_OTHER && step->kind != TOOL_STEP_STORE &&
                      step->kind != TOOL_STEP_COMPARE && step->to < TOOL_FLOW_REGISTERS &&
                      step->to_bytes >= 4 && !step->writes_memory;
    if (step->sets_flags)
        compare_step(facts, step);
    if (step->sets_flags && step->has_memory)
        compare_slot(facts, step, is_framed, cfa);
    if (step->writes_memory)
        store(facts, step, is_framed, cfa);
    if (is_written)
        write_register(facts, step, is_framed, cfa);
    for (unsigned i = 0; i < TOOL_FLOW_REGISTERS; i++)
        if ((step->writes >> i & 1) != 0 && (!is_written || i != step->to))
            set_fact(facts, i, tool_fact_new(TOOL_FACT_ANYTHING));
    if ((step->writes >> RBP & 1) != 0)
        for (unsigned i = 0; i < TOOL_FACTS_SLOTS; i++)
            if (facts->slots[i].is_used && facts->slots[i].by_rbp)
                tool_facts_free_slot(facts, TOOL_FLOW_REGISTERS + i);
}

void tool_facts_call(struct tool_facts *facts, bool is_function)
{
    facts->has_compared = facts->has_bounded = false;
    doubt_slots(facts);
    for (unsigned i = 0; i < TOOL_FLOW_REGISTERS; i++)
        if (!is_function)
            set_fact(facts, i, tool_fact_new(TOOL_FACT_ANYTHING));
        else if ((CALLER_SAVED >> i & 1) != 0)
            set_fact(facts, i, tool_fact_new(TOOL_FACT_WORD));
}
