/* What functions are called on a screen: the short form of each name, and as much more of it as it
 * takes to tell apart those that would be called the same. */
#ifndef TOOL_NAME_CHOICE_H
#define TOOL_NAME_CHOICE_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#define TOOL_NAME_COLUMNS 64u /* where more detail takes more, a number does: "#12ab34" */

/* Puts the short form of each name that is not shown as it is into chosen[], to be freed; NULL
 * otherwise. Equal names get equal forms. Texts that are no names of code have no data. */
void tool_choose_names(const ttape_string *names, size_t count, ttape_string *chosen);

#endif
