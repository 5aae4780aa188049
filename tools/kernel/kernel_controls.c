/* What ioctl, fcntl, prctl and the calls of System V are given or fill, by what is asked for; and
 * environments. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_numbers.h"
#include "tools/kernel/kernel_parts.h"

#define NAME_BYTES 16u /* of a thread */

static void put_lock(struct tool_output *out, ttape_string bytes, bool is_asked)
{
    static const struct tool_field fields[] = {{"{l_type=", 0, 2, 'f', '1' | 0x80},
                                               {", l_whence=", 2, 2, 'f', 'W'},
                                               {", l_start=", 8, 8, 'd', 0},
                                               {", l_len=", 16, 8, 'd', 0},
                                               {"", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
    if (is_asked)
        tool_output_printf(out, ", l_pid=%" PRId64, tool_part_signed(bytes, 24, 4));
    tool_output_text(out, "}");
}

static bool put_fcntl(struct tool_output *out, const struct tool_part *part)
{
    static const struct tool_field owner[] = {
        {"{type=", 0, 4, 'f', '2' | 0x80}, {", pid=", 4, 4, 'd', 0}, {"}", 0, 0, 0, 0}};
    uint64_t what = tool_call_number_at(part->call, 1);
    bool is_asked = what == KERNEL_F_GETLK || what == KERNEL_F_OFD_GETLK;
    ttape_string bytes = part->filled.size_bytes > 0 ? part->filled : part->given;
    if ((what == KERNEL_F_SETOWN_EX || what == KERNEL_F_GETOWN_EX) && bytes.size_bytes >= 8)
        tool_part_put_fields(out, owner, bytes);
    else if (bytes.size_bytes >= 32)
        put_lock(out, bytes, is_asked);
    else
        return false;
    return true;
}

/* ---- ioctl ---- */

static void put_terminal(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{c_iflag=", 0, 4, 'f', '3' | 0x80},
                                               {", c_oflag=", 4, 4, 'f', '4' | 0x80},
                                               {", c_cflag=", 8, 4, 'f', '5' | 0x80},
                                               {", c_lflag=", 12, 4, 'f', '6' | 0x80},
                                               {", ...}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static void put_window(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{ws_row=", 0, 2, 'u', 0},
                                               {", ws_col=", 2, 2, 'u', 0},
                                               {", ws_xpixel=", 4, 2, 'u', 0},
                                               {", ws_ypixel=", 6, 2, 'u', 0},
                                               {"}", 0, 0, 0, 0}};
    tool_part_put_fields(out, fields, bytes);
}

static bool put_ioctl(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = part->filled.size_bytes > 0 ? part->filled : part->given;
    if (bytes.size_bytes >= 36)
        put_terminal(out, bytes);
    else if (bytes.size_bytes == 8)
        put_window(out, bytes);
    else if (bytes.size_bytes == 4)
        tool_output_printf(out, "[%" PRId64 "]", tool_part_signed(bytes, 0, 4));
    else
        return false;
    return true;
}

/* ---- prctl ---- */

static bool put_prctl(struct tool_output *out, const struct tool_part *part)
{
    ttape_string bytes = part->filled.size_bytes > 0 ? part->filled : part->given;
    if (bytes.size_bytes == NAME_BYTES) {
        tool_kernel_put_name(out, tool_part_piece(bytes, 0, NAME_BYTES - 1));
    } else if (bytes.size_bytes == 4 &&
               tool_call_number_at(part->call, 0) == KERNEL_PR_GET_PDEATHSIG) {
        tool_output_text(out, "[");
        (void)tool_kernel_put_flags(out, 'g', tool_part_number(bytes, 0, 4));
        tool_output_text(out, "]");
    } else if (bytes.size_bytes == 4) {
        tool_output_printf(out, "[%" PRId64 "]", tool_part_signed(bytes, 0, 4));
    } else {
        return false;
    }
    return true;
}

/* ---- System V ---- */

static const struct tool_field memory_fields[] = {
    {", shm_segsz=", 48, 8, 'u', 0}, {", shm_cpid=", 80, 4, 'd', 0},
    {", shm_lpid=", 84, 4, 'd', 0},  {", shm_nattch=", 88, 8, 'u', 0},
    {", shm_atime=", 56, 8, 'u', 0}, {", shm_dtime=", 64, 8, 'u', 0},
    {", shm_ctime=", 72, 8, 'u', 0}, {"}", 0, 0, 0, 0}};
static const struct tool_field semaphore_fields[] = {{", sem_otime=", 48, 8, 'u', 0},
                                                     {", sem_ctime=", 64, 8, 'u', 0},
                                                     {", sem_nsems=", 80, 8, 'u', 0},
                                                     {"}", 0, 0, 0, 0}};
static const struct tool_field message_fields[] = {
    {", msg_stime=", 48, 8, 'u', 0},  {", msg_rtime=", 56, 8, 'u', 0},
    {", msg_ctime=", 64, 8, 'u', 0},  {", msg_qnum=", 80, 8, 'u', 0},
    {", msg_qbytes=", 88, 8, 'u', 0}, {", msg_lspid=", 96, 4, 'd', 0},
    {", msg_lrpid=", 100, 4, 'd', 0}, {"}", 0, 0, 0, 0}};

static void put_shared(struct tool_output *out, const struct tool_part *part)
{
    static const struct tool_field rights[] = {
        {"={uid=", 4, 4, '-', 0}, {", gid=", 8, 4, '-', 0},   {", mode=", 20, 4, 'o', 0},
        {", key=", 0, 4, 'd', 0}, {", cuid=", 12, 4, '-', 0}, {", cgid=", 16, 4, '-', 0},
        {"}", 0, 0, 0, 0}};
    uint64_t number = part->call->number;
    bool is_memory = number == KERNEL_CALL_SHMCTL, is_semaphore = number == KERNEL_CALL_SEMCTL;
    tool_output_text(out, is_memory ? "{shm_perm" : is_semaphore ? "{sem_perm" : "{msg_perm");
    tool_part_put_fields(out, rights, part->filled);
    tool_part_put_fields(out,
                         is_memory      ? memory_fields
                         : is_semaphore ? semaphore_fields
                                        : message_fields,
                         part->filled);
}

static void put_operations(struct tool_output *out, ttape_string bytes)
{
    static const struct tool_field fields[] = {{"{sem_num=", 0, 2, 'u', 0},
                                               {", sem_op=", 2, 2, 'd', 0},
                                               {", sem_flg=", 4, 2, 'f', '7' | 0x80},
                                               {"}", 0, 0, 0, 0}};
    tool_output_text(out, "[");
    for (size_t i = 0; i + 6 <= bytes.size_bytes; i += 6) {
        tool_output_text(out, i > 0 ? ", " : "");
        tool_part_put_fields(out, fields, tool_part_piece(bytes, i, 6));
    }
    tool_output_text(out, "]");
}

static void put_environment(struct tool_output *out, ttape_string bytes)
{
    uint64_t count = tool_part_number(bytes, 0, 8);
    tool_kernel_put_address(out, tool_part_number(bytes, 8, 8));
    tool_output_printf(out, " /* %" PRIu64 " %s */", count, count == 1 ? "var" : "vars");
}

bool tool_part_put_control(struct tool_output *out, const struct tool_part *part)
{
    switch (part->letter) {
    case 'K': return put_fcntl(out, part);
    case '=': return put_ioctl(out, part);
    case '4': return put_prctl(out, part);
    case 'W':
        if (part->filled.size_bytes < 104)
            return false;
        put_shared(out, part);
        return true;
    case 'j': put_operations(out, part->given); return true;
    case '!':
        if (part->given.size_bytes < 16)
            return false;
        put_environment(out, part->given);
        return true;
    default: return false;
    }
}
