/* `minilang [SIZE]` runs one fixed program on SIZE: queens, a sieve, a quicksort, Collatz and
 * Ackermann. What it prints, and so the sequence of its calls, depends on SIZE alone. */
#include "minilang.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char program[] =
    "fn safe(board, row, col) {"
    "  let i = 0;"
    "  while i < row {"
    "    let d = board[i] - col;"
    "    if d == 0 || d == row - i || d == i - row { return 0; }"
    "    i = i + 1;"
    "  }"
    "  return 1;"
    "}"
    "fn place(board, row, n) {"
    "  if row == n { return 1; }"
    "  let count = 0; let col = 0;"
    "  while col < n {"
    "    if safe(board, row, col) { board[row] = col; count = count + place(board, row + 1, n); }"
    "    col = col + 1;"
    "  }"
    "  return count;"
    "}"
    "fn sieve(n) {"
    "  let crossed = array(n); let count = 0; let i = 2;"
    "  while i < n {"
    "    if !crossed[i] {"
    "      count = count + 1; let k = i * i;"
    "      while k < n { crossed[k] = 1; k = k + i; }"
    "    }"
    "    i = i + 1;"
    "  }"
    "  return count;"
    "}"
    "fn swap(a, i, k) { let t = a[i]; a[i] = a[k]; a[k] = t; }"
    "fn quicksort(a, low, high) {"
    "  if low >= high { return 0; }"
    "  let pivot = a[(low + high) / 2]; let i = low; let k = high;"
    "  while i <= k {"
    "    while a[i] < pivot { i = i + 1; }"
    "    while a[k] > pivot { k = k - 1; }"
    "    if i <= k { swap(a, i, k); i = i + 1; k = k - 1; }"
    "  }"
    "  quicksort(a, low, k); quicksort(a, i, high);"
    "}"
    "fn sort(n) {"
    "  let a = array(n); let seed = 12345; let i = 0;"
    "  while i < n { seed = (seed * 1103515245 + 12345) % (2048 * 1048576); a[i] = seed; i = i + "
    "1; }"
    "  quicksort(a, 0, n - 1);"
    "  return a[n / 2];"
    "}"
    "fn collatz(n) {"
    "  let steps = 0;"
    "  while n != 1 { if n % 2 == 0 { n = n / 2; } else { n = 3 * n + 1; } steps = steps + 1; }"
    "  return steps;"
    "}"
    "fn longest(n) {"
    "  let best = 0; let i = 1;"
    "  while i < n { let s = collatz(i); if s > best { best = s; } i = i + 1; }"
    "  return best;"
    "}"
    "fn ackermann(m, n) {"
    "  if m == 0 { return n + 1; }"
    "  if n == 0 { return ackermann(m - 1, 1); }"
    "  return ackermann(m - 1, ackermann(m, n - 1));"
    "}"
    "fn main(size) {"
    "  print place(array(size), 0, size);"
    "  print sieve(size * 400);"
    "  print sort(size * 100);"
    "  print longest(size * 50);"
    "  print ackermann(2, size * 2);"
    "}";

void ml_fail(const char *message, ...)
{
    va_list arguments;
    va_start(arguments, message);
    fputs("minilang: ", stderr);
    vfprintf(stderr, message, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

int main(int argc, char **argv)
{
    long size = argc > 1 ? strtol(argv[1], NULL, 10) : 8;
    if (argc > 2 || size < 1 || size > 10) {
        fputs("usage: minilang [SIZE]   (1 to 10, default 8)\n", stderr);
        return 2;
    }
    ml_parse(program);
    struct node size_node = {.kind = N_NUMBER, .number = size};
    ml_call(ml_find_function("main"), &size_node);
    return 0;
}
