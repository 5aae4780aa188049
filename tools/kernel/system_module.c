#include "tools/kernel/system_module.h"

#include "tools/io/input.h"

bool tool_is_system_module(ttape_string path)
{
    static const char *const system[] = {"/lib/",     "/lib32/",     "/lib64/",     "/libx32/",
                                         "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/",
                                         "[vdso]",    "linux-vdso"};
    for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
        if (tool_text_begins(path, system[i]))
            return true;
    return false;
}
