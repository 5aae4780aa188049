// Library calls whose number is known, in the ways in which programs reach libraries; and what may
// leave them in the middle. "count NAME N" is what has to be recorded of them.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf back;
static int pipe_ends[2], frames;
static volatile int sink;

static void must(bool is_right, const char *what)
{
    if (!is_right) {
        printf("wrong: %s\n", what);
        fflush(stdout);
        _exit(9);
    }
}

static int jumps(const void *a, const void *)
{
    if (*static_cast<const int *>(a) == 3)
        longjmp(back, 1);
    return 1;
}

static int throws(const void *a, const void *)
{
    if (*static_cast<const int *>(a) == 3)
        throw std::runtime_error("three");
    return 1;
}

// backtrace() finds qsort's frames and ours below them, as without us.
static int looks(const void *, const void *)
{
    void *list[64];
    int found = backtrace(list, 64);
    frames = found > frames ? found : frames;
    return 0;
}

static void *reads(void *)
{
    char byte;
    (void)!read(pipe_ends[0], &byte, 1);
    return nullptr;
}

static void in_callbacks()
{
    int list[] = {1, 2, 3, 4, 5, 6};
    if (setjmp(back) == 0)
        qsort(list, 6, sizeof *list, jumps);
    try {
        qsort(list, 6, sizeof *list, throws);
        must(false, "an exception through qsort");
    } catch (const std::runtime_error &) {
        sink = sink + 1;
    }
    qsort(list, 6, sizeof *list, looks);
    printf("count qsort 3\nframes %d\n", frames);
}

static void by_pointers()
{
    auto length = reinterpret_cast<size_t (*)(const char *)>(dlsym(RTLD_DEFAULT, "strlen"));
    auto where = reinterpret_cast<char *(*)(const char *)>(dlsym(RTLD_DEFAULT, "getenv"));
    size_t sum = 0;
    for (int i = 0; i < 10; i++)
        sum += length("four") + (where("PATH") != nullptr ? 3 : 4);
    sum += strlen(getenv("PATH") != nullptr ? "one" : "two");
    printf("%zu\ncount strlen 11\ncount getenv 11\n", sum);
}

static void in_processes()
{
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(getppid() > 0 ? 4 : 5);
        int status;
        must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4, "fork");
        child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", static_cast<char *>(nullptr));
            _exit(6);
        }
        must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 0, "vfork");
    }
    printf("count waitpid 6\ncount getppid 3\n");
}

static void in_threads()
{
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void *result;
        must(pthread_create(&thread, nullptr, reads, nullptr) == 0, "pthread_create");
        usleep(3000);
        pthread_cancel(thread);
        must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "cancelled");
    }
    printf("count read 5\ncount pthread_join 5\ncount usleep 5\n");
}

static void with_values()
{
    char text[200];
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "%d %.3f %s %Lf %g", i, i * 1.5, "x", 2.5L, i / 3.0);
        sum += strtod("1.25", nullptr);
    }
    printf("%s %g\ncount snprintf 20\ncount strtod 20\n", text, sum);
}

int main()
{
    must(pipe(pipe_ends) == 0, "pipe");
    in_callbacks();
    by_pointers();
    in_processes();
    in_threads();
    with_values();
    fflush(stdout);
    return 7;
}
