/* Families of calls of descriptors, in an empty folder. */
#include "families.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>

static char text[4096];
static int file, ends[2];

static void run_read(void)
{
    file = CALL_FD(SYS_openat, AT_FDCWD, "data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CALL(SYS_write, file, "first line\nsecond\tline\0 \033 \377 and more of it, cut", 47);
    CALL(SYS_write, file, "", 0);
    CALL(SYS_write, file, NOWHERE, 10);
    CALL(SYS_write, -1, "x1", 2);
    CALL(SYS_lseek, file, 0, SEEK_SET);
    CALL(SYS_read, file, text, 5);
    CALL(SYS_read, file, text, sizeof text);
    CALL(SYS_read, file, text, sizeof text);
    CALL(SYS_read, -1, text, 1);
}

static void run_pread(void)
{
    CALL(SYS_pwrite64, file, "written", 7, 100);
    CALL(SYS_pread64, file, text, 20, 95);
    CALL(SYS_pread64, file, text, 20, -1);
    CALL(SYS_pread64, file, NULL, 0, 1L << 40);
}

static void run_readv(void)
{
    struct iovec parts[3] = {{"one", 3}, {NULL, 0}, {"two", 3}};
    CALL(SYS_lseek, file, 0, SEEK_SET);
    CALL(SYS_writev, file, parts, 3);
    CALL(SYS_writev, file, parts, 0);
    CALL(SYS_writev, -1, parts, 1);
    CALL(SYS_writev, file, NOWHERE, 2);
    CALL(SYS_lseek, file, 0, SEEK_SET);
    parts[0] = (struct iovec){text, 2};
    parts[1] = (struct iovec){text + 10, 40};
    parts[2] = (struct iovec){text + 100, 400};
    CALL(SYS_readv, file, parts, 3);
    CALL(SYS_readv, -1, parts, 3);
}

static void run_preadv(void)
{
    struct iovec parts[2] = {{"one", 3}, {"and another one", 15}};
    CALL(SYS_pwritev, file, parts, 2, 10, 0);
    CALL(SYS_pwritev2, file, parts, 2, 10, 0, 0x2);
    parts[0] = (struct iovec){text, 2};
    parts[1] = (struct iovec){text + 10, 9};
    CALL(SYS_preadv, file, parts, 2, 10, 0);
    CALL(SYS_preadv2, file, parts, 2, -1, 0, 0x1);
    CALL(SYS_preadv2, -1, parts, 1, 3, 0, 0x8);
}

static void run_lseek(void)
{
    CALL(SYS_lseek, file, 5, SEEK_SET);
    CALL(SYS_lseek, file, -1, SEEK_CUR);
    CALL(SYS_lseek, file, 0, SEEK_END);
    CALL(SYS_lseek, file, 0, SEEK_HOLE);
    CALL(SYS_lseek, file, 0, 99);
}

static void run_dup(void)
{
    CALL(SYS_close, CALL_FD(SYS_dup, file));
    CALL(SYS_dup2, file, 50);
    CALL(SYS_dup3, file, 51, O_CLOEXEC);
    CALL(SYS_dup3, file, 51, O_TRUNC);
    CALL(SYS_dup, -1);
    CALL(SYS_close, 50);
    CALL(SYS_close, 51);
}

static void run_pipe(void)
{
    CALL(SYS_pipe, ends);
    CALL(SYS_close, ends[0]);
    CALL(SYS_close, ends[1]);
    CALL(SYS_pipe2, ends, O_NONBLOCK | O_CLOEXEC);
    CALL(SYS_pipe2, NULL, 0);
    CALL(SYS_pipe2, ends, 0x80000000);
}

static void run_fcntl(void)
{
    CALL(SYS_fcntl, file, F_GETFD);
    CALL(SYS_fcntl, file, F_SETFD, FD_CLOEXEC);
    CALL(SYS_fcntl, file, F_GETFD);
    CALL(SYS_fcntl, file, F_GETFL);
    CALL(SYS_fcntl, file, F_SETFL, O_RDWR | O_APPEND | O_NONBLOCK);
    CALL(SYS_fcntl, file, F_SETFL, O_RDWR);
    CALL(SYS_fcntl, ends[0], F_GETPIPE_SZ);
    CALL(SYS_fcntl, ends[0], F_SETPIPE_SZ, 65536);
    CALL(SYS_fcntl, ends[0], F_SETSIG, SIGIO);
    CALL(SYS_fcntl, ends[0], F_GETSIG);
    CALL(SYS_fcntl, ends[0], F_GETOWN);
    CALL(SYS_fcntl, -1, F_DUPFD_CLOEXEC, 10);
    CALL(SYS_fcntl, file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE);
    CALL(SYS_fcntl, file, F_GETLEASE);
    CALL(SYS_fcntl, file, F_SETLEASE, F_UNLCK);
    CALL(SYS_fcntl, -1, F_NOTIFY, DN_ACCESS | DN_MULTISHOT);
    CALL(SYS_fcntl, file, 0x999, 1);
}

static void run_locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 10};
    CALL(SYS_fcntl, file, F_SETLK, &lock);
    lock.l_type = F_RDLCK;
    CALL(SYS_fcntl, file, F_GETLK, &lock);
    CALL(SYS_fcntl, file, F_OFD_SETLK, &lock);
    lock.l_type = F_UNLCK;
    CALL(SYS_fcntl, file, F_SETLKW, &lock);
    CALL(SYS_fcntl, -1, F_SETLK, &lock);
    CALL(SYS_fcntl, file, F_SETLK, NULL);
    struct f_owner_ex owner = {F_OWNER_TID, 0};
    CALL(SYS_fcntl, ends[0], F_SETOWN_EX, &owner);
    CALL(SYS_fcntl, ends[0], F_GETOWN_EX, &owner);
}

