/**
 * Field selectors: `status.phase=Running,metadata.name!=a`. Here a path is any text before the operator, and values
 * compare as strings; each kind checks which paths it supports.
 */
import { SelectorError } from './label-selector.ts';

/** Longest selector text, in characters; more than a URL can hold. */
const textCharsMax = 65_536;
/** Most terms in one selector. */
const termsMax = 256;

export interface FieldTerm {
  readonly path: string;
  readonly op: '=' | '!=';
  readonly value: string;
}

export class FieldSelector {
  /** Selects everything. */
  readonly empty: boolean;

  /** All terms must hold. */
  constructor(readonly terms: readonly FieldTerm[]) {
    this.empty = terms.length === 0;
  }

  /** `get` answers with the text of a field, `''` when it is missing. */
  matches(get: (path: string) => string): boolean {
    for (const { path, op, value } of this.terms) if ((get(path) === value) !== (op === '=')) return false;
    return true;
  }

  /** The value that an equality term requires of this path, so that a list can look it up directly. */
  requires(path: string): string | undefined {
    return this.terms.find((term) => term.path === path && term.op === '=')?.value;
  }

  toString(): string {
    return this.terms.map(({ path, op, value }) => `${path}${op}${escapeFieldValue(value)}`).join(',');
  }
}

const everything = new FieldSelector([]);

/** Parses a selector of a query. Throws a SelectorError with Kubernetes' message. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.length > textCharsMax)
    throw new SelectorError(`field selector is too long: may not be more than ${textCharsMax} characters`);
  const terms: FieldTerm[] = [];
  // Kubernetes sorts the terms before parsing, which decides which error comes first. Empty terms are ignored.
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue;
    if (terms.length === termsMax)
      throw new SelectorError(`field selector may not have more than ${termsMax} terms`);
    terms.push(readTerm(term, text));
  }
  return terms.length === 0 ? everything : new FieldSelector(terms);
}

/** Escapes a value for use in a selector. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Splits at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** The first operator splits a term: paths have no escapes. */
function readTerm(term: string, text: string): FieldTerm {
  const found = /!=|==?/.exec(term);
  if (!found) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
  return {
    path: term.slice(0, found.index),
    op: found[0] === '!=' ? '!=' : '=',
    value: unescapeValue(term.slice(found.index + found[0].length)),
  };
}

function unescapeValue(text: string): string {
  return text.replace(/\\(?:.|$)|[,=]/gsu, (found) => {
    const escaped = found.slice(1);
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped;
    if (found.startsWith('\\'))
      throw new SelectorError(`invalid field selector: invalid escape sequence: ${found}`);
    // Kubernetes prints the code of the character here.
    throw new SelectorError(`invalid field selector: unescaped character in value: ${found.codePointAt(0)}`);
  });
}
