// Numbers and times as people read them. Times are exact: decimal texts, or BigInt.

const UNITS: [string, number][] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

/** A length of time with four digits: "639.3 ms". */
export function shortTime(ns: number | bigint | string): string {
  const value = Number(ns);
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 3600e9) {
    const minutes = Math.round(value / 60e9);
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  const [unit, factor] = UNITS.find(([, f]) => size >= f) ?? UNITS[3];
  if (unit === "ns") return `${Math.round(value)} ns`;
  const scaled = value / factor;
  const digits = Math.abs(scaled) >= 1000 ? 0 : Math.abs(scaled) >= 100 ? 1
    : Math.abs(scaled) >= 10 ? 2 : 3;
  return `${scaled.toFixed(digits)} ${unit}`;
}

/** 1,234,567 */
export function count(number: string | number | bigint): string {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function exactTime(ns: string | bigint): string {
  return `${count(ns)} ns`;
}

let wallStart: bigint | null = null; // ns since 1970 of the trace's start; null: not shown

/** From now on moments are times of day; null: from the trace's start on. */
export function setWall(start: bigint | null): void {
  wallStart = start;
}

function wallParts(ns: bigint): { day: string; time: string; rest: string } {
  const value = wallStart! + ns;
  const date = new Date(Number(value / 1000000n));
  const two = (n: number) => String(n).padStart(2, "0");
  return {
    day: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    time: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
    rest: String(value % 1000000000n).padStart(9, "0"),
  };
}

/** On the ruler: as many digits as the step needs. */
export function wallTick(ns: bigint, step: number): string {
  if (wallStart === null) return "";
  const { time, rest } = wallParts(ns);
  const digits = step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
  return digits ? `${time}.${rest.slice(0, digits).replace(/(\d{3})(?=\d)/g, "$1 ")}` : time;
}

/** A moment in seconds, to the nanosecond: "1.234 567 890 s"; or a time of day. */
export function moment(ns: string | bigint): string {
  const value = BigInt(ns);
  if (wallStart !== null) {
    const { day, time, rest } = wallParts(value);
    return `${day} ${time}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)}`;
  }
  const size = value < 0n ? -value : value;
  const rest = String(size % 1000000000n).padStart(9, "0");
  return `${value < 0n ? "-" : ""}${count(size / 1000000000n)}.${rest.slice(0, 3)} ` +
    `${rest.slice(3, 6)} ${rest.slice(6)} s`;
}

/** "1 call", "1,234 calls" */
export function countOf(number: string | number | bigint, thing: string): string {
  return `${count(number)} ${thing}${String(number) === "1" ? "" : "s"}`;
}

/** "1.2 M", "340" */
export function about(number: string | number): string {
  const value = Number(number);
  for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]] as [string, number][])
    if (value >= factor) return `${(value / factor).toFixed(value >= 100 * factor ? 0 : 1)} ${unit}`;
  return String(value);
}

/** What is pruned, in a person's words. */
export function prunedWords(pruned: { calls: string; time: string; calls_exact: boolean }): string {
  const calls = `${pruned.calls_exact ? "" : "about "}${about(pruned.calls)} calls`;
  return `${calls}, ${shortTime(pruned.time)}, open`;
}

/** What was refused for its size says what helps. */
export function failureWords(why: unknown): string {
  const text = (why as Error).message;
  return /more memory than its limit|more than .* bytes/.test(text)
    ? `This does not fit into the memory that the view may take: start it again with --memory 1G, ` +
      `or look at less of the run. (${text})` : text;
}

export const END_WORDS: Record<string, string> = {
  ended: "returned", returned: "returned", open: "still open at the end of the recording",
  hidden: "ended in a stretch that is not decoded", lost: "its end is lost",
  unseen: "at the earliest: its end was not seen", late: "at the latest: its exit was not seen",
  unwound: "left by an exception or a longjmp",
};
