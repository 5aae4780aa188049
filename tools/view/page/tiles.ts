// Tiles: asked for as they are looked at, kept as small pictures of one pixel a bucket and depth.
// A frame draws pictures only, however many events they stand for.
import { ask, isAbort, work } from "./ask";
import { isHidden } from "./modules";
import { colourOf } from "./names";
import { state, Thread } from "./state";

export const BUCKETS = 256;
const KEPT_MOST = 3000;
const ASKED_MOST = 160; // tiles in one request
const LEVELS = 56;

export interface Tile {
  bars: Int32Array; // start, length, depth, site, signal, instants, calls
  known: number[]; // starts and lengths
  gaps: number[];
  depths: number;
  instants: number;
  isDamaged: boolean;
  picture: HTMLCanvasElement | null;
  isDark: boolean;
  tops?: Float64Array; // timeline.ts: innermost calls
  off: number[] | null; // starts and lengths: its thread did not run; null: was not asked
  used: number;
}

export const BAR = 7;
const NO_SITE = 4294967295;
const kept = new Map<string, Tile>();
let turn = 0;
let wanted = new Map<string, { thread: Thread; level: number; index: bigint; distance: number }>();
let running: AbortController | null = null;
let runningKeys = new Set<string>();
let isDamageKnown = false;
let onDamage: () => void = () => undefined;
let onArrival: () => void = () => undefined;

export function onTiles(listener: () => void): void {
  onArrival = listener;
}

/** Once: when some of the file could not be read. */
export function onFileDamage(listener: () => void): void {
  onDamage = listener;
}

/** The level whose buckets are one to two pixels wide. */
export function levelOf(thread: Thread, nsPerPixel: number): number {
  const level = Math.floor(Math.log2((nsPerPixel * 2) / Number(thread.resolution)));
  return Math.min(Math.max(level, 0), LEVELS - 1);
}

export function bucketNs(thread: Thread, level: number): bigint {
  return thread.resolution << BigInt(level);
}

export function tileStart(thread: Thread, level: number, index: bigint): bigint {
  return thread.origin + index * BigInt(BUCKETS) * bucketNs(thread, level);
}

