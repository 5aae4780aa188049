// Commands by name and key, and the search for functions: one box, Ctrl-K.
import { Answer, ask } from "./ask";
import { make } from "./dom";
import { nameOf, onNames, setName } from "./names";

export interface Command {
  id: string;
  title: string;
  keys: string[];
  run: () => void;
}

const NOTHING = "nothing has this name";
const VALUES_MOST = 200;

export class Palette {
  readonly element: HTMLDialogElement;
  private input: HTMLInputElement;
  private list = make("ul", { role: "listbox", id: "palette-list", "aria-label": "Found" });
  private items: { title: string; note: string; site?: number; run: () => void }[] = [];
  private nothing = NOTHING;
  private at = 0;
  private turn = 0;

  constructor(private readonly commands: Command[], private readonly onSite: (site: number) => void,
              private readonly onValue: (found: Answer) => void) {
    onNames(() => { if (this.element.open) this.show(); });
    this.input = make("input", { type: "text", role: "combobox", "aria-expanded": "true",
      "aria-controls": "palette-list", "aria-label": "Function or command",
      placeholder: "Function or command; =VALUE: calls with a value", autocomplete: "off", spellcheck: "false",
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
    if (text.startsWith("=")) {
      await this.findValue(text.slice(1).trim());
      return;
    }
    const small = text.toLowerCase();
    const turn = ++this.turn;
    this.nothing = NOTHING;
    const commands = this.commands.filter((c) => c.title.toLowerCase().includes(small))
      .map((c) => ({ title: c.title, note: c.keys.join(", "), run: c.run }));
    this.at = 0;
    this.items = commands;
    this.show();
    if (!text) return;
    const answer = await ask("search", { text, count: 40 }).catch(() => null);
    if (turn !== this.turn || !answer) return;
    const sites = answer.sites.map((site: any) => {
      setName(site.site, site.name, site.idle);
      const file = String(site.file || site.module).split("/").pop();
      return { title: site.name, note: file, run: () => this.onSite(site.site) };
    });
    this.items = [...sites, ...commands];
    this.show();
  }

  /** Calls with a value; all events are read for that, some with each question. */
  private async findValue(text: string): Promise<void> {
    const turn = ++this.turn;
    this.at = 0;
    this.items = [];
    this.nothing = text ? "reading…" : "= and a text, or a number, that a call was given or gave back";
    this.show();
    const place: Record<string, string | number> = {};
    while (text && turn === this.turn && this.element.open) {
      const answer = await ask("find", { text, ...place }).catch((why: Error) => {
        this.nothing = why.message;
        return null;
      });
      if (turn !== this.turn || !answer) break;
      for (const found of answer.found)
        this.items.push({ title: "", site: found.site, note: found.values_text || "",
                          run: () => this.onValue(found) });
      if (answer.complete) this.nothing = "no call has this value in the recording";
      if (answer.complete || this.items.length >= VALUES_MOST) break;
      [place.stream, place.event] = [answer.stream, answer.event];
      this.show();
    }
    if (turn === this.turn) this.show();
  }

  private show(): void {
    this.list.replaceChildren(...this.items.map((item, i) => make("li", {
      role: "option", id: `found-${i}`, "aria-selected": i === this.at ? "true" : "false",
      click: () => this.choose(item),
    }, make("span", { class: "name" }, item.site !== undefined ? nameOf(item.site) || "…" : item.title),
       make("span", { class: "faint" }, item.note))));
    if (this.items.length === 0)
      this.list.replaceChildren(make("li", { class: "faint" }, this.nothing));
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
