// Names of functions, asked for once each, and their colours.
import { ask } from "./ask";

const names = new Map<number, string>();
const idle = new Set<number>(); // of those that have a name here
const asked = new Set<number>();
let wanted: number[] = [];
const listeners: ((sites: number[]) => void)[] = [];
let missing: Set<number> | null = null; // what is being shown had to do without these

export function onNames(listener: (sites: number[]) => void): void {
  listeners.push(listener);
}

/** Shows something that has names in it: again as soon as one comes that was not here, and not for
 * others. */
export function withNames(show: () => void): () => void {
  let lacks = new Set<number>();
  const run = () => {
    const before = missing;
    missing = lacks = new Set();
    show();
    missing = before;
  };
  onNames((sites) => { if (sites.some((site) => lacks.has(site))) run(); });
  return run;
}

async function fetchNames(): Promise<void> {
  const sites = wanted;
  wanted = [];
  for (let i = 0; i < sites.length; i += 500) {
    try {
      const answer = await ask("sites", { sites: sites.slice(i, i + 500).join(",") });
      for (const site of answer.sites) {
        names.set(site.site, site.name);
        if (site.idle) idle.add(site.site);
      }
    } catch {
      for (const site of sites.slice(i, i + 500)) asked.delete(site);
    }
  }
  for (const listener of listeners) listener(sites);
}

/** The name, or "" until it is here. */
export function nameOf(site: number): string {
  const name = names.get(site);
  if (name !== undefined) return name;
  missing?.add(site);
  if (!asked.has(site)) {
    asked.add(site);
    if (wanted.push(site) === 1) queueMicrotask(() => void fetchNames());
  }
  return "";
}

/** Whether the function waits, by its name; not known yet: no. */
export function isIdle(site: number): boolean {
  nameOf(site);
  return idle.has(site);
}

export function setName(site: number, name: string, waits = false): void {
  names.set(site, name);
  if (waits) idle.add(site);
  asked.add(site);
}

export async function fetchName(site: number): Promise<string> {
  if (!names.has(site)) {
    const answer = await ask("sites", { sites: String(site) });
    setName(site, answer.sites[0].name, answer.sites[0].idle);
  }
  return names.get(site) ?? "";
}

/** Twelve hues that stay apart for most eyes; which one, the number of the function says. */
const HUES = [212, 28, 168, 340, 48, 262, 130, 8, 190, 300, 78, 232];

const colours = [new Map<number, number>(), new Map<number, number>()]; // for light, for dark

/** Gives a pixel of an image: blue, green, red from the third byte down, no opacity. */
export function colourOf(site: number, isDark: boolean): number {
  const kept = colours[Number(isDark)];
  let found = kept.get(site);
  if (found === undefined) kept.set(site, found = mixColour(site, isDark));
  return found;
}

function mixColour(site: number, isDark: boolean): number {
  const mixed = Math.imul(site + 1, 2654435761) >>> 0;
  const hue = HUES[(mixed >>> 8) % HUES.length];
  const tone = (mixed >>> 20) % 3;
  return isDark ? rgbOf(hue, 0.34, 0.34 + tone * 0.05) : rgbOf(hue, 0.58, 0.74 + tone * 0.05);
}

function rgbOf(hue: number, saturation: number, lightness: number): number {
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    const most = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(255 * (lightness - most * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return part(0) | part(8) << 8 | part(4) << 16;
}
