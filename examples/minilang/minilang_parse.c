/* From text to a tree: tokens, and a parser that climbs by how tightly signs bind. */
#include "minilang.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 4096, MAX_FUNCTIONS = 32 };

enum token_kind { T_END, T_NUMBER, T_NAME, T_SIGN };

static const char *text;
static enum token_kind token;
static char token_text[ML_MAX_NAME];
static int64_t token_number;

static struct node nodes[MAX_NODES];
static int node_count;
static struct function functions[MAX_FUNCTIONS];
static int function_count;
static struct function *parsed; /* the function whose body is being parsed */

/* ---- tokens ---- */

static void skip_space(void)
{
    while (isspace((unsigned char)*text))
        text++;
}

static void read_number(void)
{
    char *end;
    token = T_NUMBER;
    token_number = strtoll(text, &end, 10);
    text = end;
}

static void read_name(void)
{
    size_t length = 0;
    token = T_NAME;
    for (; isalnum((unsigned char)*text) || *text == '_'; text++)
        if (length < ML_MAX_NAME - 1)
            token_text[length++] = *text;
    token_text[length] = '\0';
}

static void read_sign(void)
{
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "&&", "||"};
    size_t length = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strncmp(text, pairs[i], 2) == 0)
            length = 2;
    token = T_SIGN;
    memcpy(token_text, text, length);
    token_text[length] = '\0';
    text += length;
}

static void next_token(void)
{
    skip_space();
    if (*text == '\0')
        token = T_END;
    else if (isdigit((unsigned char)*text))
        read_number();
    else if (isalpha((unsigned char)*text))
        read_name();
    else
        read_sign();
}

static int at(const char *what)
{
    return token != T_NUMBER && token != T_END && strcmp(token_text, what) == 0;
}

static int accept(const char *what)
{
    if (!at(what))
        return 0;
    next_token();
    return 1;
}

static void expect(const char *what)
{
    if (!accept(what))
        ml_fail("expected '%s' before '%.20s'", what, text);
}

/* ---- the tree, folded while it is built ---- */

static struct node *new_node(enum node_kind kind, struct node *a, struct node *b)
{
    if (node_count == MAX_NODES)
        ml_fail("too many nodes");
    struct node *node = &nodes[node_count++];
    *node = (struct node){.kind = kind, .a = a, .b = b};
    return node;
}

static struct node *new_number(int64_t value)
{
    struct node *node = new_node(N_NUMBER, NULL, NULL);
    node->number = value;
    return node;
}

static int is_number(const struct node *node) { return node->kind == N_NUMBER; }

static struct node *fold(struct node *node)
{
    if (node->kind == N_BINARY && is_number(node->a) && is_number(node->b))
        return new_number(ml_apply(node->sign, node->a->number, node->b->number));
    if (node->kind == N_NEGATE && is_number(node->a))
        return new_number(-node->a->number);
    return node;
}

/* ---- parsing ---- */

static struct node *parse_expression(int level);
static struct node *parse_block(void);

static int find_local(const char *name)
{
    for (int i = 0; i < parsed->local_count; i++)
        if (strcmp(parsed->locals[i], name) == 0)
            return i;
    return -1;
}

static int add_local(const char *name)
{
    int slot = find_local(name);
    if (slot >= 0)
        return slot;
    if (parsed->local_count == ML_MAX_LOCALS)
        ml_fail("too many locals in '%s'", parsed->name);
    memcpy(parsed->locals[parsed->local_count], name, ML_MAX_NAME);
    return parsed->local_count++;
}

static int find_function(const char *name)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return i;
    ml_fail("no function '%s'", name);
}

static struct node *parse_list(const char *close)
{
    struct node *first = NULL, **link = &first;
    while (!accept(close)) {
        *link = parse_expression(0);
        link = &(*link)->next;
        if (!at(close))
            expect(",");
    }
    return first;
}

static struct node *parse_call(const char *name)
{
    if (strcmp(name, "array") == 0)
        return new_node(N_ARRAY, parse_list(")"), NULL);
    int index = find_function(name);
    struct node *node = new_node(N_CALL, parse_list(")"), NULL);
    node->number = index;
    return node;
}

static struct node *parse_local(const char *name)
{
    struct node *node = new_node(N_LOCAL, NULL, NULL);
    node->number = find_local(name);
    if (node->number < 0)
        ml_fail("no variable '%s' in '%s'", name, parsed->name);
    return node;
}