function floorDivide(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

export function indexAt(thread: Thread, level: number, time: bigint): bigint {
  return floorDivide(time - thread.origin, bucketNs(thread, level) * BigInt(BUCKETS));
}

function keyOf(stream: number, level: number, index: bigint): string {
  return `${stream}/${level}/${index}`;
}

export function findTile(thread: Thread, level: number, index: bigint): Tile | undefined {
  const tile = kept.get(keyOf(thread.stream, level, index));
  if (tile) tile.used = turn;
  return tile;
}

/** The next coarser tile that is here, and where in it this one is. */
export function findCoarser(thread: Thread, level: number, index: bigint):
  { tile: Tile; level: number; index: bigint } | undefined {
  for (let up = 1; up <= 10 && level + up < LEVELS; up++) {
    const above = index >> BigInt(up);
    const tile = findTile(thread, level + up, above);
    if (tile) return { tile, level: level + up, index: above };
  }
  return undefined;
}

export function wantTile(thread: Thread, level: number, index: bigint, distance: number): void {
  wanted.set(keyOf(thread.stream, level, index), { thread, level, index, distance });
}

function forgetOld(): void {
  if (kept.size <= KEPT_MOST) return;
  const oldest = [...kept.entries()].sort((a, b) => a[1].used - b[1].used);
  for (const [key] of oldest.slice(0, kept.size - KEPT_MOST * 0.8)) kept.delete(key);
}

function keep(level: number, answer: any): void {
  const tile: Tile = {
    bars: Int32Array.from(answer.bars), known: answer.known, gaps: answer.gaps,
    depths: answer.depths, instants: answer.instants, isDamaged: !!answer.damaged, picture: null,
    isDark: false, used: turn, off: answer.off ?? null,
  };
  if (tile.isDamaged && !isDamageKnown) {
    isDamageKnown = true;
    onDamage();
  }
  kept.set(`${answer.stream}/${level}/${answer.index}`, tile);
}

/** After a frame: asks for what it missed, the middle first. What is no longer looked at is not
 * waited for. */
export function endFrame(): void {
  turn++;
  const missing = [...wanted.entries()];
  wanted = new Map();
  if (missing.length === 0 || missing.every(([key]) => runningKeys.has(key))) return;
  if (running) {
    if (missing.some(([key]) => runningKeys.has(key))) return; // its answer is still of use
    running.abort();
  }
  missing.sort((a, b) => a[1].distance - b[1].distance);
  const chosen = missing.slice(0, ASKED_MOST);
  const controller = new AbortController();
  running = controller;
  runningKeys = new Set(chosen.map(([key]) => key));
  // those of one time together: they come out of the same bytes of the file, and the middle of it
  // comes first
  const lines = new Map<string, { level: number; index: bigint; streams: number[] }>();
  for (const [, { thread, level, index }] of chosen) {
    const name = `${level}/${index}`;
    const line = lines.get(name) ?? { level, index, streams: [] };
    lines.set(name, line);
    line.streams.push(thread.stream);
  }
  const asked = [...lines.values()].map(async ({ level, index, streams }) => {
    const answer = await ask("tiles", { level, index, streams: streams.join(","),
                                      off: state.isFolded || undefined }, controller.signal);
    const start = performance.now();
    for (const tile of answer.tiles) keep(level, tile);
    work.spent += performance.now() - start;
    onArrival();
  });
  void Promise.allSettled(asked).then((results) => {
    const failed = results.find((r) => r.status === "rejected") as PromiseRejectedResult | undefined;
    if (running === controller) {
      running = null;
      runningKeys = new Set();
    }
    forgetOld();
    if (!failed) onArrival();
    else if (!isAbort(failed.reason)) onFailure(failed.reason);
  });
}

let onFailure: (why: Error) => void = () => undefined;
export function onTileFailure(listener: (why: Error) => void): void {
  onFailure = listener;
}

/** Once, when all that is looked at is there. */
export function onRest(listener: () => void): void {
  const look = () => {
    if (isWaiting() || turn < 2) requestAnimationFrame(look);
    else listener();
  };
  requestAnimationFrame(look);
}

export function isWaiting(): boolean {
  return running !== null;
}

/** Their colours are others now. */
export function forgetPictures(): void {
  for (const tile of kept.values()) tile.picture = null;
}

const SIGNAL = [0xbbbbbb, 0x777777]; // light, dark
const HIDDEN = [0xeeecec, 0x352f2b];

/** How much of its buckets a bar covers is how strong its colour is. */
export function pictureOf(tile: Tile, isDark: boolean): HTMLCanvasElement {
  if (tile.picture && tile.isDark === isDark) return tile.picture;
  const canvas = document.createElement("canvas");
  canvas.width = BUCKETS;
  canvas.height = Math.max(tile.depths, 1);
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(BUCKETS, canvas.height);
  const pixels = new Uint32Array(image.data.buffer); // red is the lowest byte on all that browsers run on
  for (let i = 0; i < tile.bars.length; i += BAR) {
    const [start, length, depth] = [tile.bars[i], tile.bars[i + 1], tile.bars[i + 2]];
    const site = tile.bars[i + 3] >>> 0;
    const share = Math.min(1, 0.25 + (0.75 * tile.bars[i + 5]) / (length * tile.instants));
    const colour = site === NO_SITE ? SIGNAL[Number(isDark)]
      : isHidden(site) ? HIDDEN[Number(isDark)] : colourOf(site, isDark);
    const at = depth * BUCKETS + start;
    pixels.fill((colour | Math.round(share * 255) << 24) >>> 0, at, at + length);
  }
  context.putImageData(image, 0, 0);
  tile.picture = canvas;
  tile.isDark = isDark;
  return canvas;
}
