// An axis leads from moments to places of the timeline. Stretches in which no thread that is shown
// does anything may be folded: each is so wide, however long it is, and what is left has the rest of
// the room.

export const FOLD = 56;
const LEAST = 2 * FOLD; // pixels: a shorter stretch is not worth a fold

export interface Stretch {
  from: bigint;
  to: bigint;
}

/** A stretch that is drawn as long as it is. */
export interface Part extends Stretch {
  left: number;
  right: number;
}

export interface Fold extends Stretch {
  left: number;
}

export class Axis {
  readonly parts: Part[] = [];
  readonly folds: Fold[] = [];
  readonly nsPerPixel: number;

  /** `stretches` are in order, in the window; the window begins at `left`. */
  constructor(from: bigint, span: number, left: number, width: number, stretches: Stretch[]) {
    const to = from + BigInt(Math.round(span));
    const folded = stretches.reduce((sum, s) => sum + Number(s.to - s.from), 0);
    const room = width - FOLD * stretches.length;
    this.nsPerPixel = Math.max(span - folded, 1e-9) / Math.max(room, 1);
    let [at, x] = [from, left];
    const add = (end: bigint) => {
      const right = x + Number(end - at) / this.nsPerPixel;
      if (end > at) this.parts.push({ from: at, to: end, left: x, right });
      x = right;
    };
    for (const s of stretches) {
      add(s.from);
      this.folds.push({ ...s, left: x });
      [at, x] = [s.to, x + FOLD];
    }
    add(to);
    if (this.parts.length === 0) this.parts.push({ from, to, left, right: left + width });
  }

  /** What lies outside of the window is as far away as it would be without folds. */
  xOf(time: bigint): number {
    const fold = this.folds.find((f) => time >= f.from && time < f.to);
    if (fold) return fold.left + (FOLD * Number(time - fold.from)) / Number(fold.to - fold.from);
    const part = this.parts.find((p) => time < p.to) ?? this.parts[this.parts.length - 1];
    return part.left + Number(time - part.from) / this.nsPerPixel;
  }

  timeAt(x: number): bigint {
    const fold = this.folds.find((f) => x >= f.left && x < f.left + FOLD);
    if (fold)
      return fold.from + BigInt(Math.floor((Number(fold.to - fold.from) * (x - fold.left)) / FOLD));
    const part = this.parts.find((p) => x < p.right) ?? this.parts[this.parts.length - 1];
    return part.from + BigInt(Math.floor((x - part.left) * this.nsPerPixel));
  }
}

/** Stretches of pixels in which nothing is busy, that are long enough; none where all is idle. */
export function findStretches(busy: Uint8Array, timeAt: (pixel: number) => bigint): Stretch[] {
  const found: Stretch[] = [];
  for (let start = 0; start < busy.length;) {
    let end = start;
    while (end < busy.length && !busy[end]) end++;
    if (end - start >= LEAST && end - start < busy.length)
      found.push({ from: timeAt(start + 2), to: timeAt(end - 2) });
    start = Math.max(end, start) + 1;
  }
  return found;
}
