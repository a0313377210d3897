/**
 * Sheets: memory in which the frames of answers are put together, so that a socket gets them in one write. TLS says only
 * some time later that it has taken a write, so a sheet is filled from its beginning to its end, by one session after
 * another, and begun anew when all writes from it are over. With `WHERRY_ASSERT=1` it is overwritten then.
 */
import { poison } from '../../switches.ts';

const sheetBytes = 64 * 1024;
/** Sheets with less room than this are not handed out again before their writes are over. */
const roomMin = 4 * 1024;
/** Sheets that are kept for later. */
const keptMax = 16;

export class Sheet {
  readonly bytes: Buffer;
  /** Where the next frame begins. */
  end = 0;
  #writes = 0;
  #isTaken = true;

  constructor(
    bytes: number,
    private readonly sheets: Sheets,
  ) {
    this.bytes = Buffer.allocUnsafeSlow(bytes);
  }

  get room(): number {
    return this.bytes.length - this.end;
  }

  get isKept(): boolean {
    return this.bytes.length === sheetBytes;
  }

  take(): void {
    this.#isTaken = true;
  }

  /** Call it for each write, with `written` as the callback. */
  begin(): void {
    this.#writes++;
  }

  readonly written = (): void => {
    this.#writes--;
    this.#rest();
  };

  leave(): void {
    this.#isTaken = false;
    if (this.room >= roomMin) this.sheets.keep(this);
    this.#rest();
  }

  #rest(): void {
    if (this.#writes > 0 || this.#isTaken) return;
    poison(this.bytes.subarray(0, this.end));
    this.end = 0;
    this.sheets.keep(this);
  }
}

export class Sheets {
  readonly #kept = new Set<Sheet>();

  /** A sheet with room for so many bytes at least. */
  take(bytes: number): Sheet {
    for (const sheet of this.#kept) {
      if (sheet.room < bytes) continue;
      this.#kept.delete(sheet);
      sheet.take();
      return sheet;
    }
    return new Sheet(Math.max(sheetBytes, bytes), this);
  }

  keep(sheet: Sheet): void {
    if (sheet.isKept && this.#kept.size < keptMax) this.#kept.add(sheet);
  }
}
