/* Waits for a byte or the end of its input, then calls, then becomes itself for the calls that are
 * still to come: p_waits CALLS... */
#include <stdlib.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }

PLAIN int main(int count, char **words)
{
    char byte;
    if (count < 2 || write(1, "\n", 1) != 1 || read(0, &byte, 1) < 0)
        return 2;
    for (long i = atol(words[1]); i > 0; i--)
        leaf();
    if (count == 2)
        return 0;
    words[1] = words[0];
    execv(words[0], words + 1);
    return 3;
}
