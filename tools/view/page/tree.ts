// The tree: threads, their calls, and theirs, opened where somebody looks. What is not opened says
// what it is, and takes one row.
import { ask } from "./ask";
import { make } from "./dom";
import { nameOf, withNames } from "./names";
import { commandText, SameLine } from "./same";
import { onChange, selectNode, showRange, state, threadName, threadOf, trace, TreeNode } from "./state";
import { about, count, END_WORDS, prunedWords, shortTime } from "./words";

const ROWS = 200;

interface Item {
  node: TreeNode;
  level: number;
  isOpen: boolean;
  children: Item[] | null;
  hasMore: boolean;
  position: number;
  count: number;
}

export class TreePane {
  readonly element: HTMLElement;
  private grid = make("div", { role: "treegrid", class: "tree", "aria-label": "Calls" });
  private crumbs = make("nav", { class: "crumbs", "aria-label": "What leads there" });
  private roots: Item[] = [];
  private root: TreeNode | null = null; // null: the threads
  private focusId = "";
  private same = new SameLine();
  private note = make("p", { class: "note", role: "status" });
  private readonly show = withNames(() => this.draw());

  constructor() {
    this.element = make("div", { class: "pane" }, make("div", { class: "tools" }, this.crumbs, this.note),
                        make("div", { class: "scroll" }, this.grid), this.same.element);
    this.grid.addEventListener("keydown", (e) => void this.key(e));
    onChange((what) => {
      if (what.has("pane") && state.pane === "tree" && this.roots.length === 0) void this.setRoot(null);
      if (what.has("selection")) this.show();
    });
  }

  /** Shows one call alone, with what it calls; null: the threads. */
  async setRoot(node: TreeNode | null): Promise<void> {
    this.root = node;
    this.roots = [];
    this.note.textContent = "…";
    try {
      if (node) {
        this.roots = [this.item(node, 0, 1, 1)];
        await this.open(this.roots[0]);
      } else {
        this.roots = await this.load("-", 0, 0);
        if (this.roots.length === 1) await this.open(this.roots[0]);
      }
      this.note.textContent = "";
    } catch (why) {
      this.note.textContent = (why as Error).message;
    }
    this.focusId = this.roots[0]?.node.id ?? "";
    this.show();
  }

  private item(node: TreeNode, level: number, position: number, all: number): Item {
    return { node, level, isOpen: false, children: null, hasMore: false, position, count: all };
  }

  private async load(id: string, level: number, first: number, into?: Item): Promise<Item[]> {
    const answer = await ask("children", { id, first, count: ROWS, mode: "pruned" });
    const all = answer.children as TreeNode[];
    if (into) into.hasMore = answer.more;
    return all.map((node, i) => this.item(node, level, first + i + 1, first + all.length));
  }

  private hasChildren(node: TreeNode): boolean {
    return node.kind === "thread" || node.kind === "pruned" || !!node.pruned || node.spanning ||
      node.calls === undefined || node.calls !== "0";
  }

  private async open(item: Item): Promise<void> {
    item.children ??= await this.load(item.node.id, item.level + 1, 0, item);
    item.isOpen = true;
  }

  private async toggle(item: Item): Promise<void> {
    try {
      if (item.isOpen) item.isOpen = false;
      else if (this.hasChildren(item.node)) await this.open(item);
    } catch (why) {
      this.note.textContent = (why as Error).message;
    }
    this.show();
  }

  private async more(item: Item): Promise<void> {
    const next = await this.load(item.node.id, item.level + 1, item.children!.length, item);
    item.children!.push(...next);
    this.show();
  }

  private flat(items: Item[], into: Item[] = []): Item[] {
    for (const item of items) {
      into.push(item);
      if (item.isOpen && item.children) this.flat(item.children, into);
    }
    return into;
  }

  private async key(e: KeyboardEvent): Promise<void> {
    const all = this.flat(this.roots);
    const at = all.findIndex((item) => item.node.id === this.focusId);
    const item = all[at];
    if (!item || e.ctrlKey || e.altKey || e.metaKey) return;
    let to = at;
    if (e.key === "ArrowDown") to = Math.min(at + 1, all.length - 1);
    else if (e.key === "ArrowUp") to = Math.max(at - 1, 0);
    else if (e.key === "Home") to = 0;
    else if (e.key === "End") to = all.length - 1;
    else if (e.key === "ArrowRight" && !item.isOpen) await this.toggle(item);
    else if (e.key === "ArrowRight") to = Math.min(at + 1, all.length - 1);
    else if (e.key === "ArrowLeft" && item.isOpen) await this.toggle(item);
    else if (e.key === "ArrowLeft") {
      for (to = at; to > 0 && all[to].level >= item.level;) to--;
    } else if (e.key === "Enter") this.choose(item);
    else return;
    e.preventDefault();
    e.stopPropagation();
    this.focusId = all[to].node.id;
    this.show();
    this.focus();
  }

  focus(): void {
    this.grid.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }

  private choose(item: Item): void {
    const { node } = item;
    if (node.kind === "call" || node.kind === "signal") selectNode(node);
    if (trace.hasTimes) showRange(BigInt(node.start), BigInt(node.end));
    if (node.kind !== "call" && !item.isOpen) void this.toggle(item);
  }

  private draw(): void {
    if (state.pane !== "tree") return;
    const hadFocus = this.grid.contains(document.activeElement);
    const rows: HTMLElement[] = [this.headRow()];
    const add = (items: Item[]) => {
      for (const item of items) {
        rows.push(this.row(item));
        if (!item.isOpen || !item.children) continue;
        add(item.children);
        if (item.hasMore) rows.push(this.moreRow(item));
      }
    };
    add(this.roots);
    this.grid.replaceChildren(...rows);
    if (hadFocus) this.focus();
    this.showCrumbs();
    this.same.show(commandText("tree", ...(this.root ? ["--open", this.root.id] : ["--partitions"])));
  }

  private showCrumbs(): void {
    const items: Node[] = [make("button", { click: () => void this.setRoot(null) }, "All threads")];
    if (this.root)
      items.push(document.createTextNode(" › "), make("strong", {}, this.title(this.root)));
    if (state.node && state.node.id !== this.root?.id)
      items.push(make("button", { click: () => void this.setRoot(state.node) },
                      "Open the selected call here"));
    this.crumbs.replaceChildren(...items);
  }

  private title(node: TreeNode): string {
    if (node.kind === "thread") {
      const thread = threadOf(node.stream);
      return thread ? threadName(thread) : node.id;
    }
    if (node.kind === "signal") return `signal ${node.signal}`;
    if (node.site !== undefined) return nameOf(node.site) || "…";
    return node.id;
  }

  private prunedTitle(node: TreeNode): HTMLElement {
    const mostly = (node.mostly ?? []).map((site) => nameOf(site)).filter((name) => name).join(", ");
    return make("span", { class: "pruned" }, prunedWords(node.pruned!),
                make("span", { class: "faint" }, mostly ? `  mostly ${mostly}` : ""));
  }

  private row(item: Item): HTMLElement {
    const { node } = item;
    const isPruned = node.kind === "pruned";
    const can = this.hasChildren(node);
    const least = node.end_is === "hidden" ? "≥ " : "";
    const endWords = [node.was_open ? "was running already" : "",
      !node.end_is || node.end_is === "ended" ? "" : END_WORDS[node.end_is] ?? ""]
      .filter((word) => word).join(", ");
    const row = make("div", {
      role: "row", class: "tree-row", tabindex: node.id === this.focusId ? 0 : -1,
      "aria-level": item.level + 1, "aria-posinset": item.position, "aria-setsize": -1,
      "aria-selected": node.id === state.node?.id ? "true" : "false",
      click: () => {
        this.focusId = node.id;
        if (node.kind === "call" || node.kind === "signal") selectNode(node);
        else void this.toggle(item);
      },
      dblclick: () => this.choose(item),
    });
    if (can) row.setAttribute("aria-expanded", String(item.isOpen));
    const name = make("span", { role: "gridcell", class: "tree-name" },
      make("button", { class: "twisty", tabindex: -1, "aria-hidden": "true", click: (e: Event) => {
        e.stopPropagation();
        void this.toggle(item);
      } }, can ? (item.isOpen ? "▾" : "▸") : ""),
      isPruned && node.pruned ? this.prunedTitle(node) : make("span", {}, this.title(node)));
    name.style.paddingLeft = `${item.level * 14}px`;
    row.append(name,
      make("span", { role: "gridcell", class: "number", title: `${count(node.time)} ns` },
           isPruned ? "" : least + shortTime(node.time)),
      make("span", { role: "gridcell", class: "number" },
           isPruned || (!node.self_exact && node.self === "0") ? ""
             : `${node.self_exact ? "" : "≥ "}${shortTime(node.self)}`),
      make("span", { role: "gridcell", class: "number" },
           node.calls !== undefined ? count(node.calls)
             : node.pruned && !isPruned ? `≈ ${about(node.pruned.calls)}` : ""),
      make("span", { role: "gridcell", class: "faint", title: endWords }, endWords));
    return row;
  }

  private headRow(): HTMLElement {
    const heads = ["Call", "Time", "Self", "Calls in it", "End"].map((title, i) =>
      make("span", { role: "columnheader", class: i > 0 && i < 4 ? "number" : "" }, title));
    return make("div", { role: "row", class: "tree-row tree-head" }, ...heads);
  }

  private moreRow(item: Item): HTMLElement {
    const row = make("div", { role: "row", class: "tree-row" });
    const cell = make("span", { role: "gridcell", class: "tree-name" },
      make("button", { click: () => void this.more(item) },
           `${count(item.children!.length)} shown: more`));
    cell.style.paddingLeft = `${(item.level + 1) * 14 + 18}px`;
    row.append(cell);
    return row;
  }
}