static struct node *parse_named(void)
{
    char name[ML_MAX_NAME];
    memcpy(name, token_text, ML_MAX_NAME);
    next_token();
    if (accept("("))
        return parse_call(name);
    struct node *node = parse_local(name);
    while (accept("[")) {
        node = new_node(N_INDEX, node, parse_expression(0));
        expect("]");
    }
    return node;
}

static struct node *parse_primary(void)
{
    if (token == T_NUMBER) {
        struct node *node = new_number(token_number);
        next_token();
        return node;
    }
    if (accept("(")) {
        struct node *node = parse_expression(0);
        expect(")");
        return node;
    }
    if (token != T_NAME)
        ml_fail("expected a value before '%.20s'", text);
    return parse_named();
}

static struct node *parse_unary(void)
{
    if (accept("!"))
        return fold(new_node(N_NOT, parse_unary(), NULL));
    if (accept("-"))
        return fold(new_node(N_NEGATE, parse_unary(), NULL));
    return parse_primary();
}

/* How tightly the sign at hand binds, 0 when it does not join two values. */
static int binding(void)
{
    static const char *const levels[] = {"||", "&&", "== !=", "< > <= >=", "+ -", "* / %"};
    size_t length = strlen(token_text);
    if (token != T_SIGN)
        return 0;
    for (int i = 0; i < 6; i++)
        for (const char *p = levels[i]; (p = strstr(p, token_text)) != NULL; p++)
            if ((p == levels[i] || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
                return i + 1;
    return 0;
}

static struct node *join(const char *sign, struct node *left, struct node *right)
{
    enum node_kind kind = strcmp(sign, "&&") == 0   ? N_AND
                          : strcmp(sign, "||") == 0 ? N_OR
                                                    : N_BINARY;
    struct node *node = new_node(kind, left, right);
    memcpy(node->sign, sign, sizeof node->sign);
    return fold(node);
}

static struct node *parse_expression(int level)
{
    struct node *left = parse_unary();
    for (int strength = binding(); strength > level; strength = binding()) {
        char sign[3] = {token_text[0], token_text[1], '\0'};
        next_token();
        left = join(sign, left, parse_expression(strength));
    }
    return left;
}

static struct node *parse_if(void)
{
    struct node *condition = parse_expression(0);
    struct node *node = new_node(N_IF, condition, parse_block());
    if (accept("else"))
        node->c = parse_block();
    return node;
}

static struct node *parse_while(void)
{
    struct node *condition = parse_expression(0);
    return new_node(N_WHILE, condition, parse_block());
}

static struct node *parse_let(void)
{
    int slot = add_local(token_text);
    next_token();
    expect("=");
    struct node *node = new_node(N_ASSIGN, parse_expression(0), NULL);
    node->number = slot;
    return node;
}

static struct node *parse_assignment(void)
{
    struct node *target = parse_expression(0);
    if (!accept("="))
        return target;
    struct node *value = parse_expression(0);
    struct node *node = new_node(N_ASSIGN, value, NULL);
    node->number = target->number;
    if (target->kind == N_INDEX)
        *node = (struct node){.kind = N_STORE, .a = target->a, .b = target->b, .c = value};
    else if (target->kind != N_LOCAL)
        ml_fail("cannot assign to that");
    return node;
}

static struct node *parse_statement(void)
{
    if (accept("if"))
        return parse_if();
    if (accept("while"))
        return parse_while();
    struct node *node;
    if (accept("let"))
        node = parse_let();
    else if (accept("return"))
        node = new_node(N_RETURN, parse_expression(0), NULL);
    else if (accept("print"))
        node = new_node(N_PRINT, parse_expression(0), NULL);
    else
        node = parse_assignment();
    expect(";");
    return node;
}

static struct node *parse_block(void)
{
    struct node *block = new_node(N_BLOCK, NULL, NULL), **link = &block->a;
    expect("{");
    while (!accept("}")) {
        *link = parse_statement();
        link = &(*link)->next;
    }
    return block;
}

static void parse_function(void)
{
    if (function_count == MAX_FUNCTIONS)
        ml_fail("too many functions");
    expect("fn");
    parsed = &functions[function_count++];
    memcpy(parsed->name, token_text, ML_MAX_NAME);
    next_token();
    expect("(");
    while (!accept(")")) {
        add_local(token_text);
        next_token();
        if (!at(")"))
            expect(",");
    }
    parsed->parameter_count = parsed->local_count;
    parsed->body = parse_block();
}

void ml_parse(const char *program)
{
    text = program;
    next_token();
    while (token != T_END)
        parse_function();
}

const struct function *ml_function(int64_t index) { return &functions[index]; }

const struct function *ml_find_function(const char *name)
{
    return ml_function(find_function(name));
}
