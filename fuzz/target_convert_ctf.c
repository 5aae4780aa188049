/* CTF behind babeltrace2: the records that its process writes to the pipe, each a piece, and the
 * search for traces in the packed folder that follows them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_convert.h"
#include "fuzz_folder.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"
#include "tools/convert/ctf/convert_ctf.h"

static struct fuzz_bytes said;
static const char *root;

/* In place of the process. */
int tool_ctf_start(struct tool_ctf_child *child, char *const *folders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(strncmp(folders[i], root, strlen(root)) == 0);
        FUZZ_REQUIRE(i == 0 || strcmp(folders[i - 1], folders[i]) < 0);
    }
    FUZZ_REQUIRE(count > 0);
    child->fd = open(fuzz_verb_file(0, said.data, said.size), O_RDONLY | O_CLOEXEC);
    return child->fd >= 0 ? TOOL_OK : TOOL_CANNOT;
}

void tool_ctf_end(struct tool_ctf_child *child) { FUZZ_REQUIRE(close(child->fd) == 0); }

/* A record of 64 bytes, those that are missing 0, and its texts, whose size is right in seven cases
 * of eight. */
static void put_record(struct fuzz_input piece)
{
    struct tool_ctf_wire wire = {0};
    struct fuzz_input head = fuzz_part(&piece, sizeof wire);
    memcpy(&wire, head.data, head.size);
    if ((wire.flags & 0xe0) != 0xe0)
        wire.text_bytes = (uint32_t)piece.size;
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
