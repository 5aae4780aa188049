/* Partitions that stay decoded, up to a number of bytes: least recently used ones go first, one is
 * always kept. */
#ifndef TTP_READER_CACHE_H
#define TTP_READER_CACHE_H

#include "reader/reader_internal.h"

void ttp_cache_clear(ttape_reader *r);

/* A reader for a worker's thread: it shares what does not change, and has memory, models and a
 * decompressor of its own, empty ones. */
ttape_reader ttp_reader_for_worker(const ttape_reader *r);

#endif
