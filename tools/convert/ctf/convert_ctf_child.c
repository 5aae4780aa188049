/* The process that reads CTF with babeltrace2, and what it may do. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/sanitized.h"
#include "tools/command/tool.h"
#include "tools/convert/ctf/convert_ctf.h"

#define CHILD_BYTES (UINT64_C(4) << 30) /* of address space */

static void set_limit(int what, uint64_t most)
{
    const struct rlimit limit = {most, most};
    (void)setrlimit(what, &limit);
}

/* Little is left to a child that runs somebody else's parser on somebody else's bytes. */
static _Noreturn void run_child(char *const *folders, size_t count, int fd)
{
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++)
        (void)dup2(null, i);
    if (fd != 3)
        (void)dup2(fd, 3);
    closefrom(4);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_FSIZE, 0);
    if (!TOOL_SANITIZED)
        set_limit(RLIMIT_AS, CHILD_BYTES);
    _exit(tool_ctf_read(folders, count, 3));
}

int tool_ctf_start(struct tool_ctf_child *child, char *const *folders, size_t count)
{
    int ends[2];
    if (pipe(ends) != 0)
        return tool_fail("cannot make a pipe: %s", strerror(errno));
    child->fd = ends[0];
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        run_child(folders, count, ends[1]);
    }
    close(ends[1]);
    if (child->pid < 0) {
        close(ends[0]);
        return tool_fail("cannot start a process: %s", strerror(errno));
    }
    return TOOL_OK;
}

void tool_ctf_end(struct tool_ctf_child *child)
{
    kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(child->fd);
}
