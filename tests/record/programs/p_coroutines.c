/* Coroutines by swapcontext on stacks of 4 KiB from the heap; stacks that end are used anew;
 * coroutines that are given up with frames open. `p_coroutines [ROUNDS] [BYTES OF A STACK]`
 * With OWN_SWITCH by code of its own, as libraries have it, of which nobody is told. OWN_STACKS:
 * 1 an array of the program's, 2 pages side by side, 3 an array on the thread's own stack.
 * OWN_CALL: they begin by a call, as functions do. FRAME_BYTES: of what each walk has on its stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "own.h"

#define COUNT 8
#ifndef FRAME_BYTES
#define FRAME_BYTES 1
#endif

#ifdef OWN_SWITCH
typedef struct {
    void *sp;
} place;
static place home, contexts[COUNT];
void own_switch(place *from, const place *to);
void own_finish(void);
void own_start(void);
/* Pushes what functions keep, changes stacks, and goes on where the other one was. A coroutine
 * returns to the second one's first instruction: nobody has called it; the third one calls it. */
__asm__(".text\n\t.p2align 4\nown_switch:\n\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\t"
        "push %r14\n\tpush %r15\n\tmov %rsp, (%rdi)\n\tmov (%rsi), %rsp\n\tpop %r15\n\t"
        "pop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n\t.p2align 4\n"
        "own_finish:\n\tmov own_home(%rip), %rsi\n\tmov (%rsi), %rsp\n\tpop %r15\n\tpop %r14\n\t"
        "pop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n\t.p2align 4\n"
        "own_start:\n\tpop %rax\n\tcall *%rax\n\tjmp own_finish\n");
place *own_home = &home;

PLAIN static void swap(place *from, const place *to) { own_switch(from, to); }
PLAIN static void prepare(place *at, void *stack, size_t bytes, void (*start)(void))
{
    void **top = (void **)((uintptr_t)stack + (bytes & ~(size_t)15));
    *--top = NULL;
#ifdef OWN_CALL
    *--top = NULL;
    *--top = (void *)start;
    *--top = (void *)own_start;
#else
    *--top = (void *)own_finish;
    *--top = (void *)start;
#endif
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    at->sp = top;
}
#else
typedef ucontext_t place;
static place home, contexts[COUNT];
PLAIN static void swap(place *from, const place *to) { swapcontext(from, to); }
PLAIN static void prepare(place *at, void *stack, size_t bytes, void (*start)(void))
{
    getcontext(at);
    at->uc_stack.ss_sp = stack;
    at->uc_stack.ss_size = bytes;
    at->uc_link = &home;
    makecontext(at, start, 0);
}
#endif
static int running = -1, ended[COUNT], ids[COUNT], next_id = 1;
static long sum;

ALONE static void yield(void)
{
    IN;
    int self = running;
    running = -1;
    own_number('W', 0);
    swap(&contexts[self], &home);
    own_number('W', ids[self]);
    OUT;
}

ALONE static long walk(int depth, int turns)
{
    volatile char buffer[FRAME_BYTES];
    buffer[FRAME_BYTES - 1] = 0;
    IN;
    long seen = 1 + buffer[FRAME_BYTES - 1];
    if (depth > 0)
        seen += walk(depth - 1, turns);
    for (int i = 0; i < turns; i++) {
        yield();
        seen++;
    }
    OUT;
    return seen;
}

static void coroutine(void)
{
    own_number('W', ids[running]);
    IN;
    int self = running;
    sum += walk(self % 4, 2);
    ended[self] = 1;
    running = -1;
    OUT;
    own_number('W', 0);
}

ALONE static void resume(int i)
{
    IN;
    running = i;
    swap(&home, &contexts[i]);
    OUT;
}

ALONE static void make(int i, void *stack, size_t bytes)
{
    IN;
    ended[i] = 0;
    ids[i] = next_id++;
    prepare(&contexts[i], stack, bytes, coroutine);
    OUT;
}

#define ARRAY_BYTES 16384
#if OWN_STACKS == 1
static char array[COUNT][ARRAY_BYTES] __attribute__((aligned(16)));
#endif

/* Where all of them lie, or NULL: each is of its own. */
PLAIN static void *find_room(size_t bytes, char *here)
{
#if OWN_STACKS == 1
    return bytes <= ARRAY_BYTES ? array : NULL;
#elif OWN_STACKS == 2
    return mmap(NULL, COUNT * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#elif OWN_STACKS == 3
    return bytes <= ARRAY_BYTES ? here : NULL;
#else
    return NULL;
#endif
}

ALONE static long one_round(size_t bytes, int turns)
{
    IN;
#if OWN_STACKS == 3
    char here[COUNT * ARRAY_BYTES] __attribute__((aligned(16)));
#else
    char *here = NULL;
#endif
    char *room = find_room(bytes, here);
    void *stacks[COUNT];
    long left = 0;
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = room != NULL ? room + i * bytes : malloc(bytes);
        make(i, stacks[i], bytes);
    }
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < COUNT; i++)
            if (!ended[i])
                resume(i);
    for (int i = 0; i < COUNT; i++) {
        left += !ended[i];
        if (room == NULL)
            free(stacks[i]);
    }
#if OWN_STACKS == 2
    munmap(room, COUNT * bytes);
#endif
    OUT;
    return left;
}

int main(int argc, char **argv)
{
    IN;
    long rounds = own_argument(argc, argv, 1, 4);
    size_t bytes = (size_t)own_argument(argc, argv, 2, 4096);
    for (long i = 0; i < rounds; i++)
        printf("left %ld\n", one_round(bytes, i % 2 == 0 ? 20 : 3));
    printf("sum %ld\n", sum);
    OUT;
    return 0;
}
