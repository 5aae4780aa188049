/* Families of calls of files by their paths, in an empty folder. */
#include "families.h"

#include <fcntl.h>
#include <linux/fanotify.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

static struct stat about;
static char text[256];

static int create(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0644);
}

static void run_access(void)
{
    CALL(SYS_access, "absent", F_OK);
    CALL(SYS_access, "/", R_OK | W_OK | X_OK);
    CALL(SYS_access, "/", 8);
    CALL(SYS_access, NOWHERE, R_OK);
}

static void run_faccessat(void)
{
    CALL(SYS_faccessat, AT_FDCWD, "absent", F_OK);
    CALL(SYS_faccessat, -1, "/", X_OK);
    CALL(SYS_faccessat2, AT_FDCWD, "/", R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW);
    CALL(SYS_faccessat2, 7, "x", W_OK, 0);
}

static void run_chdir(void)
{
    CALL(SYS_mkdir, "dir", 0755);
    CALL(SYS_chdir, "dir");
    CALL(SYS_chdir, "..");
    CALL(SYS_fchdir, -1);
    CALL(SYS_rmdir, "dir");
}

static void run_chmod(void)
{
    CALL(SYS_close, create("file"));
    CALL(SYS_chmod, "file", 0600);
    CALL(SYS_chmod, "file", 04755);
    CALL(SYS_chmod, "absent", 0);
}

static void run_fchmod(void)
{
    int fd = create("file");
    CALL(SYS_fchmod, fd, 0644);
    CALL(SYS_fchmod, -1, 01777);
    CALL(SYS_fchmodat, AT_FDCWD, "file", 0600);
    CALL(SYS_close, fd);
}

static void run_chown(void)
{
    int fd = create("file");
    CALL(SYS_chown, "file", -1, -1);
    CALL(SYS_lchown, "absent", 1, 2);
    CALL(SYS_fchown, fd, geteuid(), -1);
    CALL(SYS_fchownat, AT_FDCWD, "file", -1, -1, AT_SYMLINK_NOFOLLOW);
    CALL(SYS_fchownat, fd, "", -1, -1, AT_EMPTY_PATH);
    CALL(SYS_close, fd);
}

