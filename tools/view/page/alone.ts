// A page that stands alone, as one file: the reader and the trace are in it, or the trace is a file
// that somebody drops on it. Two workers answer: pictures do not wait for what takes longer.
import { make } from "./dom";
import type { Begin } from "./worker";

interface Task { request: string; signal?: AbortSignal; done: (text: Uint8Array) => void; failed: (why: Error) => void }

/** One question at a time: those that nobody waits for any more are never asked, and one that runs
 * ends with its worker, which begins anew: nothing else can stop it. */
class Line {
  private worker!: Worker;
  private readonly tasks: Task[] = [];
  private task: Task | null = null;

  constructor(private readonly url: string, private readonly begin: Begin) {
    this.start();
  }

  private start(): void {
    const worker = this.worker = new Worker(this.url);
    const take = (said: Uint8Array | string) => {
      if (worker === this.worker) this.take(said); // one that was ended may have answered before
    };
    worker.onmessage = (e) => take(e.data);
    worker.onerror = (e) => take(e.message || "the reader does not start");
    worker.postMessage(this.begin);
  }

  ask(task: Task): void {
    this.tasks.push(task);
    task.signal?.addEventListener("abort", () => this.stop(task), { once: true });
    this.next();
  }

  private stop(task: Task): void {
    if (this.task !== task || this.begin.isForPictures) return; // a picture takes no time
    this.worker.terminate();
    this.start();
    this.task = null;
    task.failed(new DOMException("stopped", "AbortError"));
    this.next();
  }

  private take(said: Uint8Array | string): void {
    const task = this.task;
    this.task = null;
    if (typeof said === "string") task?.failed(new Error(said));
    else task?.done(said);
    this.next();
  }

  private next(): void {
    while (!this.task && this.tasks.length > 0) {
      const task = this.tasks.shift()!;
      if (task.signal?.aborted) {
        task.failed(new DOMException("nobody waits for it", "AbortError"));
        continue;
      }
      this.task = task;
      this.worker.postMessage(task.request);
    }
  }
}

let url = "";
let begin: Begin;
let pictures: Line | null = null;
let others: Line | null = null;

function blocks(what: string): HTMLScriptElement[] {
  return [...document.querySelectorAll<HTMLScriptElement>(`script[data-is="${what}"]`)];
}

function decode(text: string): Uint8Array {
  const quick = (Uint8Array as any).fromBase64;
  if (quick) return quick(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

function takeBlocks(what: string): Uint8Array[] {
  return blocks(what).map((block) => {
    const bytes = decode(block.textContent ?? "");
    block.remove(); // its text is needed no more
    return bytes;
  });
}

const IS_ALONE = blocks("engine").length > 0;

export function isAlone(): boolean {
  return IS_ALONE;
}

/** The trace that is inside, or the file that somebody gives. */
async function findTrace(): Promise<Blob> {
  const pieces = takeBlocks("trace");
  if (pieces.length > 0) return new Blob(pieces as BlobPart[]);
  return new Promise((done) => {
    const input = make("input", { type: "file", accept: ".ttape", id: "trace-file",
                                  change: () => { if (input.files?.[0]) take(input.files[0]); } });
    const pane = make("section", { class: "drop" },
      make("h1", {}, "tracetape"),
      make("label", { for: "trace-file" }, "Drop a trace (.ttape) here, or choose one: "), input,
      make("p", { class: "faint" }, "It is read in place, by this page alone: nothing is sent anywhere."));
    const over = (e: DragEvent) => e.preventDefault();
    const drop = (e: DragEvent) => {
      e.preventDefault();
      const file = e.dataTransfer?.files[0];
      if (file) take(file);
    };
    const take = (file: File) => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
      pane.remove();
      done(file);
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    document.body.append(pane);
  });
}

/** A note with the trace's name, for a file that has none. */
function noteOfName(name: string): Uint8Array {
  const text = new TextEncoder().encode(name);
  const note = new Uint8Array(9 + text.length);
  new DataView(note.buffer).setUint32(5, text.length, true);
  note.set(text, 9);
  return note;
}

export async function openAlone(): Promise<void> {
  const module = WebAssembly.compile(takeBlocks("engine")[0] as BufferSource);
  const source = takeBlocks("worker");
  const policy = (window as any).trustedTypes?.createPolicy("tracetape",
    { createScriptURL: (text: string) => text });
  const address = URL.createObjectURL(new Blob(source as BlobPart[], { type: "text/javascript" }));
  url = policy ? policy.createScriptURL(address) : address;
  const notes = takeBlocks("notes")[0];
  const trace = await findTrace();
  const name = (trace as File).name;
  begin = { module: await module, trace, isForPictures: true,
            notes: notes ?? noteOfName(name ?? "run.ttape") };
}

/** The response's text. */
export function askAlone(request: string, isPicture: boolean, signal?: AbortSignal): Promise<string> {
  if (isPicture) pictures ??= new Line(url, begin);
  else others ??= new Line(url, { ...begin, isForPictures: false });
  return new Promise<Uint8Array>((done, failed) => {
    (isPicture ? pictures : others)!.ask({ request, signal, done, failed });
  }).then((bytes) => new TextDecoder().decode(bytes));
}
