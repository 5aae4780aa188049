"""The kinds of programs, each as a case of the matrix. What stays ambiguous is said here, with its
reason, and nowhere else."""
import errno
import shutil

import faults
import setting
import traces
from oracle import Case

# ---- what cannot be told from hooks alone ----

# The thread's start function was left by pthread_exit or a cancellation; the library then calls the
# destructors from the function that had called it: they reach below the place of its frame.
AFTER_THREAD = frozenset({("~Local", "thread_main"), ("key_destructor", "thread_main")})


FEW_PAGES = 1024  # of what threads leave for the next, at the program's beginning


def no_static(_):
    return None if setting.runtime_archive() else "this build has no static runtime"


def threads_counted(count):
    def check(checks, label, run):
        report = run.report
        checks.equal(report.get("threads"), count, f"{label}: threads run")
        before, after = report.get("pages_before", 0), report.get("pages_after", 1 << 40)
        checks.that(after <= before * 1.1 + FEW_PAGES,
                    f"{label}: {after} private pages after, {before} before")
        enters = traces.call_counts(run.trace)["enter"]
        missing = sum(count - enters[name] for name in ("thread_main", "middle", "inner"))
        lost = traces.lost(traces.info(run.trace))
        checks.that(0 <= missing <= lost, f"{label}: {missing} calls missing, {lost} counted")
    return check


def short_threads(name, count, at_once, timeout=120, **more):
    """Without --block threads that find no room are counted as lost."""
    return Case(name, "p_short_threads.c", [count, at_once], frames="counts", timeout=timeout,
                expect={"thread_main": count, "middle": count, "inner": count},
                after=threads_counted(count), **more)


def signals_ended(checks, label, run):
    """Each handler that began has ended."""
    counts = traces.call_counts(run.trace)
    begun, ended = sum(counts["signal"].values()), sum(counts["signal_end"].values())
    checks.that(begun > 0 and begun == ended, f"{label}: {begun} signals, {ended} ends of signals")
    checks.equal(begun, counts["enter"]["handler"], f"{label}: signals and calls of the handler")


def builds():
    """One program, built in many ways."""
    ways = {"O0": ("-O0",), "O1": ("-O1",), "O3": ("-O3",), "Os": ("-Os",),
            "no-pie": ("-O2", "-fno-pie", "-no-pie"), "pie": ("-O2", "-fPIE", "-pie"),
            "frame-pointer": ("-O2", "-fno-omit-frame-pointer"),
            "stripped": ("-O2", "-s"), "sections": ("-O2", "-ffunction-sections",
                                                    "-Wl,--gc-sections"),
            "protected": ("-O2", "-fcf-protection=full", "-fstack-protector-all",
                          "-fstack-clash-protection", "-Wl,-z,now")}
    for name, flags in ways.items():
        stripped = name == "stripped"  # dynamic symbols only: calls are there, names are not
        yield Case(f"build {name}", "p_calls.c", flags=flags, frames="opens" if stripped else
                   "exact", messages=int(stripped))
    yield Case("build lto", "p_calls.c", flags=("-O2", "-flto"),
               skip=lambda c: None if c == "gcc" or shutil.which("ld.lld") or shutil.which(
                   "llvm-ar") else "clang's -flto needs lld or the gold plugin")
    # Nothing can be preloaded into a static program: it runs, untraced, with one message.
    for name, flags in {"static": ("-O2", "-static"),
                        "static-pie": ("-O2", "-static-pie")}.items():
        compilers = ("gcc", "clang") if name == "static" else ("gcc",)  # clang 14's do not run
        yield Case(f"build {name}, not linked with us", "p_calls.c", flags=flags, frames="none",
                   compilers=compilers, messages=1, status=(4,))
        archive = setting.runtime_archive()
        yield Case(f"build {name}, linked with us", "p_calls.c", flags=flags, skip=no_static,
                   compilers=compilers, libraries=(archive,) if archive else ())


def threads():
    yield Case("threads", "p_threads.c")
    yield Case("many threads", "p_threads.c", [40, 3])
    yield short_threads("short threads, 1000 at once", 2000, 1000, loss=True)
    yield short_threads("short threads, 1000 at once, --block", 2000, 1000, options=["--block"])
    yield Case("thread exit", "p_thread_exit.cc", transparent=True, tolerate=AFTER_THREAD)
    yield Case("mutexes", "p_mutexes.c", frames="counts", balanced=True)
    # without -fno-builtin gcc turns the program's calloc into a call of itself
    yield Case("own malloc and lock", "p_own_malloc.c", flags=("-O2", "-fno-builtin"),
               frames="counts", expect={"work": 4}, balanced=True, loss=True)


