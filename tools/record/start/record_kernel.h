/* Why the kernel's functions are not recorded, and what to do: in words. */
#ifndef TOOL_RECORD_KERNEL_H
#define TOOL_RECORD_KERNEL_H

/* Returns TOOL_CANNOT. */
int tool_record_kernel_refuse(void);

#endif
