/* The programs of the document on compressed stack traces, in one: calls, a call through a
 * pointer, a shared library, a third party without hooks, recursion. Each function says its
 * context value and the right stack. Built three times: -DPART=1 the library, -DPART=2 the third
 * party, the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/context.h>

#define QUIET __attribute__((no_instrument_function))
#define KEEP  __attribute__((noinline))

KEEP void F2(const char *stack);
KEEP void third_party(void (*back)(const char *stack), const char *stack);

QUIET KEEP static void say(const char *stack, const char *message)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES];
    if (ttape_context_text(text, sizeof text) != 0)
        printf("%s %s %s\n", text, stack, message);
}

#define INSIDE(name) (void)snprintf(inside, sizeof inside, "%s>" name, stack)

#if PART == 1

KEEP static void F2_2(const char *stack)
{
    char inside[300];
    INSIDE("F2_2");
    say(inside, "deep");
}

static inline void F2_1(const char *stack)
{
    char inside[300];
    INSIDE("F2_1");
    F2_2(inside);
    say(inside, "middle");
}

void F2(const char *stack)
{
    char inside[300];
    INSIDE("F2");
    F2_1(inside);
    say(inside, "library");
}

#elif PART == 2

void third_party(void (*back)(const char *stack), const char *stack) { back(stack); }

#else

static volatile int choice;

KEEP static void C(const char *stack)
{
    char inside[300];
    INSIDE("C");
    say(inside, "Hello world.");
}

KEEP static void D(const char *stack)
{
    char inside[300];
    INSIDE("D");
    say(inside, "Hello earth.");
}

KEEP static void back(const char *stack)
{
    char inside[300];
    INSIDE("back");
    say(inside, "called back");
}

KEEP static void B(const char *stack)
{
    char inside[300];
    INSIDE("B");
    third_party(back, inside);
    say(inside, "Hello 1 mars");
    if (choice == 1)
        D(inside);
    else
        C(inside);
}

KEEP static void A(const char *stack)
{
    char inside[300];
    INSIDE("A");
    switch (choice) {
    case 0: F2(inside); break;
    case 1: B(inside); break;
    case 2: C(inside); break;
    case 3: D(inside); break;
    case 4: say(inside, "four"); break;
    default: break;
    }
}

KEEP static void F1(const char *stack)
{
    char inside[300];
    INSIDE("F1");
    say(inside, "one");
}

KEEP static void recurse(const char *stack, int left)
{
    char inside[300];
    INSIDE("recurse");
    say(inside, "again");
    if (left > 0)
        recurse(inside, left - 1);
    say(inside, "back again");
}

static int compare(const void *a, const void *b)
{
    say("main>compare", "sorting");
    return *(const int *)a - *(const int *)b;
}

static void (*const table[])(const char *stack) = {A, B};

int main(int argc, char **argv)
{
    int numbers[] = {2, 1};
    (void)argv;
    F1("main");
    for (choice = 0; choice < 6; choice++)
        A("main");
    for (choice = 0; choice < 2; choice++)
        table[(choice + argc) % 2]("main");
    recurse("main", 3);
    qsort(numbers, 2, sizeof numbers[0], compare);
    return 0;
}
#endif
