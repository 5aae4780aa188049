/* Calls of one function, so many times; with a word behind the number four times as often, each
 * time behind a byte of standard input. */
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned sum;

void work(unsigned n) { sum += n; }

static void run(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        work(i * sum);
}

int main(int argc, char **argv)
{
    char byte;
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    for (int i = 0; i < (argc > 2 ? 4 : 1); i++) {
        if (argc > 2 && read(STDIN_FILENO, &byte, 1) != 1)
            return 1;
        run(count);
    }
    return 0;
}
