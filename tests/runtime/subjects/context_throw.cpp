// Says contexts' values behind exceptions, each with the stack that it stands for.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <tracetape/context.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function, noinline))

static volatile int sink;

static NOHOOKS void say(const char *stack)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES];
    std::printf("%s %s\n", ttape_context_text(text, sizeof(text)) == 0 ? "?" : text, stack);
}
extern "C" {
NOINLINE void thrower(int depth)
{
    char room[100];
    std::memset(room, depth, sizeof(room));
    sink = sink + room[depth & 7];
    if (depth == 0)
        throw std::runtime_error("thrown");
    thrower(depth - 1);
    sink = sink + 1;
}
NOINLINE void called() { say("main>catcher>called"); }
NOINLINE void catcher()
{
    try {
        thrower(3);
    } catch (const std::exception &) {
        say("main>catcher");
        called();
    }
    say("main>catcher");
}
}
int main()
{
    for (int i = 0; i < 2; i++) {
        catcher();
        say("main");
    }
}
