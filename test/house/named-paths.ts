/**
 * The files and folders that a document names, and which of them do not exist.
 *
 * A name is a word in backticks that ends like a file of ours (`pod-worker.ts`) or like a folder (`node/pods/`), or a word
 * of a code block that begins with a folder of the root. It may leave out its beginning: `pods/pod-worker.ts` is any path
 * that ends so. A part in angle brackets, or a star, stands for any text: `kinds/<group>/group.ts`.
 */

/** Endings of files that are checked. Others, such as `.yaml` and `.crt`, are files of users. */
const endings = /\.(tsx?|mjs|cjs|json|md|css|s|py)$/;
const beginsInRoot = /^(bench|docs|examples|scripts|src|test|web)\/./;
/** Made by the build or by an installation. */
const made = /^(dist|node_modules)\//;

/** The names in a document, each once, in their order. */
export function namedPaths(text: string): string[] {
  const names = new Set<string>();
  for (const [, block, quoted] of text.matchAll(/^ *```[^\n]*\n([\s\S]*?)^ *```$|`([^`\n]+)`/gm))
    for (const word of (block ?? quoted ?? '').split(/[\s"'(),;:[\]{}|]+/)) {
      const isName = block === undefined ? isPathLike(word) : beginsInRoot.test(word);
      if (isName && !made.test(word)) names.add(word);
    }
  return [...names];
}

/** Words that begin with a slash are URLs, and those with `…` are cut. */
const isPathLike = (word: string): boolean =>
  /^[\w<*][\w<>*./-]*$/.test(word) && (endings.test(word) || word.endsWith('/'));

/**
 * The names in a document that no path has.
 *
 * @param paths of all files and folders, relative to the root
 * @param folder where a name without a slash has to be; default: anywhere. Layers and folders of the root may be named anywhere.
 */
export function missingPaths(text: string, paths: readonly string[], folder = ''): string[] {
  const all = paths.map((path) => `/${path}`);
  const near = all.filter((path) => path.startsWith(`/${folder}`) || /^(\/src)?\/[\w-]+$/.test(path));
  return namedPaths(text).filter((name) => {
    const place = name.replace(/\/$/, '');
    const ending = new RegExp(`/${patternOf(place)}$`);
    return !(place.includes('/') ? all : near).some((path) => ending.test(path));
  });
}

const patternOf = (name: string): string => name.replace(/[.]/g, '\\.').replace(/<[^>]*>|\*/g, '[^/]+');
