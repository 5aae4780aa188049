// The page: what it is made of, its commands and keys, and the state that its link says.
import { isAlone, openAlone } from "./alone";
import { Answer, ask, setFilter, setKey, takeKey } from "./ask";
import { CallersPane } from "./callers";
import { CallsPane } from "./calls";
import { Details } from "./details";
import { make } from "./dom";
import { FunctionTable } from "./functions";
import { hideModules, loadModules, modules, toggleSystem } from "./modules";
import { fetchName, nameOf } from "./names";
import { Command, keyList, Palette } from "./palette";
import { saveDialog } from "./save";
import { windowRange } from "./same";
import { SourcePane } from "./source";
import {
  changed, Link, link, onChange, pan, readLink, selectNode, selectPane, selectSite, setWindow, showAll,
  showRange, state, Thread, threadName, trace, TreeNode, zoom,
} from "./state";
import { isWaiting, onFileDamage, onRest, onTileFailure } from "./tiles";
import { Timeline } from "./timeline";
import { TreePane } from "./tree";
import { count, countOf, moment, setWall, shortTime } from "./words";

const PANE_TITLES: Record<string, string> = {
  functions: "Functions", calls: "Calls", tree: "Tree", callers: "Callers", source: "Source",
};
const message = make("p", { class: "message", role: "alert", hidden: true });

function fail(why: unknown): void {
  message.textContent = why instanceof Error ? why.message : String(why);
  message.hidden = false;
}

function guard(work: () => Promise<void> | void): void {
  Promise.resolve().then(work).then(() => { message.hidden = true; }, fail);
}

// ---- loading ----

function threadFrom(answer: any): Thread {
  return {
    stream: answer.stream, tid: answer.tid, pid: answer.pid, name: answer.name,
    process: answer.process, events: answer.events, missing: answer.missing,
    host: answer.host, clockError: answer.clock_error,
    hasTimes: answer.origin !== undefined, origin: BigInt(answer.origin ?? 0),
    resolution: BigInt(answer.resolution ?? 1), first: BigInt(answer.first_tick ?? 0),
    last: BigInt(answer.last_tick ?? 0),
  };
}

async function load(): Promise<void> {
  const [info, first] = await Promise.all([ask("trace"), ask("threads")]);
  trace.info = info;
  trace.hasTimes = info.has_times;
  trace.end = BigInt(info.end) > 0n ? BigInt(info.end) : 1n;
  trace.threads = first.threads.map(threadFrom);
  for (let more = first.more; more;) {
    const answer = await ask("threads", { first: trace.threads.length });
    trace.threads.push(...answer.threads.map(threadFrom));
    more = answer.more;
  }
  trace.hasHosts = new Set(trace.threads.map((thread) => thread.host)).size > 1;
}

/** When each thread began and ended, to the nanosecond: behind the first picture. */
async function loadSpans(): Promise<void> {
  for (let first = 0, more = trace.hasTimes; more;) {
    const answer = await ask("children", { id: "-", first, count: 2000 });
    for (const node of answer.children as TreeNode[]) {
      const thread = trace.threads[node.stream];
      if (!thread || node.kind !== "thread") continue;
      thread.start = BigInt(node.start);
      thread.end = BigInt(node.end);
    }
    first += answer.children.length;
    more = answer.more && answer.children.length > 0;
  }
  timeline.orderMap();
}

function lossWords(info: any): string {
  const parts: string[] = [];
  if (info.lost !== "0") parts.push(`${count(info.lost)} events were lost`);
  else if (info.gaps !== "0") parts.push(`events are missing in ${count(info.gaps)} stretches`);
  if (info.truncated) parts.push("the file ends too early: what is there is shown");
  else if (!info.complete) parts.push("the file has no index: it was read through");
  if (!info.has_times) parts.push("the recording has no times: only the tree and counts of calls are there");
  return parts.join("; ");
}

