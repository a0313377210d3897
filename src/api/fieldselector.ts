/**
 * Field selectors: `status.phase=Running,metadata.name!=a`. Which paths a kind knows is the kind's affair;
 * here a path is any text before the operator, and values compare as strings.
 */
import { SelectorError } from './labelselector.ts';

/** Longest selector text, in characters; more than any URL a client can send. */
const textCharsMax = 65_536;
/** Most terms in one selector. */
const termsMax = 256;

export interface FieldTerm {
  readonly path: string;
  readonly op: '=' | '!=';
  readonly value: string;
}

export class FieldSelector {
  /** Everything matches. */
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

  /** The value an equality term pins this path to, which lets a list go straight to it. */
  requires(path: string): string | undefined {
    return this.terms.find((term) => term.path === path && term.op === '=')?.value;
  }

  toString(): string {
    return this.terms.map(({ path, op, value }) => `${path}${op}${escapeFieldValue(value)}`).join(',');
  }
}

const everything = new FieldSelector([]);

/** Reads a selector from a query. Throws a SelectorError in Kubernetes' words. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.length > textCharsMax)
    throw new SelectorError(`field selector is too long: may not be more than ${textCharsMax} characters`);
  const terms: FieldTerm[] = [];
  // Kubernetes sorts before it reads, which decides what it complains of first. Empty terms mean nothing.
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue;
    if (terms.length === termsMax)
      throw new SelectorError(`field selector may not have more than ${termsMax} terms`);
    terms.push(readTerm(term, text));
  }
  return terms.length === 0 ? everything : new FieldSelector(terms);
}

/** Writes a value so that it can stand in a selector. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Splits at commas that no backslash stands before. */
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
    // Kubernetes prints the character's number here.
    throw new SelectorError(`invalid field selector: unescaped character in value: ${found.codePointAt(0)}`);
  });
}
