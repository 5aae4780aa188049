/* Calls of a C++ library, whose names linkers and people write otherwise. */
#include <cstdio>
#include <new>

namespace own
{
__attribute__((noinline)) int twice(int n) { return 2 * n; }
} // namespace own

int main()
{
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        void *place = ::operator new(16 + i);
        sum += own::twice(place != nullptr);
        ::operator delete(place);
    }
    std::printf("%d\n", sum);
}