/** The number is that of this trace where it has the name; otherwise the name is looked for. */
async function siteOf(place: Link): Promise<number | null> {
  if (place.site !== undefined && place.site < trace.info.sites &&
      (!place.siteName || await fetchName(place.site) === place.siteName)) return place.site;
  if (!place.siteName) return null;
  const found = (await ask("search", { text: place.siteName, count: 1 })).sites[0];
  if (found?.name === place.siteName) return found.site;
  throw new Error(`this trace has no function '${place.siteName}'`);
}

function wallStart(): bigint | null {
  const offset = (trace.info.metadata as [string, string][])
    .find(([key]) => key === "realtime_offset_ns")?.[1];
  return offset && /^-?\d+$/.test(offset) ? BigInt(trace.info.start_ns) + BigInt(offset) : null;
}

function showWall(isWall: boolean): void {
  const start = wallStart();
  if (isWall && start === null) throw new Error("the recording does not know the time of day");
  state.isWall = isWall;
  setWall(isWall ? start : null);
  changed("clock");
  changed("window", false);
}

/** The first point, then the second: of the selected call its start and its end, else the middle. */
function markPoint(): void {
  const { node, mark } = state;
  const middle = state.from + BigInt(Math.round(state.span / 2));
  const point = node ? BigInt(mark && mark.from === mark.to ? node.end : node.start) : middle;
  if (mark && mark.from === mark.to)
    state.mark = point < mark.from ? { from: point, to: mark.from } : { from: mark.from, to: point };
  else state.mark = { from: point, to: point };
  changed("window");
}

/** What the open pane shows, row by row, with tabs between cells. */
async function copyPane(): Promise<void> {
  const pane = document.getElementById(`pane-${state.pane}`)!;
  const rows = [...pane.querySelectorAll("tr, [role=row], .source li, .butterfly-body")]
    .filter((row) => !row.closest("[hidden]"));
  const text = rows.map((row) => row.matches("p") ? row.textContent
    : [...row.children].filter((cell) => !cell.matches(".spoken-word"))
      .map((cell) => cell.textContent?.trim() ?? "").join("\t")).join("\n");
  await navigator.clipboard.writeText(`${text}\n`);
  say(`${countOf(rows.length, "row")} copied`);
}

function say(text: string): void {
  timeline.spoken.textContent = text;
}

/** Without one, or without times: the whole run. */
function showNode(node: TreeNode | null): void {
  if (node && trace.hasTimes) showRange(BigInt(node.start), BigInt(node.end));
  else showAll();
}

/** A link that is another trace's, or half of one, shows what can be had; then it says what is wrong
 * with the rest. */
async function followLink(): Promise<void> {
  const place = readLink(location.hash);
  if (!isAlone() && place.filter !== state.filter) {
    location.reload(); // of another trace, so to say: nothing of this one holds
    return;
  }
  let problem: unknown = null;
  const attempt = async (work: () => Promise<void> | void) => {
    try {
      await work();
    } catch (why) {
      problem ??= why;
    }
  };
  state.mark = place.mark && place.mark.to >= place.mark.from ? place.mark : null;
  if ((place.hidden ?? []).join() !== state.hidden.join())
    await attempt(() => hideModules(place.hidden ?? []));
  if ((place.isWall ?? false) !== state.isWall) await attempt(() => showWall(place.isWall ?? false));
  state.isFolded = place.isFolded ?? false;
  state.isInWindow = place.isInWindow ?? false;
  state.sort = place.sort ?? "total";
  state.text = place.text ?? "";
  state.order = place.order ?? "duration";
  state.durations = place.durations ?? null;
  state.pane = place.pane ?? state.pane;
  state.site = state.node = null;
  await attempt(async () => { state.site = await siteOf(place); });
  const { node } = place;
  if (node && /[ep]/.test(node)) await attempt(async () => {
    state.node = (await ask("node", { id: node })).node as TreeNode;
    state.site = state.node.site ?? state.site;
  });
  if (place.from !== undefined && place.to !== undefined && place.to > place.from)
    setWindow(place.from, Number(place.to - place.from));
  else showNode(state.node);
  changed("selection", false);
  changed("choice", false);
  changed("pane");
  if (problem) throw problem;
}

