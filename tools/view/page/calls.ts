// One function (or all): its statistics, how its durations are spread, and its longest calls.
import { ask, Answer, isAbort } from "./ask";
import { arrowKeys, make, svg } from "./dom";
import { nameOf, withNames } from "./names";
import { commandText, exactly, SameLine, timeWords, windowRange } from "./same";
import { choose, onChange, selectNode, showRange, state, threadName, threadOf, trace } from "./state";
import { count, countOf, END_WORDS, failureWords, moment, shortTime } from "./words";

const LOOK_MS = 250;
const LABEL_WIDTH = 46;

interface Bucket { least: string; most: string; count: string }

export class CallsPane {
  readonly element = make("div", { class: "pane" });
  private head = make("div", { class: "tools" });
  private figures = make("dl", { class: "figures" });
  private picture = make("div", { class: "histogram" });
  private body = make("tbody");
  private more: HTMLButtonElement;
  private readonly order: HTMLSelectElement;
  private readonly every = make("button", { hidden: true, click: () => choose({ durations: null }) },
                                "All durations");
  private amount = 20;
  private turn = 0;
  private shownFor = "";
  private calls: any[] = [];
  private note = make("p", { class: "note", role: "status" });
  private progress = make("progress", { max: 1, "aria-label": "Read so far", hidden: true });
  private stop = make("button", { hidden: true, click: () => this.running?.abort() }, "Stop");
  private running: AbortController | null = null;
  private same = new SameLine();
  private isWindow: HTMLInputElement;
  private hint = make("span", { class: "faint", hidden: true }, "calls that end there; figures are cut to it");
  private range: { from: bigint; to: bigint } | null = null;
  private timer = 0;
  private readonly show = withNames(() => this.draw());

