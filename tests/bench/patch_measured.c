/* patch_measured COUNT: nanoseconds of a call, its enter and its exit, at least: the best of forty
 * rounds of COUNT calls, three functions deep. Writes the number to the file BENCH_RESULT. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "three_deep.h"

NO_HOOKS int main(int argc, char **argv)
{
    const char *path = getenv("BENCH_RESULT");
    FILE *result = argc == 2 && path != NULL ? fopen(path, "w") : NULL;
    long count = argc == 2 ? atol(argv[1]) : 0;
    if (result == NULL)
        return 2;
    fprintf(result, "%.3f\n", measure_call(count));
    return fclose(result) == 0 ? 0 : 1;
}
