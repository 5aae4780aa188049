/* Calls whose ends cannot be seen where functions are patched: `jumps` ends with a jump to the C
 * library (-O2), `stays` before an exit that cannot be patched where it is built so (-O0). A forked
 * child leaves `forks`, which its parent has entered. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALONE __attribute__((noinline))

static volatile int counter;

ALONE void step(void) { counter++; }

/* The compiler does not know where the pointer leads. */
static int (*volatile waits)(useconds_t) = usleep;

ALONE int jumps(void) { return waits(2000); }

/* Called again and again from one place, with a rest in between that is not its own. */
ALONE int again(void) { return waits(100); }

ALONE void repeats(void)
{
    for (volatile int i = 0; i < 5; i++) {
        (void)again();
        waits(3000);
    }
}

ALONE void stays(void)
{
    waits(2000);
    step();
}

ALONE void forks(void)
{
    pid_t child = fork();
    step();
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

ALONE int leaves(void)
{
    forks();
    step();
    return counter;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        (void)jumps();
        stays();
        step();
    }
    repeats();
    return leaves() < 0;
}
