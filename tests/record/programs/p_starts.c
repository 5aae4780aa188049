/* Threads and processes started in every way that the runtime stands in front of, each in a
 * function of its own. "thread" or "process", an id, the id of the thread that started it and the
 * function: of each. All other lines say what a started thread can see of how it was started. */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define TOO_LARGE   ((size_t)1 << 46)
#define STACK_BYTES ((size_t)1 << 20)
#define MANY        100

struct task {
    const char *function;
    pid_t starter;
    sem_t over;
};

extern char **environ;
static const char *own_path;
static volatile pid_t child_of_handler;

static struct task *new_task(const char *function)
{
    struct task *task = malloc(sizeof(*task));
    *task = (struct task){.function = function, .starter = gettid()};
    sem_init(&task->over, 0, 0);
    return task;
}

static void say(const struct task *task)
{
    void *frames[16];
    pthread_attr_t attributes;
    size_t stack, guard;
    int state;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_getdetachstate(&attributes, &state);
    pthread_attr_destroy(&attributes);
    printf("thread %d %d %s\n", (int)gettid(), (int)task->starter, task->function);
    printf("%s: stack %zu, guard %zu, detached %d, %d frames\n", task->function, stack, guard,
           state == PTHREAD_CREATE_DETACHED, backtrace(frames, 16));
}

static void *routine(void *argument)
{
    struct task *task = argument;
    say(task);
    sem_post(&task->over);
    return (void *)17L;
}

static int c11_routine(void *argument)
{
    say(argument);
    return -18;
}

static void *exits(void *argument)
{
    say(argument);
    pthread_exit((void *)19L);
}

static void *waits(void *argument)
{
    struct task *task = argument;
    say(task);
    sem_post(&task->over);
    for (;;)
        pause();
}

static void by_pthread(void)
{
    struct task *task = new_task(__func__);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, routine, task);
    pthread_join(thread, &result);
    printf("%s: result %ld\n", __func__, (long)result);
    free(task);
}

static void by_c11(void)
{
    struct task *task = new_task(__func__);
    thrd_t thread;
    int result;
    thrd_create(&thread, c11_routine, task);
    thrd_join(thread, &result);
    printf("%s: result %d\n", __func__, result);
    free(task);
}

static void by_attributes(void)
{
    struct task *task = new_task(__func__);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_create(&thread, &attributes, routine, task);
    sem_wait(&task->over);
    pthread_attr_setstacksize(&attributes, TOO_LARGE);
    errno = EDOM;
    int result = pthread_create(&thread, &attributes, routine, task);
    printf("%s: '%s', errno as it was %d\n", __func__, strerror(result),
           errno == EDOM || errno == ENOMEM);
}

static void by_ending(void)
{
    struct task *one = new_task(__func__), *two = new_task(__func__);
    pthread_t first, second;
    void *result;
    pthread_create(&first, NULL, exits, one);
    pthread_create(&second, NULL, waits, two);
    pthread_join(first, &result);
    printf("%s: result %ld\n", __func__, (long)result);
    sem_wait(&two->over);
    pthread_cancel(second);
    pthread_join(second, &result);
    printf("%s: cancelled %d\n", __func__, result == PTHREAD_CANCELED);
}

/* More than there are places for at first, all at once. */
static void by_many(void)
{
    static pthread_t threads[MANY];
    static struct task *tasks[MANY];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < MANY; i++)
        pthread_create(&threads[i], NULL, routine, tasks[i] = new_task(__func__));
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void in_child(void) { fflush(NULL); }

static void finish(const char *function, pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    printf("process %d %d %s\n", (int)child, (int)gettid(), function);
    printf("%s: status %d\n", function, status);
}

static void by_fork(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        in_child();
        _exit(3);
    }
    finish(__func__, child);
}

static void handle(int number)
{
    (void)number;
    pid_t child = fork();
    if (child == 0) {
        in_child();
        _exit(4);
    }
    child_of_handler = child;
}

static void by_handler(void)
{
    fflush(NULL);
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    finish("handle", child_of_handler);
}

static void by_vfork(void)
{
    char *words[] = {(char *)own_path, "5", NULL};
    pid_t child = vfork();
    if (child == 0) {
        execv(own_path, words);
        _exit(127);
    }
    finish(__func__, child);
}

static void by_spawn(void)
{
    char *words[] = {(char *)own_path, "6", NULL};
    pid_t child;
    posix_spawn(&child, own_path, NULL, NULL, words, environ);
    finish(__func__, child);
    printf("%s: %d\n", __func__, posix_spawn(NULL, "/nonexistent", NULL, NULL, words, environ));
}

int main(int count, char **arguments)
{
    void *frames[1];
    if (count > 1)
        return atoi(arguments[1]);
    own_path = arguments[0];
    backtrace(frames, 1); /* loads what it needs */
    by_pthread();
    by_c11();
    by_attributes();
    by_ending();
    by_many();
    by_fork();
    by_handler();
    by_vfork();
    by_spawn();
    return 0;
}
