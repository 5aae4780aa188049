#!/usr/bin/env python3
"""W17: the runtime is loaded late, when static thread-local storage is used up; closed while its
hooks are in use; a second copy comes into the process: it loads or there is an error, no code that
runs is unmapped, and no call is recorded twice."""
import shutil
from pathlib import Path

import faults
import setting
import traces


def parts(work):
    runtime = sorted(setting.BUILD.glob("**/libtracetape-rt.so.0"))
    if not runtime:
        setting.skip("this build has no runtime library")
    shared = ("-O2", "-fPIC", "-shared")
    tls = setting.build("p_tls_user.c", flags=shared, output="tls.so", log=False)
    # the plugin's log functions come from nowhere here: it gets its own
    plugin = setting.build("p_plugin.c", flags=(*shared, "-DPLUGIN=plugin_a"), output="late.so")
    copy = Path(work, "libcopy.so")
    shutil.copyfile(runtime[0].resolve(), copy)
    program = Path(work, "loader")
    setting.call(["gcc", "-O2", "-o", program, setting.PROGRAMS / "p_loads_runtime.c", "-ldl",
                  "-pthread"])
    return program, runtime[0], plugin, tls, copy


OUTPUT = b"called 19\ncalled 24\ncalled 30\nthread 15\ndone\n"


def main():
    setting.need_verb("record")
    checks = setting.Checks("W17")
    with setting.work_dir() as work:
        program, runtime, plugin, tls, copy = parts(work)
        # the plugin was built with gcc as well: without any runtime glibc's empty hooks serve it
        for more in ((), (copy,)):
            done = setting.run([program, runtime, plugin, tls, *more], cwd=work)
            checks.equal(done.status, 0, f"loaded late: status of {done.command_line}")
            checks.equal(done.out, OUTPUT, "loaded late: output")
        for number, more in enumerate(((), (copy,))):
            out = Path(work, f"late.{number}.ttape")
            words = setting.record_words(out, [program, runtime, plugin, tls, *more])
            done = setting.run(words, cwd=work)
            label = f"recorded, {len(more)} copies more"
            checks.equal(done.status, 0, f"{label}: status", )
            checks.equal(done.out, OUTPUT, f"{label}: output")
            problem = traces.verify(out) if out.is_file() else "no trace"
            if checks.that(problem is None, f"{label}: {problem}"):
                faults.check_calls(checks, label, out, {"plugin_a": 4, "plugin_inner": 22})
    checks.verdict()


main()
