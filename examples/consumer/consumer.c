/* The smallest program that uses libtracetape: it says which version it runs with. */
#include <tracetape/tracetape.h>

#include <stdio.h>

int main(void)
{
    printf("libtracetape %s\n", ttape_version_string());
    return 0;
}
