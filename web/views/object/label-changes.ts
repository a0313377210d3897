/** Changes of labels as kubectl takes them: `tier=web` sets one, `tier-` removes one. */

/** A patch of labels. Throws an error that names the word which cannot be read. */
export function labelChanges(text: string): Readonly<Record<string, string | null>> {
  const words = text.split(/\s+/).filter(Boolean);
  if (words.length === 0) throw new Error('Name a label to set or to remove.');
  return Object.fromEntries(
    words.map((word): [string, string | null] => {
      const at = word.indexOf('=');
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      if (at < 0 && word.length > 1 && word.endsWith('-')) return [word.slice(0, -1), null];
      throw new Error(`“${word}” is neither key=value nor key-.`);
    }),
  );
}
