// What C++ passes in ways of its own; what is passed is in test_values.py.
#include <memory>
#include <string>
#include <string_view>

#define FUNCTION __attribute__((noinline))
#define BARRIER  __asm__ volatile("" ::: "memory")

struct point {
    int x, y;
};
struct copied { // by its address
    explicit copied(int v) : v(v) {}
    copied(const copied &o) : v(o.v) {}
    ~copied() { BARRIER; }
    int v;
};
struct kept { // its copies are the compiler's: in a register
    explicit kept(const point &p) : v(p.x) {}
    int v;
};
struct empty {};
enum class kind : unsigned char { one = 1, two = 2 };

namespace n {
struct thing {
    virtual ~thing() = default;
    FUNCTION int get(int plus, kind k) const
    {
        BARRIER;
        return base + plus + static_cast<int>(k);
    }
    FUNCTION virtual int turn(point p, const point &q)
    {
        BARRIER;
        return p.x + q.y;
    }
    int base = 5;
};
} // namespace n

FUNCTION int by_address(copied c, empty, int after)
{
    BARRIER;
    return c.v + after;
}
FUNCTION int by_register(kept k, int after)
{
    BARRIER;
    return k.v + after;
}
FUNCTION copied returned(int v)
{
    BARRIER;
    return copied(v);
}
FUNCTION int owned(std::unique_ptr<int> p, long more, copied c)
{
    BARRIER;
    return *p + static_cast<int>(more) + c.v;
}
template <class T> FUNCTION T twice(T v)
{
    BARRIER;
    return v + v;
}
FUNCTION int thrown(int v)
{
    BARRIER;
    if (v > 0)
        throw v;
    return v;
}
struct labelled : point {
    std::string label;
    std::string_view seen;
};
FUNCTION std::size_t texts(const std::string &a, std::string b, std::string_view c,
                           const std::string *d)
{
    BARRIER;
    return a.size() + b.size() + c.size() + (d != nullptr);
}
FUNCTION std::string repeated(int n)
{
    BARRIER;
    return std::string(static_cast<std::size_t>(n), 'x');
}
FUNCTION std::string_view begun(std::string_view a)
{
    BARRIER;
    return a.substr(0, 2);
}
FUNCTION int labels(const labelled &a, int b)
{
    BARRIER;
    return a.x + b;
}

static std::size_t strings()
{
    const std::string little("lit\0le", 6), large(20, 'l');
    const labelled one{{8, 9}, little, "seen"};
    return texts(little, large, "view", &large) + texts("", "", "", nullptr) +
           repeated(3).size() + repeated(30).size() + begun("begun").size() +
           static_cast<std::size_t>(labels(one, 2));
}

int main()
{
    n::thing thing;
    point p{3, 4};
    int sum = thing.get(2, kind::two) + thing.turn(p, p) + by_address(copied(9), empty(), 77) +
              by_register(kept(p), 78) + returned(6).v +
              owned(std::unique_ptr<int>(new int(4)), 8, copied(4)) + twice(21) +
              static_cast<int>(twice(1.25));
    try {
        sum += thrown(0) + thrown(3);
    } catch (int v) {
        sum += v;
    }
    return sum == 0 || strings() == 0;
}
