/* An interpreter for a very small language, here to be recorded: its call tree has recursion at
 * every turn.
 *
 *   text --next_token--> tokens --parse_*--> tree --fold--> smaller tree --eval_*, run_*--> output
 */
#ifndef MINILANG_H
#define MINILANG_H

#include <stdint.h>

enum { ML_MAX_LOCALS = 16, ML_MAX_NAME = 16 };

enum node_kind {
    N_NUMBER,
    N_LOCAL,
    N_INDEX,
    N_NOT,
    N_NEGATE,
    N_BINARY,
    N_AND,
    N_OR,
    N_CALL,
    N_ARRAY,
    N_ASSIGN,
    N_STORE,
    N_IF,
    N_WHILE,
    N_RETURN,
    N_PRINT,
    N_BLOCK
};

struct node {
    enum node_kind kind;
    char sign[3];   /* of N_BINARY */
    int64_t number; /* value, slot of a local, or index of a function */
    struct node *a, *b, *c;
    struct node *next; /* in a block or an argument list */
};

struct function {
    char name[ML_MAX_NAME];
    int parameter_count, local_count;
    char locals[ML_MAX_LOCALS][ML_MAX_NAME];
    struct node *body;
};

/* Prints the message and ends the program. */
_Noreturn void ml_fail(const char *message, ...) __attribute__((format(printf, 1, 2)));

/* minilang_parse.c */
void ml_parse(const char *program);
const struct function *ml_function(int64_t index);
const struct function *ml_find_function(const char *name);

/* minilang_run.c */
int64_t ml_apply(const char *sign, int64_t a, int64_t b);
int64_t ml_call(const struct function *function, const struct node *arguments);

#endif
