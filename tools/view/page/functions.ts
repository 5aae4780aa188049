// The table of functions: of the whole run, or of the window.
import { ask, Answer } from "./ask";
import { arrowKeys, make } from "./dom";
import { nameAdvice } from "./modules";
import { fetchName, nameOf, withNames } from "./names";
import { anywhere, commandText, SameLine, timeWords, windowRange } from "./same";
import { choose, onChange, selectPane, selectSite, state, trace } from "./state";
import { about, count, countOf, failureWords, shortTime } from "./words";

const ROWS = 200;
const COLUMNS: [string, string, string][] = [
  ["total", "Total", "time in which it is on the stack"],
  ["self", "Self", "time in which it is on top"],
  ["calls", "Calls", "how often it was called"],
  ["mean", "Mean", "of its calls that ended"],
  ["max", "Longest", "its longest call"],
];

export class FunctionTable {
  readonly element: HTMLElement;
  readonly filter: HTMLInputElement;
  private body = make("tbody");
  private note = make("p", { class: "note", role: "status" });
  private isWindow: HTMLInputElement;
  private hint = make("span", { class: "faint", hidden: true }, "calls are cut to it");
  private turn = 0;
  private timer = 0;
  private asked = "";
  private answer: Answer | null = null;
  private same = new SameLine();
  private advice = make("p", { class: "advice", hidden: true });
  readonly show = withNames(() => this.draw());

  constructor() {
    this.filter = make("input", { type: "search", placeholder: "Filter by name",
                                  "aria-label": "Filter functions by name",
                                  input: () => choose({ text: this.filter.value }) });
    this.isWindow = make("input", { type: "checkbox", id: "in-window",
                                    change: () => choose({ isInWindow: this.isWindow.checked }) });
    const heads = COLUMNS.map(([key, title, what]) =>
      make("th", { scope: "col", class: "number" },
           make("button", { title: what, click: () => this.sortBy(key), "data-key": key }, title)));
    const table = make("table", { class: "rows" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Function"), ...heads)),
      this.body);
    arrowKeys(table, "tbody tr");
    this.element = make("div", { class: "pane" },
      make("div", { class: "tools" }, this.filter,
           make("label", { for: "in-window" }, this.isWindow, "only what the timeline shows"), this.hint,
           this.note),
      this.advice, make("div", { class: "scroll" }, table), this.same.element);
    onChange((what) => {
      if (what.has("window") && state.isInWindow) this.later();
      if (what.has("pane") || what.has("hidden") || what.has("choice")) this.later();
      if (what.has("selection")) this.markSelected();
    });
  }

  private sortBy(key: string): void {
    choose({ sort: state.sort === key ? `-${key}` : key });
  }

  private get sort(): string {
    return state.sort.replace(/^-/, "");
  }

  private get isReverse(): boolean {
    return state.sort.startsWith("-");
  }

  later(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), 140);
  }

  async load(): Promise<void> {
    if (state.pane !== "functions") return;
    this.isWindow.checked = state.isInWindow;
    if (this.filter.value !== state.text) this.filter.value = state.text;
    const range = state.isInWindow && trace.hasTimes ? windowRange() : null;
    this.hint.hidden = !range;
    const fields = { ...(range ?? {}), sort: this.sort, reverse: this.isReverse, count: ROWS,
                     text: state.text || undefined,
                     hide: state.hidden.length ? state.hidden.join(",") : undefined };
    const text = JSON.stringify(fields, (_, value) => String(value) && typeof value === "bigint"
      ? String(value) : value);
    if (text === this.asked) return;
    this.asked = text;
    this.same.element.hidden = state.hidden.length > 0; // a report hides no modules
    this.same.show(commandText("report", ...(this.sort === "total" ? [] : ["--sort", this.sort]),
      ...(this.isReverse ? ["--reverse"] : []),
      ...(state.text ? ["--function", anywhere(state.text)] : []),
      ...(range ? timeWords(range.from, range.to) : [])));
    const turn = ++this.turn;
    this.note.textContent = "…";
    try {
      const answer = await ask("functions", fields);
      if (turn !== this.turn) return;
      this.answer = answer;
      this.show();
    } catch (why) {
      if (turn !== this.turn) return;
      this.asked = "";
      this.note.textContent = "";
      this.advice.textContent = failureWords(why);
      this.advice.hidden = false;
    }
  }

  private markSelected(): void {
    for (const row of this.body.children as HTMLCollectionOf<HTMLElement>)
      row.setAttribute("aria-selected", String(row.dataset.site === String(state.site)));
  }

  private draw(): void {
    const answer = this.answer;
    if (!answer) return;
    const shown = answer.rows.length;
    this.advice.textContent = answer.partial ? `This trace has ${about(trace.info.sites)} functions, ` +
      `more than fit into the memory that the view may take: these are the ${count(answer.functions)} ` +
      "with most time. Start it again with --memory 2G for all, or look at less of the run."
      : nameAdvice();
    this.advice.hidden = !this.advice.textContent;
    const hidden = state.hidden.length ? `; ${countOf(state.hidden.length, "module")} hidden` : "";
    this.note.textContent = (shown < answer.matching
      ? `the first ${count(shown)} of ${count(answer.matching)} functions`
      : `${countOf(answer.matching, "function")}, ${countOf(answer.calls, "call")}`) + hidden;
    const most = Math.max(...answer.rows.map((r: any) => Number(r[this.sort])), 1);
    const focus = (document.activeElement as HTMLElement)?.closest?.("tr")?.dataset.site;
    this.body.replaceChildren(...answer.rows.map((row: any, i: number) => this.row(row, i, most)));
    if (focus && this.body.contains(document.activeElement) === false && this.element.isConnected)
      this.body.querySelector<HTMLElement>(`tr[data-site="${focus}"]`)?.focus();
    for (const button of this.element.querySelectorAll<HTMLElement>("th button")) {
      const isOn = button.dataset.key === this.sort;
      button.parentElement!.setAttribute("aria-sort",
                                         !isOn ? "none" : this.isReverse ? "ascending" : "descending");
    }
  }

  private row(row: any, number: number, most: number): HTMLElement {
    const isSelected = state.site === row.site;
    const prefix = row.times_are === "about" ? "≈ " : row.times_are === "at least" ? "≥ " : "";
    const cell = (key: string, text: string) => make("td", { class: "number" },
      make("span", { class: key === this.sort ? `bar share-${Math.round(20 * Number(row[key]) / most)}`
                                              : "" }, text));
    const times = ["total", "self"].map((key) => cell(key, prefix + shortTime(row[key])));
    const rest = ["mean", "max"].map((key) =>
      cell(key, row.ended === "0" || row[key] === "-1" ? "–" : shortTime(row[key])));
    return make("tr", {
      tabindex: number === 0 ? 0 : -1, "data-site": row.site,
      "aria-selected": isSelected ? "true" : "false",
      title: `total ${count(row.total)} ns, self ${count(row.self)} ns`,
      click: () => selectSite(row.site),
      dblclick: () => selectPane("calls"),
      keydown: (e: KeyboardEvent) => {
        if (e.key !== "Enter") return;
        selectSite(row.site);
        selectPane("calls");
      },
    }, make("th", { scope: "row", class: "name" }, nameOf(row.site) || "…"), ...times,
       cell("calls", count(row.calls)), ...rest);
  }
}

export { fetchName };
