// One function (or all): its statistics, how its durations are spread, and its longest calls.
import { ask, Answer, isAbort } from "./ask";
import { arrowKeys, make, svg } from "./dom";
import { nameOf, withNames } from "./names";
import { commandText, SameLine, timeWords, windowRange } from "./same";
import { onChange, selectNode, showRange, state, threadName, threadOf, trace } from "./state";
import { count, END_WORDS, failureWords, moment, shortTime } from "./words";

const LOOK_MS = 250;

export class CallsPane {
  readonly element = make("div", { class: "pane" });
  private head = make("div", { class: "tools" });
  private figures = make("dl", { class: "figures" });
  private picture = make("div", { class: "histogram" });
  private body = make("tbody");
  private more: HTMLButtonElement;
  private by = "duration";
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
    const choice = make("select", { "aria-label": "Order of calls",
      change: (e: Event) => {
        this.by = (e.target as HTMLSelectElement).value;
        void this.load();
      } },
      make("option", { value: "duration" }, "longest first"),
      make("option", { value: "self" }, "most time of their own first"),
      make("option", { value: "start" }, "first ones"));
    this.isWindow = make("input", { type: "checkbox", id: "calls-in-window", change: () => this.later() });
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
    this.element.append(make("div", { class: "tools" }, this.head, choice,
      make("label", { for: "calls-in-window" }, this.isWindow, " only what the timeline shows"), this.hint, this.more,
                                                 this.progress, this.stop, this.note),
      make("div", { class: "scroll" }, make("div", { class: "spread" }, this.figures, this.picture),
           table), this.same.element);
    onChange((what) => {
      if (what.has("selection") || what.has("pane")) void this.load(true);
      else if (what.has("window") && this.isWindow.checked) this.later();
      else if (what.has("clock")) this.show();
    });
  }

  private later(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(true), 140);
  }

  private async load(isOnChange = false): Promise<void> {
    if (state.pane !== "calls") return;
    this.range = this.isWindow.checked && trace.hasTimes ? windowRange() : null;
    this.hint.hidden = !this.range;
    const key = `${state.site}/${this.by}/${this.amount}/${this.range?.from}/${this.range?.to}`;
    if (isOnChange && key === this.shownFor) {
      this.show();
      return;
    }
    this.shownFor = key;
    const turn = ++this.turn;
    const site = state.site ?? undefined;
    this.note.textContent = "…";
    if (this.calls.length === 0) this.show();
    this.running?.abort(); // nobody waits for the last ones
    const running = this.running = new AbortController();
    void this.watch(running);
    try {
      const [statistics, longest] = await Promise.all([
        site !== undefined ? ask("function", { site, ...this.range }, running.signal) : Promise.resolve(null),
        ask("longest", { site, by: this.by, count: this.amount, ...this.range }, running.signal)]);
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

  private drawHistogram(buckets: { least: string; most: string; count: string }[]): void {
    const each = Math.max(12, Math.min(26, Math.floor(480 / buckets.length))); // beside the figures
    const [width, height] = [Math.max(buckets.length * each, 120), 96];
    const most = Math.max(...buckets.map((b) => Number(b.count)), 1);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    const title = svg("title", {});
    title.textContent = "How often calls took how long: " + buckets.map((b) =>
      `${shortTime(b.least)} to ${shortTime(b.most)}: ${count(b.count)}`).join("; ");
    picture.append(title);
    buckets.forEach((bucket, i) => {
      const share = Number(bucket.count) / most;
      const size = bucket.count === "0" ? 0 : Math.max(share * 70, 1.5);
      const bar = svg("rect", { x: i * each + 2, y: 76 - size, width: each - 4, height: size,
                                class: "column" });
      const tip = svg("title", {});
      tip.textContent = `${shortTime(bucket.least)} to ${shortTime(bucket.most)}: ` +
        `${count(bucket.count)} calls`;
      bar.append(tip);
      picture.append(bar);
      if (i % Math.ceil(buckets.length / 8) !== 0) return;
      const label = svg("text", { x: i * each + 2, y: 91, class: "label" });
      label.textContent = shortTime(bucket.least).replace(/\.\d+/, "");
      picture.append(label);
    });
    this.picture.append(picture);
  }

  private draw(): void {
    if (state.pane !== "calls") return;
    this.head.replaceChildren(make("strong", {},
      state.site === null ? "All functions" : nameOf(state.site) || "…"));
    const order = this.by === "self" ? ["--self"] : this.by === "start" ? ["--first"] : [];
    this.same.show(commandText("slow", ...(state.site === null ? [] : [nameOf(state.site)]),
                               "--limit", String(this.amount), ...order,
                               ...(this.range ? timeWords(this.range.from, this.range.to) : [])));
    this.body.replaceChildren(...this.calls.map((call, i) => this.row(call, i)));
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
