/* One of two processes that send each other numbers, and mark it: p_peer IN OUT COUNT first|second.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/runtime.h>

static int pass_on(int to, uint64_t number)
{
    TTAPE_RT_MARK_UNSIGNED("sent", number);
    return write(to, &number, sizeof number) == (ssize_t)sizeof number;
}

static int take(int from)
{
    uint64_t number;
    if (read(from, &number, sizeof number) != (ssize_t)sizeof number)
        return 0;
    TTAPE_RT_MARK_UNSIGNED("received", number);
    return 1;
}

int main(int count, char **words)
{
    if (count != 5)
        return 2;
    int is_first = strcmp(words[4], "first") == 0;
    int one = open(words[is_first ? 2 : 1], is_first ? O_WRONLY : O_RDONLY);
    int two = open(words[is_first ? 1 : 2], is_first ? O_RDONLY : O_WRONLY);
    int from = is_first ? two : one, to = is_first ? one : two;
    int times = atoi(words[3]);
    for (int i = 0; i < times; i++) {
        uint64_t number = 2u * (uint64_t)i + (is_first ? 0 : 1);
        int is_done =
            is_first ? pass_on(to, number) && take(from) : take(from) && pass_on(to, number);
        if (!is_done)
            return 1;
    }
    return 0;
}
