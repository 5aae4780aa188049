/* Structs of options that begin with their size: those of a newer library may be longer, those of
 * an older one shorter. */
#ifndef TTP_FORMAT_SIZED_H
#define TTP_FORMAT_SIZED_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

/* Copies as much of `options` (its first member is its size, a size_t) as both sides know into
 * `out`, `known_bytes` long, whose rest stays as it is. What we do not know must not be asked for:
 * TTAPE_E_ARGUMENT where a byte of it is not zero. what: whose they are, for the message. */
ttape_status ttp_take_sized(void *out, size_t known_bytes, const void *options, const char *what,
                            ttape_error *err);
/* The same of the `count` reserved words of a struct without a size. */
ttape_status ttp_check_reserved(const uint64_t *reserved, size_t count, const char *what,
                                ttape_error *err);

#endif