def processes():
    yield Case("fork", "p_forks.c")
    yield Case("fork from busy threads", "p_fork_busy.c", [60, 15], frames="opens",
               options=["--buffer", "64M"])  # as in forks.py
    for way in ("vfork", "spawn", "system", "popen", "clone"):
        yield Case(f"other programs by {way}", "p_spawn.c", [way, 6], forbid=["borrowed_call"])
    yield Case("exec of itself", "p_exec_self.c", [3], cut_short=True)
    yield Case("daemon", "p_daemon.c", ["{dir}/result"], wait_for="result", slack=2.0)
    relay = ["{dir}/result", "100"]
    yield Case("relay", "p_daemon.c", relay, wait_for="result", slack=2.0)
    # a file system without leases: the recorder has to look through /proc
    yield Case("relay, no leases", "p_daemon.c", relay, wait_for="result", slack=2.0,
               compilers=("gcc",), env=faults.disturbed(f"F_SETLEASE:error={errno.EINVAL}:1+"))


def unwinding():
    yield Case("longjmp", "p_jumps.c")
    yield Case("longjmp, O0", "p_jumps.c", flags=("-O0",))
    for level in ("-O0", "-O2"):
        yield Case(f"exceptions {level}", "p_throwing.cc", flags=(level,), transparent=True)
    yield Case("coroutines on 4 KiB stacks", "p_coroutines.c", [4, 4096])
    yield Case("coroutines on 64 KiB stacks", "p_coroutines.c", [4, 65536])
    for kind, bytes_of, compiler, more in (
            (0, 4096, "gcc", ()), (1, 8192, "clang", ("-DFRAME_BYTES=1500",)),
            (2, 16384, "gcc", ("-DOWN_CALL",)), (3, 16384, "clang", ("-DFRAME_BYTES=2500",)),
            (1, 4096, "gcc", ("-DOWN_CALL",)), (0, 262144, "clang", ("-DOWN_CALL",))):
        yield Case(f"coroutines by a switch of their own, {' '.join((str(kind), *more))}",
                   "p_coroutines.c", [4, bytes_of], compilers=(compiler,),
                   flags=("-O2", "-DOWN_SWITCH", f"-DOWN_STACKS={kind}", *more))
    yield Case("tail calls", "p_tails.c")


def signals():
    yield Case("signals", "p_signals.c")
    yield Case("profiling signals, nested", "p_profiled.c", [2, setting.cut(150, 30)],
               frames="counts", options=["--block"], balanced=True, after=signals_ended)
    yield Case("alternate stacks", "p_altstack.c")
    for way in ("default", "handler", "thread", "recover"):
        yield Case(f"stack overflow, {way}", "p_overflow.c", [way], frames="opens")


def ends():
    for way in ("abort", "abort_handled", "null", "null_handled", "sigterm", "sigkill", "trap",
                "exit", "_exit", "quick_exit", "exit_group", "return"):
        yield Case(f"end by {way}", "p_ends.c", [way])
    yield Case("end by thread_exits", "p_ends.c", ["thread_exits"], cut_short=True)
    yield Case("end by main_leaves", "p_ends.c", ["main_leaves"])
    for way in ("return", "exit", "quick", "nested"):
        yield Case(f"statics, {way}", "p_statics.cc", [way], transparent=True, cut_short=True)


def libraries():
    plugins = [("a.so", ("-DPLUGIN=plugin_a",)), ("b.so", ("-DPLUGIN=plugin_b",))]
    yield Case("dlopen and dlclose", "p_dlopen.c", ["{a}", "{b}"], plugins=plugins)
    for options in ([], ["--depth", "99"], ["--min-time", "1ns"]):
        yield Case(f"dlopen in a child and its parent {' '.join(options)}".rstrip(),
                   "p_fork_loads.c", ["{a}"], plugins=plugins[:1], options=options)


def sizes():
    deep = setting.cut(1_000_000, 100_000)
    yield Case("very deep", "p_deep.c", ["recursion", deep], frames="counts", options=["--block"],
               expect={"recurse": 2 * deep + 2, "leaf": 2}, balanced=True)
    yield Case("frames of 100 MB", "p_deep.c", ["frames"], frames="counts",
               expect={"huge_frame": 12, "leaf": 27}, balanced=True)
    yield Case("alloca", "p_deep.c", ["alloca"], frames="counts",
               expect={"with_alloca": 15, "leaf": 45}, balanced=True)


def visible():
    yield Case("registers, flags, errno", "p_probes.c", libraries=("-lm",),
               frames="opens")
    yield Case("registers, flags, errno, O0", "p_probes.c", flags=("-O0",), libraries=("-lm",),
               frames="opens")


GROUPS = (builds, threads, processes, unwinding, signals, ends, libraries, sizes, visible)


def all_cases():
    return [case for group in GROUPS for case in group()]
