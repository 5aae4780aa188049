/* tracetape-mpi report: the report of many files, or of a huge one, by the ranks of an MPI program.
 *
 *   rank r: its share of the partitions -> rollup --+
 *   rank r + 1, r + 2, r + 4 ...: their sums ------ + -> sent to the rank that its lowest bit names
 *   rank 0: shows
 *
 * Sums do not depend on who added what. A rank that fails ends all of them: no half answer. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/command/tool.h"
#include "tools/mpi/mpi_sizes.h"
#include "tools/report/report_share.h"

#define TAG_SIZE    1
#define TAG_BYTES   2
#define PIECE_BYTES (1 << 30) /* MPI counts in int */

static void send_bytes(const ttape_memory_sink *bytes, int to)
{
    uint64_t size = bytes->size_bytes;
    (void)MPI_Send(&size, 1, MPI_UINT64_T, to, TAG_SIZE, MPI_COMM_WORLD);
    for (uint64_t at = 0; at < size; at += PIECE_BYTES) {
        uint64_t left = size - at;
        (void)MPI_Send(bytes->data + at, (int)(left < PIECE_BYTES ? left : PIECE_BYTES), MPI_BYTE,
                       to, TAG_BYTES, MPI_COMM_WORLD);
    }
}

static int send_rollup(ttape_rollup *rollup, int to)
{
    ttape_memory_sink bytes = {0};
    ttape_sink sink = ttape_sink_memory(&bytes);
    ttape_error err = {0};
    if (ttape_rollup_write(rollup, &sink, &err) != TTAPE_OK)
        return tool_fail_error("the rank's sums", &err);
    send_bytes(&bytes, to);
    ttape_memory_sink_close(&bytes);
    return TOOL_OK;
}

static int add_received(ttape_rollup *rollup, int from)
{
    uint64_t size = 0;
    ttape_error err = {0};
    (void)MPI_Recv(&size, 1, MPI_UINT64_T, from, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint8_t *data = tool_allocate((size_t)size + 1, 1);
    for (uint64_t at = 0; at < size; at += PIECE_BYTES) {
        uint64_t left = size - at;
        (void)MPI_Recv(data + at, (int)(left < PIECE_BYTES ? left : PIECE_BYTES), MPI_BYTE, from,
                       TAG_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    ttape_source source = ttape_source_memory(data, (size_t)size);
    ttape_status status = ttape_rollup_add_file(rollup, &source, &err);
    free(data);
    return status == TTAPE_OK ? TOOL_OK : tool_fail_error("another rank's sums", &err);
}

static int reduce(void *context, ttape_rollup *rollup, int *status, uint64_t *left_out)
{
    const struct tool_share *share = context;
    int mine = *status, result = TOOL_OK;
    uint64_t own = *left_out;
    for (uint32_t step = 1; step < share->size && result == TOOL_OK; step *= 2) {
        if ((share->rank & step) != 0) {
            result = send_rollup(rollup, (int)(share->rank - step));
            break;
        }
        if (share->rank + step < share->size)
            result = add_received(rollup, (int)(share->rank + step));
    }
    if (result != TOOL_OK)
        return result;
    (void)MPI_Reduce(&mine, status, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    (void)MPI_Reduce(&own, left_out, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return TOOL_OK;
}

/* A launcher of another MPI starts so many programs of one rank each: so many whole answers. */
static int check_size(uint32_t size)
{
    uint32_t said = tool_mpi_launched_size(getenv);
    if (size > 1 || said <= 1)
        return TOOL_OK;
    return tool_fail(
        "the launcher started %u ranks, and this one is alone: it is of another MPI than "
        "tracetape-mpi was built with",
        said);
}

static int join_ranks(int argc, char **argv)
{
    int rank, size;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (check_size((uint32_t)size) != TOOL_OK)
        return TOOL_CANNOT;
    if (argc < 2 || strcmp(argv[1], "report") != 0)
        return tool_usage(NULL, "tracetape-mpi knows 'report' only");
    struct tool_share share = {.rank = (uint32_t)rank, .size = (uint32_t)size, .reduce = reduce};
    share.context = &share;
    return tool_report_shared(argc - 1, argv + 1, &share);
}

int main(int argc, char **argv)
{
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return TOOL_CANNOT;
    int status = join_ranks(argc, argv);
    (void)fflush(NULL);
    if (status == TOOL_USAGE || status == TOOL_CANNOT)
        (void)MPI_Abort(MPI_COMM_WORLD, status);
    (void)MPI_Finalize();
    return status;
}
