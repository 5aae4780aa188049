/* Modes of files and of terminals, which are made of codes and bits. Numbers are those of Linux on
 * x86-64. */
#include <inttypes.h>

#include "tools/kernel/flags/kernel_modes.h"

#define MODE_TYPE 0170000u

void tool_kernel_put_mode(struct tool_output *out, uint64_t mode)
{
    static const char *const types[] = {NULL,      "S_IFIFO", "S_IFCHR", NULL,      "S_IFDIR",
                                        NULL,      "S_IFBLK", NULL,      "S_IFREG", NULL,
                                        "S_IFLNK", NULL,      "S_IFSOCK"};
    uint64_t type = (mode & MODE_TYPE) >> 12;
    const char *name = type < sizeof(types) / sizeof(*types) ? types[type] : NULL;
    uint64_t kept = name != NULL ? mode & ~(uint64_t)MODE_TYPE : mode;
    if (name != NULL)
        tool_output_printf(out, "%s|", name);
    tool_output_printf(out, "%#03" PRIo64, kept);
}

void tool_kernel_put_device(struct tool_output *out, uint64_t device)
{
    uint64_t major = (device >> 8 & 0xfff) | (device >> 32 & 0xfffff000u);
    uint64_t minor = (device & 0xff) | (device >> 12 & 0xffffff00u);
    tool_output_printf(out, "makedev(%#" PRIx64 ", %#" PRIx64 ")", major, minor);
}

struct choice { /* one word of several, by some of the bits */
    const char *name;
    uint32_t mask, bits;
};

static const struct choice output_choices[] = {{"NL0", 0x100, 0},
                                               {"NL1", 0x100, 0x100},
                                               {"CR0", 0x600, 0},
                                               {"CR1", 0x600, 0x200},
                                               {"CR2", 0x600, 0x400},
                                               {"CR3", 0x600, 0x600},
                                               {"TAB0", 0x1800, 0},
                                               {"TAB1", 0x1800, 0x800},
                                               {"TAB2", 0x1800, 0x1000},
                                               {"TAB3", 0x1800, 0x1800},
                                               {"BS0", 0x2000, 0},
                                               {"BS1", 0x2000, 0x2000},
                                               {"VT0", 0x4000, 0},
                                               {"VT1", 0x4000, 0x4000},
                                               {"FF0", 0x8000, 0},
                                               {"FF1", 0x8000, 0x8000},
                                               {"OPOST", 1, 1},
                                               {"OLCUC", 2, 2},
                                               {"ONLCR", 4, 4},
                                               {"OCRNL", 8, 8},
                                               {"ONOCR", 0x10, 0x10},
                                               {"ONLRET", 0x20, 0x20},
                                               {"OFILL", 0x40, 0x40},
                                               {"OFDEL", 0x80, 0x80},
                                               {NULL, 0, 0}};

#define SPEED 0x100f
static const struct choice line_choices[] = {{"B0", SPEED, 0},
                                             {"B50", SPEED, 1},
                                             {"B75", SPEED, 2},
                                             {"B110", SPEED, 3},
                                             {"B134", SPEED, 4},
                                             {"B150", SPEED, 5},
                                             {"B200", SPEED, 6},
                                             {"B300", SPEED, 7},
                                             {"B600", SPEED, 8},
                                             {"B1200", SPEED, 9},
                                             {"B1800", SPEED, 10},
                                             {"B2400", SPEED, 11},
                                             {"B4800", SPEED, 12},
                                             {"B9600", SPEED, 13},
                                             {"B19200", SPEED, 14},
                                             {"B38400", SPEED, 15},
                                             {"BOTHER", SPEED, 0x1000},
                                             {"B57600", SPEED, 0x1001},
                                             {"B115200", SPEED, 0x1002},
                                             {"B230400", SPEED, 0x1003},
                                             {"B460800", SPEED, 0x1004},
                                             {"CS5", 0x30, 0},
                                             {"CS6", 0x30, 0x10},
                                             {"CS7", 0x30, 0x20},
                                             {"CS8", 0x30, 0x30},
                                             {"CSTOPB", 0x40, 0x40},
                                             {"CREAD", 0x80, 0x80},
                                             {"PARENB", 0x100, 0x100},
                                             {"PARODD", 0x200, 0x200},
                                             {"HUPCL", 0x400, 0x400},
                                             {"CLOCAL", 0x800, 0x800},
                                             {"CMSPAR", 0x40000000, 0x40000000},
                                             {"CRTSCTS", 0x80000000, 0x80000000},
                                             {NULL, 0, 0}};

static void put_choices(struct tool_output *out, const struct choice *choices, uint64_t value)
{
    const char *between = "";
    uint64_t left = value;
    for (; choices->name != NULL; choices++)
        if ((value & choices->mask) == choices->bits) {
            tool_output_printf(out, "%s%s", between, choices->name);
            left &= ~(uint64_t)choices->mask;
            between = "|";
        }
    if (left != 0)
        tool_output_printf(out, "%s%#" PRIx64, between, left);
}

void tool_kernel_put_output_modes(struct tool_output *out, uint64_t value)
{
    put_choices(out, output_choices, value);
}

void tool_kernel_put_line_modes(struct tool_output *out, uint64_t value)
{
    put_choices(out, line_choices, value);
}
