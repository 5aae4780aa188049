/* Growing arrays: doubling, with the old block released only after the copy. */
#define _DEFAULT_SOURCE /* madvise */
#include "writer/growing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format/base/fail.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static size_t whole_pages(size_t size_bytes)
{
    return (size_bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
}

/* What is large begins and ends where huge pages do: otherwise half of a partition's events lie in
 * small ones. What is not touched takes no memory. */
static void *default_allocate(void *context, size_t size_bytes)
{
    (void)context;
    if (size_bytes < HUGE_PAGE_BYTES || whole_pages(size_bytes) < size_bytes)
        return malloc(size_bytes);
    return aligned_alloc(HUGE_PAGE_BYTES, whole_pages(size_bytes));
}

/* Only advice, and only about memory that we asked for ourselves. */
void ttp_will_fill(const ttape_allocator *a, void *memory, size_t size_bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t start = (uintptr_t)memory;
    uintptr_t end = start + whole_pages(size_bytes);
    if (a->allocate == default_allocate && size_bytes >= HUGE_PAGE_BYTES)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)a, (void)memory, (void)size_bytes;
#endif
}

static void default_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

ttape_allocator ttp_allocator_or_default(const ttape_allocator *a)
{
    if (a != NULL)
        return *a;
    return (ttape_allocator){NULL, default_allocate, default_release};
}

ttape_status ttp_grow(const ttape_allocator *a, struct ttp_growing *array, size_t item_bytes,
                      size_t count, ttape_error *err)
{
    size_t need;
    if (__builtin_mul_overflow(item_bytes, count, &need))
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    if (need <= array->capacity_bytes)
        return TTAPE_OK;
    size_t capacity = array->capacity_bytes < 256 ? 256 : array->capacity_bytes;
    while (capacity < need)
        capacity = capacity <= SIZE_MAX / 2 ? 2 * capacity : need;
    if (array->count == 0 && need > 256)
        capacity = need;               /* sized on purpose: take exactly that */
    capacity -= capacity % item_bytes; /* whole items: some callers keep the capacity in items */
    void *data = a->allocate(a->context, capacity);
    if (data == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET,
                        "out of memory for %zu bytes", capacity);
    if (array->data != NULL) {
        memcpy(data, array->data, array->count * item_bytes);
        a->release(a->context, array->data, array->capacity_bytes);
    }
    array->data = data;
    array->capacity_bytes = capacity;
    return TTAPE_OK;
}

void *ttp_push(const ttape_allocator *a, struct ttp_growing *array, size_t item_bytes,
               ttape_error *err)
{
    if ((array->count + 1) * item_bytes > array->capacity_bytes &&
        ttp_grow(a, array, item_bytes, array->count + 1, err) != TTAPE_OK)
        return NULL;
    void *item = (char *)array->data + array->count++ * item_bytes;
    memset(item, 0, item_bytes);
    return item;
}

ttape_status ttp_push_items(const ttape_allocator *a, struct ttp_growing *array, const void *items,
                            size_t count, size_t item_bytes, ttape_error *err)
{
    if (count == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_grow(a, array, item_bytes, array->count + count, err));
    memcpy((char *)array->data + array->count * item_bytes, items, count * item_bytes);
    array->count += count;
    return TTAPE_OK;
}

ttape_status ttp_push_bytes(const ttape_allocator *a, struct ttp_growing *array, const void *data,
                            size_t size_bytes, ttape_error *err)
{
    return ttp_push_items(a, array, data, size_bytes, 1, err);
}

void ttp_grown_free(const ttape_allocator *a, struct ttp_growing *array)
{
    if (array->data != NULL)
        a->release(a->context, array->data, array->capacity_bytes);
    *array = (struct ttp_growing){0};
}
