/* Writes a log that knows nothing of context values: a line a write, lines in one write, a line in
 * two, and through stdio, which keeps lines back. Each line names the function that prints it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile int sink;

APART static void one_line(int number)
{
    char line[100];
    int size = snprintf(line, sizeof(line), "one_line %d\n", number);
    sink += (int)write(1, line, (size_t)size);
}

APART static void long_line(void)
{
    char line[3000];
    memset(line, 'l', sizeof(line));
    memcpy(line, "long_line ", 10);
    line[sizeof(line) - 1] = '\n';
    sink += (int)write(1, line, sizeof(line));
}

APART static void several(void)
{
    struct iovec parts[2] = {{(char *)"several 1\n", 10}, {(char *)"several 2\n", 10}};
    sink += (int)writev(1, parts, 2);
}

APART static void halves(void)
{
    sink += (int)write(1, "halves of ", 10);
    sink += (int)write(1, "a line\n", 7);
}

APART static void buffered(int number)
{
    printf("buffered %d\n", number);
    sink++;
}

APART static void more_buffered(void)
{
    puts("more_buffered");
    sink++;
}

APART static void *thread(void *unused)
{
    for (int i = 0; i < 50; i++)
        one_line(1000 + i);
    return unused;
}

int main(void)
{
    static char room[8192];
    pthread_t other;
    setvbuf(stdout, room, _IOFBF, sizeof(room));
    for (int i = 0; i < 5; i++)
        one_line(i);
    long_line();
    several();
    halves();
    for (int i = 0; i < 3; i++)
        buffered(i);
    more_buffered();
    fflush(stdout);
    if (pthread_create(&other, NULL, thread, NULL) != 0)
        return 1;
    for (int i = 0; i < 50; i++)
        one_line(2000 + i);
    pthread_join(other, NULL);
    return 0;
}
