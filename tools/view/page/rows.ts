// Which rows the timeline has: threads, some of them open. Of many threads with one name the first
// few are there, and one row that stands for the others; of deep stacks what fits, and a line that
// says how much deeper they are.
import { Thread, threadLabel, trace } from "./state";

export const ROW = 17;
const CLOSED = 18;
const GAP = 7;
const DEEPER = 13; // the line that says how much deeper it is
const LONE = 46; // the row that stands for others
const OPEN_MOST = 6; // threads that are open from the start
const NAMESAKES = 12; // shown of many with one name
const DEPTHS_LEAST = 5;

export interface Group {
  name: string;
  threads: Thread[]; // in the order of rows
  isWhole: boolean;
}

export interface Row {
  thread: Thread | null; // null: others of the group
  group: Group;
  y: number;
  height: number;
  isOpen: boolean;
  depths: number; // that are shown
  deeper: number;
}

export function startOf(thread: Thread): bigint {
  return thread.start ?? thread.origin + thread.first * thread.resolution;
}

export function endOf(thread: Thread): bigint {
  return thread.end ?? thread.origin + thread.last * thread.resolution;
}

const byEvents = (a: Thread, b: Thread) => Number(BigInt(b.events) - BigInt(a.events));
const byStart = (a: Thread, b: Thread) => Number(startOf(a) - startOf(b));

export class Rows {
  order: Thread[] = [];
  turn = 0; // another one: rows are others
  private groups = new Map<string, Group>();
  private open = new Set<number>();
  private full = new Set<number>(); // with all of their depths

  setThreads(): void {
    this.turn++;
    this.order = trace.threads.filter((t) => t.events !== "0");
    if (this.order.length > OPEN_MOST) this.order.sort(byEvents);
    const openCount = this.order.length > OPEN_MOST ? 2 : OPEN_MOST;
    this.open = new Set(this.order.slice(0, openCount).map((t) => t.stream));
    this.regroup();
  }

  sort(by: "events" | "start" | "name"): void {
    this.turn++;
    this.order.sort(by === "events" ? byEvents : by === "start" ? byStart
      : (a, b) => threadLabel(a).localeCompare(threadLabel(b)) || byStart(a, b));
    this.regroup();
  }

  private regroup(): void {
    const before = this.groups;
    this.groups = new Map();
    for (const thread of this.order) {
      const name = threadLabel(thread);
      const group = this.groups.get(name) ??
        { name, threads: [], isWhole: before.get(name)?.isWhole ?? false };
      this.groups.set(name, group);
      group.threads.push(thread);
    }
  }

  isOpen(stream: number): boolean {
    return this.open.has(stream);
  }

  toggle(row: Row): void {
    this.turn++;
    if (!row.thread) row.group.isWhole = true;
    else if (!this.open.delete(row.thread.stream)) this.open.add(row.thread.stream);
  }

  toggleDepths(stream: number): void {
    if (!this.full.delete(stream)) this.full.add(stream);
  }

  /** All open threads: as deep as they are, or as it fits. */
  toggleAllDepths(): void {
    const isAll = [...this.open].every((stream) => this.full.has(stream));
    this.full = new Set(isAll ? [] : this.open);
  }

  toggleGroups(): void {
    this.turn++;
    const isAny = [...this.groups.values()].some((group) => group.isWhole);
    for (const group of this.groups.values()) group.isWhole = !isAny;
  }

  reveal(stream: number, level: number): void {
    this.turn++;
    const thread = this.order.find((t) => t.stream === stream);
    if (!thread) return;
    this.open.add(stream);
    if (level >= DEPTHS_LEAST) this.full.add(stream);
    const group = this.groups.get(threadLabel(thread))!;
    if (this.isCut(group) && group.threads.indexOf(thread) >= NAMESAKES) group.isWhole = true;
  }

  private isCut(group: Group): boolean {
    return !group.isWhole && group.threads.length > NAMESAKES + 3;
  }

  /** `depthsOf` is asked of open threads alone: there may be thousands. */
  layOut(viewHeight: number, depthsOf: (thread: Thread) => number): { rows: Row[]; height: number } {
    const rows: Row[] = [];
    const met = new Map<Group, number>();
    const wanted = new Map<number, number>();
    for (const thread of this.order) {
      const group = this.groups.get(threadLabel(thread))!;
      const count = met.get(group) ?? 0;
      met.set(group, count + 1);
      const isOpen = this.open.has(thread.stream);
      if (this.isCut(group) && count >= NAMESAKES && !isOpen) {
        if (count === NAMESAKES) rows.push(this.row(null, group, false));
        continue;
      }
      if (isOpen) wanted.set(thread.stream, Math.max(depthsOf(thread), 2));
      rows.push(this.row(thread, group, isOpen));
    }
    const most = this.depthsMost(viewHeight, rows, wanted);
    let y = 0;
    for (const row of rows) {
      row.y = y;
      if (row.thread && row.isOpen) {
        const depths = wanted.get(row.thread.stream)!;
        row.depths = this.full.has(row.thread.stream) || depths <= most + 1 ? depths : most;
        row.deeper = depths - row.depths;
        row.height = row.depths * ROW + GAP + (row.deeper > 0 ? DEEPER : 0);
      }
      y += row.height;
    }
    return { rows, height: y };
  }

  private row(thread: Thread | null, group: Group, isOpen: boolean): Row {
    return { thread, group, y: 0, height: thread ? CLOSED : LONE, isOpen, depths: 0, deeper: 0 };
  }

  /** So that all open threads are seen at once, where that is possible. */
  private depthsMost(viewHeight: number, rows: Row[], wanted: Map<number, number>): number {
    const closed = rows.reduce((sum, row) => sum + (row.isOpen ? 0 : row.height), 0);
    let room = Math.max(viewHeight - Math.min(closed, viewHeight / 4), 0) / ROW;
    const depths = [...wanted.values()].sort((a, b) => a - b);
    for (let i = 0; i < depths.length; i++) { // small ones leave their room to the others
      const share = room / (depths.length - i) - 1.3;
      if (depths[i] > share) return Math.max(Math.floor(share), DEPTHS_LEAST);
      room -= depths[i] + 0.5;
    }
    return Infinity;
  }
}
