"""Order sections, full form (spec/order-full.md)."""
from mini_coder import Finding


def read_full(partition, model):
    raise Finding("UNREAD", "full form")
