/* Loads libraries whose own code makes system calls, in one or more threads, while there is another
 * thread, and unloads them: `p_syscalls_late FOLDER THREADS LIBRARY...`. With LIBRARY defined it is
 * such a library, and that is the name of its function. Prints "expect NAME COUNT" as p_syscalls.c
 * does. */
#define CALLS        10
#define CONSTRUCTORS 3
#define GETGID       104
#define GETEGID      108

#ifdef LIBRARY
static long call(long number)
{
    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
    return number;
}

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < CONSTRUCTORS; i++)
        (void)call(GETEGID);
}

long LIBRARY(int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += call(GETGID);
    return sum;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS      12
#define THREADS_MAX 4

static int ends[2], library_count;
static char **libraries;

static void *wait_for_end(void *unused)
{
    char byte;
    (void)unused;
    while (read(ends[0], &byte, 1) == 1)
        ;
    return NULL;
}

/* "./a.so" has the function a. */
static int use(const char *path)
{
    char name[2] = {strrchr(path, '/')[1], 0};
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    void *symbol = dlsym(handle, name);
    long sum = symbol == NULL ? -1 : (*(long (**)(int)) & symbol)(CALLS);
    return (sum < 0) + dlclose(handle);
}

static void *use_all(void *failed)
{
    for (int i = 0; i < ROUNDS; i++)
        *(int *)failed += use(libraries[i % library_count]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t waiting, threads[THREADS_MAX];
    int count = argv[2][0] - '0', failed[THREADS_MAX] = {0};
    libraries = argv + 3;
    library_count = argc - 3;
    if (chdir(argv[1]) != 0 || pipe(ends) != 0 ||
        pthread_create(&waiting, NULL, wait_for_end, NULL) != 0)
        return 1;
    for (int i = 1; i < count; i++)
        (void)pthread_create(&threads[i], NULL, use_all, &failed[i]);
    (void)use_all(&failed[0]);
    for (int i = 1; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    close(ends[1]);
    (void)pthread_join(waiting, NULL);
    printf("expect getgid %d\n", count * ROUNDS * CALLS);
    if (count == 1) /* threads may have found it loaded */
        printf("expect getegid %d\n", ROUNDS * CONSTRUCTORS);
    return failed[0] + failed[1] + failed[2] + failed[3];
}
#endif
