/* A plugin for context.c: NAME is its function's, so that two of them differ. */
#define JOIN(a, b)  a##b
#define NAMED(a, b) JOIN(a, b)
#define TEXT(a)     #a
#define SAID(a)     TEXT(a)

__attribute__((noinline)) void NAMED(in_, NAME)(void (*say)(const char *))
{
    say("main>loads>plugin_says>in_" SAID(NAME));
}
void plugin_says(void (*say)(const char *)) { NAMED(in_, NAME)(say); }
