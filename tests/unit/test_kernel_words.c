/* What a system call looks like in words: as strace 6.1 prints these calls; structures that are not
 * recorded are addresses. Numbers are those of x86-64. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/arena/call_contents.h"
#include "tests/asserts.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_words.h"

struct row {
    const char *name;
    uint64_t numbers[6];
    const char *strings[6]; /* NULL: the number */
    int64_t result;
    const char *expected;
};

#define FD_CWD 0xffffffffffffff9cu /* -100 */

static const struct row rows[] = {
    {"read", {3, 0x7ffe10, 832}, {0}, 832, "read(3, 0x7ffe10, 832) = 832"},
    {"write", {1, 0x5000, 5}, {0}, -EPIPE, "write(1, 0x5000, 5) = -1 EPIPE (Broken pipe)"},
    {"open", {0, 02, 0}, {"a"}, 3, "open(\"a\", O_RDWR) = 3"},
    {"close", {3}, {0}, 0, "close(3) = 0"},
    {"stat", {0, 0x7ffe}, {"."}, 0, "stat(\".\", 0x7ffe) = 0"},
    {"fstat", {1, 0x7ffe}, {0}, 0, "fstat(1, 0x7ffe) = 0"},
    {"lstat", {0, 0x7ffe}, {"b"}, 0, "lstat(\"b\", 0x7ffe) = 0"},
    {"poll", {0x7ffe, 2, 0xffffffff}, {0}, 1, "poll(0x7ffe, 2, -1) = 1"},
    {"poll", {0x7ffe, 2, 10}, {0}, 0, "poll(0x7ffe, 2, 10) = 0 (Timeout)"},
    {"lseek", {3, (uint64_t)-5, 2}, {0}, 95, "lseek(3, -5, SEEK_END) = 95"},
    {"mmap",
     {0, 8192, 3, 0x22, 0xffffffff, 0},
     {0},
     0x7f5500001000,
     "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f5500001000"},
    {"mmap",
     {0x7f0000, 4096, 5, 0x812, 3, 0x26000},
     {0},
     0x7f0000,
     "mmap(0x7f0000, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED|MAP_DENYWRITE, 3, 0x26000)"
     " = 0x7f0000"},
    {"mprotect", {0x7f0000, 16384, 0}, {0}, 0, "mprotect(0x7f0000, 16384, PROT_NONE) = 0"},
    {"munmap", {0x7f0000, 134}, {0}, 0, "munmap(0x7f0000, 134) = 0"},
    {"brk", {0}, {0}, 0x555500, "brk(NULL) = 0x555500"},
    {"rt_sigaction", {2, 0x7ffe, 0, 8}, {0}, 0, "rt_sigaction(SIGINT, 0x7ffe, NULL, 8) = 0"},
    {"rt_sigaction", {33, 0x7ffe, 0, 8}, {0}, 0, "rt_sigaction(SIGRT_1, 0x7ffe, NULL, 8) = 0"},
    {"rt_sigprocmask",
     {2, 0x7ffe, 0, 8},
     {0},
     0,
     "rt_sigprocmask(SIG_SETMASK, 0x7ffe, NULL, 8) = 0"},
    {"ioctl",
     {1, 0x5401, 0x7ffe},
     {0},
     -ENOTTY,
     "ioctl(1, TCGETS, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)"},
    {"ioctl", {1, 0x5413, 0x7ffe}, {0}, 0, "ioctl(1, TIOCGWINSZ, 0x7ffe) = 0"},
    {"ioctl",
     {1, 0x80045a01, 0x7ffe},
     {0},
     0,
     "ioctl(1, _IOC(_IOC_READ, 0x5a, 0x1, 0x4), 0x7ffe) = 0"},
    {"pread64", {3, 0x7ffe, 784, 64}, {0}, 784, "pread64(3, 0x7ffe, 784, 64) = 784"},
    {"writev", {1, 0x7ffe, 2}, {0}, 11, "writev(1, 0x7ffe, 2) = 11"},
    {"access",
     {0, 4},
     {"/etc/ld.so.preload"},
     -ENOENT,
     "access(\"/etc/ld.so.preload\", R_OK) = -1 ENOENT (No such file or directory)"},
    {"access", {0, 0}, {"x"}, 0, "access(\"x\", F_OK) = 0"},
    {"pipe2", {0x7ffe, 02004000}, {0}, 0, "pipe2(0x7ffe, O_NONBLOCK|O_CLOEXEC) = 0"},
    {"select",
     {1, 0x7ffe, 0, 0, 0x7fff},
     {0},
     0,
     "select(1, 0x7ffe, NULL, NULL, 0x7fff) = 0 (Timeout)"},
    {"sched_yield", {9, 9}, {0}, 0, "sched_yield() = 0"},
    {"mremap",
     {0x7f0000, 4096, 8192, 1},
     {0},
     0x7f8000,
     "mremap(0x7f0000, 4096, 8192, MREMAP_MAYMOVE) = 0x7f8000"},
    {"msync", {0x7f0000, 4096, 4}, {0}, 0, "msync(0x7f0000, 4096, MS_SYNC) = 0"},
    {"madvise", {0x7f0000, 4096, 4}, {0}, 0, "madvise(0x7f0000, 4096, MADV_DONTNEED) = 0"},
    {"dup2", {3, 1}, {0}, 1, "dup2(3, 1) = 1"},
    {"getpid", {1, 2, 3}, {0}, 77, "getpid() = 77"},
    {"sendfile", {1, 3, 0, 4096}, {0}, 10, "sendfile(1, 3, NULL, 4096) = 10"},
    {"socket",
     {1, 02004001, 0},
     {0},
     3,
     "socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0) = 3"},
    {"socket", {2, 1, 6}, {0}, 3, "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3"},
    {"connect",
     {3, 0x7ffe, 110},
     {0},
     -ECONNREFUSED,
     "connect(3, 0x7ffe, 110) = -1 ECONNREFUSED (Connection refused)"},
    {"sendto",
     {3, 0x7ffe, 5, 0x4000, 0, 0},
     {0},
     5,
     "sendto(3, 0x7ffe, 5, MSG_NOSIGNAL, NULL, 0) = 5"},
    {"recvfrom",
     {3, 0x7ffe, 5, 0x42, 0, 0},
     {0},
     -EAGAIN,
     "recvfrom(3, 0x7ffe, 5, MSG_PEEK|MSG_DONTWAIT, NULL, NULL) = -1 EAGAIN"
     " (Resource temporarily unavailable)"},
    {"shutdown", {3, 1}, {0}, 0, "shutdown(3, SHUT_WR) = 0"},
    {"setsockopt",
     {3, 1, 2, 0x7ffe, 4},
     {0},
     0,
     "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, 0x7ffe, 4) = 0"},
    {"setsockopt",
     {3, 6, 1, 0x7ffe, 4},
     {0},
     0,
     "setsockopt(3, SOL_TCP, TCP_NODELAY, 0x7ffe, 4) = 0"},
    {"clone",
     {0x1200011, 0, 0, 0x7f55, 0},
     {0},
     99,
     "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
     "child_tidptr=0x7f55) = 99"},
    {"execve",
     {0, 0x7ffe, 0x7fff},
     {"/bin/ls"},
     -EACCES,
     "execve(\"/bin/ls\", 0x7ffe, 0x7fff) = -1 EACCES (Permission denied)"},
    {"wait4", {0xffffffff, 0x7ffe, 1, 0}, {0}, 5, "wait4(-1, 0x7ffe, WNOHANG, NULL) = 5"},
    {"wait4", {5, 0, 0, 0}, {0}, 5, "wait4(5, NULL, 0, NULL) = 5"},
    {"kill", {0xfffffffe, 15}, {0}, 0, "kill(-2, SIGTERM) = 0"},
    {"fcntl", {3, 2, 1}, {0}, 0, "fcntl(3, F_SETFD, FD_CLOEXEC) = 0"},
    {"fcntl", {3, 1, 5}, {0}, 1, "fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)"},
    {"fcntl", {3, 1, 5}, {0}, 0, "fcntl(3, F_GETFD) = 0"},
    {"fcntl", {0, 3, 5}, {0}, 0x8002, "fcntl(0, F_GETFL) = 0x8002 (flags O_RDWR|O_LARGEFILE)"},
    {"fcntl", {3, 4, 0x802}, {0}, 0, "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0"},
    {"fcntl", {3, 1030, 10}, {0}, 10, "fcntl(3, F_DUPFD_CLOEXEC, 10) = 10"},
    {"flock",
     {3, 6},
     {0},
     -EWOULDBLOCK,
     "flock(3, LOCK_EX|LOCK_NB) = -1 EAGAIN (Resource temporarily unavailable)"},
    {"ftruncate", {3, 100}, {0}, 0, "ftruncate(3, 100) = 0"},
    {"getdents64", {3, 0x5555, 32768}, {0}, 0, "getdents64(3, 0x5555, 32768) = 0"},
    {"rename", {0, 0}, {"a", "b\n\1\1611"}, 0, "rename(\"a\", \"b\\n\\1q1\") = 0"},
    {"mkdir", {0, 0777}, {"d"}, 0, "mkdir(\"d\", 0777) = 0"},
    {"chmod", {0, 0}, {"\303\251\"1"}, 0, "chmod(\"\\303\\251\\\"1\", 000) = 0"},
    {"umask", {077}, {0}, 022, "umask(077) = 022"},
    {"readlink", {0, 0x7ffe, 4095}, {"l"}, 4, "readlink(\"l\", 0x7ffe, 4095) = 4"},
    {"prctl", {15, 0x7ffe}, {0}, 0, "prctl(PR_SET_NAME, 0x7ffe) = 0"},
    {"arch_prctl", {0x1002, 0x7f55}, {0}, 0, "arch_prctl(ARCH_SET_FS, 0x7f55) = 0"},
    {"futex", {0x7f55, 0x81, 1, 9, 9, 9}, {0}, 1, "futex(0x7f55, FUTEX_WAKE_PRIVATE, 1) = 1"},
    {"futex",
     {0x7f55, 1, 3000000000u, 9, 9, 9},
     {0},
     0,
     "futex(0x7f55, FUTEX_WAKE, 3000000000) = 0"},
    {"futex",
     {0x7f55, 0x80, 2, 0, 9, 9},
     {0},
     -EAGAIN,
     "futex(0x7f55, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN (Resource temporarily unavailable)"},
    {"futex",
     {0x7f55, 0x189, 2, 0, 9, 0xffffffff},
     {0},
     0,
     "futex(0x7f55, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2, NULL, "
     "FUTEX_BITSET_MATCH_ANY) = 0"},
    {"epoll_ctl", {4, 1, 5, 0x7ffe}, {0}, 0, "epoll_ctl(4, EPOLL_CTL_ADD, 5, 0x7ffe) = 0"},
    {"epoll_wait", {4, 0x7ffe, 64, 0xffffffff}, {0}, 0, "epoll_wait(4, [], 64, -1) = 0"},
    {"epoll_create1", {02000000}, {0}, 4, "epoll_create1(EPOLL_CLOEXEC) = 4"},
    {"clock_nanosleep",
     {1, 1, 0x7ffe, 0},
     {0},
     0,
     "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, 0x7ffe, NULL) = 0"},
    {"tgkill", {5, 5, 6}, {0}, 0, "tgkill(5, 5, SIGABRT) = 0"},
    {"openat",
     {FD_CWD, 0, 02000000},
     {NULL, "/etc/passwd"},
     3,
     "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3"},
    {"openat",
     {FD_CWD, 0, 01101, 0644},
     {NULL, "out"},
     3,
     "openat(AT_FDCWD, \"out\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3"},
    {"openat",
     {5, 0, 02204000},
     {NULL, "."},
     3,
     "openat(5, \".\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3"},
    {"newfstatat",
     {1, 0, 0x7ffe, 0x1000},
     {NULL, ""},
     0,
     "newfstatat(1, \"\", 0x7ffe, AT_EMPTY_PATH) = 0"},
    {"unlinkat", {FD_CWD, 0, 0x200}, {NULL, "d"}, 0, "unlinkat(AT_FDCWD, \"d\", AT_REMOVEDIR) = 0"},
    {"faccessat2",
     {FD_CWD, 0, 6, 0x200},
     {NULL, "d"},
     0,
     "faccessat2(AT_FDCWD, \"d\", R_OK|W_OK, AT_EACCESS) = 0"},
    {"utimensat", {FD_CWD, 0, 0, 0}, {NULL, "d"}, 0, "utimensat(AT_FDCWD, \"d\", NULL, 0) = 0"},
    {"renameat2",
     {FD_CWD, 0, FD_CWD, 0, 1},
     {NULL, "a", NULL, "b"},
     0,
     "renameat2(AT_FDCWD, \"a\", AT_FDCWD, \"b\", RENAME_NOREPLACE) = 0"},
    {"dup3", {3, 4, 02000000}, {0}, 4, "dup3(3, 4, O_CLOEXEC) = 4"},
    {"prlimit64", {0, 3, 0, 0x7ffe}, {0}, 0, "prlimit64(0, RLIMIT_STACK, NULL, 0x7ffe) = 0"},
    {"getrandom", {0x7ffe, 8, 1}, {0}, 8, "getrandom(0x7ffe, 8, GRND_NONBLOCK) = 8"},
    {"statx",
     {FD_CWD, 0, 0x900, 0x25e, 0x7ffe},
     {NULL, "f"},
     0,
     "statx(AT_FDCWD, \"f\", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW|AT_NO_AUTOMOUNT, "
     "STATX_MODE|STATX_NLINK|STATX_UID|STATX_GID|STATX_MTIME|STATX_SIZE, 0x7ffe) = 0"},
    {"rseq", {0x7f55, 32, 0, 0x53053053}, {0}, 0, "rseq(0x7f55, 0x20, 0, 0x53053053) = 0"},
    {"set_robust_list", {0x7f55, 24}, {0}, 0, "set_robust_list(0x7f55, 24) = 0"},
    {"close_range", {3, 0xffffffff, 0}, {0}, 0, "close_range(3, 4294967295, 0) = 0"},
    {"fadvise64", {3, 0, 0, 2}, {0}, 0, "fadvise64(3, 0, 0, POSIX_FADV_SEQUENTIAL) = 0"},
    {"accept4",
     {3, 0x7ffe, 0x7fff, 02000000},
     {0},
     4,
     "accept4(3, 0x7ffe, 0x7fff, SOCK_CLOEXEC) = 4"},
    {"getrusage", {0xffffffff, 0x7ffe}, {0}, 0, "getrusage(RUSAGE_CHILDREN, 0x7ffe) = 0"},
    {"open",
     {0, 0x80000000, 0},
     {"a"},
     -4000,
     "open(\"a\", O_RDONLY|0x80000000) = -1 (errno 4000)"},
    {"madvise", {0x7f0000, 1, 99}, {0}, 0, "madvise(0x7f0000, 1, 0x63 /* MADV_??? */) = 0"},
};

