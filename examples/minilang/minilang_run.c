/* From a tree to its effects: values are 64-bit numbers, an array is its first cell. */
#include "minilang.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CELLS = 1 << 20, MAX_STACK = 1 << 16 };

static int64_t cells[MAX_CELLS]; /* all arrays, each behind a cell that holds its length */
static int64_t cell_count;
static int64_t stack[MAX_STACK];
static int64_t *frame = stack; /* locals of the running function */
static int64_t *stack_top = stack;
static int64_t returned;

static int64_t divide(int64_t a, int64_t b)
{
    if (b == 0)
        ml_fail("division by zero");
    return a / b;
}

static int64_t remainder_of(int64_t a, int64_t b) { return a - divide(a, b) * b; }

int64_t ml_apply(const char *sign, int64_t a, int64_t b)
{
    switch (sign[0]) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return divide(a, b);
    case '%': return remainder_of(a, b);
    case '<': return sign[1] ? a <= b : a < b;
    case '>': return sign[1] ? a >= b : a > b;
    case '=': return a == b;
    default: return a != b;
    }
}

static int64_t eval(const struct node *node);
static int run(const struct node *node);

int64_t ml_call(const struct function *function, const struct node *arguments)
{
    int64_t *caller = frame, *mine = stack_top;
    int count = 0;
    if (stack_top + ML_MAX_LOCALS > stack + MAX_STACK)
        ml_fail("stack overflow in '%s'", function->name);
    stack_top += function->local_count;
    for (; arguments != NULL && count < function->local_count; arguments = arguments->next)
        mine[count++] = eval(arguments);
    if (count != function->parameter_count)
        ml_fail("'%s' takes %d arguments", function->name, function->parameter_count);
    frame = mine;
    returned = 0;
    run(function->body);
    frame = caller;
    stack_top = mine;
    return returned;
}

static int64_t new_array(int64_t length)
{
    if (length < 0 || cell_count + length + 1 > MAX_CELLS)
        ml_fail("out of memory");
    int64_t array = cell_count;
    cell_count += length + 1;
    cells[array] = length;
    memset(&cells[array + 1], 0, (size_t)length * sizeof *cells);
    return array;
}

static int64_t *element(int64_t array, int64_t index)
{
    if (array < 0 || array >= cell_count || index < 0 || index >= cells[array])
        ml_fail("index out of range");
    return &cells[array + 1 + index];
}

static int64_t eval_binary(const struct node *node)
{
    int64_t left = eval(node->a);
    return ml_apply(node->sign, left, eval(node->b));
}

static int64_t eval_index(const struct node *node)
{
    int64_t array = eval(node->a);
    return *element(array, eval(node->b));
}

static int64_t eval_logic(const struct node *node)
{
    int64_t left = eval(node->a) != 0;
    return left == (node->kind == N_OR) ? left : eval(node->b) != 0;
}

static int64_t eval(const struct node *node)
{
    switch (node->kind) {
    case N_NUMBER: return node->number;
    case N_LOCAL: return frame[node->number];
    case N_INDEX: return eval_index(node);
    case N_NOT: return !eval(node->a);
    case N_NEGATE: return -eval(node->a);
    case N_BINARY: return eval_binary(node);
    case N_CALL: return ml_call(ml_function(node->number), node->a);
    case N_ARRAY: return new_array(eval(node->a));
    default: return eval_logic(node);
    }
}

/* Statements say whether the function has returned. */
static int run_while(const struct node *node)
{
    while (eval(node->a))
        if (run(node->b))
            return 1;
    return 0;
}

static int run_if(const struct node *node)
{
    if (eval(node->a))
        return run(node->b);
    return node->c != NULL && run(node->c);
}

static int run_block(const struct node *node)
{
    for (const struct node *inner = node->a; inner != NULL; inner = inner->next)
        if (run(inner))
            return 1;
    return 0;
}

static void run_store(const struct node *node)
{
    int64_t array = eval(node->a), index = eval(node->b);
    *element(array, index) = eval(node->c);
}

static int run_return(const struct node *node)
{
    int64_t value = eval(node->a);
    returned = value;
    return 1;
}

static void run_print(const struct node *node) { printf("%lld\n", (long long)eval(node->a)); }

static int run(const struct node *node)
{
    switch (node->kind) {
    case N_ASSIGN: frame[node->number] = eval(node->a); return 0;
    case N_STORE: run_store(node); return 0;
    case N_IF: return run_if(node);
    case N_WHILE: return run_while(node);
    case N_RETURN: return run_return(node);
    case N_PRINT: run_print(node); return 0;
    case N_BLOCK: return run_block(node);
    default: eval(node); return 0;
    }
}
