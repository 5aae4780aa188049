#define _GNU_SOURCE /* F_OFD_SETLK */
#include "tools/receive/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/checksum.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"

#define FILE_BYTES   4096u /* that each file counts more than it has: no limit holds for names */
#define CHECK_BYTES  (16u << 20) /* in one step: others wait meanwhile */
#define HEADER_BYTES TTP_FILE_HEADER_BYTES

static bool refuse(struct receive_answer *answer, enum tool_send_kind kind, const char *format, ...)
    TOOL_PRINTF(3, 4);

static bool refuse(struct receive_answer *answer, enum tool_send_kind kind, const char *format, ...)
{
    va_list arguments;
    answer->kind = kind;
    va_start(arguments, format);
    (void)vsnprintf(answer->text, sizeof answer->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the folder ---- */

/* What is there counts: a receiver that is started again has the limit that it had. */
static uint64_t sum_files(int folder_fd)
{
    uint64_t sum = 0;
    struct stat info;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL && fd >= 0)
        (void)close(fd);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (fstatat(folder_fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            sum += (uint64_t)info.st_size + FILE_BYTES;
    if (folder != NULL)
        (void)closedir(folder);
    return sum;
}

int receive_store_open(struct receive_store *store, const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return tool_fail("cannot make the folder '%s': %s", path, strerror(errno));
    store->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->fd < 0)
        return tool_fail("cannot open the folder '%s': %s", path, strerror(errno));
    if (faccessat(store->fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return tool_fail("cannot write into the folder '%s': %s", path, strerror(errno));
    store->used_bytes = sum_files(store->fd);
    return TOOL_OK;
}

void receive_store_close(struct receive_store *store)
{
    if (store->fd >= 0)
        (void)close(store->fd);
}

static bool fits(const struct receive_store *store, uint64_t more_bytes)
{
    return store->max_bytes == 0 || (store->used_bytes <= store->max_bytes &&
                                     more_bytes <= store->max_bytes - store->used_bytes);
}

/* Others take files away: the folder is counted once more, but not for each who comes again. */
static bool has_room(struct receive_store *store, uint64_t more_bytes)
{
    if (fits(store, more_bytes))
        return true;
    uint64_t seconds = tool_now_ms() / 1000;
    if (seconds == store->counted_seconds)
        return false;
    store->counted_seconds = seconds;
    store->used_bytes = sum_files(store->fd);
    return fits(store, more_bytes);
}

static void uncharge(struct receive_file *file, struct receive_store *store)
{
    store->used_bytes -=
        file->charged_bytes < store->used_bytes ? file->charged_bytes : store->used_bytes;
    file->charged_bytes = 0;
}

/* ---- names ---- */

static bool refuse_taken(struct receive_answer *answer, const char *name)
{
    return refuse(answer, TOOL_SEND_NO,
                  "'%s' is there already, and is another trace: send under another name, or start "
                  "the receiver with --force",
                  name);
}

static bool refuse_limit(const struct receive_store *store, struct receive_answer *answer)
{
    return refuse(answer, TOOL_SEND_NOT_NOW, "the receiver's limit is reached: --max-size %llu",
                  (unsigned long long)store->max_bytes);
}

static bool refuse_disk(struct receive_answer *answer, const char *what)
{
    int code = errno;
    return refuse(answer, TOOL_SEND_NOT_NOW, "the receiver cannot %s: %s", what, strerror(code));
}

bool receive_store_asks(struct receive_store *store, const char *name,
                        struct receive_answer *answer)
{
    struct stat info;
    bool is_there = fstatat(store->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !(store->replaces && S_ISREG(info.st_mode)))
        return refuse_taken(answer, name);
    if (!has_room(store, FILE_BYTES))
        return refuse_limit(store, answer);
    return true;
}

/* Others see that it is written (dump --follow), and do not write it. */
static bool hold(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

static bool make_file(struct receive_file *file, struct receive_store *store,
                      struct receive_answer *answer)
{
    if (!has_room(store, FILE_BYTES))
        return refuse_limit(store, answer);
    file->fd =
        openat(store->fd, file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0)
        return errno == EEXIST ? refuse_taken(answer, file->name)
                               : refuse_disk(answer, "make a file");
    (void)hold(file->fd);
    (void)fsync(store->fd); /* what is acknowledged is found after a power cut */
    store->used_bytes += file->charged_bytes = FILE_BYTES;
    return true;
}

/* It is a trace's beginning, of the same run. */
static bool is_same(int fd, const uint8_t header[HEADER_BYTES])
{
    uint8_t there[HEADER_BYTES];
    return pread(fd, there, sizeof there, 0) == (ssize_t)sizeof there &&
           memcmp(there, header, sizeof there) == 0;
}

/* The old one goes only for what can be a trace, and has room. */
static bool replace_file(struct receive_file *file, struct receive_store *store,
                         const struct tool_send_hello *hello, uint64_t old_bytes,
                         struct receive_answer *answer)
{
    ttape_error err = {0};
    struct ttp_file_header header;
    uint64_t gone = old_bytes + FILE_BYTES, used = store->used_bytes;
    if (ttp_file_header_read(hello->header, HEADER_BYTES, &header, &err) != TTAPE_OK)
        return refuse(answer, TOOL_SEND_NO, "what would replace '%s' is no trace: %.200s (%s)",
                      file->name, err.message, err.rule);
    store->used_bytes -= gone < used ? gone : used;
    if (fits(store, FILE_BYTES) && unlinkat(store->fd, file->name, 0) == 0)
        return make_file(file, store, answer);
    bool is_limit = !fits(store, FILE_BYTES);
    store->used_bytes = used;
    return is_limit ? refuse_limit(store, answer) : refuse_disk(answer, "replace a file");
}

static bool open_old(struct receive_file *file, struct receive_store *store,
                     const struct tool_send_hello *hello, struct receive_answer *answer)
{
    struct stat info;
    int fd = openat(store->fd, file->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        if (fd >= 0)
            (void)close(fd);
        return refuse_taken(answer, file->name);
    }
    if (!hold(fd)) {
        (void)close(fd);
        return refuse(answer, TOOL_SEND_NOT_NOW, "'%s' is being written by another process",
                      file->name);
    }
    if (is_same(fd, hello->header)) {
        file->fd = fd;
        file->old_bytes = (uint64_t)info.st_size;
        file->charged_bytes = file->old_bytes + FILE_BYTES; /* counted before */
        return true;
    }
    (void)close(fd);
    if (!store->replaces)
        return refuse_taken(answer, file->name);
    return replace_file(file, store, hello, (uint64_t)info.st_size, answer);
}

bool receive_file_open(struct receive_file *file, struct receive_store *store,
                       const struct tool_send_hello *hello, struct receive_answer *answer)
{
    struct stat info;
    *file = (struct receive_file){.fd = -1};
    memcpy(file->name, hello->name, sizeof file->name);
    return fstatat(store->fd, file->name, &info, AT_SYMLINK_NOFOLLOW) == 0
               ? open_old(file, store, hello, answer)
               : make_file(file, store, answer);
}

/* ---- bytes ---- */

enum soundness { SOUND, DAMAGED, UNREAD };

/* The payload is hashed where it lies: a chunk may have a gigabyte, and takes no memory of ours. */
static enum soundness examine(const struct receive_file *file)
{
    uint64_t offset;
    const struct tool_arrival *a = &file->arrival;
    if (!tool_arrival_has_payload(a, &offset))
        return SOUND;
    size_t size = (size_t)a->chunk.stored_bytes, before = offset % (size_t)sysconf(_SC_PAGESIZE);
    if (size == 0)
        return a->chunk.payload_hash == ttp_checksum("", 0) ? SOUND : DAMAGED;
    const uint8_t *bytes =
        mmap(NULL, size + before, PROT_READ, MAP_SHARED, file->fd, (off_t)(offset - before));
    if (bytes == MAP_FAILED)
        return UNREAD;
    bool is = ttp_checksum(bytes + before, size) == a->chunk.payload_hash;
    (void)munmap((void *)bytes, size + before);
    return is ? SOUND : DAMAGED;
}

static void recharge(struct receive_file *file, struct receive_store *store, uint64_t size_bytes)
{
    uncharge(file, store);
    file->charged_bytes = size_bytes + FILE_BYTES;
    store->used_bytes += file->charged_bytes;
}

/* The file ends behind what is whole then, where the next bytes go. */
static void cut_off(struct receive_file *file, struct receive_store *store)
{
    struct tool_arrival *a = &file->arrival;
    if (ftruncate(file->fd, (off_t)a->whole_bytes) != 0)
        return; /* readers pass over it, and the next connection cuts it off */
    recharge(file, store, a->whole_bytes);
}

/* What cannot be read now is not damaged: it stays. */
static bool refuse_unread(struct receive_answer *answer)
{
    return refuse_disk(answer, "read what it has");
}

bool receive_file_check(struct receive_file *file, struct receive_store *store, bool *is_done,
                        struct receive_answer *answer)
{
    struct tool_arrival *a = &file->arrival;
    enum tool_arrival_event event = TOOL_ARRIVAL_PIECE;
    enum soundness sound = SOUND;
    uint64_t begin = a->whole_bytes;
    *is_done = false;
    while (a->whole_bytes < file->old_bytes) {
        if (a->whole_bytes - begin >= CHECK_BYTES)
            return true;
        event = tool_arrival_walk(a, file->fd, file->old_bytes);
        sound = event == TOOL_ARRIVAL_PIECE ? examine(file) : DAMAGED;
        if (sound == UNREAD || a->error.status == TTAPE_E_IO)
            return refuse_unread(answer);
        if (sound == DAMAGED)
            break;
        tool_arrival_accept(a);
    }
    if (a->whole_bytes != file->old_bytes)
        cut_off(file, store);
    file->old_bytes = a->whole_bytes;
    tool_arrival_go_back(a);
    *is_done = true;
    return true;
}

static bool write_all(int fd, const uint8_t *data, size_t size_bytes, uint64_t offset)
{
    while (size_bytes > 0) {
        ssize_t written = pwrite(fd, data, size_bytes, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        offset += (uint64_t)written;
        size_bytes -= (size_t)written;
    }
    return true;
}

static bool take_piece(struct receive_file *file, struct receive_answer *answer)
{
    enum soundness sound = examine(file);
    if (sound == UNREAD)
        return refuse_unread(answer);
    if (sound == DAMAGED)
        return refuse(answer, TOOL_SEND_NOT_NOW, "a chunk at %llu came damaged (F-CHK-03)",
                      (unsigned long long)file->arrival.whole_bytes);
    tool_arrival_accept(&file->arrival);
    return true;
}

bool receive_file_take(struct receive_file *file, struct receive_store *store, const uint8_t *data,
                       size_t size_bytes, struct receive_answer *answer)
{
    struct tool_arrival *a = &file->arrival;
    if (!has_room(store, size_bytes))
        return refuse_limit(store, answer);
    while (size_bytes > 0) {
        enum tool_arrival_event event;
        uint64_t offset = a->at_bytes;
        size_t taken = tool_arrival_take(a, data, size_bytes, &event);
        if (event == TOOL_ARRIVAL_BAD)
            return refuse(answer, TOOL_SEND_NOT_NOW, "what came at %llu is no trace: %.200s (%s)",
                          (unsigned long long)offset, a->error.message, a->error.rule);
        if (!write_all(file->fd, data, taken, offset))
            return refuse_disk(answer, "write");
        recharge(file, store, a->at_bytes);
        if (event == TOOL_ARRIVAL_PIECE && !take_piece(file, answer))
            return false;
        data += taken;
        size_bytes -= taken;
    }
    return true;
}

bool receive_file_sync(const struct receive_file *file, struct receive_answer *answer)
{
    return fdatasync(file->fd) == 0 ? true : refuse_disk(answer, "sync its disk");
}

bool receive_file_close(struct receive_file *file, struct receive_store *store)
{
    const struct tool_arrival *a = &file->arrival;
    bool is_checked = a->whole_bytes >= file->old_bytes; /* else nobody knows what it has */
    bool stays = !is_checked || a->partition_count != 0 || a->is_complete;
    if (stays && is_checked && a->at_bytes != a->whole_bytes)
        cut_off(file, store);
    if (!stays && unlinkat(store->fd, file->name, 0) == 0)
        uncharge(file, store);
    if (stays)
        (void)fsync(store->fd);
    (void)close(file->fd);
    file->fd = -1;
    return stays;
}