// ---- commands ----

async function parentOf(node: TreeNode): Promise<TreeNode | undefined> {
  const path = (await ask("path", { id: node.id })).path as any[];
  if (path.length === 0) return undefined;
  const answer = await ask("stack", { stream: node.stream, time: node.start,
                                      depth: path.length - 1 });
  return answer.stack.find((n: TreeNode | string) => typeof n !== "string");
}

async function longestChild(node: TreeNode): Promise<TreeNode | undefined> {
  const answer = await ask("children", { id: node.id, count: 2000, mode: "opened" });
  let best: TreeNode | undefined;
  for (const child of answer.children as TreeNode[])
    if (child.kind === "call" && (!best || BigInt(child.time) > BigInt(best.time))) best = child;
  return best;
}

/** The call before or behind it below the same caller. */
async function sibling(node: TreeNode, isBack: boolean): Promise<TreeNode | undefined> {
  const parent = await parentOf(node);
  const answer = await ask("children", { id: parent?.id ?? `s${node.stream}`, count: 2000,
                                         mode: parent ? "opened" : "full" });
  const calls = (answer.children as TreeNode[]).filter((n) => n.kind === "call" || n.kind === "signal");
  const at = calls.findIndex((n) => n.id === node.id);
  if (at < 0 && answer.more) throw new Error("its caller has too many calls for that: ] goes to the next one of its function");
  return at < 0 ? undefined : calls[isBack ? at - 1 : at + 1];
}

/** Rows of the pane take the keys as soon as they are there, unless something else has them then. */
function focusPane(before = document.activeElement, turns = 400): void {
  const now = document.activeElement;
  if (now !== before && now !== document.body) return;
  const row = document.querySelector<HTMLElement>(
    `#pane-${state.pane} :is(tr, li, [role="row"])[tabindex="0"]`);
  row?.focus();
  if ((!row || document.activeElement !== row) && turns > 0)
    window.setTimeout(() => focusPane(before, turns - 1), 25);
}

/** From the event that the call's name says, or, where it has another name, from its start. */
async function neighbour(isBack: boolean): Promise<void> {
  const { node, site } = state;
  if (!node || site === null) throw new Error("choose a call first");
  const event = /e(\d+)$/.exec(node.id)?.[1];
  const from = event !== undefined ? { event }
    : { time: BigInt(node.start) + (isBack ? 0n : 1n) };
  const answer = await ask("next", { site, stream: node.stream, ...from, back: isBack });
  if (!answer.node) throw new Error(`there is no ${isBack ? "previous" : "next"} call of it in this thread`);
  reach(answer.node);
}

let timeline: Timeline;

/** Selects a call, and moves the window there where it is not in it, or too small to be seen. */
function reach(node: TreeNode): void {
  const [start, end] = [BigInt(node.start), BigInt(node.end)];
  const windowEnd = state.from + BigInt(Math.round(state.span));
  const isSmall = Number(end - start) < state.span / 400;
  timeline.reveal(node.stream, node.level);
  if (start < state.from || end > windowEnd || isSmall) showRange(start, end);
  selectNode(node);
}

function openPane(pane: string): void {
  selectPane(pane);
  focusPane();
}

function command(id: string, title: string, keys: string[], run: () => void): Command {
  return { id, title, keys, run };
}