static struct tool_output out;

static const char *words_of(const char *name, const struct tool_call_values *call)
{
    out.size_bytes = 0;
    tool_output_text(&out, name);
    tool_kernel_put_arguments(&out, call);
    tool_kernel_put_result(&out, call);
    tool_output_bytes(&out, "", 1);
    return out.data;
}

static ttape_string string_of(const char *text) { return (ttape_string){text, strlen(text)}; }

START_TEST(test_kernel_words_of_calls)
{
    const struct row *row = &rows[_i];
    ttape_value arguments[6],
        result = {.type = TTAPE_VALUE_SIGNED, .number = (uint64_t)row->result};
    for (int i = 0; i < 6; i++) {
        arguments[i] = (ttape_value){.type = TTAPE_VALUE_UNSIGNED, .number = row->numbers[i]};
        if (row->strings[i] != NULL)
            arguments[i] =
                (ttape_value){.type = TTAPE_VALUE_STRING, .bytes = string_of(row->strings[i])};
    }
    const struct tool_call_values call = {.number = tool_kernel_number(row->name),
                                          .arguments = arguments,
                                          .argument_count = 6,
                                          .results = &result,
                                          .result_count = 1};
    const char *words = words_of(row->name, &call);
    ck_assert_msg(strcmp(words, row->expected) == 0, "%s\n%s", words, row->expected);
    for (uint32_t count = 1; count < 6; count++) { /* fewer than there are: no more is read */
        ttape_value *some = malloc(count * sizeof(*some));
        memcpy(some, arguments, count * sizeof(*some));
        struct tool_call_values part = call;
        part.arguments = some;
        part.argument_count = count;
        (void)words_of(row->name, &part);
        free(some);
    }
}
END_TEST

