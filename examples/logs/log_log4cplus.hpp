// A context value in front of each line of log4cplus:
//
//     appender->setLayout(std::unique_ptr<log4cplus::Layout>(new log_log4cplus_layout("%p %m%n")));
//
// For appenders that write where they are called, not for asynchronous ones.
#ifndef LOG_LOG4CPLUS_HPP
#define LOG_LOG4CPLUS_HPP

#include <log4cplus/layout.h>

#include <tracetape/context.h>

class log_log4cplus_layout : public log4cplus::PatternLayout {
public:
    explicit log_log4cplus_layout(const log4cplus::tstring &pattern)
        : log4cplus::PatternLayout(pattern)
    {
    }

    void formatAndAppend(log4cplus::tostream &to,
                         const log4cplus::spi::InternalLoggingEvent &event) override
    {
        char text[TTAPE_CONTEXT_TEXT_BYTES];
        ttape_context_text(text, sizeof text);
        to << '[' << text << "] ";
        log4cplus::PatternLayout::formatAndAppend(to, event);
    }
};

#endif
