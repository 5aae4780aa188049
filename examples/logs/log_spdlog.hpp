// A context value where an spdlog pattern says %*:
//
//     spdlog::set_formatter(log_spdlog_formatter("[%*] %v"));
//
// For loggers that format where they are called. An asynchronous one formats in a thread of its own:
// put the value into the message there, by LOG_SPDLOG_CONTEXT("no route to {}", name).
#ifndef LOG_SPDLOG_HPP
#define LOG_SPDLOG_HPP

#include <memory>
#include <string>

#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include <tracetape/context.h>

class log_spdlog_flag : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg &, const std::tm &,
                spdlog::memory_buf_t &line) override
    {
        char text[TTAPE_CONTEXT_TEXT_BYTES];
        size_t size = ttape_context_text(text, sizeof text);
        line.append(text, text + size);
    }

    std::unique_ptr<custom_flag_formatter> clone() const override
    {
        return spdlog::details::make_unique<log_spdlog_flag>();
    }
};

inline std::unique_ptr<spdlog::formatter> log_spdlog_formatter(std::string pattern)
{
    auto formatter = spdlog::details::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<log_spdlog_flag>('*').set_pattern(std::move(pattern));
    return formatter;
}

inline std::string log_spdlog_context()
{
    char text[TTAPE_CONTEXT_TEXT_BYTES];
    return std::string(text, ttape_context_text(text, sizeof text));
}

#define LOG_SPDLOG_CONTEXT(logger, level, format, ...)                                             \
    (logger)->log(level, "[{}] " format, log_spdlog_context(), ##__VA_ARGS__)

#endif
