/** Commands of a shell as text: whatever a name holds, it stays one word. */

const plain = /^[\w@%+=:,./-]+$/;

const quoted = (word: string): string => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const commandText = (words: readonly string[], namespace?: string): string =>
  [...words, ...(namespace ? ['--namespace', namespace] : [])].map(quoted).join(' ');
