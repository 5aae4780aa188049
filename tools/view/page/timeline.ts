// The timeline: each thread over the window, its calls below each other; and the map of all threads
// over the whole run.
import { ask, work } from "./ask";
import { Axis, findStretches, FOLD, Part, Stretch } from "./axis";
import { isHidden } from "./modules";
import { isIdle, nameOf, onNames } from "./names";
import { endOf, Group, Row, ROW, Rows, startOf } from "./rows";
import {
  changed, onChange, pan, selectNode, setWindow, showRange, SPAN_LEAST, state, Thread, threadLabel,
  trace, TreeNode, zoom,
} from "./state";
import {
  BAR, BUCKETS, bucketNs, endFrame, findCoarser, findTile, forgetPictures, indexAt, levelOf, onTiles,
  pictureOf, Tile, tileStart, wantTile,
} from "./tiles";
import { about, count, exactTime, moment, shortTime, wallTick } from "./words";

export const NAME_WIDTH = 168;
const RULER = 26;
const ALIVE_PIXELS = 3;
const MAP_TILES = 48; // threads of which the map shows what they did, and not only when they were

interface Colours {
  text: string; faint: string; line: string; back: string; select: string; bar: string;
  lost: string; bars: string; isDark: boolean;
}

/** A canvas as sharp as the screen. */
export function fit(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d", { alpha: false })!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: of("--text"), faint: of("--faint"), line: of("--line"), back: of("--back"),
    select: of("--select"), bar: of("--bar-text"), lost: of("--lost"), bars: of("--bar"),
    isDark: matchMedia("(prefers-color-scheme: dark)").matches,
  };
}

interface Spans { turn: string; starts: Float64Array; ends: Float64Array }

export class Timeline {
  readonly canvas = document.createElement("canvas");
  readonly map = document.createElement("canvas");
  readonly tip = document.createElement("div");
  readonly spoken = document.createElement("div");
  readonly list = new Rows();
  onCommand: (id: string) => void = () => undefined;
  private mapTurn = 0;
  private mapKept: { key: string; picture: HTMLCanvasElement } | null = null;
  private mapLacks = false; // tiles of the map are still to come
  private mapOrder: Thread[] = [];
  frameTimes: number[] = [];
  private scroll = 0;
  private rows: Row[] = [];
  private isPlanned = false;
  private look = colours();
  private hatch: CanvasPattern | null = null;
  private depths = new Map<number, number>(); // of each thread, in the window
  private others = new Map<Group, Spans>();
  private axis = new Axis(0n, 1, NAME_WIDTH, 1, []);
  private drag: { x: number; y: number; from: bigint; scroll: number; isMark: boolean;
                  moved: boolean } | null = null;

  constructor() {
    this.canvas.className = "timeline";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Timeline: w and s zoom, a and d move, arrows go to " +
                             "the caller, the longest call in it, and its neighbours, Enter shows all of it");
    this.map.className = "map";
    this.map.setAttribute("role", "img");
    this.map.setAttribute("aria-label", "All threads over the whole run");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.spoken.className = "spoken";
    this.spoken.setAttribute("aria-live", "polite");
    this.listen();
    onChange((what) => {
      if (what.has("selection")) this.speak();
      if (what.has("hidden")) {
        forgetPictures();
        this.mapKept = null;
      }
      this.plan();
    });
    onTiles(() => this.plan());
    onNames(() => this.plan());
    new ResizeObserver(() => this.plan()).observe(this.canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"])
      matchMedia(query).addEventListener("change", () => {
        this.look = colours();
        this.hatch = null;
        this.plan();
      });
  }

  setThreads(): void {
    this.look = colours();
    this.list.setThreads();
    this.orderMap();
  }

  /** By start, so that the map shows who began whom. */
  orderMap(): void {
    this.mapTurn++;
    this.mapOrder = [...this.list.order].sort((a, b) => Number(startOf(a) - startOf(b)));
    this.plan();
  }

  sort(by: "events" | "start" | "name"): void {
    this.list.sort(by);
    this.scroll = 0;
    this.plan();
  }

  reveal(stream: number, level = 0): void {
    this.list.reveal(stream, level);
    this.layOut();
    const row = this.rows.find((r) => r.thread?.stream === stream);
    if (row && (row.y < this.scroll || row.y > this.scroll + this.viewHeight() - 60))
      this.scroll = Math.max(0, row.y - 10);
    this.plan();
  }

  plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => {
      this.isPlanned = false;
      const start = performance.now();
      this.draw();
      this.drawMap();
      endFrame();
      this.frameTimes.push(performance.now() - start + work.spent);
      work.spent = 0;
      if (this.frameTimes.length > 2000) this.frameTimes.shift();
    });
  }

  // ---- geometry ----

  private width(): number {
    return Math.max(this.canvas.clientWidth - NAME_WIDTH, 10);
  }

  private viewHeight(): number {
    return this.canvas.clientHeight - RULER;
  }

  private nsPerPixel(): number {
    return this.axis.nsPerPixel;
  }

  private xOf(time: bigint): number {
    return this.axis.xOf(time);
  }

  private timeAt(x: number): bigint {
    return this.axis.timeAt(x);
  }

  /** Which part of the window lies before a place: what a zoom there leaves where it is. */
  private shareAt(x: number): number {
    return Math.min(Math.max(Number(this.timeAt(x) - state.from) / state.span, 0), 1);
  }

  /** Folds come of the picture without folds, so that they do not change as they are made. */
  private setAxis(): void {
    const flat = new Axis(state.from, state.span, NAME_WIDTH, this.width(), []);
    const stretches = state.isFolded ? this.idleStretches(flat) : [];
    this.axis = stretches.length ? new Axis(state.from, state.span, NAME_WIDTH, this.width(), stretches)
      : flat;
  }

  private idleStretches(flat: Axis): Stretch[] {
    const busy = new Uint8Array(Math.ceil(this.width()));
    for (const { thread, y, height } of this.rows)
      if (thread?.hasTimes && y + height > this.scroll && y < this.scroll + this.viewHeight())
        this.markBusy(busy, thread, flat);
    return findStretches(busy, (pixel) => flat.timeAt(NAME_WIDTH + pixel));
  }

  /** Marks where a thread runs, and its innermost call does not wait; and where nothing is known yet. */
  private markBusy(busy: Uint8Array, thread: Thread, flat: Axis): void {
    const level = levelOf(thread, flat.nsPerPixel);
    const end = state.from + BigInt(Math.ceil(state.span));
    const width = Number(bucketNs(thread, level)) / flat.nsPerPixel;
    const first = indexAt(thread, level, state.from < startOf(thread) ? startOf(thread) : state.from);
    for (let index = first; index <= indexAt(thread, level, end < endOf(thread) ? end : endOf(thread)); index++) {
      const tile = findTile(thread, level, index);
      const left = flat.xOf(tileStart(thread, level, index)) - NAME_WIDTH;
      const mark = (start: number, length: number) =>
        busy.fill(1, Math.max(Math.floor(left + start * width), 0),
                  Math.max(Math.ceil(left + (start + length) * width), 0));
      if (!tile?.off) wantTile(thread, level, index, 0);
      if (!tile) {
        mark(0, BUCKETS);
        continue;
      }
      for (let i = 0; i < tile.gaps.length; i += 2) mark(tile.gaps[i], tile.gaps[i + 1]);
      const tops = topsOf(tile);
      for (let bucket = 0; bucket < BUCKETS; bucket++)
        if (tops[bucket] >= 0 && (tops[bucket] === 4294967295 || !isIdle(tops[bucket]))) mark(bucket, 1);
    }
  }

  private layOut(): void {
    const { rows, height } = this.list.layOut(this.viewHeight(), (thread) => this.depthsOf(thread));
    this.rows = rows;
    const most = Math.max(0, height - this.viewHeight() + 12);
    this.scroll = Math.min(Math.max(this.scroll, 0), most);
  }

  /** As deep as what the window shows; while somebody drags no row becomes smaller. */
  private depthsOf(thread: Thread): number {
    const before = this.depths.get(thread.stream) ?? 0;
    if (!thread.hasTimes) return before;
    const level = levelOf(thread, this.nsPerPixel());
    let most = 0;
    let isKnown = true;
    for (const part of this.axis.parts) {
      const last = indexAt(thread, level, part.to);
      for (let index = indexAt(thread, level, part.from); index <= last; index++) {
        const tile = findTile(thread, level, index);
        if (tile) most = Math.max(most, tile.depths);
        else if (tileStart(thread, level, index + 1n) > startOf(thread) &&
                 tileStart(thread, level, index) <= endOf(thread)) isKnown = false;
      }
    }
    if (most < before && (!isKnown || this.drag)) most = before;
    this.depths.set(thread.stream, most);
    return most;
  }

  private rowAt(y: number): Row | undefined {
    const at = y - RULER + this.scroll;
    return y < RULER ? undefined : this.rows.find((r) => at >= r.y && at < r.y + r.height);
  }

  // ---- drawing ----

  private draw(): void {
    const context = fit(this.canvas);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.setAxis();
    this.layOut();
    context.fillStyle = this.look.back;
    context.fillRect(0, 0, width, height);
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(0, RULER, width, height - RULER);
    context.clip();
    for (const row of this.rows) {
      const y = RULER + row.y - this.scroll;
      if (y + row.height < RULER || y > height) continue;
      this.drawRow(context, row, y);
    }
    this.drawMark(context, height);
    this.drawFolds(context, height);
    context.restore();
    this.drawRuler(context, width, height);
  }

  private drawRow(context: CanvasRenderingContext2D, row: Row, y: number): void {
    const { thread } = row;
    if (!thread) {
      this.drawOthers(context, row, y);
      return;
    }
    if (thread.hasTimes) {
      for (const part of this.axis.parts) this.drawPart(context, row, thread, y, part);
      this.clip(context, NAME_WIDTH, y, this.width(), row.height);
      this.drawSelected(context, row, y);
      context.restore();
    }
    this.drawName(context, row, thread, y);
    if (row.deeper > 0) {
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = this.look.faint;
      context.fillText(`▾ ${row.deeper} deeper`, NAME_WIDTH + 6, y + row.height - 11);
    }
  }

  private clip(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
  }

  private drawPart(context: CanvasRenderingContext2D, row: Row, thread: Thread, y: number, part: Part): void {
    const level = levelOf(thread, this.nsPerPixel());
    const first = indexAt(thread, level, part.from);
    const end = part.to < endOf(thread) ? part.to : endOf(thread);
    const last = indexAt(thread, level, end);
    const least = indexAt(thread, level, startOf(thread));
    const middle = (first + last) / 2n;
    const run: LabelRun[] = [];
    this.clip(context, part.left, y, part.right - part.left, row.height);
    for (let index = first < least ? least : first; index <= last; index++) {
      const distance = Math.abs(Number(index - middle)) + y / 10000;
      this.drawTile(context, row, thread, y, level, index, distance, part, run);
    }
    if (row.isOpen) this.drawLabels(context, y, part, run.filter((r) => r.depth < row.depths));
    context.restore();
  }

  /** What is folded: torn edges, and above it how long it is. */
  private drawFolds(context: CanvasRenderingContext2D, height: number): void {
    for (const { left } of this.axis.folds) {
      context.fillStyle = this.look.back;
      context.fillRect(left, RULER, FOLD, height);
      context.strokeStyle = this.look.faint;
      context.lineWidth = 1;
      for (const x of [left + 4, left + FOLD - 4]) {
        context.beginPath();
        for (let y = RULER, i = 0; y <= height + 6; y += 6, i++) context.lineTo(x + (i % 2 ? 3 : -3), y);
        context.stroke();
      }
    }
  }

  /** Of threads that have no rows of their own: how many there are at each time. */
  private drawOthers(context: CanvasRenderingContext2D, row: Row, y: number): void {
    const others = this.othersOf(row.group);
    const counts = this.aliveCounts(others);
    const most = Math.max(...counts, 1);
    context.fillStyle = this.look.bars;
    counts.forEach((alive, i) => {
      const size = (alive / most) * (row.height - 10);
      context.fillRect(NAME_WIDTH + i * ALIVE_PIXELS, y + row.height - 6 - size, ALIVE_PIXELS, size);
    });
    context.save();
    context.beginPath();
    context.rect(0, y, NAME_WIDTH - 6, row.height);
    context.clip();
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = this.look.faint;
    context.fillText("▸", 8, y + 10);
    context.fillStyle = this.look.text;
    context.fillText(`${count(others.starts.length)} more`, 22, y + 10);
    context.fillStyle = this.look.faint;
    context.font = "11px system-ui, sans-serif";
    context.fillText(cutText(context, `${row.group.name}: ${count(most)} at once`, NAME_WIDTH - 34),
                     22, y + 26);
    context.restore();
    context.fillStyle = this.look.line;
    context.fillRect(0, y + row.height - 3, this.canvas.clientWidth, 1);
  }

  /** Keeps when threads of a group without rows of their own began and ended, as long as these are
   * the same: there may be thousands. */
  private othersOf(group: Group): Spans {
    const turn = `${this.list.turn}/${this.mapTurn}`;
    const kept = this.others.get(group);
    if (kept?.turn === turn) return kept;
    const shown = new Set(this.rows.map((r) => r.thread));
    const threads = group.threads.filter((t) => !shown.has(t) && t.hasTimes);
    const found = { turn, starts: Float64Array.from(threads, (t) => Number(startOf(t))),
                    ends: Float64Array.from(threads, (t) => Number(endOf(t))) };
    this.others.set(group, found);
    return found;
  }

  private aliveCounts({ starts, ends }: Spans): number[] {
    const steps = Math.ceil(this.width() / ALIVE_PIXELS);
    const counts = new Array<number>(steps + 1).fill(0);
    for (const part of this.axis.parts) this.countAlive(starts, ends, part, counts, steps);
    for (let i = 1; i <= steps; i++) counts[i] += counts[i - 1];
    return counts.slice(0, steps);
  }

  private countAlive(starts: Float64Array, ends: Float64Array, part: Part, counts: number[], steps: number): void {
    const from = Number(part.from);
    const [left, each] = [part.left - NAME_WIDTH, ALIVE_PIXELS * this.nsPerPixel()];
    const [low, high] = [Math.floor(left / ALIVE_PIXELS), Math.floor((part.right - NAME_WIDTH) / ALIVE_PIXELS)];
    for (let i = 0; i < starts.length; i++) {
      const first = Math.floor(left / ALIVE_PIXELS + (starts[i] - from) / each);
      const last = Math.floor(left / ALIVE_PIXELS + (ends[i] - from) / each);
      if (last < low || first > high) continue;
      counts[Math.min(Math.max(first, low, 0), steps)]++;
      counts[Math.min(Math.max(Math.min(last, high), 0), steps - 1) + 1]--;
    }
  }

  private drawTile(context: CanvasRenderingContext2D, row: Row, thread: Thread, y: number,
                   level: number, index: bigint, distance: number, part: Part, run: LabelRun[]): void {
    const tile = findTile(thread, level, index);
    const x = part.left + Number(tileStart(thread, level, index) - part.from) / this.nsPerPixel();
    const bucket = Number(bucketNs(thread, level)) / this.nsPerPixel();
    const right = x + bucket * BUCKETS;
    if (tile) {
      this.drawPicture(context, row, y, tile, x, right, 0, BUCKETS);
      this.drawLosses(context, row, y, tile, x, bucket);
      if (row.isOpen) this.collectLabels(tile, x, bucket, run);
      return;
    }
    wantTile(thread, level, index, distance);
    const coarser = findCoarser(thread, level, index);
    if (!coarser) return;
    const parts = 1 << (coarser.level - level);
    const at = Number(index - (coarser.index << BigInt(coarser.level - level)));
    this.drawPicture(context, row, y, coarser.tile, x, right, (at * BUCKETS) / parts,
                     BUCKETS / parts);
  }

  private drawPicture(context: CanvasRenderingContext2D, row: Row, y: number, tile: Tile, x: number,
                      right: number, start: number, length: number): void {
    if (tile.depths === 0) return;
    const picture = pictureOf(tile, this.look.isDark);
    const depths = Math.min(tile.depths, row.isOpen ? row.depths : 4);
    const height = row.isOpen ? ROW : 14 / depths;
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, start, 0, length, depths, x, y + 2, right - x, depths * height);
    if (!row.isOpen) return;
    context.fillStyle = this.look.back;
    for (let depth = 1; depth <= depths; depth++)
      context.fillRect(x, y + 1 + depth * ROW, right - x, 1);
  }

  /** What is lost is hatched: no call is drawn where none is known. */
  private drawLosses(context: CanvasRenderingContext2D, row: Row, y: number, tile: Tile, x: number,
                     bucket: number): void {
    if (tile.gaps.length === 0 && !tile.isDamaged) return;
    this.hatch ??= this.makeHatch(context);
    context.fillStyle = this.hatch ?? this.look.lost;
    for (let i = 0; i < tile.gaps.length; i += 2) {
      const left = x + tile.gaps[i] * bucket;
      context.fillRect(left, y + 1, Math.max(tile.gaps[i + 1] * bucket, 2), row.height - 4);
    }
    if (tile.isDamaged) context.fillRect(x, y + row.height - 6, bucket * BUCKETS, 4);
  }

  private makeHatch(context: CanvasRenderingContext2D): CanvasPattern | null {
    const small = document.createElement("canvas");
    small.width = small.height = 6;
    const c = small.getContext("2d")!;
    c.strokeStyle = this.look.lost;
    c.lineWidth = 1.5;
    c.beginPath();
    for (const shift of [-6, 0, 6]) {
      c.moveTo(shift, 6);
      c.lineTo(shift + 6, 0);
    }
    c.stroke();
    return context.createPattern(small, "repeat");
  }

  /** Bars that are wide, or may go on in the next tile. */
  private collectLabels(tile: Tile, x: number, bucket: number, run: LabelRun[]): void {
    const least = 30 / bucket;
    for (let i = 0; i < tile.bars.length; i += BAR) {
      const start = tile.bars[i];
      const length = tile.bars[i + 1];
      const isEdge = start === 0 || start + length === BUCKETS;
      if (length < least && !isEdge) continue;
      const [depth, site] = [tile.bars[i + 2], tile.bars[i + 3] >>> 0];
      const left = x + start * bucket;
      const right = left + length * bucket;
      const before = start === 0
        ? run.find((r) => r.depth === depth && r.site === site && Math.abs(r.right - left) < 0.5)
        : undefined;
      if (before) before.right = right;
      else run.push({ left, right, depth, site, signal: tile.bars[i + 4] });
    }
  }

  private drawLabels(context: CanvasRenderingContext2D, y: number, part: Part, run: LabelRun[]): void {
    context.font = "12px system-ui, sans-serif";
    for (const r of run) {
      const left = Math.max(r.left, part.left) + 4;
      const room = Math.min(r.right, part.right) - left - 3;
      if (r.right - r.left > 4) {
        context.fillStyle = this.look.back;
        context.fillRect(r.left, y + 2 + r.depth * ROW, 1, ROW - 1);
      }
      if (room < 24) continue;
      const name = r.site === 4294967295 ? `(signal ${r.signal})` : nameOf(r.site);
      const text = cutText(context, name, room);
      context.fillStyle = isHidden(r.site) ? this.look.faint : this.look.bar;
      if (text) context.fillText(text, left, y + 2 + r.depth * ROW + ROW / 2);
    }
  }

  private drawSelected(context: CanvasRenderingContext2D, row: Row, y: number): void {
    const node = state.node;
    if (!node || node.stream !== row.thread?.stream || node.level === undefined ||
        node.level >= row.depths) return;
    const left = Math.max(this.xOf(BigInt(node.start)), NAME_WIDTH - 4);
    const right = Math.min(this.xOf(BigInt(node.end)), this.canvas.clientWidth + 4);
    if (right < NAME_WIDTH || left > this.canvas.clientWidth) return;
    context.strokeStyle = this.look.select;
    context.lineWidth = 2;
    context.strokeRect(left - 1, y + 1 + node.level * ROW, Math.max(right - left, 2) + 2, ROW);
  }

  private drawName(context: CanvasRenderingContext2D, row: Row, thread: Thread, y: number): void {
    context.save();
    context.beginPath();
    context.rect(0, y, NAME_WIDTH - 6, row.height);
    context.clip();
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = this.look.faint;
    context.fillText(row.isOpen ? "▾" : "▸", 8, y + 10);
    context.fillStyle = this.look.text;
    const number = ` ${thread.tid}`;
    const room = NAME_WIDTH - 34 - context.measureText(number).width;
    const name = cutText(context, threadLabel(thread), room);
    context.fillText(name + number, 22, y + 10);
    if (row.isOpen && row.height > 34) {
      context.fillStyle = this.look.faint;
      context.font = "11px system-ui, sans-serif";
      context.fillText(`${about(thread.events)} events`, 22, y + 26);
      if (thread.missing) context.fillText(`${about(thread.missing)} missing`, 22, y + 40);
    }
    context.restore();
    context.fillStyle = this.look.line;
    context.fillRect(0, y + row.height - 3, this.canvas.clientWidth, 1);
  }

  private drawRuler(context: CanvasRenderingContext2D, width: number, height: number): void {
    context.fillStyle = this.look.back;
    context.fillRect(0, 0, width, RULER);
    const step = niceStep(this.nsPerPixel() * 110);
    context.font = "11px system-ui, sans-serif";
    for (const part of this.axis.parts) this.drawTicks(context, part, step, height);
    context.fillStyle = this.look.faint;
    context.textAlign = "center";
    for (const { left, from, to } of this.axis.folds)
      context.fillText(cutText(context, shortTime(to - from), FOLD), left + FOLD / 2, RULER / 2);
    context.textAlign = "left";
    context.fillStyle = this.look.line;
    context.fillRect(0, RULER - 1, width, 1);
    context.fillRect(NAME_WIDTH - 1, 0, 1, height);
  }

  private drawTicks(context: CanvasRenderingContext2D, part: Part, step: number, height: number): void {
    const stepNs = BigInt(step);
    const isLast = part.to >= state.from + BigInt(Math.round(state.span));
    let time = (part.from / stepNs) * stepNs;
    for (let i = 0; i < 400; i++, time += stepNs) {
      const x = Math.round(part.left + Number(time - part.from) / this.nsPerPixel()) + 0.5;
      if (x > part.right) break;
      if (x < part.left || time < 0n) continue;
      context.fillStyle = this.look.line;
      context.fillRect(x, RULER - 6, 1, 6);
      context.globalAlpha = 0.35;
      context.fillRect(x, RULER, 1, height);
      context.globalAlpha = 1;
      const text = state.isWall ? wallTick(time, step) : tickText(time, step);
      if (!isLast && x + 4 + context.measureText(text).width > part.right) continue;
      context.fillStyle = this.look.faint;
      context.fillText(text, x + 4, RULER / 2);
    }
  }

  private drawMark(context: CanvasRenderingContext2D, height: number): void {
    if (!state.mark) return;
    const left = this.xOf(state.mark.from);
    const right = this.xOf(state.mark.to);
    context.fillStyle = this.look.select;
    context.globalAlpha = 0.14;
    context.fillRect(left, RULER, right - left, height);
    context.globalAlpha = 1;
    context.fillRect(left, RULER, 1, height);
    context.fillRect(right, RULER, 1, height);
    context.font = "bold 12px system-ui, sans-serif";
    const length = state.mark.to - state.mark.from;
    const text = length === 0n ? "from here" : `${shortTime(length)}  (${exactTime(length)})`;
    context.fillText(text, Math.max(left, NAME_WIDTH) + 5, height - 12);
  }

  /** All threads over the whole run, and the window in it. */
  private drawMap(): void {
    const context = fit(this.map);
    const [width, height] = [this.map.clientWidth - NAME_WIDTH, this.map.clientHeight];
    context.fillStyle = this.look.back;
    context.fillRect(0, 0, this.map.clientWidth, height);
    const threads = this.mapOrder;
    const each = Math.min(Math.max((height - 4) / Math.max(threads.length, 1), 0.05), 32);
    const nsPerPixel = Number(trace.end) / Math.max(width, 1);
    const isBrief = threads.length > MAP_TILES;
    const drawAll = (into: CanvasRenderingContext2D) => threads.forEach((thread, i) => {
      if (!thread.hasTimes) return;
      this.drawMapThread(into, thread, 2 + i * each, Math.max(each - (each > 3 ? 1 : 0), 1),
                         nsPerPixel, isBrief);
    });
    context.drawImage(this.keptMap(drawAll), 0, 0, this.map.clientWidth, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = this.look.faint;
    const many = threads.length === 1 ? "1 thread" : `${count(threads.length)} threads`;
    context.fillText(`${many}, ${shortTime(trace.end)}`, 8, height / 2);
    const left = NAME_WIDTH + Number(state.from) / nsPerPixel;
    const right = left + Math.max(state.span / nsPerPixel, 3);
    context.fillStyle = this.look.back;
    context.globalAlpha = 0.62;
    context.fillRect(NAME_WIDTH, 0, Math.max(left - NAME_WIDTH, 0), height);
    context.fillRect(right, 0, Math.max(this.map.clientWidth - right, 0), height);
    context.globalAlpha = 1;
    context.strokeStyle = this.look.select;
    context.lineWidth = 1.5;
    context.strokeRect(Math.max(left, NAME_WIDTH) + 0.75, 0.75,
                       Math.max(Math.min(right, this.map.clientWidth) -
                                Math.max(left, NAME_WIDTH) - 1.5, 2), height - 1.5);
  }

  /** Threads are drawn once, not in each frame; again while some of the picture is to come. */
  private keptMap(draw: (context: CanvasRenderingContext2D) => void): HTMLCanvasElement {
    const { width, height } = this.map;
    const key = `${width}/${height}/${this.look.isDark}/${this.look.faint}/${this.mapTurn}`;
    if (this.mapKept?.key === key && !this.mapLacks) return this.mapKept.picture;
    this.mapLacks = false;
    const picture = document.createElement("canvas");
    picture.width = width;
    picture.height = height;
    const context = picture.getContext("2d")!;
    context.scale(width / this.map.clientWidth, height / this.map.clientHeight);
    draw(context);
    this.mapKept = { key, picture };
    return picture;
  }

  private drawMapThread(context: CanvasRenderingContext2D, thread: Thread, y: number,
                        height: number, nsPerPixel: number, isBrief: boolean): void {
    const xOf = (time: bigint) => NAME_WIDTH + Number(time) / nsPerPixel;
    const [start, end] = [xOf(startOf(thread)), xOf(endOf(thread))];
    context.fillStyle = isBrief ? this.look.faint : this.look.line;
    context.globalAlpha = isBrief ? 0.6 : 1;
    context.fillRect(start, y, Math.max(end - start, 1), height);
    context.globalAlpha = 1;
    if (isBrief) return;
    const level = levelOf(thread, nsPerPixel);
    const bucket = Number(bucketNs(thread, level)) / nsPerPixel;
    context.imageSmoothingEnabled = false;
    const there: { tile: Tile; x: number }[] = [];
    for (let index = indexAt(thread, level, startOf(thread));
      index <= indexAt(thread, level, endOf(thread)); index++) {
      const tile = findTile(thread, level, index);
      if (!tile) {
        this.mapLacks = true;
        wantTile(thread, level, index, 50);
      } else if (tile.depths > 0) there.push({ tile, x: xOf(tileStart(thread, level, index)) });
    }
    const room = Math.min(Math.max(1, Math.floor(height / 1.5)), 8);
    const depths = Math.min(Math.max(...there.map(({ tile }) => tile.depths)), room);
    for (const { tile, x } of there) {
      const own = Math.min(tile.depths, depths);
      context.drawImage(pictureOf(tile, this.look.isDark), 0, 0, BUCKETS, own, x, y,
                        bucket * BUCKETS, (height * own) / depths);
    }
  }

  // ---- mouse, touch ----

  private listen(): void {
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    this.canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.canvas.addEventListener("pointerdown", (e) => this.press(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerup", (e) => void this.release(e));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    const jump = (e: PointerEvent) => {
      if (e.buttons === 0) return;
      const part = (e.offsetX - NAME_WIDTH) / Math.max(this.map.clientWidth - NAME_WIDTH, 1);
      setWindow(BigInt(Math.round(Number(trace.end) * part - state.span / 2)), state.span);
    };
    this.map.addEventListener("pointerdown", (e) => {
      this.map.setPointerCapture(e.pointerId);
      jump(e);
    });
    this.map.addEventListener("pointermove", jump);
  }

  private key(e: KeyboardEvent): void {
    const commands: Record<string, string> = {
      ArrowUp: "parent", ArrowDown: "longest-child", ArrowLeft: "sibling-previous",
      ArrowRight: "sibling-next", Enter: "focus" };
    const id = commands[e.key];
    if (!id || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    const row = this.rows.find((r) => r.isOpen && r.thread?.hasTimes && r.y + r.height > this.scroll);
    if (state.node) this.onCommand(id);
    else if (row) void this.pick(row.thread!.stream, this.timeAt(NAME_WIDTH + this.width() / 2), 0);
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [e.deltaX * unit, e.deltaY * unit];
    if (!e.ctrlKey && (e.offsetX < NAME_WIDTH || e.shiftKey)) {
      this.scroll += dy || dx;
      this.plan();
      return;
    }
    if (!e.ctrlKey && Math.abs(dx) > Math.abs(dy)) {
      pan((dx * this.nsPerPixel()) / state.span);
      return;
    }
    zoom(Math.exp(Math.max(-60, Math.min(60, dy)) * (e.ctrlKey ? 0.012 : 0.0045)), this.shareAt(e.offsetX));
  }

  private press(e: PointerEvent): void {
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { x: e.offsetX, y: e.offsetY, from: state.from, scroll: this.scroll,
                  isMark: e.shiftKey, moved: false };
  }

  private move(e: PointerEvent): void {
    const drag = this.drag;
    if (!drag) {
      this.showTip(e);
      return;
    }
    drag.moved ||= Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3;
    if (!drag.moved) return;
    this.tip.hidden = true;
    if (drag.isMark) {
      const [a, b] = [this.timeAt(drag.x), this.timeAt(e.offsetX)];
      state.mark = a < b ? { from: a, to: b } : { from: b, to: a };
      changed("window");
    } else {
      this.scroll = drag.scroll - (e.offsetY - drag.y);
      setWindow(drag.from - BigInt(Math.round((e.offsetX - drag.x) * this.nsPerPixel())),
                state.span);
    }
  }

  private async release(e: PointerEvent): Promise<void> {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.moved) return;
    const row = this.rowAt(e.offsetY);
    if (!row) return;
    if (e.offsetX < NAME_WIDTH || !row.isOpen || !row.thread) {
      this.list.toggle(row);
      this.plan();
      return;
    }
    if (row.deeper > 0 && e.offsetY - RULER + this.scroll > row.y + row.depths * ROW + 2) {
      this.list.toggleDepths(row.thread.stream);
      this.plan();
      return;
    }
    const depth = Math.max(Math.floor((e.offsetY - RULER + this.scroll - row.y - 2) / ROW), 0);
    await this.pick(row.thread.stream, this.timeAt(e.offsetX), depth);
  }

  /** The call that a thread has open at a moment, so deep. */
  async pick(stream: number, time: bigint, depth: number): Promise<void> {
    const answer = await ask("stack", { stream, time, depth });
    const node = (answer.stack as (TreeNode | string)[]).find((n) => typeof n !== "string") as
      TreeNode | undefined;
    const isThere = node && BigInt(node.start) <= time && time <= BigInt(node.end_most ?? node.end) &&
      depth < Number(answer.depth);
    if (node && isThere) selectNode(node);
  }

  private barAt(x: number, y: number): { site: number; signal: number; calls: number } | undefined {
    const row = this.rowAt(y);
    if (!row?.isOpen || x < NAME_WIDTH || !row.thread?.hasTimes) return undefined;
    const depth = Math.floor((y - RULER + this.scroll - row.y - 2) / ROW);
    if (depth >= row.depths) return undefined;
    const level = levelOf(row.thread, this.nsPerPixel());
    const index = indexAt(row.thread, level, this.timeAt(x));
    const tile = findTile(row.thread, level, index);
    if (!tile) return undefined;
    const bucket = Number((this.timeAt(x) - tileStart(row.thread, level, index)) /
                          bucketNs(row.thread, level));
    for (let i = 0; i < tile.bars.length; i += BAR)
      if (tile.bars[i + 2] === depth && tile.bars[i] <= bucket &&
          bucket < tile.bars[i] + tile.bars[i + 1])
        return { site: tile.bars[i + 3] >>> 0, signal: tile.bars[i + 4], calls: tile.bars[i + 6] };
    return undefined;
  }

  private showTip(e: PointerEvent): void {
    const bar = this.barAt(e.offsetX, e.offsetY);
    this.tip.hidden = !bar;
    if (!bar) return;
    const name = bar.site === 4294967295 ? `signal ${bar.signal}` : nameOf(bar.site) || "…";
    const calls = bar.calls > 1 ? `at least ${count(bar.calls)} calls here; zoom in for each` : "";
    this.tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: name }),
                             Object.assign(document.createElement("div"), {
                               textContent: `${moment(this.timeAt(e.offsetX))} ${calls}` }));
    const box = this.canvas.getBoundingClientRect();
    this.tip.style.left = `${Math.min(e.clientX + 14, window.innerWidth - 320)}px`;
    this.tip.style.top = `${Math.min(e.clientY + 18, box.bottom - 8)}px`;
  }

  private speak(): void {
    const node = state.node;
    if (!node) return;
    const name = node.site !== undefined ? nameOf(node.site) : node.kind;
    this.spoken.textContent = `${name}, ${shortTime(node.time)}, at ${moment(node.start)}` +
      (node.calls ? `, ${node.calls} calls below` : "");
  }
}

