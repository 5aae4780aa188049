/* The fronts of handlers, and where those return to whose fault was shown elsewhere. */
#include <signal.h>

#include "recorder/runtime/faults/faults.h"
#include "recorder/runtime/patch/probe.h"

#define FRONTS      32u /* as below */
#define FRONT_BYTES 16u

void ttp_fault_fronts(void);
void ttp_fault_return(void);
uintptr_t ttp_fault_begin(uint32_t front, uint64_t *frame);
void ttp_fault_end(uint64_t *frame);

#define PUSH(name) "pushq %" name "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" name ", 0\n\t"
#define POP(name)  "popq %" name "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" name "\n\t"

/* A front takes its number along. All registers are as the kernel has set them, but for r11. */
__asm__(".text\n\t.p2align 4\n\t.globl ttp_fault_fronts\n\t.hidden ttp_fault_fronts\n\t"
        ".type ttp_fault_fronts, @function\nttp_fault_fronts:\n\t.cfi_startproc\n\t"
        ".set .Lfront, 0\n\t.rept 32\n\t.p2align 4\n\tmovl $.Lfront, %eax\n\tjmp 1f\n\t"
        ".set .Lfront, .Lfront + 1\n\t.endr\n\t.p2align 4\n"
        "1:\t" PUSH("rdi") PUSH("rsi") PUSH("rdx") PUSH("rcx") PUSH("r8") PUSH("r9")
            PUSH("r10") "movl %eax, %edi\n\tleaq 56(%rsp), %rsi\n\tcall ttp_fault_begin\n\t"
                        "movq %rax, %r11\n\txorl %eax, %eax\n\t" POP("r10") POP("r9") POP("r8")
                            POP("rcx") POP("rdx") POP("rsi")
                                POP("rdi") "jmp *%r11\n\t.cfi_endproc"
                                           "\n\t.size ttp_fault_fronts, . - ttp_fault_fronts\n");

/* The kernel's context is at the stack pointer: registers that were interrupted are the words there
 * (2 bytes each of a number). Unwinders look a return address up one byte in front. */
#define AT(number, low, high) ".cfi_escape 0x10, " #number ", 3, 0x77, " #low ", " #high "\n\t"
__asm__(
    ".text\n\t.p2align 4\n\t.cfi_startproc simple\n\t.cfi_signal_frame\n\t"
    ".cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06\n\t" /* CFA: the word at rsp + 160 */
    AT(8, 0xa8, 0) AT(9, 0xb0, 0) AT(10, 0xb8, 0) AT(11, 0xc0, 0) AT(12, 0xc8, 0) AT(13, 0xd0, 0)
        AT(14, 0xd8, 0) AT(15, 0xe0, 0) AT(5, 0xe8, 0) AT(4, 0xf0, 0) AT(6, 0xf8, 0) AT(3, 0x80, 1)
            AT(1, 0x88, 1) AT(0, 0x90, 1) AT(2, 0x98, 1) AT(7, 0xa0, 1)
                AT(16, 0xa8,
                   1) "nop\n\t"
                      ".globl ttp_fault_return\n\t.hidden ttp_fault_return\n\t"
                      ".type ttp_fault_return, @function\nttp_fault_return:\n\t"
                      "leaq -8(%rsp), %rdi\n\tcall ttp_fault_end\n\tmovq $15, %rax\n\tsyscall\n\t"
                      ".cfi_endproc\n\t.size ttp_fault_return, . - ttp_fault_return\n");

/* Words of the kernel's frame, from the handler's return address on. The last are of those that the
 * kernel leaves alone. */
enum {
    WORD_RDI = 14,
    WORD_RSP = 21,
    WORD_RIP = 22,
    WORD_WAS = 30,  /* rip, rsp, rdi */
    WORD_SHOWN = 33 /* the same */
};

static uintptr_t handlers[FRONTS]; /* by the numbers of fronts; 0: that one is free */

