/**
 * Values as JSON text. Whole numbers beyond 2^53 are bigint (`exactjson.ts`), which `JSON.stringify` refuses to write; it
 * is asked first, because nearly no value holds any.
 *
 * Strings: names, labels and images are short and need no escaping; looking through them here is quicker than
 * a call of `JSON.stringify`. It has no figure of its own yet.
 */
import { optimized } from '../switches.ts';

/** Longer strings are left to `JSON.stringify`, which is faster for them. */
const shortMax = 64;

export function stringText(value: string): string {
  const { length } = value;
  if (length > shortMax || !optimized) return JSON.stringify(value);
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    const plain = code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    if (!plain) return JSON.stringify(value);
  }
  return `"${value}"`;
}

/** What `JSON.stringify` writes, also when there are large numbers. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return exactText(value, ' '.repeat(indent), indent ? '\n' : '') ?? 'null';
  }
}

/** @param lineEnd the line feed and the indentation of the lines of this value; '' when it is written in one line */
function exactText(value: unknown, indent: string, lineEnd: string): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = lineEnd && lineEnd + indent;
  const members: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) members.push(exactText(item, indent, inner) ?? 'null');
    return members.length ? `[${inner}${members.join(`,${inner}`)}${lineEnd}]` : '[]';
  }
  for (const [key, member] of Object.entries(value)) {
    const text = exactText(member, indent, inner);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${lineEnd && ' '}${text}`);
  }
  return members.length ? `{${inner}${members.join(`,${inner}`)}${lineEnd}}` : '{}';
}
