// Source code of the selected function, with the lines that ran: in the selected call, or in all
// calls. What did not run there ran elsewhere, or never; marks say so, not colours alone.
import { isAlone } from "./alone";
import { ask, Answer } from "./ask";
import { arrowKeys, make } from "./dom";
import { modules } from "./modules";
import { nameOf, onNames } from "./names";
import { commandText, exactly, SameLine } from "./same";
import { onChange, state } from "./state";
import { count, countOf } from "./words";

const BEFORE = 300; // lines above the function's first one
const SHOWN = 1500;

interface Line {
  line: number; state: string; times: number; or_more?: boolean; about?: boolean; inlined?: string;
}

const MARKS: Record<string, [string, string]> = {
  ran: ["●", "ran"], elsewhere: ["◐", "ran in other calls only"], never: ["○", "never ran"],
  unseen: ["?", "not seen: it may have run"],
};

export class SourcePane {
  readonly element = make("div", { class: "pane" });
  private readonly title = make("div", { class: "tools-title" });
  private readonly choice = make("select", { "aria-label": "Lines of", change: () => void this.load() },
    make("option", { value: "call" }, "lines of this call"),
    make("option", { value: "all" }, "lines of all its calls"));
  private readonly note = make("p", { class: "note", role: "status" });
  private readonly advice = make("p", { class: "advice", hidden: true });
  private readonly rows = make("ol", { class: "source", role: "list", "aria-label": "Source code" });
  private readonly scroll = make("div", { class: "scroll" }, this.rows);
  private readonly same = new SameLine();
  private turn = 0;
  private shownFor = "";
  private site: Answer | null = null;

  constructor() {
    arrowKeys(this.rows, "li");
    this.element.append(make("div", { class: "tools" }, this.title, this.choice, this.note),
                        this.advice, this.scroll, this.same.element);
    onChange((what) => {
      if (what.has("selection") || what.has("pane")) void this.load();
    });
    onNames(() => this.showTitle());
  }

  private async load(): Promise<void> {
    if (state.pane !== "source") return;
    const hasCall = !isAlone() && // a file has lines of all calls of a function, if any
      state.node?.kind === "call" && state.node.site === state.site;
    this.choice.hidden = !hasCall;
    const isCall = hasCall && this.choice.value === "call";
    const key = `${state.site}/${isCall ? state.node!.id : ""}`;
    if (key === this.shownFor) return;
    this.shownFor = key;
    const turn = ++this.turn;
    this.site = null;
    this.rows.replaceChildren();
    this.say("", state.site === null ? "Choose a function: its source is shown here." : "");
    this.same.element.hidden = state.site === null;
    if (state.site === null) {
      this.showTitle();
      return;
    }
    this.note.textContent = "…";
    try {
      this.site = (await ask("sites", { sites: String(state.site), all: true })).sites[0];
      if (turn !== this.turn) return;
      this.showTitle();
      if (this.site!.kind === "syscall") {
        this.choice.hidden = this.same.element.hidden = true;
        this.say("", "A system call has no source: choose the function that calls it.");
        return;
      }
      this.same.show(commandText("lines", ...(isCall ? ["--frame", state.node!.id]
        : ["--function", exactly(this.site!.full_name || this.site!.name)])));
      await this.loadText(turn, isCall ? { id: state.node!.id } : { site: state.site });
    } catch (why) {
      if (turn === this.turn) this.say("", (why as Error).message);
    }
  }

  private say(note: string, advice: string): void {
    this.note.textContent = note;
    this.advice.textContent = advice;
    this.advice.hidden = !advice;
  }

  /** Text and lines; either may be missing, and says why. */
  private async loadText(turn: number, which: { id?: string; site?: number }): Promise<void> {
    const site = this.site!;
    if (!site.symbol) {
      this.say("", `${site.module || "Its module"} has no names of functions: install its debug ` +
        "symbols (Debian: the package with -dbgsym; or set DEBUGINFOD_URLS), and record again.");
      return;
    }
    const failures: string[] = [];
    const lines = await ask("lines", which).catch((why: Error) => {
      failures.push(why.message);
      return null;
    });
    if (turn !== this.turn) return;
    const files: { file: string; lines: Line[] }[] = lines?.lines.files ?? [];
    const base = String(site.file).split("/").pop();
    const own = files.find((f) => f.file === site.file) ??
      files.find((f) => f.file.split("/").pop() === base) ?? files[0];
    const file = own?.file ?? site.file;
    if (!file) {
      this.say("", "The recording does not know where it is written: " + (modules.some((m) =>
        m.system && m.path === site.module) ? "install the module's debug symbols (Debian: the package " +
        "with -dbgsym or -dbg; or set DEBUGINFOD_URLS), and run tracetape symbolize, or record again."
        : "compile it with -g, and record again."));
      return;
    }
    const about = site.line || own?.lines[0]?.line || 1;
    const first = Math.max(1, about - BEFORE);
    const read = (name: string) => ask("source", { file: name, first, count: SHOWN });
    const text = await read(file).catch((why: Error) => file === site.file ? Promise.reject(why)
      : read(site.file)).catch((why: Error) => {
        failures.push(why.message);
        return null;
      });
    if (turn !== this.turn) return;
    const isPartial = lines && !lines.lines.complete;
    this.say(lines ? countOf(lines.lines.calls_chosen, "call") +
      (isPartial ? "; events are missing: what was not seen may have run" : "") : "",
      failures.join("; "));
    this.show(own?.lines ?? [], text, first, about);
  }

  private showTitle(): void {
    const site = this.site;
    const base = site?.file ? String(site.file).split("/").pop() : "";
    this.title.replaceChildren(make("strong", {}, state.site === null ? "Source"
      : nameOf(state.site) || "…"),
      make("span", { class: "faint", title: site?.file || "" }, base ? `  ${base}:${site!.line}` : ""));
  }

  private show(lines: Line[], text: Answer | null, first: number, at: number): void {
    const byNumber = new Map(lines.map((line) => [line.line, line]));
    const numbers = text ? (text.lines as string[]).map((_, i) => first + i)
      : lines.map((line) => line.line);
    const hasStates = lines.length > 0;
    this.rows.classList.toggle("no-states", !hasStates);
    const rows = numbers.map((number, i) => this.row(number, byNumber.get(number),
      text ? String(text.lines[i]) : "", number === at, hasStates));
    this.rows.replaceChildren(...rows);
    const target = rows.find((row) => row.classList.contains("at")) ?? rows[0];
    if (!target) return;
    target.tabIndex = 0;
    this.scroll.scrollTop = Math.max(0, target.offsetTop - this.rows.offsetTop - 60);
  }

  private row(number: number, line: Line | undefined, text: string, isAt: boolean,
              hasStates: boolean): HTMLElement {
    const [mark, words] = line ? MARKS[line.state] : ["", ""];
    const more = line?.about ? "~" : line?.or_more ? "+" : "";
    const times = line?.state === "ran" ? `${count(line.times)}${more}` : "";
    const row = make("li", { class: `${line ? `line-${line.state}` : ""}${isAt ? " at" : ""}`,
                             tabindex: -1 });
    if (hasStates)
      row.append(make("span", { class: "mark", title: words }, mark),
                 make("span", { class: "spoken-word" }, words),
                 make("span", { class: "times", title: line?.about ? "of optimised code" : "" },
                      times));
    row.append(make("span", { class: "line-number" }, String(number)), make("span", { class: "text" }, text));
    if (line?.inlined) row.append(make("span", { class: "faint" }, `  inlined: ${line.inlined}`));
    return row;
  }
}
