/* System calls where the stack pointer is what it was when the function around them began: of a
 * library's function, which puts nothing on the stack, and of one of its own. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) static long ask(void)
{
    long number = SYS_getppid;
#ifdef __x86_64__
    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
#else
    number = syscall(number);
#endif
    return number;
}

__attribute__((noinline)) static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0 || ask() < 0)
        _exit(1);
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        say("said\n");
    return 0;
}
