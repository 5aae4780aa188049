// spdlog's asynchronous logger: its own thread writes what others have said.
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

static void __attribute__((noinline)) asks(spdlog::logger &log, int number)
{
    log.info("asked {}", number);
}

int main(int, char **argv)
{
    spdlog::init_thread_pool(1024, 1);
    auto log = spdlog::basic_logger_mt<spdlog::async_factory>("log", argv[1], true);
    log->set_pattern("%v");
    for (int i = 0; i < 20; i++)
        asks(*log, i);
    spdlog::shutdown();
    return 0;
}
