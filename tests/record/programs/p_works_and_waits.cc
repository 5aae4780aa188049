// One function works, one sleeps, and one has a long name, as C++ functions do.
#include <map>
#include <string>
#include <time.h>

namespace work
{
volatile unsigned sink;

__attribute__((noinline)) void works(int rounds)
{
    unsigned sum = 0;
    for (int i = 0; i < rounds; i++)
        sum = sum * 31 + (unsigned)i;
    sink = sum;
}

__attribute__((noinline)) void waits()
{
    struct timespec some = {0, 30000000};
    nanosleep(&some, nullptr);
    sink = sink + 1;
}

__attribute__((noinline)) void takes_many_parameters_and_has_a_name_of_half_a_screen(
    std::map<std::string, std::map<int, std::string>> &all, int rounds)
{
    works(rounds);
    all["a"][1] = "b";
}
} // namespace work

int main()
{
    std::map<std::string, std::map<int, std::string>> all;
    for (int i = 0; i < 4; i++) {
        work::takes_many_parameters_and_has_a_name_of_half_a_screen(all, 4000000);
        work::waits();
    }
}
