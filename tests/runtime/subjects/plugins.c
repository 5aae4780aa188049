/* Opens and closes plugins: by a relative name, by a name that only the caller's own search path
 * finds. Arguments: the plugin's path, its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void run(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW);
    if (handle == NULL) {
        printf("'%s': %s\n", name, dlerror());
        exit(1);
    }
    if (dlerror() != NULL)
        exit(2);
    void (*body)(void) = (void (*)(void))dlsym(handle, "plugin_run");
    body();
    if (dlclose(handle) != 0)
        exit(3);
}

int main(int count, char **arguments)
{
    if (dlerror() != NULL || count < 3)
        return 4;
    run(arguments[1]);
    run(arguments[2]);
    return 0;
}