static void run_open(void)
{
    CALL(SYS_open, "absent", O_RDONLY);
    CALL(SYS_open, "file", O_RDWR | O_CREAT | O_EXCL, 0600);
    CALL(SYS_close, CALL_FD(SYS_open, "file", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
    CALL(SYS_close, CALL_FD(SYS_creat, "other", 0640));
    CALL(SYS_unlink, "other");
}

static void run_openat(void)
{
    CALL(SYS_close, CALL_FD(SYS_openat, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CALL(SYS_close, CALL_FD(SYS_openat, AT_FDCWD, ".", O_RDWR | O_TMPFILE, 0600));
    CALL(SYS_close, CALL_FD(SYS_openat, AT_FDCWD, "file", O_RDONLY | O_PATH | O_NOFOLLOW));
    CALL(SYS_close, CALL_FD(SYS_openat, AT_FDCWD, "file", O_WRONLY | O_TRUNC | O_SYNC | O_NOCTTY));
    CALL(SYS_openat, AT_FDCWD, "absent", O_RDWR | O_DSYNC | O_NOATIME);
    CALL(SYS_openat, AT_FDCWD, "absent", 0x80000003);
    CALL(SYS_openat, -1, "absent", O_RDONLY);
}

static void run_openat2(void)
{
    struct open_how how = {.flags = O_RDONLY | O_CREAT | O_CLOEXEC, .mode = 0600};
    CALL(SYS_close, CALL_FD(SYS_openat2, AT_FDCWD, "file", &how, sizeof how));
    how = (struct open_how){.flags = O_PATH, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    CALL(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
    CALL(SYS_openat2, AT_FDCWD, "/", NULL, sizeof how);
    CALL(SYS_openat2, AT_FDCWD, "/", &how, 3);
}

static void run_stat(void)
{
    CALL(SYS_stat, "/", &about);
    CALL(SYS_stat, "file", &about);
    CALL(SYS_stat, "absent", &about);
    CALL(SYS_stat, "/dev/null", &about);
    CALL(SYS_stat, "/", NULL);
}

static void run_fstat(void)
{
    int fd = create("file");
    CALL(SYS_fstat, fd, &about);
    CALL(SYS_fstat, 0, NULL);
    CALL(SYS_fstat, -1, &about);
    CALL(SYS_lstat, "/proc/self", &about);
    CALL(SYS_lstat, "/etc/mtab", &about);
    CALL(SYS_close, fd);
}

static void run_newfstatat(void)
{
    CALL(SYS_newfstatat, AT_FDCWD, "/etc", &about, 0);
    CALL(SYS_newfstatat, AT_FDCWD, "/dev/tty", &about, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
    CALL(SYS_newfstatat, 99, "", &about, AT_EMPTY_PATH);
}

static void run_statx(void)
{
    struct statx statx;
    CALL(SYS_statx, AT_FDCWD, "/etc", AT_STATX_SYNC_AS_STAT, STATX_ALL, &statx);
    CALL(SYS_statx, AT_FDCWD, "/etc/passwd", AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW,
         STATX_BASIC_STATS, &statx);
    CALL(SYS_statx, AT_FDCWD, "absent", AT_STATX_FORCE_SYNC, STATX_TYPE | STATX_SIZE, &statx);
    CALL(SYS_statx, AT_FDCWD, "/dev/null", 0, 0, &statx);
}

static void run_statfs(void)
{
    struct statfs fs;
    CALL(SYS_statfs, "/proc", &fs);
    CALL(SYS_statfs, "/sys", &fs);
    CALL(SYS_statfs, "absent", &fs);
    CALL(SYS_fstatfs, -1, &fs);
}

static void run_link(void)
{
    CALL(SYS_link, "file", "second");
    CALL(SYS_link, "absent", "third");
    CALL(SYS_linkat, AT_FDCWD, "file", AT_FDCWD, "third", AT_SYMLINK_FOLLOW);
    CALL(SYS_linkat, -1, "", AT_FDCWD, "fourth", AT_EMPTY_PATH);
}

static void run_symlink(void)
{
    CALL(SYS_symlink, "file", "symbolic");
    CALL(SYS_symlinkat, "target of it", AT_FDCWD, "other");
    CALL(SYS_symlink, "file", "symbolic");
}

static void run_readlink(void)
{
    CALL(SYS_readlink, "symbolic", text, 100);
    CALL(SYS_readlink, "other", text, 3);
    CALL(SYS_readlinkat, AT_FDCWD, "other", text, sizeof text);
    CALL(SYS_readlinkat, AT_FDCWD, "file", text, sizeof text);
    CALL(SYS_readlink, "symbolic", text, 0);
}

static void run_rename(void)
{
    CALL(SYS_rename, "second", "2nd");
    CALL(SYS_renameat, AT_FDCWD, "2nd", AT_FDCWD, "second");
    CALL(SYS_renameat2, AT_FDCWD, "second", AT_FDCWD, "third", RENAME_EXCHANGE);
    CALL(SYS_renameat2, AT_FDCWD, "second", AT_FDCWD, "third", RENAME_NOREPLACE | RENAME_WHITEOUT);
    CALL(SYS_renameat2, AT_FDCWD, "second", -1, "third", 0x80);
}

static void run_mkdir(void)
{
    CALL(SYS_mkdir, "dir", 0700);
    CALL(SYS_mkdirat, AT_FDCWD, "dir/dir", 01755);
    CALL(SYS_rmdir, "dir");
    CALL(SYS_rmdir, "dir/dir");
    CALL(SYS_unlinkat, AT_FDCWD, "dir", AT_REMOVEDIR);
}

static void run_unlink(void)
{
    CALL(SYS_unlink, "second");
    CALL(SYS_unlink, "absent");
    CALL(SYS_unlinkat, AT_FDCWD, "third", 0);
    CALL(SYS_unlinkat, AT_FDCWD, "absent", 0x1234);
}

static void run_mknod(void)
{
    CALL(SYS_mknod, "pipe", S_IFIFO | 0600, 0);
    CALL(SYS_mknod, "plain", 0644, 0x103);
    CALL(SYS_mknodat, AT_FDCWD, "plain", S_IFCHR | 0600, 0x103);
    CALL(SYS_mknodat, AT_FDCWD, "sock", S_IFSOCK | 0666, 0);
    CALL(SYS_mknodat, -1, "block", S_IFBLK | 0666, 0x801);
    CALL(SYS_unlink, "pipe");
    CALL(SYS_unlink, "plain");
}

static void run_truncate(void)
{
    int fd = create("file");
    CALL(SYS_truncate, "file", 100);
    CALL(SYS_ftruncate, fd, 1L << 33);
    CALL(SYS_ftruncate, fd, -5);
    CALL(SYS_truncate, "file", 0);
    CALL(SYS_close, fd);
}

static void run_utime(void)
{
    struct utimbuf both = {.actime = 1000000000, .modtime = 1000000001};
    struct timeval times[2] = {{1000000000, 5}, {1000000001, 999999}};
    CALL(SYS_utime, "file", &both);
    CALL(SYS_utime, "absent", NULL);
    CALL(SYS_utimes, "file", times);
    CALL(SYS_utimes, "absent", NULL);
}

static void run_utimensat(void)
{
    struct timespec times[2] = {{1000000000, 5}, {0, UTIME_OMIT}};
    struct timeval old[2] = {{1, 5}, {2, 999999}};
    CALL(SYS_utimensat, AT_FDCWD, "file", times, 0);
    times[0].tv_nsec = UTIME_NOW;
    CALL(SYS_utimensat, AT_FDCWD, "absent", times, AT_SYMLINK_NOFOLLOW);
    CALL(SYS_utimensat, AT_FDCWD, "absent", NULL, 0);
    CALL(SYS_futimesat, AT_FDCWD, "file", old);
    CALL(SYS_futimesat, AT_FDCWD, "absent", NULL);
}

static void run_setxattr(void)
{
    CALL(SYS_setxattr, "file", "user.one", "value", 5, XATTR_CREATE);
    CALL(SYS_lsetxattr, "absent", "user.one", "value\0and more", 15, XATTR_REPLACE);
    CALL(SYS_fsetxattr, -1, "user.two", "", 0, 0);
}

static void run_getxattr(void)
{
    CALL(SYS_getxattr, "file", "user.one", text, sizeof text);
    CALL(SYS_lgetxattr, "file", "user.absent", text, sizeof text);
    CALL(SYS_fgetxattr, -1, "user.one", text, sizeof text);
    CALL(SYS_getxattr, "file", "user.one", NULL, 0);
    CALL(SYS_listxattr, "absent", text, sizeof text);
    CALL(SYS_llistxattr, "absent", text, sizeof text);
    CALL(SYS_flistxattr, -1, text, sizeof text);
    CALL(SYS_removexattr, "absent", "user.one");
    CALL(SYS_lremovexattr, "absent", "user.one");
    CALL(SYS_fremovexattr, -1, "user.one");
}

static void run_getcwd(void)
{
    CALL(SYS_chdir, "/usr/lib");
    CALL(SYS_getcwd, text, sizeof text);
    CALL(SYS_getcwd, text, 2);
}

static void run_umask(void)
{
    CALL(SYS_umask, 077);
    CALL(SYS_umask, 0);
    CALL(SYS_umask, 022);
}

static void run_chroot(void)
{
    CALL(SYS_chroot, "absent");
    CALL(SYS_pivot_root, "absent", "absent too");
    CALL(SYS_acct, "absent/file");
    CALL(SYS_uselib, "absent");
}

static void run_mount(void)
{
    CALL(SYS_mount, "none", "/absent", "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=1");
    CALL(SYS_mount, "none", "/absent", NULL, MS_BIND | MS_REC, NULL);
    CALL(SYS_mount, NULL, "/absent", NULL, MS_REMOUNT | MS_RELATIME, "x");
    CALL(SYS_umount2, "/absent", MNT_FORCE);
    CALL(SYS_umount2, "/absent", MNT_DETACH | UMOUNT_NOFOLLOW);
}

static void run_swapon(void)
{
    CALL(SYS_swapon, "absent", 0);
    CALL(SYS_swapon, "absent", 0x8005);
    CALL(SYS_swapoff, "absent");
}

static void run_quotactl(void)
{
    CALL(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), "/absent", 0, NULL);
    CALL(SYS_quotactl, QCMD(Q_GETFMT, GRPQUOTA), "/absent", 0, text);
}

static void run_handles(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[16];
    } handle = {.head = {.handle_bytes = 2}};
    int mount = 0;
    CALL(SYS_name_to_handle_at, AT_FDCWD, "/absent", &handle, &mount, AT_SYMLINK_FOLLOW);
    CALL(SYS_open_by_handle_at, -1, &handle, O_RDONLY | O_CLOEXEC);
}

static void run_inotify(void)
{
    int fd = (int)syscall(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC);
    CALL(SYS_inotify_init);
    CALL(SYS_inotify_add_watch, fd, "/usr", IN_ACCESS | IN_MODIFY | IN_ONLYDIR);
    CALL(SYS_inotify_add_watch, fd, "/absent", IN_ALL_EVENTS);
    CALL(SYS_inotify_add_watch, fd, "/usr", IN_CREATE | IN_ONESHOT | IN_MASK_ADD);
    CALL(SYS_inotify_rm_watch, fd, 1);
    CALL(SYS_inotify_init1, 0x5);
    CALL(SYS_close, fd);
}

static void run_fanotify(void)
{
    CALL(SYS_fanotify_init, FAN_CLASS_CONTENT | FAN_CLOEXEC | 0x40000000, O_RDONLY | O_LARGEFILE);
    CALL(SYS_fanotify_mark, -1, FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_OPEN | FAN_CLOSE, AT_FDCWD,
         "/usr");
    CALL(SYS_fanotify_mark, -1, FAN_MARK_FLUSH, 0, 3, NULL);
}

static const struct family families[] = {
    {"access", run_access},     {"faccessat", run_faccessat}, {"chdir", run_chdir},
    {"chmod", run_chmod},       {"fchmod", run_fchmod},       {"chown", run_chown},
    {"open", run_open},         {"openat", run_openat},       {"openat2", run_openat2},
    {"stat", run_stat},         {"fstat", run_fstat},         {"newfstatat", run_newfstatat},
    {"statx", run_statx},       {"statfs", run_statfs},       {"link", run_link},
    {"symlink", run_symlink},   {"readlink", run_readlink},   {"rename", run_rename},
    {"mkdir", run_mkdir},       {"unlink", run_unlink},       {"mknod", run_mknod},
    {"truncate", run_truncate}, {"utime", run_utime},         {"utimensat", run_utimensat},
    {"setxattr", run_setxattr}, {"getxattr", run_getxattr},   {"umask", run_umask},
    {"chroot", run_chroot},     {"mount", run_mount},         {"swapon", run_swapon},
    {"quotactl", run_quotactl}, {"handles", run_handles},     {"inotify", run_inotify},
    {"fanotify", run_fanotify}, {"getcwd", run_getcwd},
};

int main(int argc, char **argv) { return RUN(families); }
