/** Standard base64 with padding, as Go's encoding/base64 reads it: line breaks are skipped, wherever they are. */

/** Shorter base64 is checked faster by expressions, longer by decoding and encoding it. */
const longBase64Chars = 4_096;

/** The text without line breaks; undefined when it is not base64. */
export function base64Of(value: string): string | undefined {
  if (value.length > longBase64Chars && Buffer.from(value, 'base64').toString('base64') === value)
    return value;
  const text = /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, '') : value;
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? text : undefined;
}

/**
 * The place that Go names in a text that is not base64. Characters are read in groups of four; all before the place have
 * one byte each, so it is an index of the text, too.
 */
export function base64ErrorAt(value: string): number {
  const wrong = /[^A-Za-z0-9+/\r\n]/.exec(value);
  const end = wrong?.index ?? value.length;
  const inGroup = value.slice(0, end).replace(/[\r\n]/g, '').length % 4;
  // As Go: line breaks inside the last group are not counted.
  if (!wrong) return end - inGroup;
  if (wrong[0] !== '=' || inGroup < 2) return end;
  const afterBreaks = (at: number): number => at + /^[\r\n]*/.exec(value.slice(at))![0].length;
  if (inGroup === 3) return afterBreaks(end + 1);
  const second = afterBreaks(end + 1);
  if (second === value.length) return second;
  return value[second] === '=' ? afterBreaks(second + 1) : second - 1;
}
