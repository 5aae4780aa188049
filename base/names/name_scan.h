/* The marks of demangled names: what belongs together in brackets, and where an operator's name
 * ends. */
#ifndef TTP_NAME_SCAN_H
#define TTP_NAME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TTP_NAME_NESTING 256u /* of brackets; deeper names are not understood */

/* A piece of a name. */
struct ttp_name_span {
    const char *at, *end;
};

static inline bool ttp_name_starts(const char *at, const char *end, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(end - at) >= size && memcmp(at, text, size) == 0;
}

/* Letters, digits and what compilers put into words besides; bytes of UTF-8. */
static inline bool ttp_name_is_word(char c)
{
    unsigned char byte = (unsigned char)c;
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_' || byte == '$' || byte >= 0x80;
}

/* Behind "operator": where its sign ends; NULL: a conversion, or no operator at all. */
const char *ttp_name_skip_sign(const char *at, const char *end);
/* At "operator", in a name that begins at `begin`: the same; NULL also where it is no word. */
const char *ttp_name_skip_operator(const char *begin, const char *at, const char *end);
/* At an opening bracket: behind the one that closes it; NULL: there is none. A '<' or '>' that is
 * no bracket stands in round ones. */
const char *ttp_name_skip_group(const char *at, const char *end);
/* What may follow a function's parameters: const, volatile, & ... */
const char *ttp_name_skip_qualifiers(const char *at, const char *end);
/* Up to the comma that ends an argument, or `end`. */
const char *ttp_name_skip_argument(const char *at, const char *end);

#endif
