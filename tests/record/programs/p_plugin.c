/* An instrumented library to be loaded and unloaded; built twice, PLUGIN names its function. */
#include "own.h"

#ifndef PLUGIN
#define PLUGIN plugin_a
#endif
#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)

long PLUGIN(long n);

ALONE static long plugin_inner(long n)
{
    IN;
    long result = n < 1 ? (long)sizeof(TEXT(PLUGIN)) : plugin_inner(n - 1) + n;
    OUT;
    return result;
}

long PLUGIN(long n)
{
    IN;
    long result = plugin_inner(n);
    OUT;
    return result;
}
