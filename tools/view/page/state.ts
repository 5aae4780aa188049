// What the page shows: one time window, one selected call, one selected function. All of it is in
// the link, and the browser's back and forward go through it.

import { nameOf } from "./names";

export interface Thread {
  stream: number;
  tid: string;
  pid: string;
  name: string;
  process: string;
  events: string;
  missing?: string;
  host?: string; // where there are several
  clockError?: string; // ns, against the first host's
  origin: bigint;
  resolution: bigint;
  first: bigint; // ticks; all its events lie in between
  last: bigint;
  start?: bigint; // ns, exact, when that has been asked
  end?: bigint;
  hasTimes: boolean;
}

export interface TreeNode {
  id: string;
  kind: string;
  stream: number;
  site?: number;
  signal?: number;
  level?: number;
  start: string;
  end: string;
  end_most?: string;
  enter?: string;
  was_open?: boolean;
  end_is?: string;
  time: string;
  self: string;
  self_exact: boolean;
  rest: string;
  spanning: boolean;
  events?: string;
  calls?: string;
  pruned?: { partitions: string; events: string; calls: string; calls_exact: boolean; time: string };
  mostly?: number[];
}

export interface State {
  from: bigint; // ns since the trace's start
  span: number; // ns
  node: TreeNode | null;
  site: number | null;
  pane: string;
  mark: { from: bigint; to: bigint } | null; // what is measured
  hidden: number[]; // modules
  isWall: boolean; // times of day
  isFolded: boolean; // stretches in which nobody does anything take little room
  isInWindow: boolean; // panes: only what the timeline shows
  sort: string; // of functions; "-": the least first
  text: string; // that names of functions have
  order: string; // of calls
  durations: Durations | null; // only calls that took so long
  filter: string | undefined; // which calls of the trace; undefined: as the command was told
}

/** ns, both included. */
export interface Durations {
  least: bigint;
  most: bigint;
}

export const PANES = ["functions", "calls", "tree", "callers", "source"];
export const ORDERS = ["duration", "self", "start"];
export const SORTS = ["total", "self", "calls", "mean", "max"];
export const SPAN_LEAST = 20;

export const state: State = { from: 0n, span: 1, node: null, site: null, pane: "functions",
                               mark: null, hidden: [], isWall: false, isFolded: false,
                               isInWindow: false, sort: "total", text: "", order: "duration",
                               durations: null, filter: undefined };
export const trace = {
  end: 1n, hasTimes: true, hasHosts: false, threads: [] as Thread[], info: {} as Record<string, any>,
};

type Change = "window" | "selection" | "pane" | "hidden" | "clock" | "choice";
type Listener = (what: Set<Change>) => void;
const listeners: Listener[] = [];
let changes = new Set<Change>();
let historyTimer = 0;

export function onChange(listener: Listener): void {
  listeners.push(listener);
}

