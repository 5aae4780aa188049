/* The fault that a core file is of: which thread, which signal, which address. */
#ifndef TOOL_CORE_FAULT_H
#define TOOL_CORE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct tool_core_fault {
    uint64_t tid, signal, address;
    uint64_t code;    /* the address of the instruction */
    bool has_address; /* the signal is a fault, and the kernel knew where */
    bool has_code;
};

/* Returns NULL, or why the file cannot be used (static text). */
const char *tool_core_fault_read(const char *path, struct tool_core_fault *fault);

#endif
