/* The document's stacks with its collision: functions lie where F1's address is A's XOR D's, so
 * that main, F1 and main, A, D have one value by XOR; values are said without depths, as the
 * document has them. What lies where is said to the linker: sections code_NAME. */
#include <stdio.h>
#include <string.h>

#include <tracetape/context.h>

#define AT(name) __attribute__((noinline, section("code_" name)))

static volatile unsigned long count = 1;

#define LOG(...)                                                                                   \
    do {                                                                                           \
        char value_[TTAPE_CONTEXT_TEXT_BYTES];                                                     \
        (void)ttape_context_text(value_, sizeof value_);                                           \
        *strchr(value_, '/') = '\0';                                                               \
        printf("[%s] ", value_);                                                                   \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
    } while (0)

__attribute__((noinline, no_instrument_function)) static void third_party(void) { count++; }

AT("c") static void C(void) { LOG("Hello world."); }
AT("d") static void D(void) { LOG("Hello earth."); }
AT("b") static void B(void)
{
    third_party();
    LOG("Hello mars");
    LOG("Hello %lu mars", count);
    C();
}
AT("a") static void A(int which)
{
    if (which)
        D();
    else
        B();
    count++;
}
AT("f1") static void F1(void) { LOG("one"); }

int main(void)
{
    const ttape_context_options options = {
        .size = sizeof options, .operation = TTAPE_CONTEXT_XOR, .ids = TTAPE_CONTEXT_IDS_ADDRESS};
    if (ttape_context_start(&options) != 0)
        return 1;
    F1();
    A(0);
    A(1);
    return 0;
}
