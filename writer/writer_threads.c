#include "writer/writer_threads.h"

#include <stddef.h>

#define STACK_LEAST (256u << 10) /* a message of a program is decoded there */

int ttp_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    int code = pthread_attr_init(&attributes);
    if (code != 0)
        return code;
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < STACK_LEAST)
        (void)pthread_attr_setstacksize(&attributes, STACK_LEAST);
    code = pthread_create(thread, &attributes, run, context);
    (void)pthread_attr_destroy(&attributes);
    return code;
}
