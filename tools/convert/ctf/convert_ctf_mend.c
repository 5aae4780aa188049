/* Stream files that babeltrace2 refuses as a whole, because a packet's head is damaged or the file
 * ends inside a packet, cost what is behind that place. babeltrace2 reads folders, so a temporary
 * one stands for each: links to the sound files, and the sound part of the others. Where a packet
 * may begin is told by its magic number, whether all before it is sound by babeltrace2.
 *
 *   TRACE/metadata  <- link            TMPDIR/tracetape-XXXXXX/3/metadata
 *   TRACE/sound     <- link                                   /sound
 *   TRACE/damaged   -> sound part                             /damaged        */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ordered.h"
#include "program/process/child.h"
#include "tools/convert/ctf/convert_ctf_events.h"

#define PROBE_MS    60000
#define PROBE_BYTES (UINT64_C(4) << 30) /* of memory */
#define PIECE_BYTES (256u * 1024u)
#define MAGIC_BYTES 4u
#define HEAD_BYTES  128u /* of a packet: its size is told there */

/* A stream file and the copy of its beginning. */
struct ctf_copy {
    int from, to;
    uint64_t size_bytes; /* of the copy */
    char *piece;
    uint64_t *starts; /* where packets may begin, behind byte 0 */
    size_t start_count, start_capacity;
};

static char *join_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = tool_allocate(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static void probe_in_child(int fd, const void *context)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    char is_sound = (char)tool_ctf_is_sound(context);
    (void)tool_child_send(fd, &is_sound, 1, 0);
    _exit(0);
}

static bool is_sound(const char *folder)
{
    struct tool_child child = {0};
    char answer = 0;
    if (!tool_child_start(&child, PROBE_BYTES, probe_in_child, folder))
        return false;
    bool is_answered = tool_child_receive(child.fd, &answer, 1, tool_child_now_ms() + PROBE_MS);
    tool_child_end(&child, true);
    return is_answered && answer == 1;
}

static void find_starts(struct ctf_copy *copy)
{
    static const char orders[2][MAGIC_BYTES] = {{'\xC1', '\x1F', '\xFC', '\xC1'},
                                                {'\xC1', '\xFC', '\x1F', '\xC1'}};
    ssize_t got;
    for (off_t offset = 1; (got = tool_read_full(copy->from, copy->piece, PIECE_BYTES, offset)) >=
                           (ssize_t)MAGIC_BYTES;
         offset += got - (ssize_t)(MAGIC_BYTES - 1)) {
        const char *end = copy->piece + got - (MAGIC_BYTES - 1), *at = copy->piece;
        for (; (at = memchr(at, '\xC1', (size_t)(end - at))) != NULL; at++) {
            if (memcmp(at, orders[0], MAGIC_BYTES) != 0 && memcmp(at, orders[1], MAGIC_BYTES) != 0)
                continue;
            tool_grow((void **)&copy->starts, &copy->start_capacity, copy->start_count + 1,
                      sizeof(uint64_t));
            copy->starts[copy->start_count++] = (uint64_t)(offset + (at - copy->piece));
        }
    }
}

/* Makes the copy so long. False: it failed. */
static bool set_size(struct ctf_copy *copy, uint64_t size_bytes)
{
    if (size_bytes < copy->size_bytes && ftruncate(copy->to, (off_t)size_bytes) != 0)
        return false;
    copy->size_bytes = size_bytes < copy->size_bytes ? size_bytes : copy->size_bytes;
    if (lseek(copy->to, (off_t)copy->size_bytes, SEEK_SET) < 0)
        return false;
    while (copy->size_bytes < size_bytes) {
        uint64_t left = size_bytes - copy->size_bytes;
        size_t part = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (tool_read_full(copy->from, copy->piece, part, (off_t)copy->size_bytes) !=
                (ssize_t)part ||
            !tool_write_full(copy->to, copy->piece, part))
            return false;
        copy->size_bytes += part;
    }
    return true;
}

/* A packet whose magic number is damaged begins where the sound one before it ends. How long that
 * is stands somewhere in its head, in bits: each number that may be it is tried. */
static bool add_last_packet(struct ctf_copy *copy, const char *folder, uint64_t file_bytes,
                            uint64_t *size_bytes)
{
    uint8_t head[HEAD_BYTES];
    const uint64_t start = *size_bytes;
    ssize_t got = tool_read_full(copy->from, head, sizeof(head), (off_t)start);
    for (ssize_t at = 0; at + 8 <= got && *size_bytes == start; at += 4) {
        uint64_t bits;
        memcpy(&bits, head + at, sizeof(bits));
        bits = bits / 8 < file_bytes ? bits : __builtin_bswap64(bits);
        if (bits == 0 || bits % 8 != 0 || bits / 8 >= file_bytes - start)
            continue;
        if (!set_size(copy, start + bits / 8))
            return false;
        *size_bytes = is_sound(folder) ? start + bits / 8 : start;
    }
    return got >= 0;
}

