// The question in an editor that colours and completes; the textarea stays what is sent.
import { autocompletion, completeFromList, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// Colours are those of the page, so that they suit light and dark.
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--bad)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--ground)", fontSize: "0.95rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace", minHeight: "9rem" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--edge)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

// Typing over a selection, a browser would keep its look as a style of its own, which the page does not take.
const typing = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || !event.data || view.composing) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

// The styles of the editor are sheets of a shadow tree: the page takes no style that is not its own file.
const open = (area, schema) => {
  const quoted = (name) => (/^[a-z_]\w*$/.test(name) ? name : `"${name}"`);
  const names = [...new Set(Object.values(schema).flat())];
  const columns = names.map((label) => ({ label, apply: quoted(label), type: "property" }));
  const place = document.createElement("div");
  place.className = "editor";
  const root = place.attachShadow({ mode: "open" });
  area.before(place);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        history(),
        drawSelection(),
        bracketMatching(),
        autocompletion(),
        sql({ dialect: PostgreSQL, schema, upperCaseKeywords: true }),
        PostgreSQL.language.data.of({ autocomplete: completeFromList(columns) }),
        syntaxHighlighting(colours),
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Question, in SQL" }),
        look,
        typing,
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          area.value = update.state.doc.toString();
          area.dispatchEvent(new Event("input", { bubbles: true }));
        }),
      ],
    }),
  });
  area.classList.add("hidden");
  area.required = false; // a browser cannot point at what is not shown; the server says what is missing
  document.getElementById("sql-label").addEventListener("click", () => view.focus());
};

const begin = async () => {
  const area = document.getElementById("sql");
  if (!area) return;
  const reply = await fetch("/ask/words");
  open(area, reply.ok && !reply.redirected ? await reply.json() : {});
};

begin();
