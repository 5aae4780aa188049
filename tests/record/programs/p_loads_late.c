/* Loads a library in the way that it is told, and calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY
int answers(void) { return 42; }
#else
int main(int count, char **words)
{
    int sum = 0;
    if (count != 3)
        return 2;
    void *library = strcmp(words[1], "dlmopen") == 0 ? dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW)
                                                     : dlopen(words[2], RTLD_NOW);
    int (*answers)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "answers");
    for (int i = 0; answers != NULL && i < 5; i++)
        sum += answers();
    printf("%d\n", sum);
    return 0;
}
#endif