static void run_flock(void)
{
    CALL(SYS_flock, file, LOCK_EX | LOCK_NB);
    CALL(SYS_flock, file, LOCK_SH);
    CALL(SYS_flock, file, LOCK_UN);
    CALL(SYS_flock, -1, 0x99);
}

static void run_fsync(void)
{
    CALL(SYS_fsync, file);
    CALL(SYS_fdatasync, file);
    CALL(SYS_syncfs, -1);
    CALL(SYS_sync_file_range, file, 0L, 4096L, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
    CALL(SYS_sync_file_range, -1, 7L, 1L << 40, 0);
}

static void run_fallocate(void)
{
    CALL(SYS_fallocate, file, 0, 0L, 4096L);
    CALL(SYS_fallocate, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 10L, 100L);
    CALL(SYS_fallocate, -1, 0x1000, -1L, 1L);
}

static void run_fadvise(void)
{
    CALL(SYS_fadvise64, file, 0L, 100L, POSIX_FADV_DONTNEED);
    CALL(SYS_fadvise64, -1, 5L, 0L, 77);
    CALL(SYS_readahead, file, 0L, 100L);
}

static void run_sendfile(void)
{
    off_t at = 2;
    CALL(SYS_sendfile, ends[1], file, &at, 10L);
    CALL(SYS_sendfile, ends[1], file, NULL, 0L);
    CALL(SYS_sendfile, -1, file, &at, 5L);
    CALL(SYS_read, ends[0], text, 100L);
}

static void run_splice(void)
{
    off_t at = 0;
    struct iovec part = {"gift", 4};
    CALL(SYS_splice, file, &at, ends[1], NULL, 5L, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    CALL(SYS_splice, -1, NULL, ends[1], &at, 5L, 0);
    CALL(SYS_tee, ends[0], -1, 10L, SPLICE_F_NONBLOCK | SPLICE_F_MORE);
    CALL(SYS_vmsplice, ends[1], &part, 1L, SPLICE_F_GIFT | SPLICE_F_NONBLOCK);
    CALL(SYS_read, ends[0], text, 100L);
}

static void run_copy_range(void)
{
    off_t from = 0, to = 1000;
    CALL(SYS_copy_file_range, file, &from, file, &to, 5L, 0);
    CALL(SYS_copy_file_range, file, NULL, -1, NULL, 5L, 0);
}

static void run_poll(void)
{
    struct pollfd fds[3] = {{ends[0], POLLIN | POLLPRI, 0}, {ends[1], POLLOUT, 0}, {-1, 0, 0}};
    struct timespec wait = {0, 1000000};
    CALL(SYS_poll, fds, 3L, 0);
    CALL(SYS_poll, fds, 1L, 1);
    CALL(SYS_poll, NULL, 0L, 0);
    CALL(SYS_poll, NOWHERE, 1L, -1);
    fds[2] = (struct pollfd){file, POLLIN | POLLOUT | POLLRDHUP, 0};
    CALL(SYS_ppoll, fds, 3L, &wait, NULL, 8L);
    CALL(SYS_ppoll, fds, 1L, &wait, &(sigset_t){0}, 8L);
    fds[0] = (struct pollfd){99, POLLIN, 0};
    CALL(SYS_poll, fds, 1L, 100);
}

static void run_select(void)
{
    fd_set in, out;
    struct timeval wait = {0, 1000};
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    FD_SET(ends[1], &out);
    CALL(SYS_select, ends[1] + 1, &in, &out, NULL, &wait);
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    wait = (struct timeval){0, 0};
    CALL(SYS_select, ends[1] + 1, &in, NULL, NULL, &wait);
    CALL(SYS_select, 0, NULL, NULL, NULL, &wait);
    CALL(SYS_select, -1, NULL, &out, NULL, NULL);
}

static void run_pselect(void)
{
    fd_set in, out;
    struct timespec wait = {0, 1000};
    uint64_t mask = 1 << (SIGUSR1 - 1) | 1 << (SIGCHLD - 1);
    struct {
        const void *mask;
        size_t size;
    } with = {&mask, 8};
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    FD_SET(ends[1], &out);
    CALL(SYS_pselect6, ends[1] + 1, &in, &out, NULL, NULL, &with);
    FD_SET(ends[0], &in);
    CALL(SYS_pselect6, ends[1] + 1, &in, NULL, NULL, &wait, NULL);
}

static void run_epoll(void)
{
    struct epoll_event event = {EPOLLIN | EPOLLET, {.u64 = 0x123456789abc}}, events[4];
    int fd = CALL_FD(SYS_epoll_create1, EPOLL_CLOEXEC);
    CALL(SYS_close, CALL_FD(SYS_epoll_create, 5));
    CALL(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, ends[0], &event);
    event = (struct epoll_event){EPOLLOUT | EPOLLRDHUP, {.u32 = 7}};
    CALL(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, ends[1], &event);
    CALL(SYS_epoll_ctl, fd, EPOLL_CTL_MOD, ends[1], &event);
    CALL(SYS_epoll_wait, fd, events, 4, 0);
    CALL(SYS_epoll_ctl, fd, EPOLL_CTL_DEL, ends[1], NULL);
    CALL(SYS_epoll_wait, fd, events, 4, 0);
    CALL(SYS_epoll_wait, -1, events, 4, -1);
    CALL(SYS_close, fd);
}

static void run_epoll_pwait(void)
{
    struct epoll_event event = {EPOLLOUT, {.u32 = 7}}, events[4];
    struct timespec wait = {0, 5};
    uint64_t mask = 1 << (SIGUSR2 - 1);
    int fd = CALL_FD(SYS_epoll_create1, 0);
    CALL(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, ends[1], &event);
    CALL(SYS_epoll_pwait, fd, events, 4, 10, &mask, 8L);
    CALL(SYS_epoll_pwait, fd, events, 4, 10, NULL, 8L);
    CALL(SYS_epoll_pwait2, fd, events, 4, &wait, NULL, 8L);
    CALL(SYS_close, fd);
}

static void run_eventfd(void)
{
    uint64_t one = 1;
    int fd = CALL_FD(SYS_eventfd2, 3, EFD_NONBLOCK | EFD_SEMAPHORE);
    CALL(SYS_write, fd, &one, 8L);
    CALL(SYS_read, fd, &one, 8L);
    CALL(SYS_close, fd);
    CALL(SYS_close, CALL_FD(SYS_eventfd, 0));
    CALL(SYS_eventfd2, 0, 0x6);
}

static void run_signalfd(void)
{
    uint64_t mask = 1 << (SIGUSR2 - 1) | 1 << (SIGINT - 1);
    CALL(SYS_close, CALL_FD(SYS_signalfd4, -1, &mask, 8L, SFD_NONBLOCK | SFD_CLOEXEC));
    CALL(SYS_close, CALL_FD(SYS_signalfd, -1, &mask, 8L));
    CALL(SYS_signalfd4, 7, NULL, 8L, 0);
}

static void run_timerfd(void)
{
    struct itimerspec spec = {{1, 500}, {1000, 0}}, old;
    int fd = CALL_FD(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    CALL(SYS_timerfd_settime, fd, 0, &spec, NULL);
    spec.it_value.tv_sec = 2000000000;
    CALL(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &spec, NULL);
    CALL(SYS_timerfd_settime, fd, 0, &(struct itimerspec){0}, NULL);
    CALL(SYS_timerfd_gettime, fd, &old);
    CALL(SYS_timerfd_settime, -1, 0, &spec, &old);
    CALL(SYS_timerfd_gettime, -1, &old);
    CALL(SYS_timerfd_create, 99, 0);
    CALL(SYS_close, fd);
}

static void run_memfd(void)
{
    int fd = CALL_FD(SYS_memfd_create, "name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CALL(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
    CALL(SYS_fcntl, fd, F_GET_SEALS);
    CALL(SYS_close, fd);
    CALL(SYS_memfd_create, "other", 0x80000000);
    CALL(SYS_memfd_create, NULL, 0);
}

static void run_getdents(void)
{
    int fd = CALL_FD(SYS_openat, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
    CALL(SYS_getdents64, fd, text, sizeof text);
    CALL(SYS_getdents64, fd, text, sizeof text);
    CALL(SYS_lseek, fd, 0L, SEEK_SET);
    CALL(SYS_getdents, fd, text, 4096);
    CALL(SYS_getdents, fd, text, 4096);
    CALL(SYS_getdents64, -1, text, 9L);
    CALL(SYS_close, fd);
}

static void run_ioctl(void)
{
    int number = 0;
    struct winsize size;
    struct termios about;
    CALL(SYS_ioctl, ends[0], FIONREAD, &number);
    number = 1;
    CALL(SYS_ioctl, ends[0], FIONBIO, &number);
    CALL(SYS_ioctl, file, TCGETS, &about);
    CALL(SYS_ioctl, file, TIOCGWINSZ, &size);
    CALL(SYS_ioctl, file, FIOCLEX);
    CALL(SYS_ioctl, file, FIONCLEX);
    CALL(SYS_ioctl, file, _IOWR('z', 5, long), 7);
    CALL(SYS_ioctl, -1, _IO('z', 6), NULL);
}

static void run_terminal(void)
{
    struct winsize size = {24, 80, 0, 0};
    struct termios about;
    int number = 0, fd = CALL_FD(SYS_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY);
    CALL(SYS_ioctl, fd, TIOCSPTLCK, &number);
    CALL(SYS_ioctl, fd, TCGETS, &about);
    memset(&about, 0, sizeof about);
    CALL(SYS_ioctl, fd, TCGETS, &about);
    CALL(SYS_ioctl, fd, TCSETS, &about);
    CALL(SYS_ioctl, fd, TIOCSWINSZ, &size);
    CALL(SYS_ioctl, fd, TIOCGWINSZ, &size);
    CALL(SYS_ioctl, fd, TIOCGPGRP, &number);
    CALL(SYS_ioctl, fd, TCFLSH, TCIFLUSH);
    CALL(SYS_close, fd);
}

static void run_close_range(void)
{
    CALL(SYS_close_range, 100, 200, 0);
    CALL(SYS_close_range, 100, ~0u, 4);
    CALL(SYS_close_range, 1000, 3, 2);
    CALL(SYS_close, 999);
}

static void run_aio(void)
{
    aio_context_t context = 0;
    CALL(SYS_io_setup, 2, &context);
    CALL(SYS_io_setup, 0, NULL);
    CALL(SYS_io_getevents, context, 0L, 1L, NULL, NULL);
    CALL(SYS_io_destroy, context);
    CALL(SYS_io_destroy, 0L);
}

static void run_io_uring(void)
{
    CALL(SYS_io_uring_setup, 0, NULL);
    CALL(SYS_io_uring_enter, -1, 1, 1, 1, NULL, 8L);
    CALL(SYS_io_uring_register, -1, 1, NULL, 0);
    CALL(SYS_userfaultfd, 0x123);
}

static void run_pidfd(void)
{
    int fd = CALL_FD(SYS_pidfd_open, getpid(), 0);
    CALL(SYS_pidfd_send_signal, fd, 0, NULL, 0);
    CALL(SYS_pidfd_getfd, fd, file, 1);
    CALL(SYS_pidfd_open, 0, O_NONBLOCK);
    CALL(SYS_close, fd);
}

static const struct family families[] = {
    {"read", run_read},
    {"pread", run_pread},
    {"readv", run_readv},
    {"preadv", run_preadv},
    {"lseek", run_lseek},
    {"dup", run_dup},
    {"pipe", run_pipe},
    {"fcntl", run_fcntl},
    {"locks", run_locks},
    {"flock", run_flock},
    {"fsync", run_fsync},
    {"fallocate", run_fallocate},
    {"fadvise", run_fadvise},
    {"sendfile", run_sendfile},
    {"splice", run_splice},
    {"copy_range", run_copy_range},
    {"poll", run_poll},
    {"select", run_select},
    {"pselect", run_pselect},
    {"epoll", run_epoll},
    {"epoll_pwait", run_epoll_pwait},
    {"eventfd", run_eventfd},
    {"signalfd", run_signalfd},
    {"timerfd", run_timerfd},
    {"memfd", run_memfd},
    {"getdents", run_getdents},
    {"ioctl", run_ioctl},
    {"terminal", run_terminal},
    {"close_range", run_close_range},
    {"aio", run_aio},
    {"io_uring", run_io_uring},
    {"pidfd", run_pidfd},
};

int main(int argc, char **argv) { return RUN(families); }
