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

int ttp_change_folder(const ttape_control *control, struct stat *folder, ttape_error *err)
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
ttape_status ttp_change_turn(int folder, uint64_t wait_ns, ttape_error *err)
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

/* Written under another name first: the recorder sees all of it, or nothing. */
ttape_status ttp_change_write(int folder, const struct stat *owner,
                              const struct ttp_change_text *text, ttape_error *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, TTP_CHANGE_NAME ".%ld", (long)getpid());
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = fd >= 0 && write(fd, text->bytes, text->size) == (ssize_t)text->size &&
                      (owner->st_uid == geteuid() || fchown(fd, owner->st_uid, owner->st_gid) == 0);
    if (fd >= 0)
        is_written = close(fd) == 0 && is_written;
    if (is_written && renameat(folder, name, folder, text->name) == 0)
        return TTAPE_OK;
    int code = errno;
    (void)unlinkat(folder, name, 0);
    return ttp_fail_plain(err, ttp_status_of(code),
                          "writing into the recording's folder failed: %s", strerror(code));
}

/* The texts are joined as rule_change.h has them; NULL: no memory. */
static char *join_texts(const char *filter, const char *triggers, size_t *size)
{
    char *text = malloc(TTP_CHANGE_BYTES), *end = text;
    if (text != NULL && filter != NULL)
        end = stpcpy(stpcpy(end, "F"), filter) + 1;
    if (text != NULL && triggers != NULL)
        end = stpcpy(stpcpy(end, "T"), triggers) + 1;
    *size = (size_t)(end - text);
    return text;
}

static ttape_status write_change(int folder, const struct stat *owner, const char *filter,
                                 const char *triggers, ttape_error *err)
{
    struct ttp_change_text text = {.name = TTP_CHANGE_NAME};
    char *bytes = join_texts(filter, triggers, &text.size);
    if (bytes == NULL)
        return ttp_fail_memory(err);
    text.bytes = bytes;
    (void)unlinkat(folder, TTP_REFUSED_NAME, 0);
    ttape_status status = ttp_change_write(folder, owner, &text, err);
    free(bytes);
    return status;
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
    int folder = ttp_change_folder(control, &owner, err);
    if (folder < 0)
        return err != NULL ? err->status : TTAPE_E_IO;
    ttape_status status = ttp_change_turn(folder, wait_ns, err);
    if (status == TTAPE_OK)
        status = write_change(folder, &owner, filter, triggers, err);
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