/* Contents of buffers: of a write among its arguments, of a read behind its result. */
START_TEST(test_kernel_words_of_contents)
{
    const ttape_value given[3] = {{.type = TTAPE_VALUE_UNSIGNED, .number = 1},
                                  {.type = TTAPE_VALUE_BYTES, .bytes = {"a\0\377", 3}},
                                  {.type = TTAPE_VALUE_UNSIGNED, .number = 9}};
    const ttape_value got[2] = {{.type = TTAPE_VALUE_SIGNED, .number = 3},
                                {.type = TTAPE_VALUE_BYTES, .bytes = {"xyz", 3}}};
    struct tool_call_values call = {
        .number = tool_kernel_number("write"), .arguments = given, .argument_count = 3};
    ck_assert_str_eq(words_of("write", &call), "write(1, \"a\\0\\377\"..., 9)");
    call = (struct tool_call_values){.number = tool_kernel_number("read"),
                                     .arguments = given,
                                     .argument_count = 3,
                                     .results = got,
                                     .result_count = 2};
    ck_assert_str_eq(words_of("read", &call), "read(1, \"xyz\", 9) = 3");
    ck_assert(tool_kernel_has_descriptor(&call, 1) && !tool_kernel_has_descriptor(&call, 9));
}
END_TEST

