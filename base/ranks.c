/* One order for tables and graphs. */
#include <stdlib.h>

#include "base/ranks.h"

static int compare_items(const void *a, const void *b)
{
    const struct ttp_rank *one = a, *two = b;
    if (one->group != two->group)
        return one->group < two->group ? -1 : 1;
    if (one->weight != two->weight)
        return one->weight > two->weight ? -1 : 1;
    if (one->calls != two->calls)
        return one->calls > two->calls ? -1 : 1;
    return one->index < two->index ? -1 : one->index > two->index;
}

void ttp_sort_ranks(struct ttp_rank *ranks, size_t count)
{
    if (count > 1)
        qsort(ranks, count, sizeof(*ranks), compare_items);
}
