/* A growing array over the writer's allocator: the one way in which the writer holds memory. */
#ifndef TTP_WRITER_GROWING_H
#define TTP_WRITER_GROWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

struct ttp_growing {
    void *data;
    size_t count; /* items */
    size_t capacity_bytes;
};

/* Makes room for `count` items in all (contents kept). Grows by doubling. */
ttape_status ttp_grow(const ttape_allocator *a, struct ttp_growing *array, size_t item_bytes,
                      size_t count, ttape_error *err);
/* Makes room for one more item and returns it, zeroed and counted; NULL (and *err) without memory.
 */
void *ttp_push(const ttape_allocator *a, struct ttp_growing *array, size_t item_bytes,
               ttape_error *err);
/* Appends bytes (items of one byte). */
ttape_status ttp_push_bytes(const ttape_allocator *a, struct ttp_growing *array, const void *data,
                            size_t size_bytes, ttape_error *err);
/* Appends items. */
ttape_status ttp_push_items(const ttape_allocator *a, struct ttp_growing *array, const void *items,
                            size_t count, size_t item_bytes, ttape_error *err);
void ttp_grown_free(const ttape_allocator *a, struct ttp_growing *array);

/* The memory is about to be filled from end to end: huge pages then save thousands of page faults
 * (5 % of the time of writing a trace). For memory that is used here and there they cost more. */
void ttp_will_fill(const ttape_allocator *a, void *memory, size_t size_bytes);

/* The allocator that a caller named, or malloc and free. */
ttape_allocator ttp_allocator_or_default(const ttape_allocator *a);

#endif