  constructor() {
    this.order = make("select", { "aria-label": "Order of calls",
      change: () => choose({ order: this.order.value }) },
      make("option", { value: "duration" }, "longest first"),
      make("option", { value: "self" }, "most time of their own first"),
      make("option", { value: "start" }, "first ones"));
    this.isWindow = make("input", { type: "checkbox", id: "calls-in-window",
                                    change: () => choose({ isInWindow: this.isWindow.checked }) });
    this.more = make("button", { click: () => {
      this.amount = this.amount === 20 ? 100 : 1000;
      void this.load();
    } }, "More");
    const table = make("table", { class: "rows" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "number" }, "Time"),
        make("th", { scope: "col", class: "number" }, "Self"), make("th", { scope: "col" }, "Function"),
        make("th", { scope: "col", class: "number" }, "At"), make("th", { scope: "col" }, "Thread"),
        make("th", { scope: "col" }, "End"))),
      this.body);
    arrowKeys(table, "tbody tr");
    this.element.append(make("div", { class: "tools" }, this.head, this.order,
      make("label", { for: "calls-in-window" }, this.isWindow, "only what the timeline shows"), this.hint, this.every, this.more,
                                                 this.progress, this.stop, this.note),
      make("div", { class: "scroll" }, make("div", { class: "spread" }, this.figures, this.picture),
           table), this.same.element);
    onChange((what) => {
      if (what.has("selection") || what.has("pane") || what.has("choice")) void this.load(true);
      else if (what.has("window") && state.isInWindow) this.later();
      else if (what.has("clock")) this.show();
    });
  }

  private later(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(true), 140);
  }

  private async load(isOnChange = false): Promise<void> {
    if (state.pane !== "calls") return;
    this.isWindow.checked = state.isInWindow;
    this.order.value = state.order;
    this.every.hidden = !state.durations;
    this.range = state.isInWindow && trace.hasTimes ? windowRange() : null;
    this.hint.hidden = !this.range;
    const { order: by, durations } = state;
    const key = `${state.site}/${by}/${this.amount}/${this.range?.from}/${this.range?.to}/` +
      `${durations?.least}/${durations?.most}`;
    if (isOnChange && key === this.shownFor) {
      this.show();
      return;
    }
    this.shownFor = key;
    const turn = ++this.turn;
    const site = state.site ?? undefined;
    this.note.textContent = "…";
    if (this.calls.length === 0) {
      this.more.hidden = true;
      this.show();
    }
    this.running?.abort(); // nobody waits for the last ones
    const running = this.running = new AbortController();
    void this.watch(running);
    try {
      const [statistics, longest] = await Promise.all([
        site !== undefined ? ask("function", { site, ...this.range }, running.signal) : Promise.resolve(null),
        ask("longest", { site, by, count: this.amount, callers: this.hasCallers(), ...this.range,
                         ...durations }, running.signal)]);
      if (turn !== this.turn) return;
      this.calls = longest.calls;
      this.note.textContent = longest.calls.length === 0 ? "no call" : longest.calls.length < this.amount
        ? `all ${longest.calls.length}` : `the first ${longest.calls.length}`;
      this.more.hidden = longest.calls.length < this.amount || this.amount === 1000;
      this.showStatistics(statistics);
      this.show();
    } catch (why) {
      if (turn !== this.turn) return;
      this.shownFor = "";
      this.note.textContent = isAbort(why) ? "stopped" : failureWords(why);
    } finally {
      if (this.running === running) this.running = null;
    }
  }

  /** Of all functions a command shows no call of which one callee has nine tenths. */
  private hasCallers(): boolean {
    return state.site !== null || state.order !== "duration" || state.durations !== null;
  }

  /** What takes longer says how far it is, and can be stopped. */
  private async watch(running: AbortController): Promise<void> {
    const wait = () => new Promise((done) => setTimeout(done, LOOK_MS));
    for (await wait(); this.running === running; await wait()) {
      const { done, all } = await ask("progress").catch(() => ({} as Answer));
      if (this.running !== running) break;
      this.progress.hidden = this.stop.hidden = false;
      if (all !== undefined) this.progress.value = Number(done) / Math.max(Number(all), 1);
      else this.progress.removeAttribute("value");
    }
    if (!this.running) this.progress.hidden = this.stop.hidden = true;
  }

  private showStatistics(answer: Answer | null): void {
    const columns = () => [...this.picture.querySelectorAll<SVGElement>(".hit")];
    const focus = columns().findIndex((column) => column === document.activeElement);
    this.describe(answer);
    columns()[focus]?.focus();
  }

  private describe(answer: Answer | null): void {
    this.figures.replaceChildren();
    this.picture.replaceChildren();
    const row = answer?.row;
    if (!row) return;
    const add = (name: string, value: string, exact = "") => this.figures.append(
      make("dt", {}, name), make("dd", exact ? { title: exact } : {}, value));
    add("Calls", count(row.calls));
    add("Total", shortTime(row.total), `${count(row.total)} ns`);
    add("Self", shortTime(row.self), `${count(row.self)} ns`);
    if (row.ended === "0") return;
    if (row.mean !== "-1") add("Mean", shortTime(row.mean));
    add("Shortest", shortTime(row.min), `${count(row.min)} ns`);
    if (answer.p50) add("Half within", `about ${shortTime(answer.p50)}`);
    if (answer.p99) add("99 % within", `about ${shortTime(answer.p99)}`);
    add("Longest", shortTime(row.max), `${count(row.max)} ns`);
    if (answer.histogram) this.drawHistogram(answer.histogram);
  }

  private drawHistogram(buckets: Bucket[]): void {
    const each = Math.max(12, Math.min(26, Math.floor(480 / buckets.length))); // beside the figures
    const [width, height] = [Math.max((buckets.length - 1) * each + LABEL_WIDTH, 120), 96];
    const most = Math.max(...buckets.map((b) => Number(b.count)), 1);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
                                 "aria-label": "How often calls took how long: a column shows its calls" });
    const columns = buckets.map((bucket, i) => this.column(bucket, buckets.length - i, i * each, each, most));
    picture.append(...columns.flat());
    const least = columns.find(([hit]) => hit.getAttribute("aria-pressed") === "true") ?? columns[0];
    least[0].setAttribute("tabindex", "0");
    buckets.forEach((bucket, i) => {
      if (i % Math.ceil(LABEL_WIDTH / each) !== 0) return;
      const label = svg("text", { x: i * each + 2, y: 91, class: "label" });
      label.textContent = shortTime(bucket.least).replace(/\.\d+/, "");
      picture.append(label);
    });
    this.picture.replaceChildren(picture);
  }

  /** A column, and what is clicked: as high as all of them. `left`: columns from it on. */
  private column(bucket: Bucket, left: number, x: number, each: number, most: number): SVGElement[] {
    const share = Number(bucket.count) / most;
    const size = bucket.count === "0" ? 0 : Math.max(share * 70, 1.5);
    const isChosen = state.durations?.least === BigInt(bucket.least);
    const words = `${shortTime(bucket.least)} to ${shortTime(bucket.most)}: ${countOf(bucket.count, "call")}`;
    const hit = svg("rect", { x, y: 0, width: each, height: 78, class: "hit", role: "button",
                              tabindex: -1, "aria-label": words, "aria-pressed": String(isChosen) });
    const tip = svg("title", {});
    tip.textContent = words;
    hit.append(tip);
    hit.addEventListener("click", () => this.brush(bucket, isChosen, left === 1));
    hit.addEventListener("keydown", (e) => {
      const others = [...this.picture.querySelectorAll<SVGElement>(".hit")];
      const to = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      if (e.key === "Enter" || e.key === " ") this.brush(bucket, isChosen, left === 1);
      else if (to !== 0) others[others.indexOf(hit) + to]?.focus();
      else return;
      e.preventDefault();
    });
    return [hit, svg("rect", { x: x + 2, y: 76 - size, width: each - 4, height: size,
                               class: isChosen ? "column chosen" : "column" })];
  }

  /** The calls of a column: but for the longest ones, any of them are as good as others, and the first
   * ones are there sooner. */
  private brush(bucket: Bucket, isChosen: boolean, isLast: boolean): void {
    if (isChosen) choose({ durations: null, order: "duration" });
    else choose({ durations: { least: BigInt(bucket.least.replace(/^-.*/, "0")), most: BigInt(bucket.most) },
                  order: isLast ? "duration" : "start" });
  }

  private draw(): void {
    if (state.pane !== "calls") return;
    this.head.replaceChildren(make("strong", {},
      state.site === null ? "All functions" : nameOf(state.site) || "…"));
    const order = state.order === "self" ? ["--self"] : state.order === "start" ? ["--first"] : [];
    const times = state.durations
      ? ["--min-time", `${state.durations.least}ns`, "--max-time", `${state.durations.most}ns`] : [];
    this.same.show(commandText("slow", ...(state.site === null ? [] : ["--function", exactly(nameOf(state.site))]),
                               "--limit", String(this.amount), ...order, ...times,
                               ...(this.range ? timeWords(this.range.from, this.range.to) : [])));
    const rows = this.calls.map((call, i) => this.row(call, i));
    const focus = [...this.body.children].findIndex((row) => row === document.activeElement);
    this.body.replaceChildren(...rows);
    if (focus >= 0) rows[Math.min(focus, rows.length - 1)]?.focus();
  }

  private row(call: any, number: number): HTMLElement {
    const thread = threadOf(call.stream);
    const open = () => {
      showRange(BigInt(call.enter), BigInt(call.end));
      if (call.id) void ask("node", { id: call.id }).then((a) => selectNode(a.node));
    };
    return make("tr", {
      tabindex: number === 0 ? 0 : -1,
      "aria-selected": state.node?.id === call.id && call.id ? "true" : "false",
      title: `${count(call.time)} ns`, click: open,
      keydown: (e: KeyboardEvent) => { if (e.key === "Enter") open(); },
    }, make("td", { class: "number" }, shortTime(call.time)),
       make("td", { class: "number" }, shortTime(call.self)),
       make("td", { class: "name" }, nameOf(call.site) || "…"),
       make("td", { class: "number" }, moment(call.enter)),
       make("td", {}, thread ? threadName(thread) : ""),
       make("td", {}, END_WORDS[call.end_is] ?? call.end_is));
  }
}