function makeCommands(palette: () => Palette, keys: () => HTMLDialogElement, panes: {
  functions: FunctionTable; tree: TreePane }): Command[] {
  const withNode = (work: (node: TreeNode) => Promise<TreeNode | undefined>, nothing: string) => () =>
    guard(async () => {
      if (!state.node) throw new Error("choose a call first");
      const found = await work(state.node);
      if (!found) throw new Error(nothing);
      reach(found);
    });
  return [
    command("zoom-in", "Zoom in", ["w"], () => zoom(0.6, 0.5)),
    command("zoom-out", "Zoom out", ["s"], () => zoom(1 / 0.6, 0.5)),
    command("left", "Move to earlier", ["a"], () => pan(-0.15)),
    command("right", "Move to later", ["d"], () => pan(0.15)),
    command("all", "Show the whole run", ["0"], showAll),
    command("focus", "Show all of the selected call", ["f"], () => {
      if (state.node) {
        timeline.reveal(state.node.stream, state.node.level);
        showRange(BigInt(state.node.start), BigInt(state.node.end));
      } else if (state.mark) showRange(state.mark.from, state.mark.to);
    }),
    command("mark", "Measure the selected call, or nothing", ["m"], () => {
      const node = state.node;
      state.mark = state.mark || !node ? null
        : { from: BigInt(node.start), to: BigInt(node.end) };
      changed("window");
    }),
    command("mark-point", "Measure from here; then, to there", ["M"], markPoint),
    command("wall", "Show times of day, or from the start", ["T"],
            () => guard(() => showWall(!state.isWall))),
    command("fold", "Fold time in which every shown thread waits or is off the CPU, or show it", ["I"], () => {
      state.isFolded = !state.isFolded;
      changed("window");
    }),
    command("my-code", "Only my code: hide the system's modules, or show them", ["o"],
            () => guard(toggleSystem)),
    command("copy-pane", "Copy the pane as text", ["y"], () => guard(copyPane)),
    command("parent", "Go to the caller", ["u"],
            withNode(parentOf, "it has no caller in the recording")),
    command("longest-child", "Go to the longest call in it", ["l"],
            withNode(longestChild, "it has no calls in it")),
    command("sibling-previous", "Call before it, of the same caller", [","],
            withNode((node) => sibling(node, true), "it is the first one of its caller")),
    command("sibling-next", "Call behind it, of the same caller", ["."],
            withNode((node) => sibling(node, false), "it is the last one of its caller")),
    command("timeline", "Go to the timeline: arrows go from call to call", ["i"],
            () => timeline.canvas.focus()),
    command("previous", "Previous call of this function", ["["], () => guard(() => neighbour(true))),
    command("next", "Next call of this function", ["]"], () => guard(() => neighbour(false))),
    command("find", "Find a function or a command", ["Ctrl-K", "/"], () => palette().open()),
    command("pane-functions", "Functions", ["1"], () => openPane("functions")),
    command("pane-calls", "Calls of the selected function", ["2"], () => openPane("calls")),
    command("pane-tree", "Tree", ["3"], () => openPane("tree")),
    command("pane-callers", "Callers and callees of the selected function", ["4"],
            () => openPane("callers")),
    command("pane-source", "Source of the selected function", ["5"], () => openPane("source")),
    command("tree-here", "Open the selected call in the tree", ["t"], () => {
      selectPane("tree");
      guard(() => panes.tree.setRoot(state.node));
    }),
    command("filter", "Filter functions by name", [], () => {
      selectPane("functions");
      panes.functions.filter.focus();
    }),
    command("sort-events", "Sort threads by number of events", [], () => timeline.sort("events")),
    command("sort-start", "Sort threads by start", [], () => timeline.sort("start")),
    command("sort-name", "Sort threads by name", [], () => timeline.sort("name")),
    command("depths", "Show stacks as deep as they are, or as they fit", ["e"], () => {
      timeline.list.toggleAllDepths();
      timeline.plan();
    }),
    command("groups", "Show all threads of one name, or the first ones", ["g"], () => {
      timeline.list.toggleGroups();
      timeline.plan();
    }),
    command("back", "Back to what was chosen before", ["Backspace"], () => history.back()),
    command("forward", "Forward again", [], () => history.forward()),
    command("copy-link", "Copy a link to what is shown", ["c"], () => guard(copyLink)),
    command("keys", "Show all keys", ["?"], () => keys().showModal()),
    command("nothing", "Select nothing", ["Esc"], () => {
      selectNode(null);
      selectSite(null);
    }),
  ];
}

