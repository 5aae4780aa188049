// Questions to the command on this machine, or to the reader in a page that stands alone. Those
// that are asked in one turn go in one request, at most so many; pictures go apart from what may
// take longer.

import { askAlone, isAlone } from "./alone";

export type Answer = Record<string, any>;

const LINES_MOST = 48;
const KEY_NAME = "tracetape-key";

interface Waiting {
  line: string;
  done: (answer: Answer) => void;
  failed: (why: Error) => void;
  signal?: AbortSignal;
}

/** The key stands in the address once; from then on this tab has it, and no copied link does. */
export function takeKey(): string {
  const fields = new URLSearchParams(location.hash.slice(1));
  const given = fields.get("k");
  if (given) {
    sessionStorage.setItem(KEY_NAME, given);
    fields.delete("k");
    history.replaceState(null, "", "#" + location.hash.slice(1).split("&")
      .filter((field) => !field.startsWith("k=")).join("&"));
  }
  return sessionStorage.getItem(KEY_NAME) ?? "";
}

/** Time of the page's own that no frame has counted yet: what comes in between takes it, too. */
export const work = { spent: 0 };

let key = "";
let filter: string | undefined;
let queue: Waiting[] = [];
let pictures: Waiting[] = [];
let isPlanned = false;

export function setKey(given: string): void {
  key = given;
}

/** What of the trace is meant; undefined: as the command was told. */
export function setFilter(given: string | undefined): void {
  filter = given;
}

function headers(): Record<string, string> {
  const kept: Record<string, string> = filter === undefined ? {}
    : { "X-Tracetape-Filter": encodeURIComponent(filter) };
  return { "X-Tracetape-Key": key, "Content-Type": "text/plain", ...kept };
}

/** What the server makes as a file. */
export async function askFile(request: string): Promise<Blob> {
  const response = await fetch("/save", { method: "POST", headers: headers(), body: request });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.blob();
}

async function askServer(request: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch("/ask", {
    method: "POST",
    headers: headers(),
    body: request,
    signal,
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.text();
}

async function send(waiting: Waiting[], isPicture: boolean, signal?: AbortSignal): Promise<void> {
  try {
    const request = waiting.map((w) => w.line).join("\n");
    const text = await (isAlone() ? askAlone(request, isPicture, signal) : askServer(request, signal));
    const start = performance.now();
    const answers: Answer[] = JSON.parse(text);
    work.spent += performance.now() - start;
    waiting.forEach((w, i) => {
      if (answers[i].error) w.failed(new Error(answers[i].error.message));
      else w.done(answers[i]);
    });
  } catch (why) {
    const error = why instanceof TypeError
      ? new Error("tracetape view does not answer: has it ended?") : why as Error;
    waiting.forEach((w) => w.failed(error));
  }
}

function flush(): void {
  isPlanned = false;
  const some = queue.filter((w) => !w.signal);
  for (const w of queue) if (w.signal) void send([w], false, w.signal); // what may be given up, by itself
  queue = [];
  for (let i = 0; i < some.length; i += LINES_MOST) void send(some.slice(i, i + LINES_MOST), false);
  const bySignal = new Map<AbortSignal | undefined, Waiting[]>();
  for (const w of pictures) bySignal.set(w.signal, [...(bySignal.get(w.signal) ?? []), w]);
  pictures = [];
  for (const [signal, list] of bySignal)
    for (let i = 0; i < list.length; i += LINES_MOST)
      void send(list.slice(i, i + LINES_MOST), true, signal);
}

type Fields = Record<string, string | number | bigint | boolean | undefined>;

/** One question; a failure of it is thrown as an error whose message is for people. */
export function ask(word: string, fields: Fields = {}, signal?: AbortSignal): Promise<Answer> {
  const parts = Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = value === true ? "1" : value === false ? "0" : String(value);
      return `${name}=${["streams", "sites", "modules", "hide"].includes(name) ? text : encodeURIComponent(text)}`;
    });
  const line = parts.length ? `${word}?${parts.join("&")}` : word;
  return new Promise((done, failed) => {
    const isPicture = ["tiles", "sites", "trace", "threads", "modules", "module_sites", "progress"].includes(word);
    (isPicture ? pictures : queue).push({ line, done, failed, signal });
    if (!isPlanned) {
      isPlanned = true;
      queueMicrotask(flush);
    }
  });
}

export function isAbort(why: unknown): boolean {
  return why instanceof DOMException && why.name === "AbortError";
}
