#!/usr/bin/env python3
"""What the runtime records of calls, exactly: nesting, unwinding, handlers, coroutines, processes,
API; built by gcc and clang with and without optimisation, preloaded, linked and static (W10, W14,
W18)."""
import os
import sys

import arena as rt

THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
CLOCKS = (rt.TSC, rt.MONOTONIC, rt.COARSE, rt.NONE)
EACH_CLOCK = (("gcc", "-O2"), ("clang", "-O0"))
shop = rt.Workshop()
failures = []

LEAF = "+leaf -leaf"
MIDDLE = f"+middle {LEAF} +inlined {LEAF} -inlined {LEAF} -middle"
BASIC = (f"+main {MIDDLE} +tail_caller +tail_callee {LEAF} -tail_callee -tail_caller "
         f"+large {LEAF} {MIDDLE} -large +grows {LEAF} {LEAF} {MIDDLE} -grows "
         f"+grows {LEAF} {LEAF} {MIDDLE} -grows +many {LEAF} -many "
         + "+recursive " * 4 + f"{LEAF} -recursive " * 4 + "-main")


def signal_case(number, flags=""):
    return (f"+catches_signal +raises {LEAF} !{number} +handler {LEAF} ~3 {LEAF} -catches_signal")


JUMPS = (f"+main +catches +first +second +third {LEAF} ~3 +reaches_down {LEAF} -reaches_down "
         f"-catches +again " + f"+third {LEAF} ~1 " * 3 + f"{LEAF} -again "
         f"{signal_case(10)} {signal_case(12)} {signal_case(12)} {LEAF} -main")
# Without the functions in front, a call again from the same place looks inlined in what was left.
JUMPS_STATIC = JUMPS.replace(f"+third {LEAF} ~1 " * 3, f"+third {LEAF} " * 3 + "~3 ")


def raised(body):
    return f"+raises {LEAF} {body} {LEAF} -raises"


def signals(tail):
    plain = raised(f"!14 +plain {LEAF} +inlined {LEAF} -inlined -plain !.")
    info = "!{} +with_info +inlined " + f"{LEAF} -inlined +large {LEAF} -large -with_info !."
    nested = raised(f"!10 +nesting {LEAF} !12 +nesting {LEAF} {LEAF} -nesting !. {LEAF} "
                    "-nesting !.")
    other = raised(f"{LEAF} " + (f"!0 +large {LEAF} -large !." if tail
                                 else f"+large {LEAF} -large"))
    return (f"+main {plain} {plain} {raised(info.format(1))} {raised(info.format(15))} {nested} "
            f"{nested} {other} {other} -main")


def coroutines():
    enter = f"+resume {LEAF}"
    return (f"+main {enter} @1 +start_one +body {LEAF} +yield {LEAF} @0 -resume "
            f"{enter} @2 +start_two +body {LEAF} +yield {LEAF} @0 -resume "
            f"{enter} @1 -yield {LEAF} +yield {LEAF} @0 -resume "
            f"{enter} @2 -yield {LEAF} +yield {LEAF} @0 -resume "
            f"{enter} @2 -yield {LEAF} -body -start_two @0 -resume "
            f"{enter} @2 +start_two +body {LEAF} +yield {LEAF} @0 -resume "
            f"{enter} @1 ~3 +start_one +body {LEAF} +yield {LEAF} @0 -resume {LEAF} -main")


def exceptions(by_exits):
    def left(count):
        return "-thrower " * count if by_exits else f"~{count} "
    guard = f"+guard::~guard {LEAF} -guard::~guard "
    reached = f"+reaches_down {LEAF} -reaches_down "
    return (f"+main +catcher +thrower +thrower +thrower {left(3)}{reached}{LEAF} -catcher "
            f"+outer +rethrower +thrower {left(1)}{LEAF} {'-rethrower' if by_exits else '~1'} "
            f"{LEAF} +guarded +thrower +thrower {left(2)}{guard}"
            f"{'-guarded' if by_exits else '~1'} {LEAF} -outer "
            + "".join("+thrower " * n + left(n) for n in (1, 2, 3)) + f"{LEAF} -main")


def check(what, got, wanted):
    got, wanted = list(got), wanted.split() if isinstance(wanted, str) else wanted
    if got == wanted:
        return
    at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b),
              min(len(got), len(wanted)))
    failures.append(f"{what}: event {at}: {' '.join(got[max(0, at - 6):at + 6])}\n"
                    f"    wanted {' '.join(wanted[max(0, at - 6):at + 6])}")