START_TEST(test_kernel_words_of_lists)
{
    static const struct {
        ttape_string bytes;
        const char *words;
    } lists[] = {{{"", 0}, "[]"},
                 {{"\0", 1}, "[\"\"]"},
                 {{"ls\0-l\0", 6}, "[\"ls\", \"-l\"]"},
                 {{"ls\0-l", 5}, "[\"ls\", \"-l\"..., ...]"}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        char wanted[128];
        const ttape_value given[3] = {{.type = TTAPE_VALUE_STRING, .bytes = {"/bin/ls", 7}},
                                      {.type = TTAPE_VALUE_BYTES, .bytes = lists[i].bytes},
                                      {.type = TTAPE_VALUE_UNSIGNED, .number = 0}};
        const struct tool_call_values call = {
            .number = tool_kernel_number("execve"), .arguments = given, .argument_count = 3};
        (void)snprintf(wanted, sizeof wanted, "execve(\"/bin/ls\", %s, NULL)", lists[i].words);
        ck_assert_str_eq(words_of("execve", &call), wanted);
    }
}
END_TEST

START_TEST(test_kernel_words_of_paths)
{
    const ttape_value given[2] = {{.type = TTAPE_VALUE_STRING, .bytes = {"/etc/passwd", 11}},
                                  {.type = TTAPE_VALUE_UNSIGNED, .number = 0}};
    const struct tool_call_values call = {
        .number = tool_kernel_number("open"), .arguments = given, .argument_count = 2};
    ck_assert(tool_kernel_has_path(&call, "/etc/passwd") && tool_kernel_has_path(&call, "/etc"));
    ck_assert(!tool_kernel_has_path(&call, "/et") && !tool_kernel_has_path(&call, "passwd"));
    ck_assert(!tool_kernel_has_descriptor(&call, 0)); /* flags, not a descriptor */
}
END_TEST

