// Runs the reader as WebAssembly, as a page's workers do. Standard input: {"engine": path, "traces":
// [{"path", "name", "requests": [text, ...]}]}; standard output: for each trace {"error"} or
// {"responses": [text, ...], "memory": bytes of both workers}.
const fs = require("fs");

const MEMORY_MIB = 96;
const PICTURES = /^(tiles|trace|threads|sites|module)/;

class Engine {
  constructor(module, trace, name, isForPictures) {
    this.file = fs.openSync(trace, "r");
    const system = Object.fromEntries(["fd_close", "fd_fdstat_get", "fd_pread", "fd_seek", "fd_write"]
      .map((word) => [word, () => 52]));
    this.at = new WebAssembly.Instance(module, {
      trace: { read: (place, into, size) =>
        fs.readSync(this.file, this.bytes(into, size), 0, size, place) },
      wasi_snapshot_preview1: system,
    }).exports;
    const text = Buffer.from(name);
    const note = Buffer.alloc(9 + text.length);
    note.writeUInt32LE(text.length, 5);
    text.copy(note, 9);
    this.bytes(this.at.engine_take_notes(note.length), note.length).set(note);
    this.isOpen = this.at.engine_open(fs.fstatSync(this.file).size, MEMORY_MIB, Number(isForPictures));
  }

  bytes(place, size) {
    return new Uint8Array(this.at.memory.buffer, place >>> 0, size);
  }

  error() {
    const all = Buffer.from(this.at.memory.buffer, this.at.engine_get_error() >>> 0);
    return all.subarray(0, all.indexOf(0)).toString();
  }

  answer(request) {
    const asked = Buffer.from(request);
    this.bytes(this.at.engine_make_room(asked.length), asked.length).set(asked);
    if (!this.at.engine_answer(asked.length)) return `error: ${this.error()}`;
    return Buffer.from(this.bytes(this.at.engine_get_response(),
                                  this.at.engine_get_response_bytes())).toString("latin1");
  }

  close() {
    fs.closeSync(this.file);
  }
}

function run(module, { path, name, requests }) {
  const engines = [true, false].map((isForPictures) => new Engine(module, path, name, isForPictures));
  const closed = engines.find((engine) => !engine.isOpen);
  if (closed) return { error: closed.error() };
  const responses = requests.map((request) =>
    engines[PICTURES.test(request) ? 0 : 1].answer(request));
  const memory = engines.reduce((sum, engine) => sum + engine.at.memory.buffer.byteLength, 0);
  engines.forEach((engine) => engine.close());
  return { responses, memory };
}

const task = JSON.parse(fs.readFileSync(0, "utf8"));
const module_ = new WebAssembly.Module(fs.readFileSync(task.engine));
for (const trace of task.traces) process.stdout.write(`${JSON.stringify(run(module_, trace))}\n`);
