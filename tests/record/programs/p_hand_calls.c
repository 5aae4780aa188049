/* Calls of the C library: of those whose values are known without debug information, and others. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

int main(void)
{
    void *volatile kept = calloc(3, 5);
    const char *volatile text = "077";
    double (*volatile to_double)(const char *, char **) = strtod;
    long long (*volatile to_long)(const char *, char **, int) = strtoll;
    char *(*volatile to_text)(double, int, char *) = gcvt;
    char room[32];
    double number = to_double(text, NULL);
    (void)to_long(text, NULL, 8);
    (void)to_text(number / 4, 7, room);
    free(kept);
    return 0;
}
