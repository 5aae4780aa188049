/* Libraries that call one another, and functions that are known by dlsym alone. "count NAME N" is
 * what has to be recorded of library calls of the executable, "nested NAME N" of those of all. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 25

#ifdef LIBRARY_BELOW
int below(int value) { return value + (getenv("HOME") != NULL ? 1 : 2); }
int below_twice(int value) { return below(below(value)); }

#elif defined(LIBRARY_ABOVE)
int below(int value);
int above(int value, int (*back)(int)) { return below(value) + back(value); }

/* Some exported functions call one another through the library's own table. */
int above_alone(int value) { return value * 3; }
int above_through(int value) { return above_alone(value) + 1; }

#else
static int back(int value) { return value + (int)strtol("3", NULL, 0); }

static void *must(void *found)
{
    if (found == NULL) {
        puts(dlerror());
        exit(9);
    }
    return found;
}

/* From what was used before, which calloc clears: it jumps to memset then. */
static void clears(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *before = malloc(3000), *other = malloc(3000);
        free(before);
        char *zeros = calloc(3, 1000);
        for (int k = 0; k < 3000; k++)
            if (zeros[k] != 0)
                exit(8);
        memset(zeros, i, 3000);
        free(zeros);
        free(other);
    }
}

int main(int count, char **arguments)
{
    clears();
    char path[4096];
    snprintf(path, sizeof path, "%s/above.so", count > 1 ? arguments[1] : ".");
    void *library = must(dlopen(path, RTLD_NOW));
    int (*above)(int, int (*)(int)) = must(dlsym(library, "above"));
    int (*through)(int) = must(dlsym(library, "above_through"));
    size_t (*spread)(const char *, const char *) = must(dlsym(RTLD_DEFAULT, "strcspn"));
    long (*wide)(long) = must(dlsym(RTLD_DEFAULT, "labs"));
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++)
        sum += above(i, back) + through(i) + (long)spread("abcdef", "d") + wide(-i);
    printf("%ld\n", sum);
    printf("count above %d\ncount above_through %d\ncount strcspn %d\ncount labs %d\n", ROUNDS,
           ROUNDS, ROUNDS, ROUNDS);
    printf("count below 0\ncount above_alone 0\ncount getenv 0\ncount strtol %d\n", ROUNDS);
    printf("nested above %d\nnested above_through %d\nnested strcspn %d\nnested labs %d\n", ROUNDS,
           ROUNDS, ROUNDS, ROUNDS);
    printf("nested below %d\nnested above_alone 0\nnested getenv %d\nnested strtol %d\n", ROUNDS,
           ROUNDS, ROUNDS);
    fflush(stdout);
    return 3;
}
#endif