/** As a place may hold it, also on a command line. */
function placeOf(name: string, most = 300): string {
  return encodeURIComponent(name.slice(0, most))
    .replace(/[!'()*~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A function is its name, and its number in this trace, which counts where both are there. */
export function link(): string {
  const fields = [`t=${state.from}..${state.from + BigInt(Math.round(state.span))}`];
  if (state.node) fields.push(`n=${state.node.id}`);
  if (state.site !== null) fields.push(`f=${placeOf(nameOf(state.site))}@${state.site}`);
  fields.push(`v=${state.pane}`);
  if (state.mark) fields.push(`m=${state.mark.from}..${state.mark.to}`);
  if (state.hidden.length) fields.push(`h=${state.hidden.join(",")}`);
  if (state.isWall) fields.push("w=1");
  if (state.isFolded) fields.push("i=1");
  if (state.isInWindow) fields.push("r=1");
  if (state.sort !== "total") fields.push(`s=${state.sort}`);
  if (state.text) fields.push(`q=${placeOf(state.text)}`);
  if (state.order !== "duration") fields.push(`o=${state.order}`);
  if (state.durations) fields.push(`d=${state.durations.least}..${state.durations.most}`);
  if (state.filter !== undefined) fields.push(`filter=${placeOf(state.filter, 4000)}`);
  return "#" + fields.join("&");
}

export interface Link {
  from?: bigint;
  to?: bigint;
  node?: string;
  site?: number;
  siteName?: string;
  pane?: string;
  mark?: { from: bigint; to: bigint };
  hidden?: number[];
  isWall?: boolean;
  isFolded?: boolean;
  isInWindow?: boolean;
  sort?: string;
  text?: string;
  order?: string;
  durations?: Durations;
  filter?: string;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

function readFunction(value: string, found: Link): void {
  const [, name, number] = /^(.*?)@?(\d{0,10})$/.exec(value) ?? [];
  const isNumber = number && (value === number || value === `${name}@${number}`);
  if (isNumber) found.site = Number(number);
  found.siteName = decoded(isNumber ? name : value);
}

export function readLink(hash: string): Link {
  const found: Link = {};
  for (const field of hash.replace(/^#/, "").split("&")) {
    const [name, value = ""] = field.split("=", 2);
    const range = /^(-?\d{1,20})\.\.(-?\d{1,20})$/.exec(value);
    if (name === "t" && range) [found.from, found.to] = [BigInt(range[1]), BigInt(range[2])];
    else if (name === "m" && range)
      found.mark = { from: BigInt(range[1]), to: BigInt(range[2]) };
    else if (name === "h" && /^\d{1,7}(,\d{1,7})*$/.test(value))
      found.hidden = value.split(",").slice(0, 1000).map(Number);
    else if (name === "w") found.isWall = value === "1";
    else if (name === "i") found.isFolded = value === "1";
    else if (name === "n" && /^s\d+([ep]\d+([bf]\d+)?)?$/.test(value)) found.node = value;
    else if (name === "f") readFunction(value, found);
    else if (name === "r") found.isInWindow = value === "1";
    else if (name === "s" && SORTS.includes(value.replace(/^-/, ""))) found.sort = value;
    else if (name === "q") found.text = decoded(value);
    else if (name === "filter") found.filter = decoded(value);
    else if (name === "o" && ORDERS.includes(value)) found.order = value;
    else if (name === "d" && range && BigInt(range[1]) >= 0n && BigInt(range[2]) >= BigInt(range[1]))
      found.durations = { least: BigInt(range[1]), most: BigInt(range[2]) };
    else if (name === "v" && PANES.includes(value)) found.pane = value;
  }
  return found;
}

/** Tells everybody, in the next frame; a selection is a step of the browser's history. */
export function changed(what: Change, isStep = what === "selection"): void {
  if (changes.size === 0) requestAnimationFrame(() => {
    const now = changes;
    changes = new Set();
    for (const listener of listeners) listener(now);
  });
  changes.add(what);
  window.clearTimeout(historyTimer);
  if (isStep) history.pushState(null, "", link());
  else historyTimer = window.setTimeout(() => history.replaceState(null, "", link()), 250);
}

function limit(): void {
  const whole = Number(trace.end);
  state.span = Math.min(Math.max(state.span, SPAN_LEAST), Math.max(whole * 1.04, SPAN_LEAST));
  const margin = BigInt(Math.round(state.span * 0.02));
  const most = trace.end + margin - BigInt(Math.round(state.span));
  if (state.from > most) state.from = most;
  if (state.from < -margin) state.from = -margin;
}

export function setWindow(from: bigint, span: number): void {
  state.from = from;
  state.span = span;
  limit();
  changed("window");
}

/** `at`: which part of the window stays where it is. */
export function zoom(factor: number, at: number): void {
  const before = state.span;
  state.span *= factor;
  state.span = Math.min(Math.max(state.span, SPAN_LEAST), Number(trace.end) * 1.04);
  state.from += BigInt(Math.round((before - state.span) * at));
  limit();
  changed("window");
}

export function pan(part: number): void {
  state.from += BigInt(Math.round(state.span * part));
  limit();
  changed("window");
}

export function showAll(): void {
  setWindow(-(trace.end / 50n), Number(trace.end) * 1.04);
}

export function showRange(from: bigint, to: bigint): void {
  const length = Math.max(Number(to - from), SPAN_LEAST / 1.4);
  setWindow(from - BigInt(Math.round(length * 0.2)), length * 1.4);
}

/** Durations are chosen of one function's. */
function setSite(site: number | null): void {
  if (site !== state.site) state.durations = null;
  state.site = site;
}

export function selectNode(node: TreeNode | null, isStep = true): void {
  state.node = node;
  if (node?.site !== undefined) setSite(node.site);
  changed("selection", isStep);
}

export function selectSite(site: number | null, isStep = true): void {
  setSite(site);
  changed("selection", isStep);
}

/** What panes show of it all. */
export function choose(what: Partial<State>): void {
  Object.assign(state, what);
  changed("choice", false);
}

export function selectPane(pane: string): void {
  state.pane = pane;
  changed("pane");
}

/** With its host, where there are several. */
export function threadLabel(thread: Thread): string {
  const name = thread.name || thread.process || "thread";
  return trace.hasHosts && thread.host ? `${thread.host}: ${name}` : name;
}

export function threadName(thread: Thread): string {
  return `${threadLabel(thread)} ${thread.tid}`;
}

export function threadOf(stream: number): Thread | undefined {
  return trace.threads[stream];
}