def run(what, exe, wanted, arguments=(), preload=True, code=0, lost=0, clock=rt.TSC, extra=None):
    """`wanted`: the words of each stream that has any, by serial."""
    place = rt.Arena(clock=clock)
    try:
        status = place.run([exe, *arguments], preload=preload, extra=extra)
        streams = rt.streams(place.taken)
        if status != code:
            failures.append(f"{what}: exit {status}, wanted {code}: {place.output[-200:]}")
        if place.get(rt.LOST, True) != lost:
            failures.append(f"{what}: {place.get(rt.LOST, True)} lost")
        failures.extend(f"{what}: thread {s.serial}: {e}" for s in streams for e in s.errors)
        busy = [s for s in streams if s.words]
        if len(busy) != len(wanted):
            failures.append(f"{what}: {len(busy)} streams, wanted {len(wanted)}")
        for stream, words in zip(busy, wanted):
            check(f"{what}, stream {stream.serial}", stream.words, words)
        return streams, place.output.decode()
    finally:
        place.close()


def test_calls(compiler, level):
    for source, wanted in (("basic.c", BASIC), ("jumps.c", JUMPS), ("coroutines.c", coroutines()),
                           ("handlers.c", signals(level != "-O0"))):
        exe = shop.build(source, level, compiler=compiler)
        for clock in CLOCKS if THOROUGH or (compiler, level) in EACH_CLOCK else CLOCKS[:1]:
            run(f"{source} {compiler} {level} clock {clock}", exe, [wanted], clock=clock)
    name = {"gcc": "g++", "clang": "clang++"}[compiler]
    if rt.available(name):
        exe = shop.build("exceptions.cpp", level, compiler=name)
        run(f"exceptions {name} {level}", exe, [exceptions(name == "g++")])