/* What is read in a traced program is what these letters say. */
START_TEST(test_kernel_contents_are_those_of_letters)
{
    for (uint32_t i = 0; i < TTP_CALL_NUMBERS; i++) {
        const struct tool_kernel_call *known = tool_kernel_call_numbered(i);
        const char *letters = known != NULL && known->arguments != NULL ? known->arguments : "";
        const struct ttp_call_contents none = {0};
        const struct ttp_call_contents *found =
            i < TTP_CALL_CONTENTS ? &ttp_call_contents[i] : &none;
        struct ttp_call_contents expected = {.given_row = found->given_row,
                                             .filled_row = found->filled_row};
        char given[TTP_CALL_PARTS] = {0}, filled[TTP_CALL_PARTS] = {0};
        struct tool_kernel_token token;
        for (uint32_t k = 0; *letters != '\0'; k++) {
            letters = tool_kernel_token(letters, &token);
            if (token.sign == '(' || token.sign == ':')
                given[k] = token.letter;
            if (token.sign == ')' || token.sign == ':')
                filled[k] = token.letter;
            if (token.sign != 0)
                continue;
            if (token.letter == 's' || token.letter == 'S')
                expected.strings |= 1u << k & 0x3fu;
            else if (token.letter == 'b')
                expected.given = (k + 1) & 7u;
            else if (token.letter == '<' || token.letter == '>')
                expected.filled = (k + 1) & 7u;
            else if (token.letter == '|')
                expected.list = (k + 1) & 7u;
        }
        ck_assert_msg(memcmp(given, ttp_call_given[expected.given_row], sizeof(given)) == 0, "%u",
                      i);
        ck_assert_msg(memcmp(filled, ttp_call_filled[expected.filled_row], sizeof(filled)) == 0,
                      "%u", i);
        ck_assert_msg(expected.strings == found->strings && expected.given == found->given &&
                          expected.filled == found->filled && expected.list == found->list,
                      "%u", i);
    }
}
END_TEST

