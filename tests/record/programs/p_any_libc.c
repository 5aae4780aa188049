/* Calls each function of the C library that the runtime stands in front of, and says how it went:
 * the same in each C library, whatever is preloaded. WITHOUT_LIBRARIES: without those that are not
 * in the C library itself before glibc 2.34. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t handled;
static jmp_buf place;
static sigjmp_buf place_with_mask;

static void say(const char *what, long result)
{
    printf("%s: %ld\n", what, result);
    fflush(stdout);
}

static void handle(int number) { handled += number; }
static void handle_and_jump(int number) { siglongjmp(place_with_mask, number); }

__attribute__((noinline)) static int deep(int level)
{
    if (level == 0)
        longjmp(place, 5);
    return deep(level - 1) + 1;
}

#ifndef WITHOUT_LIBRARIES
static void *routine(void *argument)
{
    char name[16] = "";
    pthread_setname_np(pthread_self(), "named");
    prctl(PR_GET_NAME, name);
    return strcmp(name, "named") == 0 ? argument : NULL;
}

static int routine_c11(void *argument) { return *(int *)argument; }
#endif

static int function_of_clone(void *argument) { return *(int *)argument; }

static long ended(pid_t child)
{
    int status = -1;
    if (child <= 0 || waitpid(child, &status, __WALL) != child)
        return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void threads(void)
{
#ifndef WITHOUT_LIBRARIES
    pthread_t thread;
    thrd_t thread_c11;
    void *result = NULL;
    int given = 9, returned = 0;
    say("pthread_create", pthread_create(&thread, NULL, routine, &given));
    say("pthread_join", pthread_join(thread, &result));
    say("its result", result == &given);
    say("thrd_create", thrd_create(&thread_c11, routine_c11, &given));
    thrd_join(thread_c11, &returned);
    say("its result", returned);
#endif
}

static void processes(const char *self)
{
    static char stack[65536] __attribute__((aligned(16)));
    char *arguments[] = {(char *)self, "ends", NULL}, *nothing[] = {NULL};
    pid_t child = fork();
    if (child == 0)
        _exit(11);
    say("fork, _exit", ended(child));
    child = fork();
    if (child == 0)
        quick_exit(12);
    say("fork, quick_exit", ended(child));
    child = vfork();
    if (child == 0) {
        execve(self, arguments, environ);
        _exit(1);
    }
    say("vfork, execve", ended(child));
    child = fork();
    if (child == 0)
        execl(self, self, "ends", (char *)NULL);
    say("fork, execl", ended(child));
    child = fork();
    if (child == 0)
        execle(self, self, "ends", (char *)NULL, nothing);
    say("fork, execle", ended(child));
    child = fork();
    if (child == 0)
        fexecve(open(self, O_RDONLY), arguments, environ);
    say("fork, fexecve", ended(child));
    child = fork();
    if (child == 0)
        syscall(SYS_execve, self, arguments, environ);
    say("fork, system call", ended(child));
    child = -1;
    say("posix_spawn", posix_spawn(&child, self, NULL, NULL, arguments, environ));
    say("posix_spawn", ended(child));
    say("posix_spawnp", posix_spawnp(&child, self, NULL, NULL, arguments, nothing));
    say("posix_spawnp", ended(child));
    say("posix_spawn of nothing", posix_spawn(&child, "/nowhere", NULL, NULL, arguments, environ));
    static int given = 14;
    child = clone(function_of_clone, stack + sizeof stack, SIGCHLD, &given);
    say("clone", ended(child));
    say("system", system("exit 15") / 256);
    FILE *pipe = popen("echo piped", "r");
    char line[16] = "";
    say("popen", pipe != NULL && fgets(line, sizeof line, pipe) != NULL);
    say("pclose", pipe != NULL ? pclose(pipe) : -1);
}

static void jumps(void)
{
    volatile int turns = 0;
    int result = setjmp(place);
    if (result == 0)
        deep(10);
    say("longjmp", result);
    struct sigaction action = {.sa_handler = handle};
    say("sigaction", sigaction(SIGUSR1, &action, NULL));
    say("signal", signal(SIGUSR2, handle) == SIG_DFL);
    raise(SIGUSR1);
    raise(SIGUSR2);
    say("handled", handled);
    signal(SIGALRM, handle_and_jump);
    result = sigsetjmp(place_with_mask, 1);
    if (result == 0 && turns++ == 0)
        raise(SIGALRM);
    say("siglongjmp", result);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "ends") == 0)
        return getenv("NOT_THERE") == NULL ? 13 : 1;
    jumps();
    threads();
    processes(words[0]);
    say("prctl", prctl(PR_SET_NAME, "other"));
    say("prctl of nothing", prctl(-1) == -1 && errno == EINVAL);
    say("syscall", syscall(SYS_getpid) == getpid());
    say("mlockall", mlockall(MCL_CURRENT) == 0 || errno == EPERM || errno == ENOMEM);
#ifndef WITHOUT_LIBRARIES
    void *handle_of = dlopen(NULL, RTLD_NOW);
    say("dlopen", handle_of != NULL);
    say("dlopen of nothing", dlopen("/nowhere", RTLD_NOW) == NULL && dlerror() != NULL);
    say("dlerror", dlerror() == NULL);
    say("dlclose", handle_of != NULL ? dlclose(handle_of) : -1);
#endif
    return 7;
}
