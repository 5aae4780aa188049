/* The reader's threads; and work on one of them while the caller goes on with other work. */
#ifndef TTP_READER_TASK_H
#define TTP_READER_TASK_H

#include <pthread.h>
#include <stdbool.h>

/* A thread with all signals blocked: they are for the program's own. False: there is none. */
bool ttp_thread_begin(pthread_t *thread, void *(*run)(void *context), void *context);

struct ttp_task {
    void (*work)(void *context);
    void *context;
    pthread_t thread;
    bool has_thread;
};

/* Without a thread to be had it is done when it is waited for. `work` must not touch a reader's
 * memory accounting; *b and the context stay where they are until the end. */
void ttp_task_begin(struct ttp_task *b, void (*work)(void *context), void *context);
void ttp_task_end(struct ttp_task *b);

#endif
