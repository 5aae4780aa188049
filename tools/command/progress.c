/* One line on standard error, rewritten at most five times a second. */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/command/progress.h"

#define FIRST_NS  1000000000u
#define PERIOD_NS 200000000u

static struct {
    const char *what;
    uint64_t start_ns, next_ns;
    bool active, shown;
} progress;

uint64_t tool_now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tool_now_ms(void) { return tool_now_ns() / 1000000u; }

void tool_progress_start(const char *what)
{
    progress.what = what;
    progress.active = isatty(STDERR_FILENO) == 1;
    progress.shown = false;
    if (progress.active) {
        progress.start_ns = tool_now_ns();
        progress.next_ns = progress.start_ns + FIRST_NS;
    }
}

void tool_progress_update(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count)
{
    if (!progress.active)
        return;
    uint64_t now = tool_now_ns();
    if (now < progress.next_ns)
        return;
    progress.next_ns = now + PERIOD_NS;
    progress.shown = true;
    double seconds = (double)(now - progress.start_ns) / 1e9;
    fprintf(stderr, "\r\033[K%s: ", progress.what);
    if (total_bytes > 0) {
        double share = (double)done_bytes / (double)total_bytes;
        fprintf(stderr, "%.0f %%, ", share * 100);
    }
    fprintf(stderr, "%.1f MB/s", (double)done_bytes / seconds / 1e6);
    if (event_count > 0)
        fprintf(stderr, ", %.1f M events/s", (double)event_count / seconds / 1e6);
    if (total_bytes > 0 && done_bytes > 0 && done_bytes <= total_bytes) {
        double left = (double)(total_bytes - done_bytes) * seconds / (double)done_bytes;
        fprintf(stderr, ", %.0f s left", left);
    }
    fflush(stderr);
}

void tool_progress_clear(void)
{
    if (progress.shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress.shown = false;
    }
}

void tool_progress_stop(void)
{
    tool_progress_clear();
    progress.active = false;
}
