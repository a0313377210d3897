/** Files of a dump, from whatever they come: a folder, an archive or a file. They are read into memory, never unpacked. */

/** Largest file that is read, in bytes. Node's texts have at most 512 MB. */
export const fileBytesMax: number = 400 * 1024 * 1024;
export const tooLarge: string = `it has more than ${fileBytesMax / 2 ** 20} MiB, the most that a file may have: dump kinds or namespaces into files of their own`;
/** Bytes of all files together. */
const bytesMax = 8 * 1024 * 1024 * 1024;
/** Files of a dump. */
const filesMax = 500_000;
/** Length of a path inside a dump, in characters. */
const pathCharsMax = 4_096;
/** An archive may unpack to this many times its size, from `ratioFromBytes` on. Deflate reaches a thousand. */
const ratioMax = 300;
const ratioFromBytes = 256 * 1024 * 1024;
/** Problems that are kept with their sentence; the others are counted. */
const problemsMax = 10_000;

export interface DumpFile {
  /** Where it is, with `/` between its parts: `dump.tar.gz/namespaces/a/pods.yaml`. */
  readonly path: string;
  readonly bytes: Buffer;
}

/** A file, or a part of one, that is not shown, and why. */
export interface DumpProblem {
  readonly file: string;
  readonly why: string;
}

/** The dump cannot be read any further. */
export class DumpBoundError extends Error {}

/** Counts what is read of a dump, says when it is too much, and keeps what could not be read. */
export class DumpReading {
  files = 0;
  bytes = 0;
  /** Bytes on disk that were read so far, for a progress line. */
  bytesRead = 0;
  problemCount = 0;
  readonly problems: DumpProblem[] = [];

  problem(file: string, why: string): void {
    this.problemCount++;
    if (this.problems.length < problemsMax) this.problems.push({ file, why });
  }

  /** Whether a file is to be read; notes why not. Throws when the whole dump is too large. */
  admits(path: string, size: number): boolean {
    if (++this.files > filesMax) throw new DumpBoundError(`it has more than ${filesMax} files`);
    const why =
      path.length > pathCharsMax
        ? `its path has more than ${pathCharsMax} characters`
        : size > fileBytesMax
          ? tooLarge
          : undefined;
    if (why) this.problem(path.slice(0, pathCharsMax), why);
    return why === undefined;
  }

  /** Counts bytes that were unpacked. @param packed the bytes of the archive that were read for all of it so far */
  unpacked(bytes: number, archive: { total: number }, packed: number): void {
    this.bytes += bytes;
    archive.total += bytes;
    if (this.bytes > bytesMax) throw new DumpBoundError(`it has more than ${bytesMax} bytes`);
    if (archive.total > ratioFromBytes && archive.total > ratioMax * packed)
      throw new DumpBoundError(`it unpacks to more than ${ratioMax} times its size`);
  }
}

/** What is wrong with the name of a file in an archive; undefined: nothing. */
export function nameProblem(name: string): string | undefined {
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'its path is absolute';
  if (name.split('/').includes('..')) return 'its path leads out of the archive';
  return name.includes('\0') ? 'its path has a null character' : undefined;
}
