/** Builds shell commands as text: every argument stays one word, whatever it contains. */

const plain = /^[\w@%+=:,./-]+$/;

const quoted = (word: string): string => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const commandText = (words: readonly string[], namespace?: string): string =>
  [...words, ...(namespace ? ['--namespace', namespace] : [])].map(quoted).join(' ');
