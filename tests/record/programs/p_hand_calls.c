/* Calls of the C library whose values are known without debug information. */
#include <stdlib.h>

int main(void)
{
    void *volatile kept = calloc(3, 5);
    free(kept);
    return 0;
}
