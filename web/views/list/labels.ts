/** Label selectors as people type them: `app=web`, `tier!=db`, `env in (a, b)`, `!canary`, joined by commas. */

export type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

/** A part that cannot be read fits nothing, and the dashboard says so: see `isSelector`. */
export function labelTest(text: string): LabelTest {
  const tests = partsOf(text).map(partTest);
  return (labels) => tests.every((test) => test?.(labels) ?? false);
}

export const isSelector = (text: string): boolean =>
  partsOf(text).every((part) => partTest(part) !== undefined);

/** Commas inside parentheses do not separate. */
const partsOf = (text: string): string[] =>
  (text.match(/[^,(]+(?:\([^)]*\))?[^,(]*/g) ?? []).map((part) => part.trim()).filter(Boolean);

const key = '[\\w./-]+';
const pair = new RegExp(`^(${key})\\s*(=|==|!=)\\s*([\\w.-]*)$`);
const choice = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^)]*)\\)$`);
const presence = new RegExp(`^(!?)\\s*(${key})$`);

function partTest(part: string): LabelTest | undefined {
  const equal = pair.exec(part);
  if (equal) {
    const [, name, operator, value] = equal as unknown as [string, string, string, string];
    return (labels) => (labels[name] === value) === (operator !== '!=');
  }
  const among = choice.exec(part);
  if (among) {
    const [, name, operator, list] = among as unknown as [string, string, string, string];
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (labels) => (name in labels && values.has(labels[name]!)) === (operator === 'in');
  }
  const there = presence.exec(part);
  if (!there) return undefined;
  const [, not, name] = there as unknown as [string, string, string];
  return (labels) => name in labels === (not === '');
}
