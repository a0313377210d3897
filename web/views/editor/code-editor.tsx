/** A YAML editor: syntax, folding, search (Ctrl-F), problems at their lines, documentation, and who manages what. */
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { codeFolding, foldGutter, foldKeymap, indentOnInput, indentUnit } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { ApiObject } from '../../core/objects.ts';
import type { KindSchema } from '../../core/schema.ts';
import { styleNonce } from '../../core/theme.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { schemaCompletion, schemaHover } from './completion.ts';
import css from './editor.css' with { type: 'text' };
import { appearance } from './highlight.ts';
import { ownerGutter, showOwners } from './owner-gutter.ts';
import type { Manager } from './owners.ts';
import type { Problem } from './problems.ts';

adoptStyle(css);

interface CodeEditorProps {
  readonly label: string;
  readonly text: string;
  /**
   * While a text is edited, the editor has the newest one, and `text` may lag behind; it replaces what was edited only
   * when this changes.
   */
  readonly edition?: number;
  /** Without it, the text can only be read. */
  readonly onChange?: (text: string) => void;
  readonly problems?: readonly Problem[];
  readonly schema?: KindSchema | undefined;
  readonly owners?: { readonly managers: readonly Manager[]; readonly object: ApiObject };
}

const none: readonly Problem[] = [];

export function CodeEditor({
  label,
  text,
  edition = 0,
  onChange,
  problems = none,
  schema,
  owners,
}: CodeEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const current = useRef({ onChange, schema });
  current.current = { onChange, schema };
  const readOnly = onChange === undefined;

  useLayoutEffect(() => {
    const extensions = extensionsOf(label, readOnly, {
      onChange: (changed) => current.current.onChange?.(changed),
      schema: () => current.current.schema,
    });
    const editor = new EditorView({
      state: EditorState.create({ doc: text, extensions }),
      parent: box.current!,
    });
    view.current = editor;
    // Reached by the keyboard, so that it can be scrolled without changing the text.
    editor.scrollDOM.tabIndex = 0;
    if (!readOnly) editor.focus();
    return () => editor.destroy();
  }, [readOnly, label]);
  useEffect(() => replaceText(view.current!, text), [readOnly ? text : edition, readOnly]);
  useEffect(() => {
    const editor = view.current!;
    const { doc } = editor.state;
    const found = problems.map(({ line, message }) => {
      const { from, to, text: content } = doc.line(Math.min(Math.max(line, 1), doc.lines));
      const indent = content.length - content.trimStart().length;
      return { from: Math.min(from + indent, to), to, severity: 'error' as const, message };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
    const first = found[0];
    if (first) editor.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: 'center' }) });
  }, [problems, readOnly]);
  useEffect(() => {
    if (owners) showOwners(view.current!, owners.managers, owners.object);
  }, [owners?.object, readOnly ? text : edition, readOnly]);
  return <div class="codeeditor" ref={box} data-keys="own" />;
}

interface Hooks {
  readonly onChange: (text: string) => void;
  readonly schema: () => KindSchema | undefined;
}

function extensionsOf(label: string, readOnly: boolean, { onChange, schema }: Hooks): Extension[] {
  return [
    EditorView.cspNonce.of(styleNonce()),
    appearance,
    yaml(),
    indentUnit.of('  '),
    lineNumbers(),
    ownerGutter,
    codeFolding(),
    foldGutter({ openText: '▾', closedText: '▸' }),
    schemaHover(schema),
    EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': String(readOnly) }),
    search({ top: true }),
    keymap.of([...searchKeymap, ...defaultKeymap, ...foldKeymap, ...lintKeymap]),
    lintGutter(),
    ...(readOnly
      ? [EditorState.readOnly.of(true)]
      : [
          history(),
          drawSelection(),
          highlightActiveLine(),
          indentOnInput(),
          closeBrackets(),
          autocompletion({ override: [schemaCompletion(schema)], icons: false }),
          keymap.of([...completionKeymap, ...historyKeymap]),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) onChange(state.doc.toString());
          }),
        ]),
  ];
}

/** Changes only what differs, so that folds, selection and scrolling stay. */
function replaceText(view: EditorView, text: string): void {
  const before = view.state.doc.toString();
  if (before === text) return;
  let from = 0;
  const shorter = Math.min(before.length, text.length);
  while (from < shorter && before[from] === text[from]) from++;
  let end = 0;
  while (end < shorter - from && before.at(-1 - end) === text.at(-1 - end)) end++;
  view.dispatch({ changes: { from, to: before.length - end, insert: text.slice(from, text.length - end) } });
}
