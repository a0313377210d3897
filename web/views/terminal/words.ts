/** A command line as words: quotes keep spaces, a backslash keeps the next character. Nothing is expanded. */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  const word = /(?:[^\s'"\\]|\\.|'[^']*'?|"(?:[^"\\]|\\.)*"?)+/gs;
  const part = /\\(.)|'([^']*)'?|"((?:[^"\\]|\\.)*)"?|([^\s'"\\]+)/gs;
  for (const [raw] of text.matchAll(word)) {
    let whole = '';
    for (const [, kept, single, double, plain] of raw.matchAll(part))
      whole += kept ?? single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? plain ?? '';
    words.push(whole);
  }
  return words;
}
