/* xxHash in the module: its header alone, as there is no library of it for WebAssembly. */
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>
