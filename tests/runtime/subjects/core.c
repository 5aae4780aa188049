/* Open calls that say their values, and then stand still: main thread, another thread. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <tracetape/branch.h>
#include <tracetape/context.h>

#define QUIET __attribute__((no_instrument_function, noinline))

enum colour { RED, GREEN = 5 };
struct point {
    int x, y;
    const char *name;
};
#ifdef CHOSEN /* functions say so themselves, without the compiler's hooks */
#define CALL(function) TTAPE_CONTEXT_CALL(function)
#else
#define CALL(function)
#endif

static volatile int sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

QUIET static void say(const char *function)
{
    char context[TTAPE_CONTEXT_TEXT_BYTES], branch[TTAPE_BRANCH_TEXT_BYTES];
    ttape_context_text(context, sizeof(context));
    ttape_branch_text(branch, sizeof(branch));
    pthread_mutex_lock(&lock);
    printf("%s %s %s\n", function, context, branch);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static int leaf(int number, const char *text)
{
    CALL(leaf);
    enum colour colour = GREEN;
    double half = number / 2.0;
    if (number > 3)
        sink++;
    say(__func__);
    pause();
    return (int)half + colour + text[0];
}

__attribute__((noinline)) static int recurse(int depth)
{
    CALL(recurse);
    struct point point = {depth, depth * 2, "a point"};
    char buffer[16] = "hello";
    int below;
    if (depth % 2 == 0)
        sink += 2;
    if (depth == 0)
        say(__func__);
    below = depth == 0 ? leaf(point.y + 4, buffer) : recurse(depth - 1);
    return below + point.x + buffer[1];
}

static void *thread(void *argument)
{
    CALL(thread);
    long given = *(long *)argument;
    say(__func__);
    return (void *)(given + recurse(1));
}

int main(void)
{
    CALL(main);
    long number = -12345;
    pthread_t other;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* debuggers that are no parents of ours */
    if (pthread_create(&other, NULL, thread, &number) != 0)
        return 1;
    printf("process %d\n", (int)getpid());
    say(__func__);
    sink += recurse(3);
    return 0;
}
