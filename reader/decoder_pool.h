/* The decoders of a reader, and the memory that they have together.
 *
 * There are as many as threads were inside of calls at once. A decoder that is not busy keeps what
 * it decoded, for the next call that takes it: that of the thread that had it last, where it comes
 * first. A thread that is alone always has the same one.
 *
 *   cached_bytes > cache limit      decoders that are not busy give up what is more than their
 *                                   share (the limit by their number), and all of it where they
 *                                   were not used since the last time; then the one that decodes
 *                                   gives up what is more than its share. Each may keep one
 *                                   partition
 *   account.used_bytes at its limit decoders that are not busy give up all; then the one that
 *                                   decodes, all but what it decodes; then it waits until no other
 *                                   one decodes, and tries alone. If that fails, so does the call
 *
 *   ttp_decoding_begin              many may decode ...
 *   ttp_decoding_begin_alone        ... or one: it waits for those that do, and others wait for it
 *
 * Between begin and end nobody waits for another decoder, so that each end comes. */
#ifndef TTP_READER_DECODER_POOL_H
#define TTP_READER_DECODER_POOL_H

#include "reader/reader_internal.h"

ttape_status ttp_pool_open(ttape_reader *r, uint64_t cache_bytes, ttape_error *err);
void ttp_pool_close(ttape_reader *r);
/* Drops what all decoders have decoded, models and prefetching only if told so. No call is going
 * on. */
void ttp_pool_clear(ttape_reader *r, bool models_too);

/* A decoder for the calling thread: *d where that one is not busy (NULL: any), another one
 * otherwise. */
ttape_status ttp_decoder_take(struct ttp_pool *pool, struct ttp_trace_decoder **d,
                              ttape_error *err);
/* The same for an answer that somebody watches; NULL: nobody. */
ttape_status ttp_decoder_take_watched(struct ttp_pool *pool, struct ttp_trace_decoder **d,
                                      const ttape_watch *watch, ttape_error *err);
void ttp_decoder_give(struct ttp_trace_decoder *d);
/* The reader's first one, where nobody has it: true. Then what it decoded is not given up when
 * memory is short, until the caller gives it. */
bool ttp_decoder_hold(struct ttp_pool *pool);

/* A handle's decoder, which it has during a call. */
struct ttp_lease {
    const ttape_reader *reader;
    struct ttp_pool *pool;             /* NULL: the decoder is an answer's, for the handle's life */
    struct ttp_trace_decoder *decoder; /* between calls: the one of the last call, or NULL */
    struct ttp_memory memory;          /* of the handle itself */
    uint32_t jobs;                     /* more than the reader's options say; 0: as these say */
};
struct ttp_lease ttp_lease_of(ttape_reader *r);
/* For a handle inside of an answer. */
struct ttp_lease ttp_lease_lent(struct ttp_trace_decoder *d);
ttape_status ttp_lease_begin(struct ttp_lease *lease, ttape_error *err);
void ttp_lease_end(struct ttp_lease *lease);

/* The calling thread's results, which live until it asks for others. */
ttape_status ttp_thread_results(ttape_reader *r, struct ttp_thread_results **out, ttape_error *err);

/* A decoder for a worker's thread: it has memory, models and a decompressor of its own, empty
 * ones, and no cache. */
struct ttp_trace_decoder ttp_decoder_for_worker(const struct ttp_trace_decoder *d);

void ttp_decoding_begin(struct ttp_pool *pool);
void ttp_decoding_begin_alone(struct ttp_pool *pool);
void ttp_decoding_end(struct ttp_pool *pool);
/* Whether there is somebody whose memory could be waited for. */
bool ttp_pool_is_shared(const struct ttp_pool *pool);

/* The part of the cache that each decoder may fill where others want theirs. */
uint64_t ttp_pool_share(const struct ttp_pool *pool);
/* The cache's limit as it is for this decoder: true where it is to give something up. */
bool ttp_pool_is_over(const struct ttp_trace_decoder *d);
/* Others give up what the table above says. */
void ttp_pool_shrink(const struct ttp_trace_decoder *d);

#endif
