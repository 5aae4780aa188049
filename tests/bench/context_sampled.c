/* Preloaded in front of libtracetape-context: writes the context value of about one call in
 * SAMPLE_EVERY to the file SAMPLE_TO, before the call is told of. It ends in a jump to the hook,
 * which sees the caller's stack as it is. With SAMPLE_ONCE it writes each value once; with
 * SAMPLE_OPERATIONS too, and beside it the values of all operations and kinds of ids. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <tracetape/context.h>

#define QUIET        __attribute__((no_instrument_function))
#define SAMPLES_MOST 500000u
#define SEEN_SLOTS   (1u << 20)
#define OPERATIONS   8 /* as they are numbered, with stable ids; then with addresses */

typedef void hook(void *function, void *caller);

static hook *enter_hook, *exit_hook;
static uint64_t calls, every = 1000, left = SAMPLES_MOST, random_state = 88172645463325252u;
static int target = -1, busy, wants_operations, is_once;
static uint64_t seen[SEEN_SLOTS]; /* contexts that were written, by their first value */
static char lines[OPERATIONS * (TTAPE_CONTEXT_TEXT_BYTES + 1)];

QUIET __attribute__((constructor(101))) static void start(void)
{
    const char *word = getenv("SAMPLE_EVERY"), *path = getenv("SAMPLE_TO");
    enter_hook = (hook *)dlsym(RTLD_NEXT, "__cyg_profile_func_enter");
    exit_hook = (hook *)dlsym(RTLD_NEXT, "__cyg_profile_func_exit");
    if (word != NULL)
        every = strtoull(word, NULL, 10);
    if (path != NULL)
        target = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    is_once = getenv("SAMPLE_ONCE") != NULL;
    wants_operations = getenv("SAMPLE_OPERATIONS") != NULL;
    unsetenv("SAMPLE_TO");
}

QUIET static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

QUIET static int is_new(uint64_t value)
{
    uint32_t at = (uint32_t)(value * 0x9e3779b97f4a7c15u >> 44);
    while (seen[at] != 0 && seen[at] != (value | 1))
        at = (at + 1) % SEEN_SLOTS;
    int is_so = seen[at] == 0;
    seen[at] = value | 1;
    return is_so;
}

/* One line of all values of this context; the settings are the default ones again behind it. */
QUIET __attribute__((noinline)) static void sample_operations(void)
{
    size_t size = 0;
    busy = 1;
    calls = draw() % (every / 4 + 1);
    for (int i = 0; i <= OPERATIONS; i++) {
        ttape_context_options options = {.size = sizeof options,
                                         .operation = (ttape_context_operation)(i % 4),
                                         .ids = (ttape_context_ids)(i / 4 % 2)};
        if (i == 1 && !is_new(ttape_context().value))
            break;
        if (i > 0)
            (void)ttape_context_start(&options);
        if (i < OPERATIONS) {
            size += ttape_context_text(lines + size, TTAPE_CONTEXT_TEXT_BYTES);
            lines[size++] = i + 1 < OPERATIONS ? ' ' : '\n';
        } else if (write(target, lines, size) > 0)
            left--;
    }
    busy = 0;
}

QUIET __attribute__((noinline)) static void sample(void)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES + 1];
    busy = 1;
    calls = draw() % (every / 4 + 1);
    size_t size = ttape_context_text(text, sizeof text - 1);
    text[size] = '\n';
    if (is_once && !is_new(ttape_context().value))
        size = 0;
    if (size > 0 && write(target, text, size + 1) > 0)
        left--;
    busy = 0;
}

QUIET void __cyg_profile_func_enter(void *function, void *caller)
{
    if (enter_hook == NULL)
        start();
    if (target >= 0 && ++calls >= every && left > 0 && !busy) {
        if (wants_operations)
            sample_operations();
        else
            sample();
    }
    enter_hook(function, caller);
}

QUIET void __cyg_profile_func_exit(void *function, void *caller)
{
    if (exit_hook == NULL)
        start();
    exit_hook(function, caller);
}
