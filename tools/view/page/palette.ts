// Commands by name and key, and the search for functions: one box, Ctrl-K.
import { ask } from "./ask";
import { make } from "./dom";
import { setName } from "./names";

export interface Command {
  id: string;
  title: string;
  keys: string[];
  run: () => void;
}

export class Palette {
  readonly element: HTMLDialogElement;
  private input: HTMLInputElement;
  private list = make("ul", { role: "listbox", id: "palette-list", "aria-label": "Found" });
  private items: { title: string; note: string; run: () => void }[] = [];
  private at = 0;
  private turn = 0;

  constructor(private readonly commands: Command[], private readonly onSite: (site: number) => void) {
    this.input = make("input", { type: "text", role: "combobox", "aria-expanded": "true",
      "aria-controls": "palette-list", "aria-label": "Function or command",
      placeholder: "Function or command", autocomplete: "off", spellcheck: "false",
      input: () => void this.find(), keydown: (e: KeyboardEvent) => this.key(e) });
    this.element = make("dialog", { class: "palette", "aria-label": "Find" }, this.input, this.list);
    this.element.addEventListener("click", (e) => {
      if (e.target === this.element) this.element.close();
    });
  }

  open(): void {
    if (this.element.open) return;
    this.element.showModal();
    this.input.value = "";
    this.input.focus();
    void this.find();
  }

  private key(e: KeyboardEvent): void {
    if (e.key === "ArrowDown") this.at = Math.min(this.at + 1, this.items.length - 1);
    else if (e.key === "ArrowUp") this.at = Math.max(this.at - 1, 0);
    else if (e.key === "Enter") this.choose(this.items[this.at]);
    else return;
    e.preventDefault();
    this.show();
  }

  private choose(item?: { run: () => void }): void {
    this.element.close();
    item?.run();
  }

  private async find(): Promise<void> {
    const text = this.input.value.trim();
    const small = text.toLowerCase();
    const turn = ++this.turn;
    const commands = this.commands.filter((c) => c.title.toLowerCase().includes(small))
      .map((c) => ({ title: c.title, note: c.keys.join(", "), run: c.run }));
    this.at = 0;
    this.items = commands;
    this.show();
    if (!text) return;
    const answer = await ask("search", { text, count: 40 }).catch(() => null);
    if (turn !== this.turn || !answer) return;
    const sites = answer.sites.map((site: any) => {
      setName(site.site, site.name);
      const file = String(site.file || site.module).split("/").pop();
      return { title: site.name, note: file, run: () => this.onSite(site.site) };
    });
    this.items = [...sites, ...commands];
    this.show();
  }

  private show(): void {
    this.list.replaceChildren(...this.items.map((item, i) => make("li", {
      role: "option", id: `found-${i}`, "aria-selected": i === this.at ? "true" : "false",
      click: () => this.choose(item),
    }, make("span", { class: "name" }, item.title), make("span", { class: "faint" }, item.note))));
    if (this.items.length === 0)
      this.list.replaceChildren(make("li", { class: "faint" }, "nothing has this name"));
    this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }
}

/** All keys, as a table. */
export function keyList(commands: Command[]): HTMLDialogElement {
  const dialog = make("dialog", { class: "keys", "aria-label": "Keys" }, make("h2", {}, "Keys"),
    make("dl", { class: "figures" }, ...commands.filter((c) => c.keys.length).flatMap((c) => [
      make("dt", {}, c.keys.join(", ")), make("dd", {}, c.title)])),
    make("p", { class: "faint" }, "Wheel: zoom. Wheel over names, or with Shift: other threads. " +
         "Drag: move. Shift and drag: measure."),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
  return dialog;
}