/* Copies what is sound before the first damage into the probed folder. False: it failed. */
static bool copy_sound_part(const char *from, const char *to, const char *folder,
                            uint64_t file_bytes, uint64_t *size_bytes)
{
    struct ctf_copy copy = {.from = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC),
                            .to = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
                            .piece = tool_allocate(PIECE_BYTES, 1)};
    bool is_fine = copy.from >= 0 && copy.to >= 0;
    if (is_fine)
        find_starts(&copy);
    struct ttp_bisect search = {.end = copy.start_count};
    while (is_fine && ttp_bisect_next(&search)) {
        is_fine = set_size(&copy, copy.starts[search.middle]);
        ttp_bisect_turn(&search, is_fine && is_sound(folder));
    }
    *size_bytes = search.first > 0 ? copy.starts[search.first - 1] : 0;
    is_fine = is_fine && add_last_packet(&copy, folder, file_bytes, size_bytes) &&
              set_size(&copy, *size_bytes);
    if (copy.from >= 0)
        close(copy.from);
    if (copy.to >= 0)
        close(copy.to);
    free(copy.piece);
    free(copy.starts);
    return is_fine;
}

/* Puts a stream file into the folder that stands for the trace's: through the folder "probe",
 * where it is alone with the metadata. Returns a tool_exit. */
static int mend_file(struct tool_ctf *ctf, const char *folder, const char *name, const char *into)
{
    const struct tool_conversion *conversion = ctf->conversion;
    char *from = join_path(folder, name), *absolute = realpath(from, NULL);
    char *probe = join_path(ctf->mended.root, "probe"), *probed = join_path(probe, name);
    char *target = join_path(into, name);
    const char *inside = from + strlen(conversion->input); /* which its name begins with */
    inside += strspn(inside, "/");
    struct stat file = {0};
    uint64_t sound_bytes = 0;
    bool is_fine = absolute != NULL && lstat(from, &file) == 0 && symlink(absolute, probed) == 0;
    if (is_fine && file.st_size > 0 && !is_sound(probe)) {
        is_fine = unlink(probed) == 0 &&
                  copy_sound_part(absolute, probed, probe, (uint64_t)file.st_size, &sound_bytes);
        if (is_fine) {
            ctf->mended.damaged_count++;
            tool_conversion_warn(ctf->conversion,
                                 "'%s' is damaged in the packet at byte %" PRIu64
                                 ": what is there and behind it, %" PRIu64 " bytes, is missing",
                                 inside, sound_bytes, (uint64_t)file.st_size - sound_bytes);
        }
    }
    is_fine = is_fine && rename(probed, target) == 0;
    int status = is_fine ? TOOL_OK
                         : tool_fail("cannot copy '%s' to '%s': %s", from, target, strerror(errno));
    free(from);
    free(absolute);
    free(probe);
    free(probed);
    free(target);
    return status;
}

/* A new folder with a link to a trace's metadata. */
static bool make_folder(const char *path, const char *trace)
{
    char *from = join_path(trace, "metadata"), *absolute = realpath(from, NULL);
    char *link = join_path(path, "metadata");
    bool is_made = absolute != NULL && mkdir(path, 0700) == 0 && symlink(absolute, link) == 0;
    free(from);
    free(absolute);
    free(link);
    return is_made;
}

static void remove_folder(const char *path)
{
    DIR *listing = opendir(path);
    struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing != NULL)
        closedir(listing);
    (void)rmdir(path);
}

static int mend_folder(struct tool_ctf *ctf, const char *folder, const char *into)
{
    char *probe = join_path(ctf->mended.root, "probe");
    int status = make_folder(into, folder) && make_folder(probe, folder)
                     ? TOOL_OK
                     : tool_fail("cannot make '%s': %s", into, strerror(errno));
    bool is_readable = status == TOOL_OK && is_sound(probe);
    DIR *listing = is_readable ? opendir(folder) : NULL;
    struct dirent *entry;
    while (status == TOOL_OK && listing != NULL && (entry = readdir(listing)) != NULL) {
        struct stat file;
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "metadata") != 0 &&
            fstatat(dirfd(listing), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(file.st_mode))
            status = mend_file(ctf, folder, entry->d_name, into);
    }
    if (listing != NULL)
        closedir(listing);
    remove_folder(probe);
    free(probe);
    return status;
}

int tool_ctf_mend(struct tool_ctf *ctf, char *const *folders, size_t count)
{
    struct tool_ctf_mended *mended = &ctf->mended;
    const char *base = getenv("TMPDIR");
    char number[32];
    int status = TOOL_OK;
    mended->root = join_path(base != NULL && *base != '\0' ? base : "/tmp", "tracetape-XXXXXX");
    if (mkdtemp(mended->root) == NULL) {
        free(mended->root);
        mended->root = NULL;
        return tool_fail("cannot make a temporary folder: %s", strerror(errno));
    }
    mended->folders = tool_allocate(count, sizeof(char *));
    for (; mended->count < count && status == TOOL_OK; mended->count++) {
        snprintf(number, sizeof(number), "%zu", mended->count);
        mended->folders[mended->count] = join_path(mended->root, number);
        status = mend_folder(ctf, folders[mended->count], mended->folders[mended->count]);
    }
    return status;
}

void tool_ctf_close_mended(struct tool_ctf_mended *mended)
{
    for (size_t i = 0; i < mended->count; i++) {
        remove_folder(mended->folders[i]);
        free(mended->folders[i]);
    }
    if (mended->root != NULL)
        (void)rmdir(mended->root);
    free(mended->folders);
    free(mended->root);
}
