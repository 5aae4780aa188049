"""Random programs whose functions end with calls that compilers make jumps of: C with longjmp, C++
with exceptions, in several threads. A function calls later ones only, so that no chain has one
twice."""
import random

HEAD = """#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline, noipa)) unsigned
typedef unsigned (*function)(unsigned);
static __thread volatile unsigned sink, fuel, is_set;
static __thread jmp_buf place;
"""
TRY = {"c": "is_set = 1; if (setjmp(place) == 0) {} is_set = 0;",
       "cc": "try {{ {} }} catch (int thrown) {{ sink += thrown; }}"}
TAIL = """
static void *works(void *given)
{
    volatile unsigned i;
    fuel = 2000;
    for (i = 0; i < 200; i++) { %s }
    fuel = 2000;
    for (i = 0; i < 200; i++) { %s }
    return given;
}

int main()
{
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    works(0);
    pthread_join(thread, 0);
    return 0;
}
"""


class Program:
    def __init__(self, seed, language, functions=20):
        self.random, self.language = random.Random(seed), language
        self.count = functions

    def leaves(self, number):
        """Some are left by an exception or a jump at times."""
        draw = self.random
        if draw.random() > .25 or number == 0:
            return []
        when = f"x % {draw.choice([13, 31, 57])} == {draw.randint(0, 9)}"
        return [f"if ({when}) throw (int)x;" if self.language == "cc" else
                f"if (is_set && {when}) longjmp(place, 1);"]

    def calls(self, later):
        draw, made = self.random, []
        for _ in range(draw.randint(0, 2) if later else 0):
            to = draw.choice(later)
            call = draw.choice([f"x += f{to}(x + 1);", f"if (x & 2) x += f{to}(x ^ 3);",
                                f"for (unsigned k = 0; k < 2; k++) x += all[{to}](x + k);"])
            if self.language == "cc" and draw.random() < .3:
                call = TRY["cc"].format(call)
            made.append(call)
        return made

    def last(self, later):
        draw, kind = self.random, self.random.random()
        if later and kind < .3:
            return [f"return f{draw.choice(later)}(x + 4);"]
        if later and kind < .5:
            return [f"return all[{draw.choice(later)}](x * 3);"]
        if later and kind < .7:
            return [f"if (x % 3) return f{draw.choice(later)}(x + 1);",
                    f"return f{draw.choice(later)}(x - 1);"]
        return ["return (unsigned)strtoul(\"7\", 0, 10);"] if kind < .85 else ["return x + 1;"]

    def text(self):
        names = [f"f{i}" for i in range(self.count)]
        made = [HEAD, "#ifdef __cplusplus\nextern \"C\" {\n#endif"]
        made += [f"ALONE {name}(unsigned x);" for name in names]
        made.append(f"static const function volatile all[] = {{{', '.join(names)}}};")
        for number, name in enumerate(names):
            later = list(range(number + 1, self.count))
            body = ["sink += x;", "if (fuel == 0) return x;", "fuel--;", *self.leaves(number),
                    *self.calls(later), *self.last(later)]
            made.append(f"ALONE {name}(unsigned x)\n{{\n    " + "\n    ".join(body) + "\n}")
        made.append("#ifdef __cplusplus\n}\n#endif")
        attempt = TRY[self.language].replace("{}", "%s", 1) if self.language == "c" else None
        tries = [attempt % call if attempt else TRY["cc"].format(call)
                 for call in ("f0(i);", "all[i % 5](i);")]
        return "\n".join(made) + TAIL % tuple(tries)
