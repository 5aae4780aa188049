// What is known of the selected call.
import { ask, Answer } from "./ask";
import { make } from "./dom";
import { fetchName, nameOf, withNames } from "./names";
import { commandText, SameLine } from "./same";
import { onChange, selectNode, showRange, state, threadName, threadOf, trace, TreeNode } from "./state";
import { count, END_WORDS, exactTime, moment, shortTime } from "./words";

export class Details {
  readonly element = make("section", { class: "details", "aria-label": "Selected call" });
  private site: Answer | null = null;
  private path: Answer | null = null;
  private values: Answer | null = null;
  private shownFor = "";
  private problem = "";
  private readonly show = withNames(() => this.draw());

  constructor(private readonly run: (command: string) => void) {
    onChange((what) => { if (what.has("selection")) void this.load(); else if (what.has("clock")) this.show(); });
    this.show();
  }

  private async load(): Promise<void> {
    const key = `${state.node?.id}/${state.site}`;
    if (key === this.shownFor) return;
    this.shownFor = key;
    this.site = this.path = this.values = null;
    this.problem = "";
    this.show();
    const { node, site } = state;
    try {
      const [sites, path, values] = await Promise.all([
        site !== null ? ask("sites", { sites: String(site), all: true }) : null,
        node && node.level !== undefined ? ask("path", { id: node.id }) : null,
        node && node.level !== undefined ? ask("values", { id: node.id }) : null]);
      if (key !== this.shownFor) return;
      this.site = sites?.sites[0] ?? null;
      this.path = path;
      this.values = values;
    } catch (why) {
      this.problem = (why as Error).message;
    }
    this.show();
  }

  private draw(): void {
    const { node, site } = state;
    const parts: (Node | null)[] = [];
    if (site === null && !node) {
      parts.push(make("p", { class: "hint" },
        "Click a call in the timeline, or choose a function. Ctrl-K finds functions and commands, ? shows all keys."));
    } else {
      const name = node?.signal !== undefined ? `signal ${node.signal}`
        : site !== null ? nameOf(site) || "…" : "";
      parts.push(make("h2", {}, name));
      if (this.site) parts.push(this.where(this.site));
      if (node && this.values) parts.push(this.said(this.values));
      if (node) parts.push(this.figures(node), this.buttons(), this.ways());
      if (node) parts.push(this.commandLine(node));
    }
    if (this.problem) parts.push(make("p", { class: "problem", role: "alert" }, this.problem));
    this.element.replaceChildren(...parts.filter((p): p is Node => p !== null));
  }

  private where(site: Answer): HTMLElement {
    const file = site.file ? `${site.file}${site.line ? `:${site.line}` : ""}` : "";
    const lines = [site.full_name, file, site.module].filter((text) => text);
    return make("p", { class: "where" }, ...lines.map((text) => make("span", {}, String(text))));
  }

  private figures(node: TreeNode): HTMLElement {
    const list = make("dl", { class: "figures" });
    const add = (name: string, value: string, more = "") => list.append(make("dt", {}, name),
      make("dd", {}, value, more ? make("span", { class: "faint" }, ` ${more}`) : null));
    const thread = threadOf(node.stream);
    const least = node.end_is === "hidden" ? "at least " : "";
    if (trace.hasTimes) {
      const exact = (ns: string) => shortTime(ns) === exactTime(ns) ? "" : exactTime(ns);
      add("Time", `${least}${shortTime(node.time)}`, exact(node.time));
      add("Self", `${node.self_exact ? "" : "at least "}${shortTime(node.self)}`, exact(node.self));
      add("From", moment(node.start));
      add("To", moment(node.end));
    }
    if (node.calls !== undefined) add("Calls below", count(node.calls));
    else if (node.pruned) add("Calls below", `about ${count(node.pruned.calls)}`);
    if (node.was_open) add("Begin", "was running already");
    if (node.end_is) add("End", END_WORDS[node.end_is] ?? node.end_is);
    add("Thread", thread ? threadName(thread) : String(node.stream));
    return list;
  }

  private buttons(): HTMLElement {
    const button = (text: string, command: string, keyName: string) => make("button", {
      title: `Key: ${keyName}`, click: () => this.run(command) }, text);
    return make("div", { class: "buttons" }, button("Show all of it", "focus", "f"),
      button("Previous call", "previous", "["), button("Next call", "next", "]"),
      button("Caller", "parent", "u"), button("Longest in it", "longest-child", "l"),
      button("Copy link", "copy-link", "c"));
  }

  private ways(): HTMLElement | null {
    const path: any[] = this.path?.path ?? [];
    if (path.length === 0) return null;
    const list = make("ol", { class: "way" });
    for (const frame of path.slice(-40)) {
      const text = frame.signal !== undefined ? `signal ${frame.signal}` : nameOf(frame.site) || "…";
      list.append(make("li", {}, make("button", { class: "plain",
        click: () => void this.openFrame(frame) }, text)));
    }
    return make("div", {}, make("h3", {}, path.length > 40
      ? `Called from (the innermost 40 of ${path.length})` : "Called from"), list);
  }

  private async openFrame(frame: any): Promise<void> {
    const stream = state.node!.stream;
    const position = (this.path!.path as any[]).indexOf(frame);
    const answer = await ask("stack", { stream, time: state.node!.start, depth: position });
    const node = answer.stack.find((n: TreeNode | string) => typeof n !== "string");
    if (!node) return;
    selectNode(node);
    showRange(BigInt(node.start), BigInt(node.end));
  }

  /** Arguments and results, as the command prints them. */
  private said(values: Answer): HTMLElement | null {
    const text = (words: string | undefined) => words ? make("code", {}, words) : null;
    if (!values.arguments_text && !values.results_text) return null;
    const list = make("dl", { class: "values" });
    if (values.arguments_text)
      list.append(make("dt", {}, "Arguments"), make("dd", {}, text(values.arguments_text)));
    if (values.results_text)
      list.append(make("dt", {}, "Result"), make("dd", {}, text(values.results_text.replace(/^ = /, ""))));
    return list;
  }

  private commandLine(node: TreeNode): HTMLElement {
    const same = new SameLine();
    same.show(commandText("tree", "--open", node.id));
    return same.element;
  }
}

export { fetchName };
