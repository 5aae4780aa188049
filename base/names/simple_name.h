/* Names of functions as people say them: without return types, parameters and template arguments,
 * with std::string for what it is short for. C++ and Rust, as demanglers write them; what is not
 * understood stays as it is.
 *
 *   void app::fill<int>(std::vector<int, std::allocator<int> >&, int)      app::fill
 *   std::__cxx11::basic_string<char, ...>::append(char const*)             std::string::append
 */
#ifndef TTP_SIMPLE_NAME_H
#define TTP_SIMPLE_NAME_H

#include <stddef.h>

/* How much of a name is shown; more of it where less is not enough to tell functions apart. */
enum ttp_name_detail {
    TTP_NAME_SHORT,      /* std::vector<...>::at */
    TTP_NAME_ARGUMENTS,  /* std::vector<std::pair<...>>::at */
    TTP_NAME_PARAMETERS, /* std::vector<...>::at(unsigned long) const */
    TTP_NAME_BOTH,       /* std::vector<std::pair<int, int>>::at(unsigned long) const */
    TTP_NAME_ALL,        /* all arguments of arguments; defaults are left out nevertheless */
    TTP_NAME_DETAILS
};

/* Room for what a name becomes: "<...>" is one character in brackets, of three bytes. */
#define TTP_SIMPLE_NAME_BYTES(size_bytes) ((size_bytes)*2u + 1u)
#define TTP_SIMPLE_NAME_MAX               65536u /* longer names stay as they are */

/* Puts the name into `out`, with a zero behind it; returns its size. */
size_t ttp_simple_name(char *out, const char *name, size_t size_bytes, enum ttp_name_detail detail);

#endif
