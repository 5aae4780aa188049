/* The kernel's numbers that older headers lack: Debian 11's have those of Linux 5.10. */
#ifndef TOOL_KERNEL_NUMBERS_H
#define TOOL_KERNEL_NUMBERS_H

#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#ifndef FUTEX_LOCK_PI2_PRIVATE
#define FUTEX_LOCK_PI2_PRIVATE (FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG)
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#endif
