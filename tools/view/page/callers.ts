// Who calls the selected function, and whom it calls: over the whole run, or what the timeline
// shows. All of it is read for that, piece by piece: rows are there after the first piece.
import { ask, Answer } from "./ask";
import { arrowKeys, make } from "./dom";
import { nameOf, withNames } from "./names";
import { commandText, SameLine, timeWords, windowRange } from "./same";
import { choose, onChange, selectSite, state, trace } from "./state";
import { count, countOf, failureWords, shortTime } from "./words";

export class CallersPane {
  readonly element = make("div", { class: "pane" });
  private readonly title = make("strong");
  private readonly isWindow: HTMLInputElement;
  private readonly progress = make("progress", { max: 1, value: 0, "aria-label": "Read so far" });
  private readonly stop = make("button", { click: () => {
    this.isStopped = !this.isStopped;
    this.showProgress();
    if (!this.isStopped) void this.read(this.turn);
  } }, "Stop");
  private readonly note = make("p", { class: "note", role: "status" });
  private readonly body = make("div", { class: "scroll" });
  private readonly same = new SameLine();
  private isStopped = false;
  private turn = 0;
  private shownFor = "";
  private answer: Answer | null = null;
  private fields: Record<string, bigint | number> = {};
  private readonly show = withNames(() => this.draw());

  constructor() {
    this.isWindow = make("input", { type: "checkbox", id: "callers-in-window",
                                    change: () => choose({ isInWindow: this.isWindow.checked }) });
    arrowKeys(this.body, "tbody tr");
    this.element.append(make("div", { class: "tools" }, this.title,
      make("label", { for: "callers-in-window" }, this.isWindow, "only what the timeline shows"),
      this.progress, this.stop, this.note), this.body, this.same.element);
    onChange((what) => {
      if (what.has("selection") || what.has("pane") || what.has("choice")) void this.load();
    });
  }

  private async load(): Promise<void> {
    if (state.pane !== "callers") {
      this.turn++; // nobody looks: what is left is read when somebody does
      this.shownFor = "";
      return;
    }
    this.isWindow.checked = state.isInWindow;
    const range = state.isInWindow && trace.hasTimes ? windowRange() : null;
    const key = `${state.site}/${range?.from}/${range?.to}`;
    if (key === this.shownFor) return;
    this.shownFor = key;
    this.answer = null;
    this.isStopped = false;
    this.title.textContent = state.site === null ? "Choose a function" : nameOf(state.site) || "…";
    this.same.element.hidden = state.site === null;
    this.progress.hidden = this.stop.hidden = state.site === null;
    this.note.textContent = "";
    this.body.replaceChildren();
    if (state.site === null) return;
    this.fields = { site: state.site, ...(range ?? {}) };
    await this.read(++this.turn);
  }

  private async read(turn: number): Promise<void> {
    try {
      do {
        const answer = await ask("butterfly", this.fields);
        if (turn !== this.turn) return;
        this.answer = answer;
        this.show();
      } while (!this.answer!.complete && !this.isStopped);
    } catch (why) {
      if (turn === this.turn) this.note.textContent = failureWords(why);
    }
  }

  private showProgress(): void {
    const answer = this.answer;
    if (!answer) return;
    this.progress.hidden = this.stop.hidden = answer.complete;
    this.progress.value = answer.done / Math.max(answer.pieces, 1);
    this.stop.textContent = this.isStopped ? "Go on" : "Stop";
    const percent = Math.floor((100 * answer.done) / Math.max(answer.pieces, 1));
    this.note.textContent = answer.complete ? ""
      : `${this.isStopped ? "stopped: " : ""}at least; ${percent} % of the time is read`;
  }

  private draw(): void {
    const answer = this.answer;
    if (!answer || state.pane !== "callers") return;
    const name = nameOf(answer.site);
    this.title.textContent = name || "…";
    this.showProgress();
    const range = this.fields.from !== undefined
      ? timeWords(BigInt(this.fields.from), BigInt(this.fields.to)) : [];
    this.same.show(commandText("report", "--butterfly", name, ...range));
    const own = answer.function;
    if (!own) {
      this.body.replaceChildren(make("p", { class: "advice" },
        answer.complete ? "It was not called in this time." : "No call of it so far."));
      return;
    }
    const focus = (document.activeElement as HTMLElement)?.dataset?.row;
    this.body.replaceChildren(
      this.table("Called by", answer.callers, answer.caller_count, own, "up"),
      make("p", { class: "butterfly-body" }, make("strong", {}, name || "…"),
        ` ${countOf(own.calls, "call")}, ${shortTime(own.total)} in all, ${shortTime(own.self)} of its own`,
        own.recursion !== "0" ? `, ${count(own.recursion)} of them within itself` : ""),
      this.table("Calls", answer.callees, answer.callee_count, own, "down"));
    if (focus) this.body.querySelector<HTMLElement>(`[data-row="${focus}"]`)?.focus();
  }

  private table(title: string, rows: any[], all: number, own: any, side: string): HTMLElement {
    const most = Math.max(...rows.map((row) => Number(row.total)), 1);
    const body = make("tbody", {}, ...rows.map((row, i) => this.row(row, i, most, own, side)));
    const left = all - rows.length;
    return make("div", {}, make("table", { class: "rows" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, title),
        make("th", { scope: "col", class: "number" }, "Total"),
        make("th", { scope: "col", class: "number", title: `of the time of ${nameOf(own.site) || "it"}` }, "Share"),
        make("th", { scope: "col", class: "number" }, "Calls"))), body),
      rows.length === 0 ? make("p", { class: "hint inset" }, "nobody") : null,
      left > 0 ? make("p", { class: "hint inset" }, `and ${count(left)} more`) : null);
  }

  private row(row: any, number: number, most: number, own: any, side: string): HTMLElement {
    const name = row.signal !== undefined ? `signal ${row.signal}`
      : row.site !== undefined ? nameOf(row.site) || "…"
      : side === "up" ? "nothing that was recorded" : "?";
    const share = Number(own.total) > 0 ? (100 * Number(row.total)) / Number(own.total) : 0;
    const go = () => { if (row.site !== undefined) selectSite(row.site); };
    const least = row.unseen ? "≥ " : "";
    return make("tr", {
      tabindex: number === 0 ? 0 : -1, "data-row": `${side}${row.site ?? row.signal ?? ""}`,
      title: `${count(row.total)} ns`, click: go,
      keydown: (e: KeyboardEvent) => { if (e.key === "Enter") go(); },
    }, make("th", { scope: "row", class: "name" }, name,
         row.starts && row.site !== undefined ? make("span", { class: "faint" }, side === "up"
           ? `  starts it in ${countOf(row.starts, "thread")}` : `  in ${countOf(row.starts, "thread")} that it starts`) : null),
       make("td", { class: "number" }, make("span", {
         class: `bar share-${Math.round((20 * Number(row.total)) / most)}` }, least + shortTime(row.total))),
       make("td", { class: "number" }, `${share.toFixed(1)} %`),
       make("td", { class: "number" }, count(row.calls)));
  }
}
