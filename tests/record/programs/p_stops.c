/* Calls by the letters that it reads, and says each when it is done: s three short calls, d into a
 * call that reads on, r out of it, t starts a thread that waits in a call, e ends that thread, j
 * leaves the call by a jump, q exits with 7, k kills itself. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline))

static volatile int counter;
static int ends[2]; /* a pipe: its end ends the thread */
static pthread_t thread;
static jmp_buf back;

PLAIN static void say(char letter)
{
    char line[] = {letter, '\n'};
    if (write(STDOUT_FILENO, line, sizeof line) != (ssize_t)sizeof line)
        _exit(3);
}

ALONE static void step(void) { counter++; }

ALONE static void waits(void)
{
    char byte;
    say('t');
    (void)!read(ends[0], &byte, 1);
}

ALONE static void *run(void *unused)
{
    waits();
    return unused;
}

PLAIN static char ask(void)
{
    char letter;
    do
        if (read(STDIN_FILENO, &letter, 1) != 1)
            _exit(4);
    while (letter == '\n');
    return letter;
}

static void serve(int depth);

ALONE static void inside(int depth)
{
    say('d');
    serve(depth + 1);
    counter++;
}

PLAIN static void serve(int depth)
{
    for (;;) {
        char letter = ask();
        for (int i = 0; letter == 's' && i < 3; i++)
            step();
        if (letter == 't' && (pipe(ends) != 0 || pthread_create(&thread, NULL, run, NULL) != 0))
            _exit(5);
        if (letter == 'e' && (close(ends[1]) != 0 || pthread_join(thread, NULL) != 0))
            _exit(6);
        if (letter == 'q') {
            say('q');
            exit(7);
        }
        if (letter == 'k')
            (void)raise(SIGKILL);
        if (letter != 'd' && letter != 't')
            say(letter);
        if (letter == 'r' && depth > 0)
            return;
        if (letter == 'j')
            longjmp(back, 1);
        if (letter == 'd')
            inside(depth);
    }
}

int main(void)
{
    (void)setjmp(back);
    serve(0);
}
