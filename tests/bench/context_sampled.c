/* Preloaded in front of libtracetape-context: writes the context value of about one call in
 * SAMPLE_EVERY to the file SAMPLE_TO, before the call is told of. It ends in a jump to the hook,
 * which sees the caller's stack as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <tracetape/context.h>

#define QUIET        __attribute__((no_instrument_function))
#define SAMPLES_MOST 60000u

typedef void hook(void *function, void *caller);

static hook *enter_hook, *exit_hook;
static uint64_t calls, every = 1000, left = SAMPLES_MOST, random_state = 88172645463325252u;
static int target = -1, busy;

QUIET __attribute__((constructor(101))) static void start(void)
{
    const char *word = getenv("SAMPLE_EVERY"), *path = getenv("SAMPLE_TO");
    enter_hook = (hook *)dlsym(RTLD_NEXT, "__cyg_profile_func_enter");
    exit_hook = (hook *)dlsym(RTLD_NEXT, "__cyg_profile_func_exit");
    if (word != NULL)
        every = strtoull(word, NULL, 10);
    if (path != NULL)
        target = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    unsetenv("SAMPLE_TO");
}

QUIET static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

QUIET __attribute__((noinline)) static void sample(void)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES + 1];
    busy = 1;
    calls = draw() % (every / 4 + 1);
    size_t size = ttape_context_text(text, sizeof text - 1);
    text[size] = '\n';
    if (size > 0 && write(target, text, size + 1) > 0)
        left--;
    busy = 0;
}

QUIET void __cyg_profile_func_enter(void *function, void *caller)
{
    if (enter_hook == NULL)
        start();
    if (target >= 0 && ++calls >= every && left > 0 && !busy)
        sample();
    enter_hook(function, caller);
}

QUIET void __cyg_profile_func_exit(void *function, void *caller)
{
    if (exit_hook == NULL)
        start();
    exit_hook(function, caller);
}