/** The site of the innermost call in each bucket; -1: none, or its thread does not run. */
function topsOf(tile: Tile): Float64Array {
  if (tile.tops) return tile.tops;
  const tops = new Float64Array(BUCKETS).fill(-1); // depths come in order
  for (let i = 0; i < tile.bars.length; i += BAR)
    tops.fill(tile.bars[i + 3] >>> 0, tile.bars[i], tile.bars[i] + tile.bars[i + 1]);
  const off = tile.off ?? [];
  for (let i = 0; i < off.length; i += 2) tops.fill(-1, off[i], off[i] + off[i + 1]);
  return tile.tops = tops;
}

interface LabelRun {
  left: number;
  right: number;
  depth: number;
  site: number;
  signal: number;
}

const widths = new Map<string, Map<string, number>>(); // by font, then by text

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let all = widths.get(context.font);
  if (!all || all.size > 20000) widths.set(context.font, all = new Map());
  const width = all.get(text) ?? context.measureText(text).width;
  all.set(text, width);
  return width;
}

/** What of a text fits, with an ellipsis; "" where hardly anything does. */
export function cutText(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(context, text.slice(0, 200));
  if (width <= room) return text.slice(0, 200);
  const letters = Math.floor((text.slice(0, 200).length * room) / width) - 1;
  return letters < 2 ? "" : `${text.slice(0, letters)}…`;
}

function niceStep(least: number): number {
  let step = 1;
  for (let i = 0; i < 40 && step < least; i++) step *= i % 3 === 1 ? 2.5 : 2;
  return Math.max(Math.round(step), 1);
}

/** As short as the step allows, and exact. */
function tickText(time: bigint, step: number): string {
  if (step >= 1e9 || time === 0n) return `${count(time / 1000000000n)} s`;
  const digits = step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
  const text = moment(time).replace(" s", "");
  const [whole, rest] = text.split(".");
  return `${whole}.${rest.replace(/ /g, "").slice(0, digits).replace(/(\d{3})(?=\d)/g, "$1 ")} s`;
}

export { SPAN_LEAST, showRange };
