/* A context value in front of each line that printf writes:
 *
 *     LOG("no route to %s", name);      [f74f5316c51aacca/3] no route to mars
 */
#ifndef LOG_PRINTF_H
#define LOG_PRINTF_H

#include <stdio.h>

#include <tracetape/context.h>

#define LOG(...) LOG_LINE_(__VA_ARGS__, "")
#define LOG_LINE_(format, ...)                                                                     \
    do {                                                                                           \
        ttape_context_value log_where_ = ttape_context();                                          \
        printf("[" TTAPE_CONTEXT_FORMAT "] " format "%s\n", TTAPE_CONTEXT_ARGUMENTS(log_where_),   \
               __VA_ARGS__);                                                                       \
    } while (0)

#endif
