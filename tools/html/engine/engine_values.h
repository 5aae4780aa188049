/* Values in a page as text. */
#ifndef ENGINE_VALUES_H
#define ENGINE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/reader.h>

/* Writes text as snprintf does: "(x=1, path="a")", of an exit " = 3". */
size_t engine_put_values(const ttape_reader *reader, uint32_t site, bool is_exit,
                         const ttape_value *values, uint32_t value_count, char *buffer,
                         size_t size_bytes);

#endif
