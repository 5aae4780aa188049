/* Calls of a C++ library, whose names linkers and people write otherwise. */
#include <cstdio>
#include <new>

int main()
{
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        void *place = ::operator new(16 + i);
        sum += place != nullptr;
        ::operator delete(place);
    }
    std::printf("%d\n", sum);
}
