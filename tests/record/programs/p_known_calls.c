/* Makes known system calls: getppid 100 times in each of four threads and once in each of three
 * handlers; reads that are interrupted, go on after a handler, are left by a jump, are cancelled;
 * a vfork with a program, a call that fails. Ends with status 11. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static sigjmp_buf place;
static volatile int *handled; /* shared with children */
static volatile pid_t waiting;

static void count(int number)
{
    (void)number;
    getppid();
    ++*handled;
}

static void jump(int number)
{
    count(number);
    siglongjmp(place, 1);
}

static void *calls(void *unused)
{
    for (int i = 0; i < 100; i++)
        getppid();
    return unused;
}

static ssize_t read_one(void)
{
    char byte;
    return read(ends[0], &byte, 1);
}

static void *wait_for_ever(void *unused)
{
    waiting = gettid();
    (void)!read_one();
    return unused;
}

static int sleeps(pid_t thread)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof(text), file) == NULL)
        return 0;
    fclose(file);
    const char *close = strrchr(text, ')');
    return close != NULL && close[2] == 'S';
}

static void until_asleep(pid_t thread)
{
    while (!sleeps(thread))
        usleep(1000);
}

/* A child that sends a signal when this thread sleeps, and ends, or writes a byte when it sleeps
 * again behind the handler. */
static void start_sender(int writes)
{
    pid_t parent = getpid();
    int before = *handled;
    if (fork() != 0)
        return;
    until_asleep(parent);
    kill(parent, SIGALRM);
    while (writes && *handled == before)
        usleep(1000);
    if (writes)
        until_asleep(parent);
    _exit(!writes || write(ends[1], "x", 1) == 1 ? 0 : 1);
}

static void handle(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
}

static int interrupted_reads(void)
{
    handle(count, 0);
    start_sender(0);
    if (read_one() != -1 || errno != EINTR)
        return 2;
    wait(NULL);

    handle(count, SA_RESTART);
    start_sender(1);
    if (read_one() != 1)
        return 3;
    wait(NULL);

    handle(jump, 0);
    start_sender(0);
    if (sigsetjmp(place, 1) == 0) {
        (void)!read_one();
        return 4;
    }
    wait(NULL);
    return 0;
}

int main(void)
{
    pthread_t threads[4];
    handled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handled == MAP_FAILED || pipe(ends) != 0)
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, calls, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    int result = interrupted_reads();
    if (result != 0)
        return result;

    pthread_create(&threads[0], NULL, wait_for_ever, NULL);
    while (waiting == 0)
        usleep(1000);
    until_asleep(waiting);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], NULL);

    if (vfork() == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    return close(-1) == 0 ? 5 : 11;
}
