/* Functions whose last call is one of a library: what they jump to may not be seen.
 * Known: main 1, round 25, gives_back 25, sends 25, last_nap 1, after 51, burn 1 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

static int out[2];

ALONE static void gives_back(void *memory)
{
    IN;
    sink++;
    free(memory);
    OUT;
}

ALONE static long sends(const char *text)
{
    IN;
    sink++;
    TAIL(write(out[1], text, strlen(text)));
}

ALONE static int last_nap(long us)
{
    IN;
    sink++;
    TAIL(usleep((useconds_t)us));
}

ALONE static void after(long n)
{
    IN;
    sink += n;
    OUT;
}

ALONE static void round(long n)
{
    IN;
    char *memory = malloc(32);
    memory[0] = 'x';
    memory[1] = '\0';
    sends(memory);
    after(n);
    gives_back(memory);
    after(n);
    OUT;
}

int main(void)
{
    IN;
    if (pipe(out) != 0)
        return 9;
    for (long i = 0; i < 25; i++)
        round(i);
    last_nap(2000);
    after(1);
    burn(4);
    OUT;
    return 0;
}
