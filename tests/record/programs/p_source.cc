/* Functions whose first and last lines are marked: "//[ name" behind the line that has the name,
 * "//] name" behind the last one. */
#include <cstdio>
#include <cstdlib>

static int
plain(int n) //[ plain
{
    return n * 3 + 1;
} //] plain

static inline __attribute__((always_inline)) int inlined(int n) //[ inlined
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += plain(i) & 7;
    return sum;
} //] inlined

namespace space {
struct box {
    int size = plain(2); /* before the constructor, in a member's own initializer */
    explicit box(int more) //[ box
        : second(plain(more))
    {
        size += more;
    } //] box
    int second;
    template <typename T> int hold(T what) //[ hold
    {
        if (what > 3)
            throw static_cast<int>(what);
        return size + second;
    } //] hold
    int declared(int n);
};

int box::declared(int n) //[ declared
{
    auto add = [this](int more) { //[ operator()
        size += more;
        return size;
    }; //] operator()
    return add(n) + inlined(n);
} //] declared
} // namespace space

static int one_line(int n) { return n + plain(n); } //[ one_line //] one_line

static void __attribute__((noinline, cold)) unlikely(int n) //[ unlikely
{
    if (n > 3)
        printf("unlikely %d\n", n);
} //] unlikely

int main(int argc, char **) //[ main
{
    space::box box(argc);
    int sum = box.hold(1) + box.hold(2l) + box.declared(5) + one_line(argc);
    try {
        sum += box.hold(7);
    } catch (int n) {
        unlikely(n);
    }
    printf("%d\n", sum);
    return 0;
} //] main
