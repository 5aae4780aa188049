/* Which signal a handler was called for, and where its frame is: from what the kernel left on the
 * stack, and where that does not say it, from the table of handlers.
 *
 *   handler's frame | return address = C library's trampoline | ucontext (304 bytes) | siginfo, if
 *                     ^ location                                 the handler asked for it */
#include <signal.h>
#include <sys/syscall.h>

#include "recorder/runtime/faults/faults.h"
#include "recorder/runtime/operation.h"
#include "recorder/runtime/slow.h"

#define SCAN_WORDS 32768u /* more of a handler's own frame than that is not looked through */
#define SIGNALS    64u
#define USER_CODE  0x33u /* the code segment */
#define NO_ADDRESS 0x80u /* of siginfo's code, from there on and below 1: there is none */

/* Words of the kernel's frame from the return address on. */
enum frame_word {
    WORD_FLAGS = 1,
    WORD_LINK = 2,
    WORD_STACK = 3,
    WORD_STACK_FLAGS = 4,
    WORD_STACK_SIZE = 5,
    WORD_PLACE = 22,
    WORD_SEGMENTS = 24,
    WORD_MASK = 38,
    WORD_INFO = 39, /* signal and error */
    WORD_CODE = 40,
    WORD_ADDRESS = 41
};

/* Where sigaction is not ours, what was found once may not be true any more. */
#ifdef TTP_RUNTIME_SHARED
#define KNOWS_CHANGES true
#else
#define KNOWS_CHANGES false
#endif

#define FOUND_SEVERAL 0x7Fu
#define FOUND_IN_INFO 0x80u

/* handler << 16 | changes of the table << 8 | number, or how to find it */
static uint64_t known[64];

struct kernel_sigaction {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
};

bool ttp_is_signal_return(uintptr_t call_site)
{
    if (call_site - ttp_process.libc_low >= ttp_process.libc_high - ttp_process.libc_low)
        return ttp_is_fault_return(call_site);
    uint64_t code = *(const uint64_t *)call_site;
    return code == TTP_SIGNAL_RETURN_CODE ||
           (code & TTP_SIGNAL_RETURN_MASK) == TTP_SIGNAL_RETURN_PATCHED;
}

static bool is_frame(const uint64_t *word)
{
    return word[WORD_FLAGS] < 16 && word[WORD_LINK] == 0 &&
           (word[WORD_SEGMENTS] & 0xFFFF) == USER_CODE;
}

const uint64_t *ttp_signal_next(uintptr_t from, uintptr_t end)
{
    uintptr_t bytes = (WORD_MASK + 1) * sizeof(uint64_t);
    for (from = (from + 7) & ~(uintptr_t)7; from < end && end - from >= bytes; from += 8) {
        const uint64_t *word = (const uint64_t *)from;
        if (ttp_is_signal_return(*word) && is_frame(word))
            return word;
    }
    return NULL;
}

uintptr_t ttp_signal_place(const uint64_t *frame) { return frame[WORD_PLACE]; }

/* The return address is somewhere above sp, for the handler was called with it; copies of it may
 * lie before, but not with a context behind them. */
static const uint64_t *find_frame(uintptr_t call_site, uintptr_t sp)
{
    const uint64_t *word = (const uint64_t *)(sp & ~(uintptr_t)7);
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        if (word[i] == call_site && is_frame(word + i))
            return word + i;
    return NULL;
}

static void note_alternate(const uint64_t *frame, uintptr_t sp)
{
    uint64_t low = frame[WORD_STACK], size = frame[WORD_STACK_SIZE];
    if (((uint32_t)frame[WORD_STACK_FLAGS] & SS_DISABLE) != 0 || sp - low >= size)
        return;
    ttp_thread.stacks->alternate_low = low;
    ttp_thread.stacks->alternate_high = low + size;
}

static bool ask_action(uint32_t number, struct kernel_sigaction *action)
{
    long result =
        ttp_syscall(SYS_rt_sigaction, number, 0, (long)action, sizeof(action->mask), 0, 0);
    action->handler = ttp_fault_handler(action->handler);
    return result == 0;
}

