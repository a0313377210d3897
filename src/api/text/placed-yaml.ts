/** YAML of people's files, read with the line and column of every part, so that errors can name them. */
import { readYamlNoting, YamlError, type YamlPlace } from './yaml.ts';

/** Parts of a path whose places are kept; deeper ones have that of the part around them. */
const depthMax = 12;

export type Path = readonly (string | number)[];

export interface Place {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** A text that is no YAML, or says something twice. */
export class PlacedError extends Error {
  constructor(
    message: string,
    readonly place: Place,
  ) {
    super(message);
    this.name = 'PlacedError';
  }
}

interface Kept {
  key?: number;
  value?: number;
  source?: string | undefined;
}

export class PlacedYaml {
  readonly value: unknown;
  readonly #kept = new Map<string, Kept>();

  /** Throws `PlacedError`. An empty text is null. The caller bounds its size. */
  constructor(private readonly text: string) {
    if (!/^\s*[^\s#]/m.test(text)) {
      this.value = null;
      return;
    }
    try {
      const { value, repeated } = readYamlNoting(text, (path, found) => this.#keep(path, found));
      const [, line = '1', sentence = '', key = '""'] =
        /^line (\d+): (key (".*") .*)$/s.exec(repeated[0] ?? '') ?? [];
      if (repeated.length) throw new PlacedError(sentence, this.#again(Number(line), JSON.parse(key)));
      this.value = value;
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      const { offset, message } = error.fault ?? { offset: 0, message: error.message };
      throw new PlacedError(message, this.#at(offset));
    }
  }

  #keep(path: Path, { offset, isKey, source, isAliased }: YamlPlace): void {
    if (path.length > depthMax) return;
    const name = nameOf(path);
    const kept = this.#kept.get(name) ?? {};
    this.#kept.set(name, kept);
    // What an alias brings is shown where the alias stands, and never in the place of what is written there.
    if (isKey) kept.key = isAliased ? (kept.key ?? offset) : offset;
    else if (!isAliased) Object.assign(kept, { value: offset, source });
    else {
      kept.value ??= offset;
      kept.source ??= source;
    }
  }

  /** Where a value begins, or its key; for a part that there is not, what is around it. */
  place(path: Path, of: 'key' | 'value' = 'value'): Place {
    for (let length = Math.min(path.length, depthMax); length >= 0; length--) {
      const kept = this.#kept.get(nameOf(path.slice(0, length)));
      const offset = of === 'key' && length === path.length ? (kept?.key ?? kept?.value) : kept?.value;
      if (offset !== undefined) return this.#at(offset);
    }
    return { line: 1, column: 1 };
  }

  /** A scalar as it is written: `off` is `off`, and not false. */
  source(path: Path): string | undefined {
    return this.#kept.get(nameOf(path))?.source;
  }

  /** Where a line has a key for the last time. */
  #again(line: number, key: string): Place {
    const text = this.text.split('\n')[line - 1] ?? '';
    for (let at = text.lastIndexOf(key); at > 0; at = text.lastIndexOf(key, at - 1))
      if (/^["']?\s*:/.test(text.slice(at + key.length)))
        return { line, column: /["']/.test(text[at - 1]!) ? at : at + 1 };
    return { line, column: 1 };
  }

  #at(offset: number): Place {
    const before = this.text.slice(0, offset);
    const start = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: offset - start + 1 };
  }
}

const nameOf = (path: Path): string => JSON.stringify(path);
