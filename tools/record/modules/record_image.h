/* The program that a command is, in the end: of a script its interpreter. */
#ifndef TOOL_RECORD_IMAGE_H
#define TOOL_RECORD_IMAGE_H

/* Its path as the kernel says it; NULL: it is not there. To be freed. */
char *tool_record_image(const char *command);
/* The path of the link by which a program is called, where that has another name; NULL. To be
 * freed. */
char *tool_record_link(const char *command);

#endif