/* The number, or how to find it; 0: no signal has this handler any more. */
static uint32_t ask_table(uintptr_t handler)
{
    uint32_t found = 0;
    for (uint32_t number = 1; number <= SIGNALS; number++) {
        struct kernel_sigaction action = {0};
        if (!ask_action(number, &action) || action.handler != handler)
            continue;
        if ((action.flags & SA_SIGINFO) != 0)
            return FOUND_IN_INFO;
        found = found != 0 ? FOUND_SEVERAL : number;
    }
    return found;
}

/* It is one that has been blocked since the handler was called. */
static uint32_t ask_mask(uintptr_t handler, uint64_t mask_before)
{
    uint64_t mask = 0;
    uint32_t found = 0;
    if (ttp_process.avoids_system_calls ||
        ttp_syscall(SYS_rt_sigprocmask, 0, 0, (long)&mask, sizeof(mask), 0, 0) != 0)
        return 0;
    uint64_t fresh = mask & ~mask_before;
    if (fresh != 0 && (fresh & (fresh - 1)) == 0)
        return (uint32_t)__builtin_ctzll(fresh) + 1;
    for (uint32_t number = 1; number <= SIGNALS; number++) {
        struct kernel_sigaction action = {0};
        if ((fresh >> (number - 1) & 1) == 0 || !ask_action(number, &action) ||
            action.handler != handler)
            continue;
        if (found != 0)
            return 0;
        found = number;
    }
    return found;
}

static uint32_t look_up(uintptr_t handler)
{
    uint64_t *slot = &known[(handler >> 4) % (sizeof(known) / sizeof(known[0]))];
    uint64_t changes = __atomic_load_n(&ttp_process.signal_changes, __ATOMIC_RELAXED) & 0xFF;
    uint64_t key = handler << 8 | changes, entry = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (KNOWS_CHANGES && entry >> 8 == key)
        return entry & 0xFF;
    if (ttp_process.avoids_system_calls)
        return 0;
    uint32_t found = ask_table(handler);
    __atomic_store_n(slot, key << 8 | found, __ATOMIC_RELAXED);
    return found;
}

uintptr_t ttp_signal_find(uintptr_t handler, uintptr_t call_site, uintptr_t sp, uint32_t *number)
{
    const uint64_t *frame = find_frame(call_site, sp);
    *number = 0;
    if (frame == NULL)
        return 0;
    note_alternate(frame, sp);
    uint32_t found = KNOWS_CHANGES ? look_up(handler) : ask_mask(handler, frame[WORD_MASK]);
    if (found == 0)
        found = look_up(handler);
    if (found == FOUND_IN_INFO)
        found = (uint32_t)frame[WORD_INFO];
    else if (found == FOUND_SEVERAL)
        found = ask_mask(handler, frame[WORD_MASK]);
    *number = found <= SIGNALS ? found : 0;
    return (uintptr_t)frame;
}

/* The action says whether the kernel has written what stands behind the context. */
bool ttp_signal_fault(uintptr_t location, uintptr_t handler, uint32_t number, uint64_t *address)
{
    const uint64_t *frame = (const uint64_t *)location;
    struct kernel_sigaction action = {0};
    bool is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
    if (!is_fault || ttp_process.avoids_system_calls || !ask_action(number, &action) ||
        action.handler != handler || (action.flags & SA_SIGINFO) == 0)
        return false;
    uint32_t code = (uint32_t)frame[WORD_CODE];
    *address = frame[WORD_ADDRESS];
    return (uint32_t)frame[WORD_INFO] == number && code - 1 < NO_ADDRESS - 1;
}

/* Behind the begin of its signal. */
void ttp_fault_tell(uintptr_t location, uintptr_t function, uint32_t number)
{
    uint64_t address;
    if (ttp_signal_fault(location, function, number, &address))
        ttp_fact_write_fault(number, address);
}
