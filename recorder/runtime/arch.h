/* The machine below the runtime: system calls without errno, the time stamp counter, and updates
 * that a signal handler of the same thread cannot tear. x86-64 Linux only: others need this file.
 */
#ifndef TTP_RUNTIME_ARCH_H
#define TTP_RUNTIME_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "the recording runtime knows x86-64 Linux only"
#endif

#define TTP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TTP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TTP_COLD        __attribute__((cold, noinline))
#define TTP_EXPORT      __attribute__((visibility("default")))

/* The stack pointer of the instrumented function, where it called us. */
#if defined(__clang__)
#define TTP_CALLER_SP() ((uintptr_t)__builtin_frame_address(0) + 16)
#else
#define TTP_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#endif

/* What the compiler must not move across, because a signal handler of this thread may look. */
#define TTP_SIGNAL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static inline uint64_t ttp_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static inline void ttp_tsc_halves(uint32_t *low, uint32_t *high)
{
    __asm__ volatile("rdtsc" : "=a"(*low), "=d"(*high));
}

/* Adds and returns what was there, in one instruction but without locking the bus: indivisible
 * for this thread and its signal handlers, not for other threads. */
static inline uint64_t ttp_add_here(uint64_t *where, uint64_t amount)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(amount), "+m"(*where) : : "memory", "cc");
    return amount;
}

/* Compare and swap of the same kind. */
static inline bool ttp_swap_here(uint64_t *where, uint64_t expected, uint64_t wanted)
{
    uint64_t seen = expected;
    __asm__ volatile("cmpxchgq %2, %1" : "+a"(seen), "+m"(*where) : "r"(wanted) : "memory", "cc");
    return seen == expected;
}

static inline bool ttp_swap_word_here(uint32_t *where, uint32_t expected, uint32_t wanted)
{
    uint32_t seen = expected;
    __asm__ volatile("cmpxchgl %2, %1" : "+a"(seen), "+m"(*where) : "r"(wanted) : "memory", "cc");
    return seen == expected;
}

/* Counts a frame, then writes it, as handlers may push one meanwhile. Where in the code it is
 * counted and not yet written is listed: from the first instruction of two to behind the second. */
#define TTP_PUSH_FRAME(top, next, sp_, function_, call_site_)                                      \
    __asm__ volatile("movq %4, %0\n"                                                               \
                     "661:\tmovq %5, %1\n\t"                                                       \
                     "movq %6, %2\n"                                                               \
                     "662:\tmovq %7, %3\n\t"                                                       \
                     ".pushsection ttp_pushes, \"a\"\n\t"                                          \
                     ".long 661b - ., 662b - .\n\t"                                                \
                     ".popsection"                                                                 \
                     : "=m"(top), "=m"((next)->sp), "=m"((next)->function),                        \
                       "=m"((next)->call_site)                                                     \
                     : "r"(next), "r"(sp_), "r"(function_), "r"(call_site_)                        \
                     : "memory")

#ifdef TTP_AGENT
/* The agent of a program that was attached to makes no system call in a hook: whatever asks for one
 * is told that there is none. */
static inline long ttp_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    return -38; /* ENOSYS */
}
#else
/* Returns the result or a negative errno; touches neither errno nor the stack's red zone. */
static inline long ttp_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#endif

/* A child in the same memory, on the same stack, that does nothing but end, while this thread waits
 * for it; what the kernel does not read of clone's arguments is for a tracer. Returns the child's
 * number, or a negative errno. */
static inline long ttp_start_nothing(long flags, long one, long other)
{
    long result;
    register long r10 __asm__("r10") = one;
    register long r8 __asm__("r8") = other;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov $60, %%eax\n\t" /* exit(0) */
                     "xor %%edi, %%edi\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(result), "+D"(flags)
                     : "a"(56L), "S"(0L), "d"(0L), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* The thread control block, which glibc and musl keep at the upper end of a thread's stack. */
static inline uintptr_t ttp_thread_block(void)
{
    uintptr_t value;
    __asm__("movq %%fs:0, %0" : "=r"(value));
    return value;
}

/* What glibc hides pointers in a jmp_buf with. */
static inline uintptr_t ttp_unhide(uintptr_t hidden)
{
    uintptr_t value = hidden;
    __asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(value) : : "cc");
    return value;
}

/* mov $15,%rax; syscall: how the C library returns from a signal handler. */
#define TTP_SIGNAL_RETURN_CODE 0x0f0000000fc0c748ull
/* And with a jump to a stub in its first five bytes. */
#define TTP_SIGNAL_RETURN_MASK    0xFFFFFF00000000FFull
#define TTP_SIGNAL_RETURN_PATCHED 0x0f000000000000e9ull

#endif
