/* A context value in front of each message for syslog. Include it behind <syslog.h>, and write
 * syslog_context where you wrote syslog. */
#ifndef LOG_SYSLOG_H
#define LOG_SYSLOG_H

#include <syslog.h>

#include <tracetape/context.h>

#define syslog_context(priority, format, ...)                                                      \
    do {                                                                                           \
        ttape_context_value log_where_ = ttape_context();                                          \
        syslog(priority, "[" TTAPE_CONTEXT_FORMAT "] " format,                                     \
               TTAPE_CONTEXT_ARGUMENTS(log_where_), ##__VA_ARGS__);                                \
    } while (0)

#endif
