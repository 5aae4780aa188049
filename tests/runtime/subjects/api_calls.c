/* The runtime's own API: scopes that are left in every way, loose calls, markers, names, switches.
 * Also compiled as C++ and without instrumentation. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/runtime.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((noinline, no_instrument_function))

static jmp_buf out;
static ttape_rt_site outer = TTAPE_RT_SITE("outer", TTAPE_SITE_FUNCTION);
static ttape_rt_site inner = TTAPE_RT_SITE("inner", TTAPE_SITE_FUNCTION);

NOINLINE void leaf(void) { TTAPE_RT_MARK("passed"); }
NOINLINE int early(int n)
{
    TTAPE_RT_FUNCTION();
    for (int i = 0; i < 3; i++) {
        TTAPE_RT_SCOPE("round");
        leaf();
        if (i == n)
            return i;
    }
    return -1;
}
NOHOOKS void begin_span(ttape_rt_site *site)
{
    char room[600];
    memset(room, 0, sizeof(room));
    ttape_rt_enter(site);
    __asm__ volatile("" : : "r"(room) : "memory");
}
NOHOOKS void end_span(ttape_rt_site *site) { ttape_rt_exit(site); }
NOINLINE void spans(void)
{
    begin_span(&outer);
    leaf();
    begin_span(&inner);
    leaf();
    end_span(&inner);
    leaf();
    end_span(&outer);
}
NOINLINE void jumps(void)
{
    TTAPE_RT_SCOPE("left by a jump");
    longjmp(out, 1);
}
NOINLINE void values(void)
{
    char text[20000];
    ttape_value list[300];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memset(list, 0, sizeof(list));
    TTAPE_RT_MARK_UNSIGNED("unsigned", 7);
    TTAPE_RT_MARK_SIGNED("signed", -7);
    TTAPE_RT_MARK_POINTER("pointer", &out);
    TTAPE_RT_MARK_DOUBLE("double", 0.5);
    TTAPE_RT_MARK_STRING("string", "text");
    TTAPE_RT_MARK_STRING("null", NULL);
    TTAPE_RT_MARK_STRING("long", text);
    TTAPE_RT_MARK_BYTES("bytes", "a\0b", 3);
    TTAPE_RT_COUNTER("counter", 3);
    TTAPE_RT_WITH_MARKER_("many", ttape_rt_mark(&ttape_rt_site_here_, list, 300));
}

int main(void)
{
    printf("%d\n", ttape_rt_is_recording());
    ttape_rt_thread_name("a name that is longer than the kernel's");
    early(1);
    early(5);
    spans();
    if (setjmp(out) == 0)
        jumps();
    leaf();
    values();
    ttape_rt_off();
    printf("%d\n", ttape_rt_is_recording());
    leaf();
    early(1);
    ttape_rt_on();
    leaf();
    ttape_rt_flush();
    ttape_rt_snapshot();
    ttape_rt_stack(&outer, 0);
    return 0;
}
