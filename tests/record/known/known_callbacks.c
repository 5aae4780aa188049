/* Functions that libraries call: sorting, searching, once for all, and at the loading of a file.
 * Known: main 1, sorts 5, compare *, searches 5, once_only 1, asks_once 3, before_main 1,
 * big_frame 5, walks 5, at_item 40, burn 1 */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"

static pthread_once_t only = PTHREAD_ONCE_INIT;

ALONE static int compare(const void *a, const void *b)
{
    IN;
    int one = *(const int *)a, two = *(const int *)b;
    sink++;
    OUT;
    return (one > two) - (one < two);
}

ALONE static void sorts(int *list, size_t count)
{
    IN;
    qsort(list, count, sizeof(*list), compare);
    sink++;
    OUT;
}

ALONE static long searches(const int *list, size_t count)
{
    IN;
    int wanted = list[2];
    const int *found = bsearch(&wanted, list, count, sizeof(*list), compare);
    sink += found - list;
    OUT;
    return found - list;
}

static void once_only(void)
{
    IN;
    burn(3);
    OUT;
}

ALONE static void asks_once(void)
{
    IN;
    pthread_once(&only, once_only);
    sink++;
    OUT;
}

__attribute__((constructor)) static void before_main(void)
{
    IN;
    sink++;
    OUT;
}

ALONE static void at_item(int n, char *room)
{
    IN;
    sink += room[n] + n;
    OUT;
}

ALONE static void walks(const int *list, size_t count, void (*act)(int, char *), char *room)
{
    IN;
    for (size_t i = 0; i < count; i++)
        act(list[i], room);
    sink++;
    OUT;
}

ALONE static void big_frame(const int *list, size_t count)
{
    IN;
    volatile char room[6000];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = (char)i;
    walks(list, count, at_item, (char *)room);
    sink++;
    OUT;
}

int main(void)
{
    IN;
    for (int turn = 0; turn < 5; turn++) {
        int list[] = {5, 3, 8, 1, 9, 2, 7, 4};
        sorts(list, 8);
        sink += searches(list, 8);
        big_frame(list, 8);
    }
    for (int i = 0; i < 3; i++)
        asks_once();
    OUT;
    return 0;
}
