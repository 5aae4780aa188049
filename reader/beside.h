/* Work on a thread of its own, while the caller goes on with other work. Without a thread to be had
 * it is done when it is waited for. */
#ifndef TTP_READER_BESIDE_H
#define TTP_READER_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

struct ttp_beside {
    void (*work)(void *context);
    void *context;
    pthread_t thread;
    bool has_thread;
};

/* `work` must not touch a reader's memory accounting; *b and the context stay where they are until
 * the end. */
void ttp_beside_begin(struct ttp_beside *b, void (*work)(void *context), void *context);
void ttp_beside_end(struct ttp_beside *b);

#endif
