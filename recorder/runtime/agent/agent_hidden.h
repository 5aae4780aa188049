/* In front of each source of the agent: all names are its own, so that no table of addresses is
 * needed to find them. */
#pragma GCC visibility push(hidden)
