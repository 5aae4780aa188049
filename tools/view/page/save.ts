// "Save as a file": one HTML file that anybody opens, made by the command, of the whole run or of
// the time that the timeline shows. A page that stands alone is such a file already.
import { isAlone } from "./alone";
import { askFile } from "./ask";
import { make } from "./dom";
import { windowRange } from "./same";
import { trace } from "./state";

function fileName(): string {
  const base = String(trace.info.file_name || "run.ttape").split("/").pop()!;
  return `${base.replace(/\.ttape$/, "")}.html`;
}

async function save(isWhole: boolean, hasValues: boolean, hasSource: boolean): Promise<void> {
  const { from, to } = windowRange();
  const fields = [...(isWhole ? [] : [`from=${from}`, `to=${to}`]),
                  ...(hasValues ? ["values=1"] : []), ...(hasSource ? ["source=1"] : [])];
  const address = URL.createObjectURL(await askFile(fields.join("&")));
  make("a", { href: address, download: fileName() }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Choices, and a button; null where this page is a file. */
export function saveDialog(fail: (why: unknown) => void): HTMLDialogElement | null {
  if (isAlone()) return null;
  const box = (id: string, text: string) => {
    const input = make("input", { type: "checkbox", id });
    return [input, make("p", {}, input, make("label", { for: id }, ` ${text}`))] as const;
  };
  const [whole, wholeRow] = box("save-whole", "the whole run, not only the time shown");
  const [values, valuesRow] = box("save-values",
    "with arguments and results, the command line and the host");
  const [source, sourceRow] = box("save-source", "with source files and paths");
  const note = make("p", { role: "status", class: "note" });
  const dialog = make("dialog", { class: "keys save", "aria-label": "Save as a file" },
    make("h2", {}, "Save as a file"),
    make("p", {}, "One HTML file that any browser opens, without tracetape and without a network."),
    wholeRow, valuesRow, sourceRow, note,
    make("form", { method: "dialog" }, make("button", { type: "button", click: () => {
      note.textContent = "…";
      save(whole.checked, values.checked, source.checked).then(() => dialog.close(), (why) => {
        dialog.close();
        fail(why);
      }).finally(() => { note.textContent = ""; });
    } }, "Save"), " ", make("button", {}, "Cancel")));
  return dialog;
}
