// Lines of parts, as streams put them together; each with the context value and the right stack.
#include <iostream>

#include <tracetape/context.h>

#define KEEP  __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))

QUIET KEEP static const char *value()
{
    static char text[TTAPE_CONTEXT_TEXT_BYTES];
    return ttape_context_text(text, sizeof text) != 0 ? text : "-";
}

KEEP static void apples(int count)
{
    std::cout << value() << "|apples|"
              << "picked " << count << " apples of " << count * 2.5 << " trees\n";
}
KEEP static void pears(int count)
{
    std::cout << value() << "|pears|"
              << "picked " << count << " pears" << std::endl;
}

int main()
{
    ttape_context_options options = {};
    options.size = sizeof options;
    options.operation = TTAPE_CONTEXT_XOR;
    if (ttape_context_start(&options) != 0)
        return 1;
    apples(3);
    pears(4);
    return 0;
}
