/**
 * Values as JSON text. Whole numbers beyond 2^53 are bigint (`exact-json.ts`), which `JSON.stringify` refuses to write; it
 * is asked first, because nearly no value holds any.
 */

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
