#!/usr/bin/env python3
"""W2: the k-th write, open, fsync, ftruncate, fallocate, rename ... returns an error, once and from
then on, in the recorder and in the program's runtime: the program does not notice, one message at
most; partitions that were written before are what they were, and what is missing is counted as
lost. Of k some; test_faults_w02_slow.py: all."""
import failing

failing.with_errors(most=4)