async function copyLink(): Promise<void> {
  await navigator.clipboard.writeText(`${location.origin}/${link()}`);
}

function listenKeys(commands: Command[]): void {
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
      e.preventDefault();
      commands.find((c) => c.id === "find")!.run();
      return;
    }
    const target = e.target as HTMLElement;
    if (e.key === "Escape" && target.closest("input, select") && !target.closest("dialog")) {
      target.blur(); // keys are commands again
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || target.closest("input, select, textarea, dialog")) return;
    const name = e.key === "Escape" ? "Esc" : e.key;
    const found = commands.find((c) => c.keys.includes(name));
    if (!found) return;
    e.preventDefault();
    found.run();
  });
}

// ---- the page ----

/** How well the clocks of several hosts are known to agree. */
function clockWords(): string {
  if (!trace.hasHosts) return "";
  const errors = trace.threads.map((thread) => thread.clockError);
  return errors.includes(undefined) ? "nobody knows how far the hosts' clocks are apart"
    : `clocks of hosts within ${shortTime(errors.reduce((most, error) =>
      BigInt(error!) > most ? BigInt(error!) : most, 0n))}`;
}

/** What of the run the timeline shows: there is some room before it and behind it. */
function shownRange(): string {
  const { from, to } = windowRange();
  const end = to < trace.end ? to : trace.end;
  return `${moment(from)}  +${shortTime(end > from ? end - from : 0n)}`;
}

/** Which calls the trace is made of: as `--filter` takes it. */
function filterBox(): HTMLElement {
  const box = make("input", { type: "search", id: "calls-filter", "aria-label": "Filter of calls",
    placeholder: "Filter: below parse; !malloc", title: "Only these calls, as --filter takes them "
      + "(tracetape-filters(7)); Enter applies it, and an empty one shows all",
    value: state.filter ?? String(trace.info.filter ?? ""), keydown: (e: KeyboardEvent) => {
      if (e.key !== "Enter") return;
      state.filter = box.value.trim();
      state.node = state.site = state.mark = null;
      state.hidden = [];
      history.pushState(null, "", link());
      location.reload();
    } });
  return box;
}

function header(commands: Command[]): HTMLElement {
  const info = trace.info;
  const process = trace.threads[0]?.process || "trace";
  const run = (id: string) => () => commands.find((c) => c.id === id)!.run();
  const range = make("span", { class: "range" });
  onChange((what) => {
    if (what.has("window") || what.has("clock"))
      range.textContent = shownRange();
  });
  const losses = make("span", { class: "losses" }, lossWords(info));
  onFileDamage(() => losses.append(losses.textContent ? "; " : "",
    "some of the file is damaged: what can be read is shown, the rest is hatched"));
  document.title = `${process} – tracetape view`;
  return make("header", {}, make("h1", {}, process),
    make("span", { class: "faint" }, `${count(info.events)} events, ${shortTime(trace.end)}`),
    make("span", { class: "faint" }, clockWords()), losses, make("span", { class: "space" }), range,
    isAlone() ? null : filterBox(),
    make("button", { click: run("all") }, "Whole run"),
    make("button", { click: run("find") }, "Find… ", make("kbd", {}, "Ctrl-K")),
    make("button", { click: run("keys"), "aria-label": "Keys" }, "?"));
}

