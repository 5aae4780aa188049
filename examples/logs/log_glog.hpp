// A context value in a line of glog:
//
//     LOG(INFO) << log_glog_context() << "no route";
#ifndef LOG_GLOG_HPP
#define LOG_GLOG_HPP

#include <ostream>

#include <glog/logging.h>

#include <tracetape/context.h>

struct log_glog_context {
    char text[TTAPE_CONTEXT_TEXT_BYTES];
    __attribute__((no_instrument_function)) log_glog_context()
    {
        if (ttape_context_text(text, sizeof text) == 0)
            text[0] = '\0';
    }
};

__attribute__((no_instrument_function)) inline std::ostream &
operator<<(std::ostream &to, const log_glog_context &where)
{
    return to << '[' << where.text << "] ";
}

#endif
