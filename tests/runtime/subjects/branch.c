/* Calls whose blocks are known, at places where the value of each is asked for: recursion, a jump
 * out of frames, a handler, threads, a child, a large loop. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/branch.h>

#define QUIET __attribute__((no_instrument_function, noinline))

static jmp_buf back;
static volatile int sink;

/* What it is called where, and the stack pointer there. */
QUIET static void say(void)
{
    char text[TTAPE_BRANCH_TEXT_BYTES], line[200];
    ttape_branch_text(text, sizeof(text));
    int size = snprintf(line, sizeof(line), "said %d %lx %s\n", (int)getpid(),
                        (unsigned long)((uintptr_t)__builtin_frame_address(0) + 16), text);
    if (write(1, line, (size_t)size) != size)
        sink++;
}

__attribute__((noinline)) static int odd(int number)
{
    int result = number & 1 ? 1 : 0;
    if (number > 2)
        result += 2;
    say();
    return result;
}

__attribute__((noinline)) static int small(int number)
{
    if (number > 1)
        sink += 3;
    say();
    return number;
}

__attribute__((noinline)) static int path(int a, const int *pointer)
{
    int sum = 0;
    if (a == 1)
        sum += odd(1);
    say();
    if (pointer == NULL)
        sum += odd(4);
    say();
    for (int i = 0; i < 3; i++) {
        sum += odd(i) + small(i);
        say();
    }
    return sum;
}

__attribute__((noinline)) static int recurse(int depth)
{
    int below = depth > 0 ? recurse(depth - 1) : 0;
    if (depth % 3 == 0)
        sink++;
    say();
    return below + 1;
}

__attribute__((noinline)) static void leap(int depth)
{
    if (depth == 0)
        longjmp(back, 1);
    leap(depth - 1);
    sink++;
}

__attribute__((noinline)) static void jumps(void)
{
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(back) == 0)
            leap(i);
        say();
    }
}

static void handler(int number)
{
    if (number == SIGUSR1)
        sink += odd(7);
    say();
}

__attribute__((noinline)) static int many(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        if (i % 2 == 0)
            sum += i;
        else
            sum -= sink;
    say();
    return sum;
}

static void *thread(void *argument)
{
    sink += path(*(int *)argument, argument);
    return NULL;
}

int main(void)
{
    int number = 1;
    pthread_t other;
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, NULL);
    sink += path(1, NULL) + path(0, NULL) + path(1, &number) + path(0, &number);
    sink += recurse(5);
    jumps();
    say();
    raise(SIGUSR1);
    sink += many(400);
    if (pthread_create(&other, NULL, thread, &number) == 0)
        pthread_join(other, NULL);
    sink += (int)write(1, "fork\n", 5); /* nothing that branches, up to the fork */
    pid_t child = fork();
    if (child == 0) {
        say();
        sink += path(1, &number);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say();
    ttape_branch_reset();
    say();
    return 0;
}
