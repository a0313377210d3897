/**
 * Strings as JSON text. Names, labels and images are short and need no escaping; a scan here is faster than a call of
 * `JSON.stringify`. It has no figure of its own yet.
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
