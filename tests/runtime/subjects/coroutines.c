/* Coroutines by swapcontext on small stacks that lie side by side, running the same function; one
 * that is left for ever and whose stack is used again; one that ends into another. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
#define STACK    16384

static ucontext_t back, one, two;
static volatile int sink;
static char *stacks;

NOINLINE void leaf(void) { sink++; }
NOINLINE void yield(ucontext_t *from)
{
    leaf();
    swapcontext(from, &back);
}
NOINLINE void body(ucontext_t *own)
{
    leaf();
    yield(own);
    leaf();
    yield(own);
    leaf();
}
static void start_one(void) { body(&one); }
static void start_two(void) { body(&two); }
NOINLINE void resume(ucontext_t *to)
{
    leaf();
    swapcontext(&back, to);
}
static void make(ucontext_t *, int, void (*)(void)) __attribute__((no_instrument_function));
static void make(ucontext_t *context, int number, void (*start)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = stacks + number * STACK;
    context->uc_stack.ss_size = STACK;
    context->uc_link = &back;
    makecontext(context, start, 0);
}

int main(void)
{
    stacks = malloc(2 * STACK);
    make(&one, 0, start_one);
    make(&two, 1, start_two);
    resume(&one);
    resume(&two);
    resume(&one);
    resume(&two);
    resume(&two);
    make(&two, 1, start_two); /* anew */
    resume(&two);
    make(&one, 0, start_one); /* while the old one is under way */
    resume(&one);
    leaf();
    return 0;
}
