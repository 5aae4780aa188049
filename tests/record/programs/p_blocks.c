/* Blocks whose functions are known: recursion, jumps out of frames, a handler, a large frame, two
 * threads in one function, a child. With COUNT, what tells of blocks is counted here, and nothing
 * else is linked. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function, no_sanitize_coverage))

static jmp_buf back;
static volatile int sink, handled;

#ifdef COUNT
static uint64_t blocks;
QUIET void __sanitizer_cov_trace_pc(void) { __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED); }
QUIET static void begin_child(void) { blocks = 0; }
__attribute__((constructor)) QUIET static void begin(void)
{
    pthread_atfork(NULL, NULL, begin_child);
}
__attribute__((destructor)) QUIET static void say(void)
{
    fprintf(stderr, "blocks %llu\n", (unsigned long long)blocks);
}
#endif

__attribute__((noinline)) static int recurse(int n)
{
    if (n <= 1)
        return 1;
    return n % 3 == 0 ? recurse(n - 1) + recurse(n - 2) : recurse(n - 1);
}

__attribute__((noinline)) static void dive(int n)
{
    if (n == 0)
        longjmp(back, 1);
    dive(n - 1);
    sink++;
}

__attribute__((noinline)) static void jump(int n)
{
    if (setjmp(back) == 0)
        dive(n);
    else if (n > 3)
        sink += n;
    sink--;
}

static void handle(int number)
{
    handled += number == SIGUSR1;
    if (handled > 2)
        sink++;
}

__attribute__((noinline)) static int large(int n)
{
    char bytes[8192];
    int sum = 0;
    memset(bytes, n, sizeof bytes);
    for (int i = 0; i < n; i++)
        sum += i % 2 == 0 ? bytes[i] : 1;
    char *more = alloca((size_t)n * 16);
    memset(more, 1, (size_t)n * 16);
    for (int i = 0; i < n; i++)
        sum += more[i * 16];
    return sum;
}

static void *work(void *count)
{
    for (int i = 0; i < *(int *)count; i++)
        sink += i % 5 == 0 ? recurse(6) : large(3);
    return NULL;
}

int main(void)
{
    int few = 20, many = 30;
    pthread_t threads[2];
    signal(SIGUSR1, handle);
    for (int i = 0; i < 5; i++) {
        jump(i);
        raise(SIGUSR1);
    }
    pthread_create(&threads[0], NULL, work, &few);
    pthread_create(&threads[1], NULL, work, &many);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    pid_t child = fork();
    if (child == 0)
        exit(recurse(9) == 0);
    int status;
    waitpid(child, &status, 0);
    printf("%d %d %d %d\n", recurse(12), large(100), handled, status);
    return 0;
}