function tabs(panes: Record<string, HTMLElement>): HTMLElement {
  const names = Object.keys(panes);
  const bar = make("div", { role: "tablist", class: "tabs", "aria-label": "Panes" });
  for (const [i, name] of names.entries()) {
    bar.append(make("button", { role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}`,
      click: () => selectPane(name), keydown: (e: KeyboardEvent) => {
        const to = e.key === "ArrowRight" ? i + 1 : e.key === "ArrowLeft" ? i - 1 : -1;
        if (to < 0 || to >= names.length) return;
        selectPane(names[to]);
        document.getElementById(`tab-${names[to]}`)?.focus();
      } }, PANE_TITLES[name]));
    panes[name].id = `pane-${name}`;
    panes[name].setAttribute("role", "tabpanel");
    panes[name].setAttribute("aria-labelledby", `tab-${name}`);
  }
  const show = () => {
    for (const name of names) {
      const isOn = state.pane === name;
      panes[name].hidden = !isOn;
      const tab = bar.querySelector<HTMLElement>(`#tab-${name}`)!;
      tab.setAttribute("aria-selected", String(isOn));
      tab.tabIndex = isOn ? 0 : -1;
    }
  };
  onChange((what) => { if (what.has("pane")) show(); });
  return make("div", { class: "lower-left" }, bar, ...Object.values(panes));
}

/** The call of an event that has a value: that it entered, or ended. */
async function showEvent(found: Answer): Promise<void> {
  if (found.is_enter) {
    reach((await ask("node", { id: `s${found.stream}e${found.event}` })).node);
    return;
  }
  const time = BigInt(found.time) > 0n ? BigInt(found.time) - 1n : 0n;
  const answer = await ask("stack", { stream: found.stream, time, depth: Math.max(found.depth, 1) - 1 });
  const node = answer.stack.find((n: TreeNode | string) => typeof n !== "string");
  if (node) reach(node);
  else showRange(time, time + 1n);
}

async function start(): Promise<void> {
  document.body.append(message);
  if (isAlone()) await openAlone();
  else setKey(takeKey());
  state.filter = isAlone() ? undefined : readLink(location.hash).filter;
  setFilter(state.filter);
  try {
    await load();
  } catch (why) {
    if (state.filter !== undefined) document.body.prepend(make("header", {}, filterBox()));
    throw why;
  }
  timeline = new Timeline();
  const table = new FunctionTable();
  const calls = new CallsPane();
  const tree = new TreePane();
  const callers = new CallersPane();
  const source = new SourcePane();
  let palette: Palette;
  let keys: HTMLDialogElement;
  const commands = makeCommands(() => palette, () => keys, { functions: table, tree });
  palette = new Palette(commands, (site) => {
    selectSite(site);
    openPane("calls");
  }, (found) => guard(() => showEvent(found)));
  keys = keyList(commands);
  const saving = saveDialog(fail);
  if (saving) commands.push(command("save", "Save as a file that any browser opens", ["S"],
                                    () => saving.showModal()));
  const details = new Details((id) => commands.find((c) => c.id === id)!.run());
  document.body.prepend(header(commands), make("main", {}, timeline.map,
    timeline.canvas, make("div", { class: "lower" },
      tabs({ functions: table.element, calls: calls.element, tree: tree.element,
             callers: callers.element, source: source.element }),
      details.element)), timeline.tip, timeline.spoken, palette.element, keys,
                        ...(saving ? [saving] : []));
  onTileFailure(fail);
  timeline.onCommand = (id) => commands.find((c) => c.id === id)!.run();
  listenKeys(commands);
  window.addEventListener("popstate", () => guard(followLink));
  if (!trace.hasTimes) state.pane = "tree";
  // first: what is drawn before there is a window would be asked for, too
  await followLink().catch(fail);
  timeline.setThreads();
  if (state.node) timeline.reveal(state.node.stream, state.node.level);
  onRest(() => {
    Promise.all([loadModules(), loadSpans()]).then(() => {
      table.show(); // whose functions have no names, and what helps
      for (const m of modules)
        commands.push(command(`module-${m.module}`, `Hide or show module ${m.path.split("/").pop()}`, [],
          () => guard(() => hideModules(state.hidden.includes(m.module)
            ? state.hidden.filter((n) => n !== m.module) : [...state.hidden, m.module]))));
    }, fail);
  });
  // what a test looks at
  Object.assign(window, { view: { state, trace, timeline, isWaiting, nameOf, threadName, zoom, pan,
                                  setWindow, showAll } });
}

start().catch(fail);
