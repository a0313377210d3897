/**
 * Circles of files that import each other, by types alone or when they are loaded late. dependency-cruiser refuses those
 * that exist when the program runs; these can only be understood, and changed, together.
 */
import { createRequire } from 'node:module';
import { posix } from 'node:path';
import type typescript from 'typescript';

/** Loaded as what it is: `import` would first search its nine megabytes for the names that it exports. */
const ts: typeof typescript = createRequire(import.meta.url)('typescript');

/** Maximum number of files in a circle. */
const circleFilesMax = 3;

interface SourceFile {
  /** Relative to the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The circles that are too large, each with its files in order. */
export function largeCircles(files: readonly SourceFile[]): string[][] {
  const known = new Set(files.map(({ path }) => path));
  const imports = new Map(
    files.map((file) => [file.path, importsOf(file).filter((path) => known.has(path))] as const),
  );
  return circles(imports).filter(({ length }) => length > circleFilesMax);
}

const importsOf = ({ path, text }: SourceFile): string[] =>
  ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => posix.join(posix.dirname(path), fileName));

/** The strongly connected components of more than one file, by Tarjan's algorithm. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const numbers = new Map<string, number>();
  const waiting: string[] = [];
  const isWaiting = new Set<string>();
  const found: string[][] = [];
  /** Returns the lowest number of a waiting file that can be reached. */
  const visit = (path: string): number => {
    const number = numbers.size;
    numbers.set(path, number);
    const place = waiting.push(path) - 1;
    isWaiting.add(path);
    let lowest = number;
    for (const next of imports.get(path) ?? [])
      if (!numbers.has(next)) lowest = Math.min(lowest, visit(next));
      else if (isWaiting.has(next)) lowest = Math.min(lowest, numbers.get(next)!);
    if (lowest === number) {
      const circle = waiting.splice(place);
      for (const one of circle) isWaiting.delete(one);
      if (circle.length > 1) found.push(circle.sort());
    }
    return lowest;
  };
  for (const path of imports.keys()) if (!numbers.has(path)) visit(path);
  return found;
}
