// Threads of the C++ library, whose own code calls pthread_create; lines as those of p_starts.c.
#include <cstdio>
#include <future>
#include <thread>
#include <unistd.h>

static void say(pid_t starter, const char *function)
{
    std::printf("thread %d %d %s\n", (int)gettid(), (int)starter, function);
}

static void by_thread()
{
    std::thread other(say, gettid(), "by_thread");
    other.join();
}

static int by_async()
{
    pid_t own = gettid();
    return std::async(std::launch::async, [own] {
               say(own, "by_async");
               return 7;
           }).get();
}

int main()
{
    by_thread();
    std::printf("%d\n", by_async());
    return 0;
}
