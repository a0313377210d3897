/**
 * Files of one volume whose paths stand in each other's way: the same path twice, or a file where another one needs a
 * folder. A tree of path segments, so that a list of any length costs as much as its paths are long.
 */
import { goQuoted } from '../../model/go-format.ts';

/** Overlaps that are kept for each folder: more than an answer can have warnings. */
const belowMax = 200;

export interface FilePath {
  readonly path: string;
  /** What the file comes from, as warnings name it; undefined when there is one source only. */
  readonly source: (() => string) | undefined;
}

interface Placed extends FilePath {
  readonly position: number;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  /** Files with exactly this path. */
  readonly here: Placed[];
  /** Files further down, in the order in which they came. */
  readonly below: Placed[];
}

const emptyFolder = (): Folder => ({ folders: new Map(), here: [], below: [] });

export class PathOverlaps {
  readonly #root = emptyFolder();
  #count = 0;

  /** Adds a file; answers what it collides with, as warnings say it. */
  add(file: FilePath): string[] {
    const path = file.path.endsWith('/') ? file.path.replace(/\/+$/, '') : file.path;
    if (path === '') return [];
    const placed: Placed = { path, source: file.source, position: this.#count++ };
    const found: Placed[] = [];
    let folder = this.#root;
    for (const segment of path.split('/')) {
      if (folder !== this.#root) {
        found.push(...folder.here);
        if (folder.below.length < belowMax) folder.below.push(placed);
      }
      let next = folder.folders.get(segment);
      if (!next) folder.folders.set(segment, (next = emptyFolder()));
      folder = next;
    }
    found.push(...folder.here, ...folder.below);
    if (folder.here.length < belowMax) folder.here.push(placed);
    if (found.length === 0) return [];
    return found
      .sort((a, b) => a.position - b.position)
      .map((other) => `${fileText(placed)} with ${fileText(other)}`);
  }
}

const fileText = ({ path, source }: FilePath): string =>
  source ? `${goQuoted(path)} (${source()})` : goQuoted(path);
