#!/usr/bin/env python3
"""W1: the k-th malloc, calloc, realloc, mmap fails, once and from then on: in the recorder, and in
the runtime's own system calls inside the program. The program does not notice, what is on disk
verifies, and what it does not hold is counted as lost. Of k some; test_faults_w01_slow.py: all."""
import failing

failing.without_memory(most=24)
