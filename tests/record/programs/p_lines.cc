// Lines that run a known number of times, which stands behind them: //= all calls, //=1 is `walk`'s
// call with 2, `-` one that ran elsewhere only, `!` one that never did.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

static std::jmp_buf back;
static volatile int sink;

static void fail(int n)
{
    if (n == 2)                              //= 6
        throw std::runtime_error("two");     //= 1
    sink = sink + 1;                         //= 5
}

static int catches(int n)
{
    try {
        fail(n);                             //= 6
        return 1;                            //= 5
    } catch (const std::exception &) {
        return 2;                            //= 1
    }
}

static void jump(int n)
{
    if (n > 3)                               //= 12
        std::longjmp(back, n);               //= 4
    sink = sink + n;                         //= 8
}

static int recurse(int n)
{
    if (n == 0)                              //= 24
        return 0;                            //= 6
    if (n % 2 == 0)                          //= 18
        sink = sink + 3;                     //= 6
    return 1 + recurse(n - 1);               //= 18
}

static int walk(int n)
{
    int sum = catches(n);                    //= 6 : 1
    if (setjmp(back) == 0) {
        jump(n);                             //= 6 : 1
        sum += 1;                            //= 4 : 1
    } else {
        sum += 2;                            //= 2 : -
    }
    switch (n) {                             //= 6 : 1
    case 0:
        sum += 10;                           //= 1 : -
        break;                               //= 1 : -
    case 7:
        sum += 70;                           //= ! : !
        break;                               //= ! : !
    default:
        sum += recurse(3);                   //= 5 : 1
        break;
    }
    return sum;                              //= 6 : 1
}

static void indirect(void (*to)(int), int n)
{
    to(n);                                   //= 6
    sink = sink + 1;                         //= 4
}

static void meets(int n)
{
    if (n == 9) {                            //= 6
        sink = sink + 7;                     //= !
        sink = 7;                            //= !
    }
}

static void joins(int *one, int two)
{
    if (two == 0)                            //= 6
        return;                              //= 1
    else if (*one == 0)                      //= 5
        *one = two;                          //= 5
    else {
        while (*one < two)                   //= !
            ++*one;                          //= !
        sink = sink + *one;                  //= !
    }
}

static int returns(int n, int kind)
{
    switch (kind) {                          //= 6
    case 1: {
        int more = n + 1;                    //= 6
        if (more != 7) {                     //= 6
            sink = more;                     //= 6
            return 1;                        //= 6
        }
        else return 0;                       //= !
    }
    default:
        return 2;                            //= !
    }
}

static const char *breaks(int kind, int n)
{
    const char *name = nullptr;              //= 6
    switch (kind) {                          //= 6
    case 1:
        if (n != 0)                          //= 4
            name = "one";                    //= 3
        break;                               //= 4
    case 5:
        if (n != 0)                          //= !
            name = "five";                   //= !
        break;                               //= !
    default:
        return nullptr;                      //= 2
    }
    return name;                             //= 4
}

static int falls(int kind, int n)
{
    switch (kind) {                          //= 12
    case 0:
        sink = sink + 1;                     //= 2
        break;                               //= 2
    case 1:
        if (n > 2)                           //= 6
            break;                           //= 3
    case 2:
    case 3:
        sink = sink + 2;                     //= 5
        break;                               //= 5
    case 4:
        if (n % 2 == 0)                      //= 2
            sink = sink + 3;                 //= 1
        else
            sink = sink + 4;                 //= 1
        break;                               //= 2
    case 5:
        break;
    default:
        sink = sink + 5;                     //= !
    }
    return sink;                             //= 12
}

static void follows(int n)
{
    if (n == 1)                              //= 3 once each
        sink = sink + 6;                     //= 1
}

static void in_turn()
{
    follows(0);                              //= 1
    follows(1);                              //= 1
    follows(2);                              //= 1
}

__attribute__((always_inline)) static inline int limit(int n, int most)
{
    if (n > most)                            //= 18 inlined
        return most;                         //= 11 inlined
    return n;                                //= 7 inlined
}

static int limits(int n)
{
    int low = limit(n, 1);                   //= 6
    int high = limit(n + 3, 4);              //= 6
    for (int i = 0; i < 1; i++)
        high += limit(i + n, 2);             //= 6
    return low + high;                       //= 6
}

static void handle(int number)
{
    if (number == SIGUSR1)                   //= 2
        sink = sink + 5;                     //= 2
    else
        sink = 0;                            //= !
}

static void work(int n)
{
    for (int i = 0; i < n; i++)
        sink = sink + 1;                     //= 12
}

int main()
{
    volatile int total = 0;
    std::signal(SIGUSR1, handle);
    for (int i = 0; i < 6; i++)
        total = total + walk(i);             //= 6
    for (volatile int i = 0; i < 6; i++) {
        if (setjmp(back) == 0)
            indirect(jump, i);               //= 6
        meets(i);                            //= 6
        total = total + limits(i);           //= 6
        int first = 0;                       //= 6
        joins(&first, i);                    //= 6
        total = total + returns(i, 1);       //= 6
        total = total + (breaks(i < 4, i) != nullptr); //= 6
    }
    for (volatile int i = 0; i < 12; i++)
        falls((int[]){0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 4, 4}[i], i % 6); //= 12
    in_turn();                               //= 1
    std::raise(SIGUSR1);                     //= 1
    std::raise(SIGUSR1);                     //= 1
    std::thread one(work, 5), two(work, 7);
    one.join();                              //= 1
    two.join();                              //= 1
    total = total + recurse(3);                    //= 1
    std::printf("%d\n", total);              //= 1
    if (total == 0)                          //= 1
        std::puts("nothing");                //= !
    return 0;                                //= 1
}