def test_links():
    """Static, archive, linked; and two copies in one process, of which one records (W17)."""
    copy = os.path.join(shop.directory, "copy.so")
    with open(rt.LIBRARY, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    linked = (rt.LIBRARY, f"-Wl,-rpath,{os.path.dirname(rt.LIBRARY)}")
    for source, wanted, static in (("basic.c", BASIC, BASIC), ("jumps.c", JUMPS, JUMPS_STATIC)):
        run(f"static {source}", shop.build(source, "-O2", "-static", link=(rt.ARCHIVE,)),
            [static], preload=False)
        archive = shop.build(source, "-O2", link=(rt.ARCHIVE,))
        run(f"archive {source}", archive, [static], preload=False)
        run(f"archive and preload {source}", archive, [static])
        exe = shop.build(source, "-O2", "-no-pie", link=linked)
        run(f"linked {source}", exe, [wanted], preload=False)
        run(f"linked and preload {source}", exe, [wanted])
        run(f"two preloads {source}", shop.build(source, "-O2"), [wanted], preload=False,
            extra={"LD_PRELOAD": f"{rt.LIBRARY}:{copy}"})
    run("LTO", shop.build("basic.c", "-O2", "-flto"), [BASIC])


def test_processes(build):
    child = f"+main {LEAF} -main"
    forked = f"+inner_fork {LEAF}"
    waits = "+wait_for -wait_for"
    cases = {
        "leaf": [child],
        "fork": [f"+main +outer_fork {forked} {waits} -inner_fork {LEAF} -outer_fork -main",
                 f"o:main o:outer_fork o:inner_fork {LEAF} -inner_fork {LEAF}"],
        "raw": [f"+main +raw_fork {waits} -raw_fork -main",
                f"o:main o:raw_fork +child {LEAF}"],
        "vfork": [f"+main +by_vfork {LEAF} {LEAF} {waits} -by_vfork -main", child],
        "failing": [f"+main +failing_vfork {LEAF} {waits} -failing_vfork -main"],
        "spawn": [f"+main +by_spawn {waits} {LEAF} -by_spawn -main", child],
        "system": [f"+main +by_system {LEAF} -by_system -main", child],
        "exec": [f"+main +run_in_child {LEAF}", child],
    }
    exe, preload, name = build
    for argument, wanted in cases.items():
        streams, _ = run(f"{name} {argument} (W14)", exe, wanted, [argument], preload=preload)
        for stream in streams:
            if stream.serial == stream.image and (not stream.messages or
                                                  stream.messages[0][0] != "process"):
                failures.append(f"{name} {argument}: image {stream.image} does not say so first")


def test_api():
    def early(rounds):
        return ("+early +early " + "+round +leaf =passed -leaf -round " * rounds
                + "-early -early ")
    leaf = "+leaf =passed -leaf "
    wanted = ("+main " + early(2) + early(3) + f"+spans +outer {leaf}+inner {leaf}-inner {leaf}"
              f"-outer -spans +jumps +left by a jump ~2 {leaf}+values =unsigned =signed =pointer "
              f"=double =string =null =long =bytes =counter =many -values gap:6:0 {leaf}-main")
    words = wanted.replace("+left by a jump", "+left_by_a_jump").split()
    words[words.index("+left_by_a_jump")] = "+left by a jump"
    link = (f"-L{rt.BUILD}", "-ltracetape-rt", f"-Wl,-rpath,{rt.BUILD}")
    for compiler in ("gcc", "clang", "g++", "clang++"):
        if not rt.available(compiler):
            continue
        for level in ("-O0", "-O2"):
            flags = [level] + (["-x", "c++"] if compiler.endswith("+") else [])
            exe = shop.build("api_calls.c", *flags, compiler=compiler, link=("-x", "none", *link))
            streams, output = run(f"api {compiler} {level}", exe, [words], preload=False)
            if output != "1\n0\n":
                failures.append(f"api {compiler}: says {output!r}")
            check_values(streams[0])
    place = shop.build("api_calls.c", "-O2", link=link)
    if os.system(f"'{place}' > /dev/null") != 0:
        failures.append("api: fails when nothing records")


def check_values(stream):
    bodies = [data[8:] for kind, data in stream.messages if kind == "leaf" and len(data) > 8]
    sizes = [len(body) for body in bodies]
    wanted = [9, 9, 9, 9, 9, 9, 5 + 16384, 8, 9, 255 * 9]
    if sizes != wanted or bodies[7] != b"\4\3\0\0\0a\0b" or bodies[4] != b"\5\4\0\0\0text":
        failures.append(f"api: values have sizes {sizes}, wanted {wanted}")
    if [d for k, d in stream.messages if k == "thread"] != \
            [b"a name that is longer than the kernel's"]:
        failures.append("api: the thread's name is not told")


def test_odd():
    wanted = (f"+first {LEAF} -first +constructor {LEAF} -constructor +main +odd_stack @1 "
              f"+on_odd_stack {LEAF} @0 -odd_stack +stack_in_stack !10 +handler {LEAF} -handler !. "
              f"{LEAF} -stack_in_stack {LEAF} -main +at_end {LEAF} -at_end +destructor {LEAF} "
              "-destructor")
    run("odd (W15, W20)", shop.build("odd.c", "-O2", "-no-pie"), [wanted])
    loops = f"{LEAF} " * 10000
    large = f"+large {LEAF} -large"
    exe = shop.build("sandbox.c", "-O2")
    run("sandbox (W23)", exe, [f"+main {LEAF} {loops} {large} !0 +handler {LEAF} -handler !. -main",
                               f"+thread {large} -thread"])
    run("strict sandbox (W23)", exe, [f"+main {LEAF} gap:5:0"], ["strict"], lost=20004)
    run("strict sandbox without a clock", exe, [f"+main {LEAF} {loops} {large}"], ["strict"],
        clock=rt.NONE)


def test_plugins():
    made = shop.build("plugin.c", "-O2", "-shared", "-fPIC")
    plugin = os.path.join(shop.directory, "libplug.so")
    os.rename(made, plugin)
    exe = shop.build("plugins.c", "-O2",
                     link=(f"-Wl,-rpath,{shop.directory}", "-Wl,--enable-new-dtags"))
    body = "+plugin_begin +plugin_leaf -plugin_leaf -plugin_begin +plugin_run +plugin_leaf " \
           "-plugin_leaf -plugin_run"
    os.chdir(shop.directory)
    streams, _ = run("plugins", exe, [f"+main +run {body} -run +run {body} -run -main"],
                     ["./libplug.so", "libplug.so"])
    kinds = [kind for kind, _ in streams[0].messages]
    if kinds.count("modules") != 6: # at the start, around each dlclose, at the end
        failures.append(f"plugins: {kinds.count('modules')} lists of modules")


def main():
    for compiler in ("gcc", "clang"):
        if not rt.available(compiler):
            print(f"'{compiler}' is not there: left out")
            continue
        for level in ("-O0", "-O2"):
            test_calls(compiler, level)
    test_links()
    test_processes((shop.build("processes.c", "-O2"), True, "processes"))
    test_processes((shop.build("processes.c", "-O2", "-static", link=(rt.ARCHIVE,)), False,
                    "static processes"))
    test_api()
    test_odd()
    test_plugins()
    shop.close()
    for failure in failures:
        print(failure)
    print(f"runtime calls: {'FAILED' if failures else 'ok'}")
    sys.exit(1 if failures else 0)


main()
