/* CTF behind babeltrace2: the records that its process writes to the pipe, each a piece, and the
 * search for traces in the packed folder that follows them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_convert.h"
#include "fuzz_folder.h"
#include "fuzz_verb.h"
#include "program/process/child.h"
#include "tools/command/tool.h"
#include "tools/convert/ctf/convert_ctf_events.h"

static struct fuzz_bytes said;
static const char *root;

/* In place of the process, which would talk to us through program/process/child.c. */
bool tool_child_start(struct tool_child *child, uint64_t memory_bytes,
                      void (*work)(int fd, const void *context), const void *context)
{
    const struct tool_ctf_folders *folders = context;
    (void)memory_bytes;
    (void)work;
    for (size_t i = 0; i < folders->count; i++) {
        FUZZ_REQUIRE(strncmp(folders->paths[i], root, strlen(root)) == 0);
        FUZZ_REQUIRE(i == 0 || strcmp(folders->paths[i - 1], folders->paths[i]) < 0);
    }
    FUZZ_REQUIRE(folders->count > 0);
    child->fd = open(fuzz_verb_file(0, said.data, said.size), O_RDONLY | O_CLOEXEC);
    return child->fd >= 0;
}

int tool_child_end(struct tool_child *child, bool kill_it)
{
    FUZZ_REQUIRE(kill_it && close(child->fd) == 0);
    return -1;
}

bool tool_child_send(int fd, const void *data, size_t size_bytes, uint64_t deadline_ms)
{
    (void)fd;
    (void)data;
    (void)size_bytes;
    (void)deadline_ms;
    return false;
}

/* Mending asks babeltrace2 again and again: here nothing is found to mend. */
int tool_ctf_mend(struct tool_ctf *ctf, char *const *folders, size_t count)
{
    FUZZ_REQUIRE(ctf->is_refused && folders != NULL && count > 0);
    return TOOL_OK;
}

void tool_ctf_close_mended(struct tool_ctf_mended *mended)
{
    FUZZ_REQUIRE(mended->root == NULL && mended->count == 0);
}

/* A record of 64 bytes, those that are missing 0, and its texts, whose size is right in seven cases
 * of eight. The number of its CTF stream is small in fifteen cases of sixteen: a table reaches that
 * far. */
static void put_record(struct fuzz_input piece)
{
    struct tool_ctf_wire wire = {0};
    struct fuzz_input head = fuzz_part(&piece, sizeof wire);
    memcpy(&wire, head.data, head.size);
    if ((wire.flags & 0xe0) != 0xe0)
        wire.text_bytes = (uint32_t)piece.size;
    if ((wire.flags & 0xf00) != 0xf00)
        wire.source %= 64;
    fuzz_put(&said, &wire, sizeof wire);
    fuzz_put(&said, piece.data, piece.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t plain[] = FUZZ_FOLDER_MARK "metadata\n/* CTF 1.8 */";
    struct fuzz_input in = {data, size}, parameters = fuzz_part(&in, FUZZ_CONVERT_BYTES), piece;
    const uint8_t *files = memmem(in.data, in.size, FUZZ_FOLDER_MARK, sizeof FUZZ_FOLDER_MARK - 1);
    root = files == NULL ? fuzz_folder_make(plain, sizeof plain - 1)
                         : fuzz_folder_make(files, (size_t)(in.data + in.size - files));
    in.size = files == NULL ? in.size : (size_t)(files - in.data);
    for (said = (struct fuzz_bytes){0}; fuzz_marked(&in, FUZZ_PIECE_MARK, &piece);)
        put_record(piece);
    fuzz_convert(&parameters, "ctf", root);
    fuzz_folder_empty();
    fuzz_release_all();
    return 0;
}
