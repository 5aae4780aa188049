#!/usr/bin/env python3
"""The headers of examples/logs, each with the logger that it is for: each line has a context value,
which decodes to the function that logged. A logger that is not installed is named, and skipped."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["TTAPE_SRC"], os.environ["TTAPE_BUILD"]
VALUE = re.compile(r"([0-9a-f]{16}/\d+)")
QUIET = "__attribute__((no_instrument_function, unused))"

PRINTF = """
#include "log_printf.h"
static int serve(const char *name) { LOG("no route to %s", name); LOG("plain"); return 1; }
int main(void) { return serve("mars") == 0; }
"""
SYSLOG = """
#include <syslog.h>
#include "log_syslog.h"
static int serve(const char *name)
{
    syslog_context(LOG_INFO, "no route to %s", name);
    syslog_context(LOG_INFO, "plain");
    return 1;
}
int main(void) { openlog("serve", LOG_PERROR, LOG_USER); return serve("mars") == 0; }
"""
GLIB = """
#define G_LOG_DOMAIN "serve"
#include "log_glib.h"
static int serve(const char *name) { g_message("no route to %s", name); return 1; }
int main(void) { g_log_set_writer_func(log_glib_writer, NULL, NULL); return serve("mars") == 0; }
"""
JOURNAL = """
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <stdarg.h>
#include <stdio.h>
#include "log_journal.h"
QUIET int sd_journal_send(const char *format, ...)
{
    va_list fields;
    va_start(fields, format);
    vprintf(format, fields);
    puts("");
    va_end(fields);
    return 0;
}
static int serve(const char *name)
{
    journal_context("MESSAGE=no route to %s", name, NULL);
    return 1;
}
int main(void) { return serve("mars") == 0; }
""".replace("QUIET", QUIET)
SPDLOG = """
#include "log_spdlog.hpp"
static int serve(const char *name)
{
    spdlog::info("no route to {}", name);
    LOG_SPDLOG_CONTEXT(spdlog::default_logger(), spdlog::level::info, "plain {}", name);
    return 1;
}
int main() { spdlog::set_formatter(log_spdlog_formatter("[%*] %v")); return serve("mars") == 0; }
"""
GLOG = """
#include "log_glog.hpp"
static int serve(const char *name)
{
    LOG(WARNING) << log_glog_context() << "no route to " << name;
    return 1;
}
int main(int, char **words)
{
    FLAGS_logtostderr = true;
    google::InitGoogleLogging(words[0]);
    return serve("mars") == 0;
}
"""
LOG4CPLUS = """
#include <log4cplus/consoleappender.h>
#include <log4cplus/initializer.h>
#include <log4cplus/logger.h>
#include <log4cplus/loggingmacros.h>
#include "log_log4cplus.hpp"
static int serve(log4cplus::Logger &logger)
{
    LOG4CPLUS_ERROR(logger, "no route");
    return 1;
}
int main()
{
    log4cplus::Initializer initializer;
    log4cplus::SharedAppenderPtr appender(new log4cplus::ConsoleAppender);
    appender->setLayout(std::unique_ptr<log4cplus::Layout>(new log_log4cplus_layout("%m%n")));
    log4cplus::Logger logger = log4cplus::Logger::getInstance("serve");
    logger.addAppender(appender);
    return serve(logger) == 0;
}
"""
LOCK = """
#include <stdio.h>
#include "lock_context.h"
static lock_context lock = LOCK_CONTEXT_INITIALIZER;
static int serve(void) { return lock_context_take(&lock) | lock_context_release(&lock); }
int main(void)
{
    int result = serve();
    printf(TTAPE_CONTEXT_FORMAT "\\n", TTAPE_CONTEXT_ARGUMENTS(lock.taken));
    printf(TTAPE_CONTEXT_FORMAT "\\n", TTAPE_CONTEXT_ARGUMENTS(lock.released));
    return result;
}
"""
# Name, package, language, program, lines with a value.
LOGGERS = (("printf", "", "c", PRINTF, 2), ("lock", "", "c", LOCK, 2),
           ("syslog", "", "c", SYSLOG, 2),
           ("GLib", "glib-2.0", "c", GLIB, 1), ("sd-journal", "libsystemd", "c", JOURNAL, 1),
           ("spdlog", "spdlog", "c++", SPDLOG, 3), ("glog", "libglog", "c++", GLOG, 1),
           ("log4cplus", "log4cplus", "c++", LOG4CPLUS, 1))


def package_flags(package):
    """Of pkg-config; None where there is none."""
    if not package:
        return []
    done = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True,
                          text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else None


def build(work, language, text, more):
    source = os.path.join(work, "program.c" if language == "c" else "program.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    compiler, standard = ("gcc", "-std=gnu11") if language == "c" else ("g++", "-std=c++17")
    subprocess.run([compiler, standard, "-O1", "-Wall", "-pthread", "-finstrument-functions",
                    "-finstrument-functions-exclude-file-list=/usr/include,/usr/lib,examples/logs",
                    f"-I{SOURCE}/libtrace/include", f"-I{SOURCE}/examples/logs", "-o",
                    os.path.join(work, "program"), source, *more, f"-L{BUILD}",
                    "-ltracetape-context", f"-Wl,-rpath,{BUILD}"], check=True)
    return os.path.join(work, "program")


def check(work, name, program, count):
    dictionary = os.path.join(work, f"{name}.ctx")
    done = subprocess.run([program], env=dict(os.environ, TRACETAPE_CONTEXT=dictionary,
                                              LC_ALL="C", G_MESSAGES_DEBUG="all"),
                          capture_output=True, text=True, check=False, timeout=60)
    values = VALUE.findall(done.stdout + done.stderr)
    answer = subprocess.run([os.environ["TTAPE_BIN"], "context", "--dictionary", dictionary,
                             *(values or ["0/0"])], capture_output=True, text=True, check=False,
                            timeout=60)
    stacks = re.findall(r": certain\n  dictionary\n((?:    .+\n)+)", answer.stdout)
    right = [re.match(r"    main(\(.*\))?\n    serve\b", stack) for stack in stacks]
    if done.returncode or len(values) != count or not right or not all(right):
        return f"{name}: {done}, {answer}"
    return None


def check_example(work):
    """examples/postbox: its log, annotated, has the calls of expected.txt in place of values."""
    source = os.path.join(SOURCE, "examples", "postbox")
    with open(os.path.join(source, "postbox.c"), encoding="utf-8") as file:
        program = build(work, "c", file.read().replace("../logs/", ""), [])
    words = os.path.join(work, "postbox.ctx")
    done = subprocess.run([program], env=dict(os.environ, TRACETAPE_CONTEXT=words), check=True,
                          capture_output=True, text=True, timeout=60)
    told = subprocess.run([os.environ["TTAPE_BIN"], "context", "--dictionary", words, "--annotate",
                           "-"], input=done.stdout, capture_output=True, text=True, check=False,
                          timeout=60)
    with open(os.path.join(source, "expected.txt"), encoding="utf-8") as file:
        wanted = file.read()
    found = re.sub(r"\[[0-9a-f]{16}/\d+ (\{.*?\})\]", r"\1", told.stdout)
    return [] if found == wanted else [f"postbox: {told}"]


def main():
    if os.environ.get("TTAPE_SANITIZE") or \
            not os.path.exists(os.path.join(BUILD, "libtracetape-context.so")):
        print("SKIPPED: no shared library that a program of its own could be linked with")
        return 77
    problems, missing = [], []
    with tempfile.TemporaryDirectory() as work:
        for name, package, language, text, count in LOGGERS:
            more = package_flags(package)
            if more is None:
                missing.append(name)
                continue
            problem = check(work, name, build(work, language, text, more), count)
            problems += [problem] if problem else []
        problems += check_example(work)
    for problem in problems:
        print(problem)
    if missing:
        print(f"NOT TESTED, as they are not installed: {', '.join(missing)}")
    print(f"log headers: {'FAILED' if problems else 'ok'}, "
          f"{len(LOGGERS) - len(missing)} of {len(LOGGERS)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
