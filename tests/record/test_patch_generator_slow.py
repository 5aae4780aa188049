#!/usr/bin/env python3
"""As test_patch_generator.py: 10,000 functions in 320 programs, in all ways of recording."""
import generated

generated.run(range(320), more_ways=len(generated.WAYS))
