/* Loads the runtime itself, late: `p_loads_runtime RUNTIME PLUGIN TLS_USER [COPY]`. First a library
 * that uses up what there is of static thread-local storage; then the runtime, closed and opened
 * again; a plugin that is instrumented; and a second copy of the runtime. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef long plugin(long n);
static plugin *call_plugin;

static void *in_thread(void *unused)
{
    printf("thread %ld\n", call_plugin(3));
    return unused;
}

static void *load(const char *path, int flags, const char *what)
{
    void *handle = dlopen(path, flags);
    if (handle == NULL)
        fprintf(stderr, "%s: %s\n", what, dlerror());
    return handle;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 4)
        return 2;
    load(argv[3], RTLD_NOW, "tls");
    void *runtime = load(argv[1], RTLD_NOW | RTLD_GLOBAL, "runtime");
    void *library = load(argv[2], RTLD_NOW, "plugin");
    if (library == NULL)
        return 3;
    *(void **)&call_plugin = dlsym(library, "plugin_a");
    printf("called %ld\n", call_plugin(4));
    if (argc > 4)
        load(argv[4], RTLD_NOW | RTLD_LOCAL, "copy");
    printf("called %ld\n", call_plugin(5));
    if (runtime != NULL)
        dlclose(runtime);
    printf("called %ld\n", call_plugin(6)); /* its hooks must still be there */
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    dlclose(library);
    printf("done\n");
    return 0;
}
