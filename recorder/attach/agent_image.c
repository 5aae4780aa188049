/* The agent's image, as it was built (recorder/runtime/agent/), in the library's constants. */
#include "recorder/attach/attach_inside.h"

__asm__(".pushsection .rodata, \"a\", @progbits\n\t.p2align 12\n\t"
        ".globl ttp_agent_image\n\t.hidden ttp_agent_image\n\t"
        ".globl ttp_agent_image_end\n\t.hidden ttp_agent_image_end\n"
        "ttp_agent_image:\n\t.incbin \"" TTP_AGENT_IMAGE "\"\nttp_agent_image_end:\n\t"
        ".popsection");
