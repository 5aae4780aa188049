#!/usr/bin/env python3
"""A signal at each instruction of hooks in every state."""
import stepping

stepping.main(1)
