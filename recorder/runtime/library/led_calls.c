/* The word in which a module has the function's address, for calls through its PLT, gets that of a
 * front. Words that are read for the address itself (GLOB_DAT) stay: who compares addresses finds
 * the C library's.
 *
 *   caller --call--> front: enter;  --call--> the function;  exit;  ret
 *
 * No return address is replaced; the function has one of ours, as it is called from here.
 *
 * Several names may be of one function. A name is recorded under the function's address, and the
 * next ones a byte further each, as no other code is known by these. */
#include "recorder/runtime/library/led_calls.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/in_front_of.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/library_names.h"
#include "recorder/runtime/patch/probe.h"
#include "recorder/runtime/slow.h"

#define PLAIN_MAX   64u
#define SLOTS_MAX   1024u
#define FRONT_BYTES 16u
#define PAGE        4096u
#define VDSO_BYTES  (4 * PAGE) /* at most: nothing else is mapped so near behind its start */

struct plain {
    const char *name;
    uintptr_t real, shown; /* as it is recorded */
    bool is_seen, is_used;
};

struct slot {
    uint64_t *word;
    uint32_t plain;
    bool is_read_only; /* the loader has made it so */
};

static struct plain plains[PLAIN_MAX];
static uint32_t plain_count;
static struct slot slots[SLOTS_MAX];
static uint32_t slot_count;

bool ttp_plain_is(const char *name)
{
    static const char *const names[] = {"time",   "gettimeofday", "bcmp",   "bcopy",
                                        "bzero",  "index",        "rindex", "rawmemchr",
                                        "stpcpy", "stpncpy",      "strlen", "strnlen"};
    static const char *const starts[] = {"mem", "wmem", "wcs", "str", "__mem", "__str", "__stp"};
    static const char *const formats[] = {"strf", "wcsf", "__strf"}; /* strfmon: any number */
    return !ttp_name_begins_with(name, formats, TTP_COUNT_OF(formats)) &&
           (ttp_name_is_among(name, names, TTP_COUNT_OF(names)) ||
            ttp_name_begins_with(name, starts, TTP_COUNT_OF(starts)));
}

static uint32_t plain_of(const char *name, uintptr_t function)
{
    uintptr_t shown = function;
    for (uint32_t i = 0; i < plain_count; i++) {
        if (plains[i].real != function)
            continue;
        if (strcmp(plains[i].name, name) == 0)
            return i;
        shown++;
    }
    if (plain_count == PLAIN_MAX)
        return PLAIN_MAX;
    plains[plain_count] = (struct plain){.name = name, .real = function, .shown = shown};
    return plain_count++;
}

/* Whole pages of that part are, from where the first begins. */
static bool is_read_only(const struct dl_phdr_info *info, uintptr_t at)
{
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_RELRO && at >= (start & ~(uintptr_t)(PAGE - 1)) &&
            at < ((start + part->p_memsz) & ~(uintptr_t)(PAGE - 1)))
            return true;
    }
    return false;
}

/* Before the first call the word leads back into the module's own code. */
static bool is_as_expected(const uint64_t *word, uintptr_t function,
                           const struct dl_phdr_info *info)
{
    struct ttp_module_seen module;
    return *word == function ||
           (ttp_module_look(info, &module) && *word - module.start < module.end - module.start);
}

/* Of the C library's own it is known what they take; of time it may choose the kernel's. A library
 * of the program's may have anything under such a name, with arguments on the stack. */
static bool is_of_libc(uintptr_t function)
{
    uintptr_t kernels = getauxval(AT_SYSINFO_EHDR);
    return function - ttp_process.libc_low < ttp_process.libc_high - ttp_process.libc_low ||
           (kernels != 0 && function - kernels < VDSO_BYTES);
}

