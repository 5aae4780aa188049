/* Modes of files and of terminals in words. */
#ifndef TOOL_KERNEL_MODES_H
#define TOOL_KERNEL_MODES_H

#include <stdint.h>

#include "tools/command/output.h"

void tool_kernel_put_mode(struct tool_output *out, uint64_t mode);     /* S_IFREG|0644 */
void tool_kernel_put_device(struct tool_output *out, uint64_t device); /* makedev(0x1, 0x3) */
/* Of a terminal: c_oflag and c_cflag. */
void tool_kernel_put_output_modes(struct tool_output *out, uint64_t value);
void tool_kernel_put_line_modes(struct tool_output *out, uint64_t value);

#endif
