/* Says contexts' values, each with the stack that it stands for, as it is written here. Arguments:
 * a plugin. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <tracetape/context.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function, noinline))

static jmp_buf back;
static ucontext_t outside, inside;
static char alternate[65536], coroutine_stack[65536];
static pthread_barrier_t all_are_there;
static volatile int sink;

/* In one write, as processes share the output. */
static NOHOOKS void say(const char *stack)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES], line[512];
    size_t size = ttape_context_text(text, sizeof(text));
    int length = snprintf(line, sizeof(line), "%s %s\n", size == 0 ? "?" : text, stack);
    if (length != (int)write(1, line, (size_t)length))
        abort();
}

static inline void __attribute__((always_inline)) inlined(void) { say("main>inlines>inlined"); }
NOINLINE void inlines(void)
{
    inlined();
    say("main>inlines");
}

NOINLINE void recurse(int depth)
{
    if (depth > 1)
        recurse(depth - 1);
    else
        say("main>recurse>recurse>recurse");
}

NOINLINE void jump(int depth)
{
    char room[300];
    memset(room, depth, sizeof(room));
    sink += room[depth];
    if (depth == 0)
        longjmp(back, 1);
    jump(depth - 1);
}
NOINLINE void after(void) { say("main>jumps>after"); }
/* Right behind the jump no hook has been called yet. */
NOINLINE void jumps(void)
{
    if (setjmp(back) == 0)
        jump(5);
    say("main>jumps");
    after();
    say("main>jumps");
}
static NOHOOKS void jump_below(void)
{
    if (setjmp(back) == 0)
        jump(3);
    say("main");
}

/* The compiler's own jump, of which nobody hears. */
static void *plain[5];
NOINLINE void jump_unheard(int depth)
{
    char room[300];
    memset(room, depth, sizeof(room));
    sink += room[depth];
    if (depth == 0)
        __builtin_longjmp(plain, 1);
    jump_unheard(depth - 1);
}
NOINLINE void jumps_unheard(void)
{
    if (__builtin_setjmp(plain) == 0)
        jump_unheard(3);
    ttape_context_value here = ttape_context(); /* its own stack pointer says what is gone */
    char line[100];
    int size = snprintf(line, sizeof(line), TTAPE_CONTEXT_FORMAT " main>jumps_unheard\n",
                        TTAPE_CONTEXT_ARGUMENTS(here));
    if (size != (int)write(1, line, (size_t)size))
        abort();
}

NOINLINE void in_coroutine(void) { say("coroutine>in_coroutine"); }
NOINLINE void coroutine(void)
{
    say("coroutine");
    in_coroutine();
    swapcontext(&inside, &outside);
    say("coroutine");
    in_coroutine();
}
NOINLINE void resumes(void) { swapcontext(&outside, &inside); }
NOINLINE void coroutines(void)
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = coroutine_stack;
    inside.uc_stack.ss_size = sizeof(coroutine_stack);
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    resumes();
    say("main>coroutines");
    resumes();
    say("main>coroutines");
}

NOINLINE void in_handler(void) { say("main>raises>handler>in_handler"); }
NOINLINE void handler(int number)
{
    (void)number;
    say("main>raises>handler");
    in_handler();
    say("main>raises>handler");
}
NOINLINE void raises(int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    say("main>raises");
}

NOINLINE void in_thread(void) { say("thread>in_thread"); }
NOINLINE void *thread(void *unused)
{
    say("thread");
    pthread_barrier_wait(&all_are_there);
    for (int i = 0; i < 100; i++)
        in_thread();
    return unused;
}
NOINLINE void threads(void)
{
    pthread_t ids[4];
    pthread_barrier_init(&all_are_there, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    say("main>threads");
}

NOINLINE void in_child(void) { say("main>forks>in_child"); }
NOINLINE void forks(void)
{
    if (fork() == 0) {
        say("main>forks");
        in_child();
        _exit(0);
    }
    wait(NULL);
    say("main>forks");
}

NOINLINE void loads(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    void (*run)(void (*)(const char *)) =
        plugin == NULL ? NULL : (void (*)(void (*)(const char *)))dlsym(plugin, "plugin_says");
    if (run == NULL)
        abort();
    run(say);
    dlclose(plugin);
    say("main>loads");
}

int main(int count, char **arguments)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 2; i++) {
        say("main");
        inlines();
        recurse(3);
        jumps();
        jump_below();
        jumps_unheard();
        coroutines();
        raises(0);
        raises(SA_ONSTACK);
        threads();
        forks();
        for (int at = 1; at < count; at++)
            loads(arguments[at]);
    }
    return 0;
}
