/* New filters and triggers for a recording that is under way: rule_change.h. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tracetape/recording.h>

#include "recorder/state/recording_internal.h"
#include "recorder/state/rule_change.h"
#include "writer/os_status.h"

/* The recording's folder, which is the owner's alone. */
static int open_folder(const ttape_control *control, struct stat *folder, ttape_error *err)
{
    const char *output = ttape_control_output(control);
    char *path = NULL;
    int fd = -1;
    if (output == NULL || asprintf(&path, "%s.recording", output) < 0) {
        (void)ttp_fail_plain(err, TTAPE_E_UNSUPPORTED, "the recording's folder is not known");
        return -1;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, folder) != 0 || (folder->st_mode & 077) != 0 ||
                    (folder->st_uid != geteuid() && geteuid() != 0))) {
        (void)close(fd);
        fd = -1;
        errno = EPERM;
    }
    if (fd < 0)
        (void)ttp_fail_plain(err, ttp_status_of(errno), "opening '%s' failed: %s", path,
                             strerror(errno));
    free(path);
    return fd;
}

/* One change at a time: a second one would take the place of the first, which nobody saw then. The
 * folder's lock goes with its descriptor. A file system without locks does without. */
static ttape_status wait_for_turn(int folder, uint64_t wait_ns, ttape_error *err)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t begin_ms = ttp_now_ms();
    while (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (ttp_now_ms() - begin_ms >= wait_ns / 1000000)
            return ttp_fail_plain(err, TTAPE_E_STATE, "another change has not been answered yet");
        (void)nanosleep(&pause, NULL);
    }
    return TTAPE_OK;
}

static bool put(int fd, char letter, const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text) + 1;
    return text == NULL || (write(fd, &letter, 1) == 1 && write(fd, text, size) == (ssize_t)size);
}

/* Written under another name first: the recorder sees all of it, or nothing. */
static bool write_change(int folder, const struct stat *owner, const char *filter,
                         const char *triggers)
{
    char name[32];
    (void)snprintf(name, sizeof name, TTP_CHANGE_NAME ".%ld", (long)getpid());
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool is_written = put(fd, 'F', filter) && put(fd, 'T', triggers) &&
                      (owner->st_uid == geteuid() || fchown(fd, owner->st_uid, owner->st_gid) == 0);
    is_written = close(fd) == 0 && is_written;
    (void)unlinkat(folder, TTP_REFUSED_NAME, 0);
    if (is_written && renameat(folder, name, folder, TTP_CHANGE_NAME) == 0)
        return true;
    int code = errno;
    (void)unlinkat(folder, name, 0);
    errno = code;
    return false;
}

static ttape_status read_answer(int folder, ttape_error *err)
{
    char text[sizeof err->message] = {0};
    if (unlinkat(folder, TTP_CHANGE_NAME, 0) == 0)
        return ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                              "the recorder takes no filters while it records");
    int fd = openat(folder, TTP_REFUSED_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return TTAPE_OK;
    bool is_read = read(fd, text, sizeof text - 1) > 0;
    (void)close(fd);
    (void)unlinkat(folder, TTP_REFUSED_NAME, 0);
    return ttp_fail_plain(err, TTAPE_E_STATE, "%s", is_read ? text : "the recorder refuses it");
}

ttape_status ttape_control_change(ttape_control *control, const char *filter, const char *triggers,
                                  uint64_t wait_ns, ttape_error *err)
{
    struct stat owner;
    ttape_control_status now;
    if (control == NULL || wait_ns == 0)
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "a change is waited for");
    if ((filter != NULL && strlen(filter) > TTAPE_FILTER_MAX_BYTES) ||
        (triggers != NULL && strlen(triggers) > TTAPE_FILTER_MAX_BYTES))
        return ttp_fail_plain(err, TTAPE_E_LIMIT, "a filter has more than %u bytes",
                              TTAPE_FILTER_MAX_BYTES);
    ttape_control_get_status(control, &now);
    if (now.mode == TTAPE_RECORDING_STOPPED)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recording has stopped for good");
    int folder = open_folder(control, &owner, err);
    if (folder < 0)
        return err != NULL ? err->status : TTAPE_E_IO;
    ttape_status status = wait_for_turn(folder, wait_ns, err);
    if (status == TTAPE_OK && !write_change(folder, &owner, filter, triggers))
        status = ttp_fail_plain(err, ttp_status_of(errno),
                                "writing into the recording's folder failed: %s", strerror(errno));
    if (status == TTAPE_OK) {
        status = ttape_control_send(control, TTAPE_CONTROL_FLUSH, wait_ns, err);
        if (status == TTAPE_OK)
            status = read_answer(folder, err);
        else
            (void)unlinkat(folder, TTP_CHANGE_NAME, 0);
    }
    (void)close(folder);
    return status;
}
