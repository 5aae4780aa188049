/* Names for the sites of a trace that have an address and a module but no name. */
#ifndef TOOL_SYMBOLIZE_H
#define TOOL_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

#include "tools/symbols/symbols.h"

/* A site that was asked about; symbol.data NULL: no answer. */
typedef struct tool_named_site {
    uint32_t site;
    uint32_t line;
    ttape_string symbol, file;
} tool_named_site;

typedef struct tool_symbolize_options {
    tool_symbols_options symbols;
    bool again;    /* ask for those that have names, too */
    uint32_t jobs; /* helpers at work at once; 0: 1 */
} tool_symbolize_options;

typedef struct tool_symbolizing tool_symbolizing;

/* Asks for all of them. Warns once for each module that cannot answer, or not for all addresses;
 * then *complete is false. */
tool_symbolizing *tool_symbolize(const ttape_reader *reader, const tool_symbolize_options *options,
                                 bool *complete);
/* By ascending site number; lives until close. */
const tool_named_site *tool_symbolize_sites(const tool_symbolizing *work, size_t *count);
void tool_symbolize_close(tool_symbolizing *work);

#endif
