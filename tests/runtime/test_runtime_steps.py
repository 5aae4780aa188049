#!/usr/bin/env python3
"""A signal at every 389th instruction of hooks in every state; the slow form takes each one."""
import stepping

stepping.main(389)