/* Structures: their bytes come from a file. */
START_TEST(test_kernel_words_of_structures)
{
    const unsigned char status[4] = {0, 7, 0, 0};
    const unsigned char wait[16] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    const ttape_value given[4] = {{.type = TTAPE_VALUE_UNSIGNED, .number = 5},
                                  {.type = TTAPE_VALUE_UNSIGNED, .number = 0x7ffe},
                                  {.type = TTAPE_VALUE_UNSIGNED, .number = 0},
                                  {.type = TTAPE_VALUE_UNSIGNED, .number = 0}};
    const ttape_value filled[2] = {
        {.type = TTAPE_VALUE_SIGNED, .number = 5},
        {.type = TTAPE_VALUE_BYTES, .bytes = {(const char *)status, sizeof(status)}}};
    const ttape_value asleep[2] = {
        {.type = TTAPE_VALUE_BYTES, .bytes = {(const char *)wait, sizeof(wait)}},
        {.type = TTAPE_VALUE_UNSIGNED, .number = 0x7ffe}};
    struct tool_call_values call = {.number = tool_kernel_number("wait4"),
                                    .arguments = given,
                                    .argument_count = 4,
                                    .results = filled,
                                    .result_count = 2};
    ck_assert_str_eq(words_of("wait4", &call),
                     "wait4(5, [{WIFEXITED(s) && WEXITSTATUS(s) == 7}], 0, NULL) = 5");
    call = (struct tool_call_values){
        .number = tool_kernel_number("nanosleep"), .arguments = asleep, .argument_count = 2};
    ck_assert_str_eq(words_of("nanosleep", &call), "nanosleep({tv_sec=1, tv_nsec=512}, 0x7ffe)");
}
END_TEST

/* Any bytes, of any length, where a call may have some: nothing is read behind them. */
START_TEST(test_kernel_words_of_any_bytes)
{
    static const size_t sizes[] = {0, 1, 3, 4, 8, 16, 17, 24, 36, 56, 64, 100, 144, 257, 600};
    uint32_t seed = (uint32_t)_i + 1;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        ttape_value values[14];
        char *bytes = malloc(sizes[s] + 1); /* exact: of 0 bytes one, that nobody looks at */
        for (size_t i = 0; i < sizes[s]; i++)
            bytes[i] = (char)((seed = seed * 1103515245u + 12345u) >> 24 & (i % 3 == 0 ? 255 : 3));
        for (uint32_t i = 0; i < 14; i++)
            values[i] = (ttape_value){
                .type = TTAPE_VALUE_BYTES, .number = i % 5, .bytes = {bytes, sizes[s]}};
        values[6] = (ttape_value){.type = TTAPE_VALUE_SIGNED, .number = s % 2 == 0 ? 3 : 0};
        const struct tool_call_values call = {.number = (uint64_t)_i,
                                              .arguments = values,
                                              .argument_count = 6,
                                              .results = values + 6,
                                              .result_count = 8};
        ck_assert_uint_gt(strlen(words_of("call", &call)), 4);
        free(bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_words");
    TCase *all = tcase_create("all");
    tool_output_open(&out, -1);
    tcase_add_loop_test(all, test_kernel_words_of_calls, 0, (int)(sizeof(rows) / sizeof(*rows)));
    tcase_add_test(all, test_kernel_words_of_contents);
    tcase_add_test(all, test_kernel_words_of_lists);
    tcase_add_test(all, test_kernel_words_of_structures);
    tcase_add_loop_test(all, test_kernel_words_of_any_bytes, 0, TTP_CALL_NUMBERS);
    tcase_add_test(all, test_kernel_words_of_paths);
    tcase_add_test(all, test_kernel_contents_are_those_of_letters);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    free(out.data);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
