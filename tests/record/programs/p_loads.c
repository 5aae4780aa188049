/* Calls `f` of its first library for each byte that it reads; at a 'c' it unloads that and loads
 * the other one, which comes to lie where it was. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    char byte;
    void *library = count > 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    if (library == NULL)
        return 2;
    (void)puts("ready");
    (void)fflush(stdout);
    for (int wanted = 1; read(0, &byte, 1) == 1;) {
        if (byte == 'c') {
            (void)dlclose(library);
            library = dlopen(words[2], RTLD_NOW);
            wanted = 2;
        }
        int (*f)(int) = (int (*)(int))dlsym(library, "f");
        for (int i = 0; i < 50; i++)
            if (f(i) != i + wanted)
                abort();
        (void)putchar(byte);
        (void)fflush(stdout);
    }
    (void)puts("right");
    return 0;
}
