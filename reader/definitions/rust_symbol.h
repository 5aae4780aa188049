/* Symbols of Rust across builds: without what rustc puts into them that is another in each build.
 *
 *   _ZN3app4work17h0123456789abcdefE       (its first mangling, and as it is shown: ...::h0123...)
 *   _RNvCs4fqI2P2rA04_3app4work            (its second: each crate has such a number) */
#ifndef TTP_READER_RUST_SYMBOL_H
#define TTP_READER_RUST_SYMBOL_H

#include <tracetape/types.h>

#define TTP_RUST_SYMBOL_MOST 2048u /* bytes; a longer one of the second mangling stays as it is */

/* The symbol without them: in `room`, or a part of it. Any other symbol is itself. */
ttape_string ttp_symbol_across_builds(ttape_string symbol, char room[TTP_RUST_SYMBOL_MOST]);
int ttp_compare_symbols_across_builds(ttape_string a, ttape_string b);

#endif
