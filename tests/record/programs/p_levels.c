/* Threads that start threads, three levels below the first: 15 of them, at one place. With an
 * argument they are started through a wrapper, which one name then stands for in a call graph.
 * Prints for each thread its own id and that of the thread that started it. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct task {
    int depth;
    pid_t starter;
    pthread_t thread;
};

static volatile unsigned long sink;
static int through_wrapper;

static void unit(int n)
{
    for (int i = 0; i < n; i++)
        sink += (unsigned long)i;
}

static int my_pthread_create(pthread_t *thread, void *(*routine)(void *), void *argument)
{
    return pthread_create(thread, NULL, routine, argument);
}

static void *worker(void *argument)
{
    const struct task *own = argument;
    struct task tasks[2];
    int count = own->depth > 0 ? 2 : 0;
    printf("%d %d\n", (int)gettid(), (int)own->starter);
    unit(20000);
    for (int i = 0; i < count; i++) {
        tasks[i] = (struct task){.depth = own->depth - 1, .starter = gettid()};
        if (through_wrapper)
            my_pthread_create(&tasks[i].thread, worker, &tasks[i]);
        else
            pthread_create(&tasks[i].thread, NULL, worker, &tasks[i]);
    }
    for (int i = 0; i < count; i++)
        pthread_join(tasks[i].thread, NULL);
    unit(1000);
    return NULL;
}

int main(int count, char **arguments)
{
    struct task first = {.depth = 3, .starter = gettid()};
    (void)arguments;
    through_wrapper = count > 1;
    if (through_wrapper)
        my_pthread_create(&first.thread, worker, &first);
    else
        pthread_create(&first.thread, NULL, worker, &first);
    pthread_join(first.thread, NULL);
    return 0;
}
