/* The library's own version; the build passes it in, so that it is written in one place only. */
#include <tracetape/types.h>

const char *ttape_version_string(void) { return TTP_PROJECT_VERSION; }
