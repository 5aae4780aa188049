#!/usr/bin/env python3
"""Words gate: a word that spec/decisions/0052-words.md retired in a folder does not come back as
a word of a name there. Names are the code's; what a comment says in passing is free."""
import re

import tidy

READING = ["base", "reader", "answers"]
ALL = READING + ["libtrace", "recorder/recover"]

# word of a name: (folders, names that keep it and why they may)
RETIRED = {
    "run": (ALL + ["writer/events", "writer/encode"],
            {"run_all", "run_member", "run_members", "run_workers", "run"}), # verbs
    "runs": (ALL + ["writer/events", "writer/encode"], set()),
    "part": (ALL,
             {"TTAPE_NODE_PART", "ttp_tree_part_node", "next_of_part", "start_part_scan",
              "count_part", "part_count",                                # the tree's node, public
              "ttape_copier_part", "copy_segment_part"}),                # public
    "parts": (ALL, set()),
    "place": (READING + ["libtrace/copy"], {"place"}),                   # ttape_node_id has one
    "places": (READING + ["libtrace/copy"], set()),
    "told": (ALL, set()),
    "record": (READING, {"ttape_sequence_record", "record_count"}),    # tracetape/chains.h
    "beside": (READING, {"ttp_time_static_blocks_beside"}),           # format's
    "ahead": (READING, set()),
}
NAME = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*\b")


def main():
    problems, seen, kept = [], 0, set()
    for word, (folders, allowed) in RETIRED.items():
        for path in tidy.files(".c", ".h", under=folders):
            if str(path).startswith("libtrace/include/"):
                continue
            code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', tidy.without_comments(tidy.text(path)))
            for match in NAME.finditer(code):
                seen += 1
                name = match.group(0)
                if word not in name.lower().split("_"):
                    continue
                if name in allowed:
                    kept.add((word, name))
                    continue
                line = code.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: '{name}': the word '{word}' is retired here "
                                "(spec/decisions/0052-words.md)")
    for word, (_, allowed) in RETIRED.items():
        problems += [f"'{name}' is allowed for '{word}' and nowhere"
                     for name in sorted(allowed) if (word, name) not in kept]
    tidy.verdict("words", problems, f"{len(RETIRED)} retired words looked for in {seen} names")


main()