bool ttp_fault_is_shown(int number)
{
    const struct ttp_arena_head *head = &ttp_arena.head;
    return (head->patch_choice != 0 || (head->call_flags & TTP_CALLS_ON) != 0 ||
            ttp_process.minds_program) &&
           (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL);
}

static bool is_front(uintptr_t address)
{
    return address - (uintptr_t)ttp_fault_fronts < FRONTS * FRONT_BYTES;
}

uintptr_t ttp_fault_front(uintptr_t handler)
{
    if (handler == (uintptr_t)SIG_DFL || handler == (uintptr_t)SIG_IGN ||
        handler == (uintptr_t)SIG_ERR || is_front(handler))
        return handler;
    for (uint32_t i = 0; i < FRONTS; i++) {
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&handlers[i], &found, handler, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE) ||
            found == handler)
            return (uintptr_t)ttp_fault_fronts + i * FRONT_BYTES;
    }
    return handler;
}

uintptr_t ttp_fault_handler(uintptr_t front)
{
    uintptr_t number = (front - (uintptr_t)ttp_fault_fronts) / FRONT_BYTES;
    return is_front(front) ? __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE) : front;
}

bool ttp_is_fault_return(uintptr_t call_site) { return call_site == (uintptr_t)ttp_fault_return; }

/* -- what a handler finds -- */

/* A processor that keeps shadow stacks would not let a handler return to us. */
static bool can_show(const uint64_t *frame)
{
    uint64_t shadow = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow));
    return shadow == 0 && ttp_is_signal_return(*frame);
}

static void keep_word(uint64_t *frame, uint32_t word)
{
    frame[word] = frame[WORD_RIP];
    frame[word + 1] = frame[WORD_RSP];
    frame[word + 2] = frame[WORD_RDI];
}

static void show_place(const struct ttp_area *area, uint64_t *frame)
{
    if (area->plan != NULL) {
        frame[WORD_RIP] = ttp_stub_origin(area, frame[WORD_RIP]);
        return;
    }
    frame[WORD_RDI] = ttp_probe_rdi(area, frame[WORD_RIP], frame[WORD_RSP], frame[WORD_RDI]);
    ttp_probe_origin(area, &frame[WORD_RIP], &frame[WORD_RSP]);
}

/* Where the program goes on that a handler has sent elsewhere: from a stub, maybe within the same
 * window; from anywhere, maybe within another one. */
static uint64_t place_of(uint64_t was, uint64_t pc)
{
    const struct ttp_area *area = ttp_area_of(was);
    uint64_t place = area == NULL || area->slot_distance != 0 ? pc
                     : area->plan != NULL                     ? ttp_stub_place(area, was, pc)
                                                              : ttp_probe_place(was, pc);
    return place != pc ? place : ttp_area_place(pc);
}

/* Called with the kernel's frame, or by a program that has found a front (rt_sigaction, by itself):
 * then the frame is none. Returns the handler. */
uintptr_t ttp_fault_begin(uint32_t front, uint64_t *frame)
{
    if (can_show(frame)) {
        const struct ttp_area *area = ttp_area_of(frame[WORD_RIP]);
        keep_word(frame, WORD_WAS);
        if (area != NULL)
            show_place(area, frame);
        keep_word(frame, WORD_SHOWN);
        *frame = (uintptr_t)ttp_fault_return;
    }
    return __atomic_load_n(&handlers[front], __ATOMIC_ACQUIRE);
}

/* A handler that leaves the place as it is goes on in the stub; one that changes it, maybe within
 * the window, goes on as the program's code would. */
void ttp_fault_end(uint64_t *frame)
{
    const uint64_t *was = &frame[WORD_WAS], *shown = &frame[WORD_SHOWN];
    if (frame[WORD_RIP] != shown[0]) {
        frame[WORD_RIP] = place_of(was[0], frame[WORD_RIP]);
        return;
    }
    frame[WORD_RIP] = was[0];
    frame[WORD_RSP] += was[1] - shown[1];
    if (frame[WORD_RDI] == shown[2])
        frame[WORD_RDI] = was[2];
}
