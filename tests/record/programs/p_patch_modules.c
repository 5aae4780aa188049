/* Functions of a program, of a library that it is linked with, and of two that it loads and unloads
 * while another thread calls the first: `p_patch_modules FOLDER ROUNDS`. With LIBRARY defined it is
 * such a library, and that begins the names of its functions. Prints "expect NAME COUNT", and
 * whether as much is mapped at the end as after the first rounds. */
#define CALLS                 7
#define NAMED(library, name)  NAMED_(library, name)
#define NAMED_(library, name) library##name
#define ALONE                 __attribute__((noinline, noclone))

#ifdef LIBRARY
static volatile long sum;

ALONE static void NAMED(LIBRARY, _leaf)(long n) { sum += n; }

__attribute__((constructor)) static void NAMED(LIBRARY, _begins)(void)
{
    NAMED(LIBRARY, _leaf)(1);
    sum++;
}

__attribute__((destructor)) static void NAMED(LIBRARY, _ends)(void)
{
    NAMED(LIBRARY, _leaf)(1);
    sum++;
}

long NAMED(LIBRARY, _goes)(long count)
{
    for (long i = 0; i < count; i++)
        NAMED(LIBRARY, _leaf)(i);
    return sum;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY       20000
#define SETTLED    12 /* rounds after which nothing more is mapped */
#define NO_REPLACE 0x100000

extern long first_goes(long count);
static volatile long seen;

static void *be_busy(void *unused)
{
    for (int i = 0; i < BUSY; i++)
        seen += first_goes(1);
    return unused;
}

static int count_mappings(void)
{
    static char text[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;
    while (maps != NULL && fgets(text, sizeof text, maps) != NULL)
        count++;
    if (maps != NULL)
        fclose(maps);
    return count;
}

ALONE static int use(const char *folder, const char *name, int round)
{
    char path[4096], symbol[64];
    static void *last;
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    snprintf(symbol, sizeof symbol, "%s_goes", name);
    /* Now and then what was its place is taken. */
    void *taken =
        last == NULL || round % 3 != 0
            ? MAP_FAILED
            : mmap(last, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | NO_REPLACE, -1, 0);
    void *handle = dlopen(path, RTLD_NOW);
    if (taken != MAP_FAILED)
        munmap(taken, 4096);
    if (handle == NULL)
        return puts(dlerror());
    void *function = dlsym(handle, symbol);
    last = (void *)((unsigned long)function & ~4095ul);
    seen += (*(long (**)(long)) & function)(CALLS);
    return dlclose(handle);
}

int main(int argc, char **argv)
{
    int rounds = atoi(argv[2]), failed = 0, settled = 0;
    pthread_t busy;
    if (argc < 3 || pthread_create(&busy, NULL, be_busy, NULL) != 0)
        return 2;
    for (int i = 0; i < rounds; i++) {
        failed += use(argv[1], i % 2 == 0 ? "second" : "third", i);
        if (i == SETTLED)
            pthread_join(busy, NULL);
        if (i == SETTLED + 1)
            settled = count_mappings();
    }
    seen += getppid();
    printf("failed %d, more is mapped: %d\n", failed, count_mappings() - settled);
    printf("expect use %d\nexpect first_goes %d\n", rounds, BUSY);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "second" : "third";
        int times = (rounds + 1 - i) / 2;
        printf("expect %s_goes %d\nexpect %s_leaf %d\nexpect %s_begins %d\nexpect %s_ends %d\n",
               name, times, name, times * (CALLS + 2), name, times, name, times);
    }
    return 0;
}
#endif
