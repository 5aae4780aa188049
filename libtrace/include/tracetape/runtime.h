/* The runtime's own API, for programs that say themselves what is to be recorded: scopes, markers,
 * counters, names; and when. Link with libtracetape-rt (pkg-config tracetape-rt).
 *
 * While nothing records, each call costs a call and a comparison. No call here fails, blocks or
 * touches errno, and all but start and stop may be made in signal handlers. Names and sites are not
 * copied: static, or alive as long as the process.
 *
 *     void work(int n)
 *     {
 *         TTAPE_RT_FUNCTION();                   // enter here, exit however work is left
 *         for (int i = 0; i < n; i++) {
 *             TTAPE_RT_SCOPE("round");
 *             TTAPE_RT_MARK_UNSIGNED("item", i);
 *         }
 *     }
 */
#ifndef TRACETAPE_RUNTIME_H
#define TRACETAPE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the program. One static object per use; the macros below make it. */
typedef struct ttape_rt_site {
    const char *name;
    const char *file;
    uint32_t line;
    ttape_site_kind kind;  /* TTAPE_SITE_FUNCTION for scopes, TTAPE_SITE_MARKER */
    uint64_t announced[2]; /* the runtime's */
} ttape_rt_site;

#define TTAPE_RT_SITE(name, kind)                                                                  \
    {                                                                                              \
        (name), __FILE__, (uint32_t)__LINE__, (ttape_site_kind)(kind), { 0, 0 }                    \
    }

/* Begins and ends a call of `site`, from whatever function; ends in the reverse order of
 * beginnings. When the instrumented function around it is left, it is left too. */
TTAPE_API void ttape_rt_enter(ttape_rt_site *site);
TTAPE_API void ttape_rt_exit(ttape_rt_site *site);
/* The same where both are called from one function's own code, as the macros do: then it is also
 * known to be over when that function was left by a jump. */
TTAPE_API void ttape_rt_scope_enter(ttape_rt_site *site);
TTAPE_API void ttape_rt_scope_exit(ttape_rt_site *site);

/* Passes a marker. Text and bytes are cut to 16,384 bytes, all values together to 24,576; at most
 * 255 values. A NULL string is recorded as such. */
TTAPE_API void ttape_rt_mark(ttape_rt_site *site, const ttape_value *values, uint32_t count);
TTAPE_API void ttape_rt_mark_unsigned(ttape_rt_site *site, uint64_t value);
TTAPE_API void ttape_rt_mark_signed(ttape_rt_site *site, int64_t value);
TTAPE_API void ttape_rt_mark_pointer(ttape_rt_site *site, const void *value);
TTAPE_API void ttape_rt_mark_double(ttape_rt_site *site, double value);
TTAPE_API void ttape_rt_mark_string(ttape_rt_site *site, const char *value);
TTAPE_API void ttape_rt_mark_bytes(ttape_rt_site *site, const void *data, size_t size_bytes);

/* A basic block is passed: the one that `address` lies in, by a function whose stack pointer is sp
 * there. For those who bring a compiler's callbacks; libtracetape-blocks has gcc's and clang's. */
TTAPE_API void ttape_rt_block(uintptr_t address, uintptr_t sp);
/* The same, and it is taken into the call's branch value where one is kept (branch.h). `address` is
 * the last byte of a call of `callback`; in the file it is less, by `move`. */
TTAPE_API void ttape_rt_branch(uintptr_t address, uintptr_t sp, uintptr_t callback, uintptr_t move);

/* Of the calling thread, from here on. */
TTAPE_API void ttape_rt_thread_name(const char *name);
/* The calling thread may run on this memory as a stack from now on (makecontext says so by itself).
 */
TTAPE_API void ttape_rt_stack(const void *low, size_t size_bytes);

/* Whether events are being recorded now. */
TTAPE_API int ttape_rt_is_recording(void);
/* For all processes of the recording. Other threads notice within some microseconds. */
TTAPE_API void ttape_rt_on(void);
TTAPE_API void ttape_rt_off(void);
/* Asks the recorder to append what there is, or to take a snapshot where it keeps only the last. */
TTAPE_API void ttape_rt_flush(void);
TTAPE_API void ttape_rt_snapshot(void);

/* A program that records itself: needs libtracetape at run time, and adds two threads with all
 * signals blocked. What is 0 is the default. */
typedef struct ttape_rt_options {
    size_t size;           /* sizeof(ttape_rt_options) */
    uint32_t replace;      /* the file may exist */
    uint32_t blocking;     /* wait for the recorder instead of losing events */
    uint32_t start_off;    /* until ttape_rt_on */
    uint32_t clock;        /* 1 TSC, 2 monotonic, 3 coarse, 4 none; 0: best */
    uint64_t buffer_bytes; /* default 4 MiB */
} ttape_rt_options;