void ttp_plain_add(const char *name, uintptr_t function, uint64_t *word,
                   const struct dl_phdr_info *info)
{
    if (slot_count == SLOTS_MAX || !is_of_libc(function) || !is_as_expected(word, function, info))
        return;
    uint32_t plain = plain_of(name, function);
    if (plain != PLAIN_MAX)
        slots[slot_count++] = (struct slot){
            .word = word, .plain = plain, .is_read_only = is_read_only(info, (uintptr_t)word)};
}

bool ttp_plain_has(uintptr_t function)
{
    for (uint32_t i = 0; i < plain_count; i++)
        if (plains[i].real == function)
            return true;
    return false;
}

void ttp_plain_is_seen(uintptr_t function)
{
    for (uint32_t i = 0; i < plain_count; i++)
        plains[i].is_seen |= plains[i].real == function;
}

/* -- fronts -- */

extern const uint8_t ttp_plain_fronts[] __attribute__((visibility("hidden")));

uintptr_t ttp_plain_entered(uintptr_t number, const uintptr_t *place);
BEFORE uintptr_t ttp_plain_entered(uintptr_t number, const uintptr_t *place)
{
    const struct plain *plain = &plains[number];
    (void)ttp_front_open(plain->shown, *place, (uintptr_t)place);
    return plain->real;
}

void ttp_plain_left(uintptr_t number, const uintptr_t *place);
BEFORE void ttp_plain_left(uintptr_t number, const uintptr_t *place)
{
    ttp_front_close(plains[number].shown, *place, (uintptr_t)place);
}

/* The numbers are pushed as one byte or four: each front has 16. */
__asm__(".text\n\t.hidden ttp_plain_fronts\n\t.globl ttp_plain_fronts\n\t"
        ".type ttp_plain_fronts, @function\n\t.p2align 4\nttp_plain_fronts:\n\t"
        ".set ttp_plain_number, 0\n\t"
        ".rept 64\n\t"
        ".p2align 4\n\t.cfi_startproc\n\t"
        "pushq $ttp_plain_number\n\t.cfi_adjust_cfa_offset 8\n\t"
        "jmp 1f\n\t.cfi_endproc\n\t"
        ".set ttp_plain_number, ttp_plain_number + 1\n\t"
        ".endr\n\t"
        ".p2align 4\n1:\n\t"
        ".cfi_startproc\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rcx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %r8\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %r9\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %r10\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq 64(%rsp), %rdi\n\t"
        "leaq 72(%rsp), %rsi\n\t"
        "call ttp_plain_entered\n\t"
        "movq %rax, %r11\n\t"
        "popq %r10\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r9\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r8\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rcx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "call *%r11\n\t"
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq 16(%rsp), %rdi\n\t"
        "leaq 24(%rsp), %rsi\n\t"
        "call ttp_plain_left\n\t"
        "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"
        "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        "ret\n\t.cfi_endproc\n\t"
        ".size ttp_plain_fronts, . - ttp_plain_fronts\n");

/* -- words -- */

static long protect(uintptr_t page, int protection)
{
    return ttp_syscall(SYS_mprotect, (long)page, PAGE, protection, 0, 0, 0);
}

static bool put_slot(const struct slot *slot)
{
    uintptr_t page = (uintptr_t)slot->word & ~(uintptr_t)(PAGE - 1);
    if (slot->is_read_only && protect(page, PROT_READ | PROT_WRITE) != 0)
        return false;
    *(volatile uint64_t *)slot->word =
        (uintptr_t)ttp_plain_fronts + (uintptr_t)slot->plain * FRONT_BYTES;
    if (slot->is_read_only)
        (void)protect(page, PROT_READ);
    return true;
}

void ttp_plain_begin(void)
{
    if (ttp_process.fronted_bytes == 0) /* all functions of the C library have probes */
        return;
    for (uint32_t i = 0; i < slot_count; i++)
        if (!plains[slots[i].plain].is_seen)
            plains[slots[i].plain].is_used |= put_slot(&slots[i]);
    for (uint32_t i = 0; i < plain_count; i++)
        if (plains[i].is_used && ttp_has_state())
            (void)ttp_library_tell(plains[i].shown, plains[i].name);
}
