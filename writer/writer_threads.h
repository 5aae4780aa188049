/* Threads of ours, which have room on their stacks even where the program's limit is small. */
#ifndef TTP_WRITER_THREADS_H
#define TTP_WRITER_THREADS_H

#include <pthread.h>

/* As pthread_create. */
int ttp_thread_create(pthread_t *thread, void *(*run)(void *), void *context);

#endif
