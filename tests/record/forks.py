"""W13: forks of busy multi-threaded programs; see test_faults_w13.py and its slow form."""
import traces
from oracle import Case


def children(checks, label, run):
    """Each child has a stream of its own; the parent's streams hold nothing of a child."""
    count = run.case.args[0]
    about = traces.info(run.trace)
    pids = {}
    for stream in about["stream_list"]:
        pids.setdefault(stream["pid"], []).append(stream)
    # those that exec /bin/true leave their image's stream behind like the others
    # (numbers of processes come again, where other tests start a hundred thousand threads)
    first = [s for s in about["stream_list"] if s["tid"] == s["pid"]]
    checks.equal(len(first), count + 1, f"{label}: first threads of processes, with streams")
    counts = traces.call_counts(run.trace)
    enters, opens = counts["enter"], counts["open"]
    with_thread = (count + 3) // 4
    checks.equal(enters["child_life"], count, f"{label}: calls of 'child_life'")
    checks.equal(enters["in_child"], 5 * count + 3 * with_thread,
                 f"{label}: calls of 'in_child'")
    checks.equal(enters["one_fork"], count, f"{label}: calls of 'one_fork'")
    checks.equal(opens["one_fork"], count, f"{label}: frames of 'one_fork' open in children")
    checks.equal(enters["thread_of_child"], with_thread, f"{label}: threads of children")
    check_streams(checks, label, run, about, pids)


def check_streams(checks, label, run, about, pids):
    """Of the parent: balanced streams without a child's function."""
    parent = min(pids, key=lambda pid: min(s["start_time_ns"] for s in pids[pid]))
    if sum(s["events"] for s in about["stream_list"]) > 400_000:
        return
    wrong = set()
    for stream in traces.streams(run.trace):
        names = {frame.name for frame in stream.frames if not frame.inherited}
        checks.extend(stream.problems, f"{label}: stream {stream.about['stream']}")
        child = stream.about["pid"] != parent
        wrong |= names & ({"busy", "busy_pair", "busy_leaf"} if child else
                          {"child_life", "in_child", "thread_of_child"})
    checks.that(not wrong, f"{label}: calls in the wrong process: {wrong}")


def case(count, timeout=120, **more):
    # room for some seconds in which the recorder does not get to run: this is not about its speed
    return Case(f"W13 {count} forks", "p_fork_busy.c", [count, 15], frames="opens",
                options=["--buffer", "64M"], after=children, timeout=timeout, **more)
