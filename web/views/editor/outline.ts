/**
 * The outline of a YAML text: which line holds which field. It works line by line on the indentation, so it also works
 * while a line is being typed and the text is not valid YAML. Fields inside of `{…}` and `[…]` are on the line of the
 * field that contains them.
 */
import type { Path } from '../../core/schema.ts';

export interface OutlineEntry {
  /** From 1. */
  readonly line: number;
  readonly path: Path;
  /** Where its key or item begins in the line. */
  readonly column: number;
  /** What stands behind the key on the same line. */
  readonly value: string;
}

interface Frame {
  readonly indent: number;
  readonly path: Path;
  readonly isList: boolean;
  step: string | number;
}

const keyPattern =
  /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'[\]{},&*!|>%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?=\s|$)/;
const scalarBlock = /^(?:[&!]\S+\s+)*[|>][+-]?\d?[+-]?\s*(?:#.*)?$/;

export function outlineOf(text: string): readonly OutlineEntry[] {
  const entries: OutlineEntry[] = [];
  let stack: Frame[] = [];
  /** The indentation of the key whose text block is being skipped. */
  let block: number | undefined;
  for (const [at, whole] of text.split('\n').entries()) {
    const line = whole.trimEnd();
    let column = line.length - line.trimStart().length;
    if (line.trim() === '') continue;
    if (block !== undefined) {
      if (column > block) continue;
      block = undefined;
    }
    if (line[column] === '#' || /^(?:---|\.\.\.)(?:\s|$)/.test(line)) continue;
    let rest = line.slice(column);
    let inItem = false;
    while (rest === '-' || rest.startsWith('- ')) {
      stack = stack.filter(
        ({ indent, isList }) => indent < column || (indent === column && (isList || !inItem)),
      );
      const top = stack.at(-1);
      if (top?.isList && top.indent === column) top.step = Number(top.step) + 1;
      else stack.push({ indent: column, path: pathBelow(top), isList: true, step: 0 });
      const after = rest.slice(1).trimStart();
      entries.push({ line: at + 1, path: pathBelow(stack.at(-1)), column, value: after });
      column += rest.length - after.length;
      rest = after;
      inItem = true;
      if (scalarBlock.test(rest)) block = column - 2;
    }
    const key = keyPattern.exec(rest);
    if (!key) continue;
    stack = stack.filter(({ indent, isList }) => indent < column || (indent === column && !isList));
    let top = stack.at(-1);
    if (top?.isList !== false || top.indent !== column) {
      top = { indent: column, path: pathBelow(top), isList: false, step: '' };
      stack.push(top);
    }
    top.step = unquoted(key[1]!);
    const value = rest.slice(key[0].length).trim();
    entries.push({ line: at + 1, path: pathBelow(top), column, value });
    if (scalarBlock.test(value)) block = column;
  }
  return entries;
}

const pathBelow = (frame: Frame | undefined): Path => (frame ? [...frame.path, frame.step] : []);

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/** `spec.containers[0].image`, `data[a.b]` as a path. */
export function fieldPath(field: string): Path {
  const steps: (string | number)[] = [];
  for (const [, index, name] of field.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    if (name !== undefined) steps.push(name);
    else steps.push(/^\d+$/.test(index!) ? Number(index) : index!.replace(/^"(.*)"$/, '$1'));
  }
  return steps;
}

/** The line of a field or, if the text lacks it, of the nearest field around it. */
export function lineOfField(entries: readonly OutlineEntry[], field: string): number {
  const path = fieldPath(field);
  const lines = new Map(entries.map((entry) => [JSON.stringify(entry.path), entry.line]));
  for (let length = path.length; length > 0; length--) {
    const line = lines.get(JSON.stringify(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return 1;
}
