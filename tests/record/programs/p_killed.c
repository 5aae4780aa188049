/* A program to be killed. Each thread makes the same calls in each run, one random tree after the
 * other (its seed is its slot), and counts in a shared file how many of its events have been
 * committed: the count goes up after the hook has run. `p_killed PROCESSES THREADS EVENTS SPIN`
 *
 *   KILL_LOG    head of 64 bytes (main's process id, functions' addresses), then 64 bytes a slot:
 *               committed u64, reserved u64, process id u32, thread id u32
 *   KILL_REFERENCE   a folder: each slot's events go there, a byte each: function, 128 set: exit
 *
 * Slot 0 is the main thread; thread T of process P has slot 1 + P * 8 + T. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN     __attribute__((no_instrument_function))
#define ALONE     __attribute__((noinline))
#define FUNCTIONS 8
#define EXIT      128

enum { CODE_MAIN = FUNCTIONS, CODE_THREAD, CODE_CHILD, CODE_COUNT };

struct slot {
    volatile uint64_t committed;
    uint64_t reserved;
    uint32_t process_id, thread_id;
    uint8_t padding[40];
};

struct kill_log {
    volatile uint32_t main_pid;
    uint32_t done;
    uint64_t addresses[CODE_COUNT];
    uint8_t padding[256 - 8 - 8 * CODE_COUNT];
    struct slot slots[64];
};

struct task {
    struct slot *slot;
    uint64_t random;
    uint8_t *reference;
    long at;
};

typedef void function(struct task *task, int depth);

static struct kill_log *kill_log;
static const char *reference_folder;
static long process_count, thread_count, event_count, spin;
static function *const functions[FUNCTIONS];

PLAIN static void commit(struct task *task, int code)
{
    if (task->reference != NULL && task->at < 2 * event_count + 4096)
        task->reference[task->at++] = (uint8_t)code;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    task->slot->committed++;
}

PLAIN static uint32_t draw(struct task *task)
{
    task->random ^= task->random << 13;
    task->random ^= task->random >> 7;
    task->random ^= task->random << 17;
    return (uint32_t)(task->random >> 32);
}

/* What every function does between its enter and its exit. */
PLAIN static inline __attribute__((always_inline)) void live(struct task *task, int depth, int self)
{
    commit(task, self);
    for (volatile long i = 0; i < spin; i++)
        ;
    uint32_t calls = depth < 12 ? draw(task) % 4 : 0;
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t which = draw(task) % FUNCTIONS;
        functions[which](task, depth + 1);
        commit(task, (int)which | EXIT);
    }
}

ALONE static void f0(struct task *task, int depth) { live(task, depth, 0); }
ALONE static void f1(struct task *task, int depth) { live(task, depth, 1); }
ALONE static void f2(struct task *task, int depth) { live(task, depth, 2); }
ALONE static void f3(struct task *task, int depth) { live(task, depth, 3); }
ALONE static void f4(struct task *task, int depth) { live(task, depth, 4); }
ALONE static void f5(struct task *task, int depth) { live(task, depth, 5); }
ALONE static void f6(struct task *task, int depth) { live(task, depth, 6); }
ALONE static void f7(struct task *task, int depth) { live(task, depth, 7); }

static function *const functions[FUNCTIONS] = {f0, f1, f2, f3, f4, f5, f6, f7};

PLAIN static struct task begin(long slot)
{
    struct task task = {&kill_log->slots[slot], 88172645463325252ull + (uint64_t)slot * 7919, NULL,
                        0};
    task.slot->process_id = (uint32_t)getpid();
    task.slot->thread_id = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < 16; i++)
        draw(&task);
    if (reference_folder != NULL)
        task.reference = malloc((size_t)event_count * 2 + 4096);
    return task;
}

PLAIN static void end(struct task *task)
{
    char path[600];
    if (task->reference == NULL)
        return;
    snprintf(path, sizeof(path), "%s/%ld", reference_folder, (long)(task->slot - kill_log->slots));
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(task->reference, 1, (size_t)task->at, file) != (size_t)task->at)
        _exit(8);
    fclose(file);
}

PLAIN static void work(struct task *task)
{
    uint64_t start = task->slot->committed;
    while ((long)(task->slot->committed - start) < event_count) {
        uint32_t which = draw(task) % FUNCTIONS;
        functions[which](task, 0);
        commit(task, (int)which | EXIT);
    }
}

static void thread_body(struct task *task)
{
    commit(task, CODE_THREAD);
    work(task);
}

PLAIN static void *thread_main(void *argument)
{
    struct task task = begin((long)argument);
    thread_body(&task);
    commit(&task, CODE_THREAD | EXIT);
    end(&task);
    return NULL;
}

PLAIN static void start_threads(pthread_t *threads, long process)
{
    for (long i = 1; i < thread_count; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)(1 + process * 8 + i));
}

PLAIN static void join_threads(const pthread_t *threads)
{
    for (long i = 1; i < thread_count; i++)
        pthread_join(threads[i], NULL);
}

static void child_body(struct task *task, long process)
{
    pthread_t threads[8];
    commit(task, CODE_CHILD);
    start_threads(threads, process);
    work(task);
    join_threads(threads);
    end(task);
    _exit(0);
}

PLAIN static void live_as_child(long process)
{
    struct task task = begin(1 + process * 8);
    child_body(&task, process);
}

static void main_body(struct task *task)
{
    pthread_t threads[8];
    commit(task, CODE_MAIN);
    for (long i = 1; i < process_count; i++)
        if (fork() == 0)
            live_as_child(i);
    start_threads(threads, 0);
    work(task);
    join_threads(threads);
    while (wait(NULL) > 0)
        ;
    end(task);
}

PLAIN int main(int argc, char **argv)
{
    const char *path = getenv("KILL_LOG");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (argc < 5 || fd < 0)
        return 2;
    kill_log = mmap(NULL, sizeof(*kill_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (kill_log == MAP_FAILED)
        return 3;
    process_count = atol(argv[1]);
    thread_count = atol(argv[2]);
    event_count = atol(argv[3]);
    spin = atol(argv[4]);
    reference_folder = getenv("KILL_REFERENCE");
    for (int i = 0; i < FUNCTIONS; i++)
        kill_log->addresses[i] = (uint64_t)(uintptr_t)functions[i];
    kill_log->addresses[CODE_MAIN] = (uint64_t)(uintptr_t)main_body;
    kill_log->addresses[CODE_THREAD] = (uint64_t)(uintptr_t)thread_body;
    kill_log->addresses[CODE_CHILD] = (uint64_t)(uintptr_t)child_body;
    kill_log->main_pid = (uint32_t)getpid();
    struct task task = begin(0);
    main_body(&task);
    kill_log->done = 1;
    puts("done");
    return 0;
}
