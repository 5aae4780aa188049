// The command line that prints the same as what is shown.
import { make } from "./dom";
import { state, trace } from "./state";

/** As a shell takes it. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

export function commandText(verb: string, ...words: string[]): string {
  const file = String(trace.info.file_name || "FILE");
  const kept = trace.info.filter ? ["--filter", String(trace.info.filter)] : [];
  return ["tracetape", verb, file.startsWith("-") ? `./${file}` : file, ...kept, ...words]
    .map(quote).join(" ");
}

/** --time of what the timeline shows: a command counts from the trace's start on, too. */
export function timeWords(from: bigint, to: bigint): string[] {
  return ["--time", `+${from}ns..+${to}ns`];
}

export function windowRange(): { from: bigint; to: bigint } {
  return { from: state.from < 0n ? 0n : state.from,
           to: state.from + BigInt(Math.round(state.span)) };
}

function literally(text: string): string {
  return text.replace(/[.[\\()*+?{|^$]/g, "\\$&");
}

/** A name as a regular expression that nothing else matches. */
export function exactly(name: string): string {
  return `^${literally(name)}$`;
}

/** A text as a regular expression that finds it, in letters of any size. */
export function anywhere(text: string): string {
  return literally(text).replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

/** A line at the foot of a pane: the command, and a button that copies it. */
export class SameLine {
  private readonly code = make("code");
  readonly element = make("p", { class: "same" }, make("span", { class: "faint" }, "The same: "),
    this.code, make("button", { title: "Copy this command", click: () =>
      void navigator.clipboard.writeText(this.code.textContent ?? "") }, "Copy"));

  show(text: string): void {
    this.code.textContent = text;
  }
}
