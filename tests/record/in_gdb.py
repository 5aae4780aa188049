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


def callers():
    """As functions(), of a program that is attached to, with registers of the outermost frame."""
    names, frame, last = [], gdb.newest_frame(), None
    while frame is not None:
        if not is_stub(frame) and not (frame.name() or "").startswith("tracetape_"):
            names.append(frame.name() or "?")
        frame, last = frame.older(), frame
    kept = [int(last.read_register(name)) for name in ("rsp", "rbx", "rbp", "r12", "r15")]
    return " ".join(names), kept


def is_called_by(wanted):
    """The function itself is left out where it returns: gdb has an unwinder of its own there."""
    names, kept = callers()
    pc = gdb.newest_frame().pc()
    is_return = bytes(gdb.selected_inferior().read_memory(pc, 1)) == b"\xc3"
    return kept == wanted[1] and (names == wanted[0] or
                                  is_return and names == wanted[0].partition(" ")[2])


def print_stacks():
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        print("stack", callers()[0])


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


def changes_in(attached, names):
    """(place, stub) of each jump that an attach wrote into these functions."""
    for address in attached.segments():
        for at, becomes, size in attached.changes_of(address)[0]:
            name = gdb.execute(f"info symbol {at:#x}", to_string=True).split()[0]
            if name in names and size == 5:
                distance = becomes >> 8 & 0xffffffff
                yield name, at, at + 5 + (distance ^ 1 << 31) - (1 << 31)


def step_in_stubs(names, libraries):
    """At each window of these functions, and one of each of those: a thread that comes to it is led
    into its stub, as by its jump, and stepped until it is out of the segment. At each instruction
    its callers, and their registers, are the same."""
    from gdb.command import tracetape_attached as attached
    codes = [code for address in attached.segments() for code in attached.segment_at(address)]

    def is_inside():
        pc = gdb.newest_frame().pc()
        return any(pc - code.start < code.size and pc >= code.start for code in codes)
    found = {}
    for name, at, stub in changes_in(attached, names + libraries):
        found.setdefault(name, {})[at] = stub
    for name, places in found.items():
        for at in places:
            quiet(f"tbreak *{at:#x}")
        for _ in range(1 if name in libraries else len(places)):
            quiet("continue")
            wanted, steps, wrong = callers(), 0, 0
            stub = places[gdb.newest_frame().pc()]
            quiet("set scheduler-locking on")
            quiet(f"set var $pc = {stub:#x}")
            while is_inside():
                wrong += not is_called_by(wanted)
                steps += 1
                quiet("stepi")
            quiet("set scheduler-locking off")
            print("stepped", name, steps, wrong, wanted[0].split()[-1])
        quiet("delete")


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
