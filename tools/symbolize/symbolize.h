/* Names for the sites of a trace that have an address and a module but no name. */
#ifndef TOOL_SYMBOLIZE_H
#define TOOL_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

#include "program/symbols/symbols.h"

/* A site that was asked about; symbol.data NULL: no answer. */
struct tool_named_site {
    uint32_t site;
    uint32_t line;
    ttape_string symbol, file;
};

struct tool_symbolize_options {
    struct tool_symbols_options symbols;
    bool again;    /* ask for those that have names, too */
    uint32_t jobs; /* helpers at work at once; 0: 1 */
};

struct tool_symbolizing;

/* Asks for all of them. Warns once for each module that cannot answer, or not for all addresses;
 * then *complete is false. */
struct tool_symbolizing *tool_symbolize(const ttape_reader *reader,
                                        const struct tool_symbolize_options *options,
                                        bool *complete);
/* By ascending site number; lives until close. */
const struct tool_named_site *tool_symbolize_sites(const struct tool_symbolizing *work,
                                                   size_t *count);
void tool_symbolize_close(struct tool_symbolizing *work);

#endif
