/** A file that is read again when it changes. Looked at every few seconds: mounted secrets do not tell of changes. */
import { readFile, stat } from 'node:fs/promises';

const intervalMs = 2_000;
/** A file of certificates or of configuration is small. */
const fileBytesMax = 8 * 1024 * 1024;

/** Rejects with a sentence that names the file. */
export async function readTextFile(file: string, what: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > fileBytesMax) throw new Error(`has more than ${fileBytesMax} bytes`);
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`the ${what} ${file} cannot be read (${code ?? message})`, { cause: error });
  }
}

export interface Following {
  readonly file: string;
  /** For messages: `client authorities file`. */
  readonly what: string;
  /** Called with the text when it has changed. What it throws is reported, and what was read before stays in use. */
  readonly changed: (text: string) => void;
  readonly onError: (error: Error) => void;
}

export class FollowedFile {
  #timer: NodeJS.Timeout | undefined;
  #text: string;
  #stamp = '';
  #failing = false;

  /** @param text what was read of it already */
  constructor(
    private readonly following: Following,
    text: string,
  ) {
    this.#text = text;
    this.#timer = setInterval(() => void this.look(), intervalMs);
    this.#timer.unref();
  }

  /** Looks whether the file has changed. Never rejects. */
  async look(): Promise<void> {
    const { file, what, changed, onError } = this.following;
    try {
      const { mtimeMs, size, ino } = await stat(file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (stamp === this.#stamp) return;
      const text = await readTextFile(file, what);
      this.#stamp = stamp;
      this.#failing = false;
      if (text === this.#text || this.#timer === undefined) return;
      this.#text = text;
      changed(text);
    } catch (error) {
      // A file that is gone is told of once.
      if (!this.#failing)
        onError(new Error(`the ${what} ${file} was not taken over: ${(error as Error).message}`));
      this.#failing = true;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
