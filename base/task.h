/* Threads and locks of what reads: its door to pthread; and a task, work on a thread while the
 * caller goes on with other work. A build without threads (TTAPE_THREADS=OFF) has locks that do
 * nothing, and no thread can be had: then the caller does all work itself. */
#ifndef TTP_BASE_TASK_H
#define TTP_BASE_TASK_H

#include <stdbool.h>

#ifndef TTP_NO_THREADS

#include <pthread.h>

typedef pthread_t ttp_thread;
typedef pthread_mutex_t ttp_mutex;
typedef pthread_cond_t ttp_cond;

static inline int ttp_mutex_init(ttp_mutex *mutex) { return pthread_mutex_init(mutex, NULL); }
static inline void ttp_mutex_destroy(ttp_mutex *mutex) { (void)pthread_mutex_destroy(mutex); }
static inline void ttp_mutex_lock(ttp_mutex *mutex) { (void)pthread_mutex_lock(mutex); }
static inline void ttp_mutex_unlock(ttp_mutex *mutex) { (void)pthread_mutex_unlock(mutex); }
static inline int ttp_cond_init(ttp_cond *cond) { return pthread_cond_init(cond, NULL); }
static inline void ttp_cond_destroy(ttp_cond *cond) { (void)pthread_cond_destroy(cond); }
static inline void ttp_cond_signal(ttp_cond *cond) { (void)pthread_cond_signal(cond); }
static inline void ttp_cond_broadcast(ttp_cond *cond) { (void)pthread_cond_broadcast(cond); }
static inline void ttp_cond_wait(ttp_cond *cond, ttp_mutex *mutex)
{
    (void)pthread_cond_wait(cond, mutex);
}
static inline ttp_thread ttp_thread_self(void) { return pthread_self(); }
static inline bool ttp_thread_is(ttp_thread a, ttp_thread b) { return pthread_equal(a, b) != 0; }
static inline void ttp_thread_join(ttp_thread thread) { (void)pthread_join(thread, NULL); }

#else

typedef char ttp_thread, ttp_mutex, ttp_cond;

static inline int ttp_mutex_init(ttp_mutex *mutex) { return *mutex = 0; }
static inline void ttp_mutex_destroy(ttp_mutex *mutex) { (void)mutex; }
static inline void ttp_mutex_lock(ttp_mutex *mutex) { (void)mutex; }
static inline void ttp_mutex_unlock(ttp_mutex *mutex) { (void)mutex; }
static inline int ttp_cond_init(ttp_cond *cond) { return *cond = 0; }
static inline void ttp_cond_destroy(ttp_cond *cond) { (void)cond; }
static inline void ttp_cond_signal(ttp_cond *cond) { (void)cond; }
static inline void ttp_cond_broadcast(ttp_cond *cond) { (void)cond; }
/* Nobody else is there who could bring about what is waited for. */
static inline void ttp_cond_wait(ttp_cond *cond, ttp_mutex *mutex)
{
    (void)cond, (void)mutex;
    __builtin_trap();
}
static inline ttp_thread ttp_thread_self(void) { return 0; }
static inline bool ttp_thread_is(ttp_thread a, ttp_thread b) { return a == b; }
static inline void ttp_thread_join(ttp_thread thread) { (void)thread; }

#endif

/* A thread with all signals blocked: they are for the program's own. False: there is none. */
bool ttp_thread_begin(ttp_thread *thread, void *(*run)(void *context), void *context);

struct ttp_task {
    void (*work)(void *context);
    void *context;
    ttp_thread thread;
    bool has_thread;
};

/* Without a thread to be had it is done when it is waited for. `work` must not touch a reader's
 * memory accounting; *b and the context stay where they are until the end. */
void ttp_task_begin(struct ttp_task *b, void (*work)(void *context), void *context);
void ttp_task_end(struct ttp_task *b);

#endif
