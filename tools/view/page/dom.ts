// Elements by hand. Names of a trace get in as text only: nothing here knows markup.

type Child = Node | string | null | undefined;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string | number | boolean | ((e: any) => void)> = {},
  ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

export function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Rows that the arrow keys go through, one of them in the order of Tab. */
export function arrowKeys(list: HTMLElement, rows: string): void {
  list.addEventListener("keydown", (e) => {
    const all = [...list.querySelectorAll<HTMLElement>(rows)];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = e.key === "ArrowDown" ? at + 1 : e.key === "ArrowUp" ? at - 1
      : e.key === "Home" ? 0 : e.key === "End" ? all.length - 1 : -1;
    if (at < 0 || to < 0 || to >= all.length) return;
    e.preventDefault();
    e.stopPropagation();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
}
