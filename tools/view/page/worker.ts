// The reader in a worker of a page that stands alone: it answers the same requests as the command's
// server, with the same bytes. It reads the trace in place, piece by piece, from a file or a blob.

interface Engine {
  memory: WebAssembly.Memory;
  engine_take_notes(bytes: number): number;
  engine_open(bytes: number, mib: number, isForPictures: number): number;
  engine_make_room(bytes: number): number;
  engine_answer(bytes: number): number;
  engine_get_response(): number;
  engine_get_response_bytes(): number;
  engine_get_error(): number;
}

export interface Begin { module: WebAssembly.Module; notes: Uint8Array; trace: Blob; isForPictures: boolean }

// the part of a worker's library that is used here: it cannot stand beside the page's own
interface FileReaderSync { readAsArrayBuffer(blob: Blob): ArrayBuffer }
declare const FileReaderSync: new () => FileReaderSync;

const MEMORY_MIB = 96; // of two workers each, at most 144 with what C's own takes
const reader = new FileReaderSync();
let begin: Begin;
let engine: Engine | null = null;

function bytesAt(place: number, size: number): Uint8Array {
  return new Uint8Array(engine!.memory.buffer, place, size);
}

function readTrace(place: number, into: number, size: number): number {
  try {
    const got = new Uint8Array(reader.readAsArrayBuffer(begin.trace.slice(place, place + size)));
    bytesAt(into >>> 0, got.length).set(got);
    return got.length;
  } catch {
    return -1;
  }
}

/** C's own reads and writes of files: there are none. */
const NONE = 52;
const system = Object.fromEntries(["fd_close", "fd_fdstat_get", "fd_pread", "fd_seek", "fd_write"]
  .map((name) => [name, () => NONE]));

function errorText(): string {
  const place = engine!.engine_get_error() >>> 0;
  const all = new Uint8Array(engine!.memory.buffer, place);
  return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
}

function open(): void {
  const instance = new WebAssembly.Instance(begin.module, {
    trace: { read: readTrace }, wasi_snapshot_preview1: system,
  });
  engine = instance.exports as unknown as Engine;
  const place = engine.engine_take_notes(begin.notes.length) >>> 0;
  if (place) bytesAt(place, begin.notes.length).set(begin.notes);
  if (engine.engine_open(begin.trace.size, MEMORY_MIB, Number(begin.isForPictures))) return;
  const why = errorText();
  engine = null;
  throw new Error(why);
}

function answer(request: string): Uint8Array {
  const bytes = new TextEncoder().encode(request);
  if (!engine) open();
  const room = engine!.engine_make_room(bytes.length) >>> 0;
  if (!room) throw new Error("out of memory");
  bytesAt(room, bytes.length).set(bytes);
  if (!engine!.engine_answer(bytes.length)) throw new Error(errorText());
  return bytesAt(engine!.engine_get_response() >>> 0, engine!.engine_get_response_bytes()).slice();
}

self.onmessage = (e: MessageEvent) => {
  if (typeof e.data !== "string") {
    begin = e.data;
    return;
  }
  try {
    const response = answer(e.data);
    (self as any).postMessage(response, [response.buffer]);
  } catch (why) {
    if (why instanceof WebAssembly.RuntimeError) engine = null; // is opened again
    (self as any).postMessage((why as Error).message);
  }
};
