/* Where a jump leads that leaves a function: found out when its stub is made, as far as its code
 * says it; else by what the register holds when it is come to, or the word of memory. */
#include <elf.h>

#include "recorder/runtime/decide/decide.h"

#define REX           0x40u
#define REX_BASE      1u
#define JUMP_DIRECT   0xe9u
#define JUMP_INDIRECT 0xffu
#define BY_REGISTER   0xe0u /* with the register in the low bits */
#define BY_PLACE      0x25u /* relative to the instruction */
#define PUSH          0x68u
#define LINKED_BYTES  16u /* of a stub of the linker, at least */

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Words by the register's number; 0: it is not put aside, and no function's own to jump through. */
static uint32_t saved_word(uint32_t number)
{
    static const uint8_t words[] = {TTP_SAVED_RAX,
                                    TTP_SAVED_RCX,
                                    TTP_SAVED_RDX,
                                    0,
                                    0,
                                    TTP_SAVED_RBP,
                                    TTP_SAVED_RSI,
                                    TTP_SAVED_RDI,
                                    TTP_SAVED_R8,
                                    TTP_SAVED_R9,
                                    TTP_SAVED_R10,
                                    TTP_SAVED_R11};
    return number < sizeof(words) ? words[number] : 0;
}

static bool is_prefix(uint8_t byte) { return byte == 0x3e || byte == 0xf2; }

/* Part of the module, and there; nothing else is believed of a plan. */
static bool is_loaded(const struct ttp_code_view *view, uint64_t address, uint32_t count)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        const ElfW(Phdr) *segment = &view->segments[i];
        uint64_t at = address - (view->bias + segment->p_vaddr);
        if (segment->p_type == PT_LOAD && at < segment->p_memsz && count <= segment->p_memsz - at)
            return true;
    }
    return false;
}

/* A stub of the linker, which jumps through a word that the loader fills; 0: it is none. */
static uint64_t find_slot(const struct ttp_code_view *view, uint64_t stub)
{
    const uint8_t *start = ttp_view_at(view, stub), *code = start;
    int32_t distance = 0;
    if (ttp_is_same(code, endbr64, sizeof(endbr64)))
        code += sizeof(endbr64);
    if (is_prefix(code[0]))
        code++;
    if (code[0] != JUMP_INDIRECT || code[1] != BY_PLACE)
        return 0;
    for (uint32_t i = 0; i < sizeof(distance); i++)
        ((uint8_t *)&distance)[i] = code[2 + i];
    return stub + (uint64_t)(code + 6 - start) + (uint64_t)(int64_t)distance;
}

/* What is not filled yet leads to the stub's other half, which pushes its number. */
static bool is_empty(const struct ttp_code_view *view, uint64_t there)
{
    if (!is_loaded(view, there, LINKED_BYTES))
        return false;
    const uint8_t *code = ttp_view_at(view, there);
    return *(ttp_is_same(code, endbr64, sizeof(endbr64)) ? code + sizeof(endbr64) : code) == PUSH;
}

static uint64_t find_linked(const struct ttp_code_view *view, uint64_t target)
{
    uint64_t slot = is_loaded(view, target, LINKED_BYTES) ? find_slot(view, target) : 0;
    if (slot == 0)
        return target;
    if (slot % 8 != 0 || !is_loaded(view, slot, 8))
        return 0;
    uint64_t there;
    __builtin_memcpy(&there, ttp_view_at(view, slot), sizeof there);
    if (!is_empty(view, there))
        return there;
    return TTP_TAIL_MEMORY | TTP_TAIL_LINKED | (there & TTP_TAIL_EMPTY_IS) << TTP_TAIL_EMPTY | slot;
}

/* The jump is the last of the moved code, and what there is to set right in it the last of that. */
uint64_t ttp_tail_target_of(const struct ttp_code_view *view, const struct ttp_moved *moved,
                            uint32_t from, uint32_t to, bool is_function)
{
    const uint8_t *at = moved->bytes + from, *end = moved->bytes + to;
    uint32_t base = 0;
    while (at < end && is_prefix(*at))
        at++;
    if (at < end && (*at & 0xf0) == REX)
        base = (*at++ & REX_BASE) * 8;
    uint64_t place =
        moved->fixup_count == 0 ? 0 : moved->bias + moved->fixups[moved->fixup_count - 1].target;
    if (at < end && *at == JUMP_DIRECT && place != 0)
        return is_function ? place : find_linked(view, place);
    if (end - at < 2 || *at != JUMP_INDIRECT)
        return 0;
    if ((at[1] & 0xf8) == BY_REGISTER) {
        uint32_t word = saved_word(base + (at[1] & 7));
        return word == 0 ? 0 : TTP_TAIL_REGISTER | word;
    }
    return at[1] == BY_PLACE && place % 8 == 0 && is_loaded(view, place, 8)
               ? TTP_TAIL_MEMORY | place
               : 0;
}
