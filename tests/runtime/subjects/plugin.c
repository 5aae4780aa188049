/* A plugin for plugins.c. */
static volatile int sink;

__attribute__((noinline)) void plugin_leaf(void) { sink++; }
__attribute__((constructor)) void plugin_begin(void) { plugin_leaf(); }
void plugin_run(void) { plugin_leaf(); }