/* 0, or -1: it is being recorded already, or cannot be (one line on stderr says why). A process
 * records once. */
TTAPE_API int ttape_rt_start(const char *path, const ttape_rt_options *options);
/* Ends the recording and its file; so does the process's end. 0, or -1 when the file has a loss or
 * could not be finished. */
TTAPE_API int ttape_rt_stop(void);

#ifdef __cplusplus
}
#endif

/* -- macros -- */

#define TTAPE_RT_JOIN_(a, b) a##b
#define TTAPE_RT_NAME_(a, b) TTAPE_RT_JOIN_(a, b)

#if defined(__GNUC__)
#define TTAPE_RT_INLINE_ __attribute__((always_inline, no_instrument_function, unused)) inline

#ifdef __cplusplus
class ttape_rt_scope_
{
    ttape_rt_site *site_;
    ttape_rt_scope_(const ttape_rt_scope_ &);
    ttape_rt_scope_ &operator=(const ttape_rt_scope_ &);

  public:
    TTAPE_RT_INLINE_ explicit ttape_rt_scope_(ttape_rt_site *site) : site_(site)
    {
        ttape_rt_scope_enter(site);
    }
    TTAPE_RT_INLINE_ ~ttape_rt_scope_() { ttape_rt_scope_exit(site_); }
};
#define TTAPE_RT_SCOPE_AT_(name, number)                                                           \
    static ttape_rt_site TTAPE_RT_NAME_(ttape_rt_site_, number) =                                  \
        TTAPE_RT_SITE(name, TTAPE_SITE_FUNCTION);                                                  \
    ttape_rt_scope_ TTAPE_RT_NAME_(ttape_rt_scope_, number)(&TTAPE_RT_NAME_(ttape_rt_site_, number))
#else
static TTAPE_RT_INLINE_ void ttape_rt_scope_end_(ttape_rt_site **site)
{
    ttape_rt_scope_exit(*site);
}
#define TTAPE_RT_SCOPE_AT_(name, number)                                                           \
    static ttape_rt_site TTAPE_RT_NAME_(ttape_rt_site_, number) =                                  \
        TTAPE_RT_SITE(name, TTAPE_SITE_FUNCTION);                                                  \
    __attribute__((cleanup(ttape_rt_scope_end_), unused)) ttape_rt_site *TTAPE_RT_NAME_(           \
        ttape_rt_scope_, number) = (ttape_rt_scope_enter(&TTAPE_RT_NAME_(ttape_rt_site_, number)), \
                                    &TTAPE_RT_NAME_(ttape_rt_site_, number))
#endif

/* From here to the end of the block, however it is left. */
#define TTAPE_RT_SCOPE(name) TTAPE_RT_SCOPE_AT_(name, __LINE__)
#define TTAPE_RT_FUNCTION()  TTAPE_RT_SCOPE_AT_(__func__, __LINE__)
#endif

#define TTAPE_RT_WITH_MARKER_(name, call)                                                          \
    do {                                                                                           \
        static ttape_rt_site ttape_rt_site_here_ = TTAPE_RT_SITE(name, TTAPE_SITE_MARKER);         \
        call;                                                                                      \
    } while (0)

#define TTAPE_RT_MARK(name)                                                                        \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark(&ttape_rt_site_here_, NULL, 0))
#define TTAPE_RT_MARK_UNSIGNED(name, value)                                                        \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_unsigned(&ttape_rt_site_here_, (uint64_t)(value)))
#define TTAPE_RT_MARK_SIGNED(name, value)                                                          \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_signed(&ttape_rt_site_here_, (int64_t)(value)))
#define TTAPE_RT_MARK_POINTER(name, value)                                                         \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_pointer(&ttape_rt_site_here_, (value)))
#define TTAPE_RT_MARK_DOUBLE(name, value)                                                          \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_double(&ttape_rt_site_here_, (double)(value)))
#define TTAPE_RT_MARK_STRING(name, value)                                                          \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_string(&ttape_rt_site_here_, (value)))
#define TTAPE_RT_MARK_BYTES(name, data, size_bytes)                                                \
    TTAPE_RT_WITH_MARKER_(name, ttape_rt_mark_bytes(&ttape_rt_site_here_, (data), (size_bytes)))
/* A counter's new value. */
#define TTAPE_RT_COUNTER(name, value) TTAPE_RT_MARK_SIGNED(name, value)

#endif
