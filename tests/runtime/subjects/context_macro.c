/* Chosen functions, by a macro; C and C++. Each line is a value and the chosen functions that are
 * open. */
#include <stdio.h>

#include <tracetape/context.h>

static void say(const char *stack)
{
    ttape_context_value where = ttape_context();
    printf(TTAPE_CONTEXT_FORMAT " %s\n", TTAPE_CONTEXT_ARGUMENTS(where), stack);
}

#ifdef __cplusplus
extern "C" {
#endif
int inner(int number);
int not_chosen(int number);
int outer(int number);
int returns_early(int number);
#ifdef __cplusplus
}
#endif

__attribute__((noinline)) int inner(int number)
{
    TTAPE_CONTEXT_CALL(inner);
    say("main>outer>inner");
    return number + 1;
}

__attribute__((noinline)) int not_chosen(int number) { return inner(number) + 1; }

__attribute__((noinline)) int returns_early(int number)
{
    TTAPE_CONTEXT_CALL(returns_early);
    if (number > 1)
        return number;
    say("main>outer>returns_early");
    return 0;
}

__attribute__((noinline)) int outer(int number)
{
    TTAPE_CONTEXT_CALL(outer);
    for (int i = 0; i < 3; i++) {
        number += not_chosen(i) + returns_early(i);
        say("main>outer");
    }
    return number;
}

int main(void)
{
#ifdef __cplusplus /* which forbids its address */
    TTAPE_CONTEXT_CALL_AT(&&here);
here:
#else
    TTAPE_CONTEXT_CALL(main);
#endif
    int sum = outer(1);
    say("main");
    return sum == 0;
}
