/* What the kernel says of this process in /proc/self/status, by no other system calls than those
 * that loaded the program: a filter that it is started under may end it for others. */
#include <fcntl.h>
#include <sys/syscall.h>

#include "recorder/runtime/slow.h"

#define STATUS_BYTES 2048

/* The number behind `name` at the start of a line. */
static bool find_number(const char *text, const char *name, uint32_t *number)
{
    for (const char *line = text; *line != '\0';) {
        const char *at = line, *wanted = name;
        while (*wanted != '\0' && *at == *wanted) {
            at++;
            wanted++;
        }
        if (*wanted == '\0') {
            while (*at == ' ' || *at == '\t')
                at++;
            for (*number = 0; *at >= '0' && *at <= '9'; at++)
                *number = *number * 10 + (uint32_t)(*at - '0');
            return true;
        }
        while (*line != '\0' && *line++ != '\n') {
        }
    }
    return false;
}

bool ttp_status_read(struct ttp_status *status)
{
    char text[STATUS_BYTES];
    long fd =
        ttp_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    *status = (struct ttp_status){0};
    if (ttp_failed(fd))
        return false;
    long size = ttp_syscall(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    text[size > 0 ? size : 0] = '\0';
    find_number(text, "Pid:", &status->process_id);
    find_number(text, "PPid:", &status->parent_id);
    find_number(text, "Threads:", &status->threads);
    if (!find_number(text, "Seccomp_filters:", &status->filters)) /* Linux before 5.9 */
        find_number(text, "Seccomp:", &status->filters);
    return status->process_id != 0;
}
