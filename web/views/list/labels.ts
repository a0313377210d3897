/** Label selectors as people type them: `app=web`, `tier!=db`, `env in (a, b)`, `size>3`, `!canary`, joined by commas. */

export type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

/** A part that cannot be read fits nothing, and the dashboard says so: see `unreadPart`. */
export function labelTest(text: string): LabelTest {
  const tests = partsOf(text).map(partTest);
  return (labels) => tests.every((test) => test?.(labels) ?? false);
}

/** The first part that is no selector; undefined when all are. */
export const unreadPart = (text: string): string | undefined =>
  partsOf(text).find((part) => partTest(part) === undefined);

/** Commas inside parentheses do not separate. One at the end is allowed: more is being typed. */
function partsOf(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const letter of text) {
    if (letter === ',' && depth === 0) {
      parts.push('');
      continue;
    }
    if (letter === '(') depth++;
    if (letter === ')') depth--;
    parts[parts.length - 1] += letter;
  }
  const trimmed = parts.map((part) => part.trim());
  return trimmed.at(-1) === '' ? trimmed.slice(0, -1) : trimmed;
}

const key = '(?:[a-zA-Z\\d](?:[-a-zA-Z\\d.]*[a-zA-Z\\d])?/)?[a-zA-Z\\d](?:[-\\w.]*[a-zA-Z\\d])?';
const value = '(?:[a-zA-Z\\d](?:[-\\w.]*[a-zA-Z\\d])?)?';
const pair = new RegExp(`^(${key})\\s*(=|==|!=)\\s*(${value})$`);
const bound = new RegExp(`^(${key})\\s*([<>])\\s*(-?\\d+)$`);
const choice = new RegExp(`^(${key})\\s+(in|notin)\\s*\\((\\s*${value}\\s*(?:,\\s*${value}\\s*)*)\\)$`);
const presence = new RegExp(`^(!?)\\s*(${key})$`);

function partTest(part: string): LabelTest | undefined {
  const equal = pair.exec(part);
  if (equal) {
    const [, name, operator, wanted] = equal as unknown as [string, string, string, string];
    return (labels) => (labels[name] === wanted) === (operator !== '!=');
  }
  const beyond = bound.exec(part);
  if (beyond) {
    const [, name, operator, limit] = beyond as unknown as [string, string, string, string];
    return (labels) => {
      const number = name in labels ? Number.parseInt(labels[name]!, 10) : Number.NaN;
      return operator === '<' ? number < Number(limit) : number > Number(limit);
    };
  }
  const among = choice.exec(part);
  if (among) {
    const [, name, operator, list] = among as unknown as [string, string, string, string];
    const values = new Set(list.split(',').map((one) => one.trim()));
    return (labels) => (name in labels && values.has(labels[name]!)) === (operator === 'in');
  }
  const there = presence.exec(part);
  if (!there) return undefined;
  const [, not, name] = there as unknown as [string, string, string];
  return (labels) => name in labels === (not === '');
}
