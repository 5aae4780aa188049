"""For gdb to execute: what a debugger does that has come to a program (programs/p_debugged.c)."""
import gdb



def is_stub(frame):
    """At a stub's return gdb has an unwinder of its own, which leaves this frame out."""
    return frame.type() == gdb.SIGTRAMP_FRAME or frame.name() is None and frame.level() == 0


def functions():
    """The program's functions on the stack, innermost first, to main."""
    names, frame = [], gdb.newest_frame()
    while frame is not None and (not names or names[-1] != "main"):
        if not is_stub(frame):
            names.append(frame.name() or "?")
        frame = frame.older()
    return " ".join(names)


def quiet(command):
    return gdb.execute(command, to_string=True)


def in_library():
    """In a function of a shared library, hooks among them."""
    frame = gdb.newest_frame()
    return not is_stub(frame) and gdb.solib_name(frame.pc()) is not None


def set_rest(rounds):
    quiet(f"set var *(int *)&rest = {rounds}")


def stop_at(places, rounds, first=False):
    """Stops once at each line, or function, that the program comes to, in that many rounds, until
    its end. The other breakpoints stay. `first`: it is started here."""
    hits, place_of = set(), {}

    def stopped(event):
        hits.update(place_of.get(each.number, "?") for each in getattr(event, "breakpoints", []))
        if isinstance(event, gdb.SignalEvent):
            print("signal", event.stop_signal)
    for place in places: # gdb may take the next line that has code
        try:
            quiet(f"tbreak {place}")
            breakpoint = gdb.breakpoints()[-1]
            found = getattr(breakpoint, "locations", [None])[0]
            place_of[breakpoint.number] = found.source[1] if found and found.source else place
        except gdb.error:
            pass
    gdb.events.stop.connect(stopped)
    if first:
        quiet("run")
    set_rest(rounds)
    for _ in range(len(places) + 1):
        quiet("continue")
        if not gdb.selected_inferior().pid:
            break
        print("stack", functions())
    print("places", *sorted(hits))


def step_through():
    """Through rounds() of two numbers, instruction by instruction, but for what libraries do."""
    quiet("break *rounds")
    for number in (2, 3):
        quiet("continue")
        quiet(f"set var $rdi = {number}")
        before, steps, stubs = None, 0, 0
        while before != "main":
            if in_library():
                quiet("finish")
                continue
            found = functions()
            if found != before:
                print("stack", found)
            before = found
            stubs += is_stub(gdb.newest_frame())
            steps += 1
            quiet("stepi")
        print("steps", steps, stubs)
    quiet("delete")
    set_rest(1)
    quiet("detach")


def feign_shadow_stack():
    """The processor says, to who patches, that it keeps a shadow stack."""
    quiet("set breakpoint pending on")
    quiet("break ttp_probes_patch")
    quiet("run")
    code = gdb.selected_frame().architecture().disassemble(
        gdb.selected_frame().function().value().address.__int__(), count=120)
    for asked, then in zip(code, code[1:]):
        if asked["asm"].startswith("rdsspq"):
            register = asked["asm"].split("%")[1]
            quiet(f"tbreak *{then['addr']}")
            quiet("continue")
            quiet(f"set var ${register} = 4096")
            print("feigned", register)
            break
    quiet("delete")
    quiet("continue")
