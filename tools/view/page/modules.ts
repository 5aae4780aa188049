// Modules of the trace, and which of them are hidden: their functions are not in the table, and
// grey in the timeline.
import { ask } from "./ask";
import { changed, state } from "./state";

export interface Module { module: number; path: string; functions: number; unnamed: number; system: boolean }

export const modules: Module[] = [];
let hidden = new Set<number>();
let turn = 0;

export function isHidden(site: number): boolean {
  return hidden.has(site);
}

export async function loadModules(): Promise<void> {
  modules.push(...(await ask("modules")).modules);
}

export async function hideModules(numbers: number[]): Promise<void> {
  state.hidden = [...new Set(numbers)].sort((a, b) => a - b);
  const now = ++turn;
  const found = new Set<number>();
  if (state.hidden.length > 0) {
    const sites = (await ask("module_sites", { modules: state.hidden.join(",") })).sites as number[];
    for (let i = 0; i < sites.length; i += 2)
      for (let k = 0; k < sites[i + 1]; k++) found.add(sites[i] + k);
  }
  if (now !== turn) return;
  hidden = found;
  changed("hidden");
}

/** Everything but the system's modules; and all again. */
export function toggleSystem(): Promise<void> {
  const system = modules.filter((m) => m.system).map((m) => m.module);
  if (system.length === 0) throw new Error("no module of this trace is one of the system");
  const isOn = system.every((module) => state.hidden.includes(module));
  return hideModules(isOn ? state.hidden.filter((m) => !system.includes(m))
    : [...state.hidden, ...system]);
}

/** "No names", and what helps. */
export function nameAdvice(): string {
  const poor = modules.filter((m) => m.unnamed > m.functions / 2)
    .sort((a, b) => b.functions - a.functions);
  if (poor.length === 0) return "";
  const names = poor.slice(0, 3).map((m) => m.path.split("/").pop()).join(", ");
  return `${names}${poor.length > 3 ? ` and ${poor.length - 3} more` : ""}: no names of functions ` +
    "there. Install debug symbols (Debian: the package with -dbgsym; or set DEBUGINFOD_URLS), and " +
    "run tracetape symbolize, or record again.";
}
