/* Loads an instrumented library, calls it, unloads it; twice, and another one that most likely gets
 * the same place: `p_dlopen LIBRARY_A LIBRARY_B`. Reports whether the place was the same. */
#include <dlfcn.h>
#include <stdio.h>

#include "own.h"

typedef long plugin(long n);
static void *last_place;

ALONE static long use(const char *path, const char *name, long n)
{
    IN;
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        OUT;
        return -1;
    }
    void *symbol = dlsym(handle, name);
    own_report("same_place", symbol == last_place);
    last_place = symbol;
    long result = (*(plugin **)&symbol)(n);
    int closed = dlclose(handle);
    own_report("unloaded", dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
    OUT;
    return result + closed;
}

int main(int argc, char **argv)
{
    IN;
    if (argc < 3)
        return 2;
    for (int i = 0; i < 2; i++) {
        printf("a %ld\n", use(argv[1], "plugin_a", 3));
        printf("b %ld\n", use(argv[2], "plugin_b", 4));
    }
    OUT;
    return 0;
}
