/* A trace that is written by our writer while a small model of its own, made from spec/format.md
 * section 7.1, notes what a reader must see. */
#ifndef TTEST_VECTOR_TRACE_H
#define TTEST_VECTOR_TRACE_H

#include <tracetape/writer.h>

#include "vector_expect.h"

#define TTEST_MAX_STREAMS 64u
#define TTEST_MAX_FRAMES  256u
#define TTEST_MAX_STACKS  4u
#define TTEST_MAX_SITES   64u
#define TTEST_MAX_ROWS    4096u
#define TTEST_AUTO        TTAPE_DEPTH_AUTO

struct ttest_model_frame {
    uint32_t site, signal; /* site TTAPE_NONE: a signal frame */
};

struct ttest_model_stack {
    uint32_t id, count;
    struct ttest_model_frame frames[TTEST_MAX_FRAMES];
};

struct ttest_model_stream {
    uint64_t tid;
    uint32_t unknown, stack_count, current;
    int64_t offset;
    bool started;
    struct ttest_model_stack stacks[TTEST_MAX_STACKS];
};

struct ttest_trace {
    ttape_writer *writer;
    ttape_memory_sink memory;
    ttape_writer_options options;
    struct ttest_expectation expectation;
    struct ttest_row *rows;
    struct ttest_model_stream streams[TTEST_MAX_STREAMS];
    ttape_site sites[TTEST_MAX_SITES];
    uint32_t site_count, pending;
};

/* options may be NULL. The trace lives until ttest_release_all. */
struct ttest_trace *ttest_begin(const char *name, const char *notes,
                                const ttape_writer_options *options);
uint32_t ttest_site(struct ttest_trace *t, uint64_t address, ttape_site_kind kind,
                    const char *symbol);
uint32_t ttest_add_site(struct ttest_trace *t, const ttape_site *site);
uint32_t ttest_process(struct ttest_trace *t, uint64_t pid, uint32_t parent, const char *name);
uint32_t ttest_stream(struct ttest_trace *t, uint32_t process, uint64_t tid, const char *name);

void ttest_event(struct ttest_trace *t, uint32_t stream, const ttape_event *event);
void ttest_enter(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site);
void ttest_exit(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site);
void ttest_leaf(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site);
/* Kinds that have an argument in place of a site. */
void ttest_special(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t kind,
                   uint32_t argument);
void ttest_gap(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t reason,
               uint64_t count);
void ttest_attach(struct ttest_trace *t, uint32_t stream, const ttape_value *values, size_t count);
void ttest_add_off(struct ttest_trace *t, uint32_t stream, const ttape_off_span *spans,
                   size_t count);
void ttest_flush(struct ttest_trace *t);
/* Ends the trace with index and footer; the expectation is complete then. */
struct ttest_bytes ttest_finish(struct ttest_trace *t);

#endif
