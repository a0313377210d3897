/**
 * Images: names for commands of this machine. Nothing is pulled. A table (`--images FILE`) maps names to commands;
 * without an entry, the last part of the name is looked up in the PATH.
 *
 *   nginx: nginx -g "daemon off;"
 *   registry.example.com/team/api:2: [node, /srv/api/main.js]
 *   worker: { command: [node, worker.js], args: [--verbose], env: { MODE: dev }, workingDir: /srv/worker }
 *   busybox: { args: [sh] }
 *   registry.example.com/team/models:1: { files: /srv/models.tar }
 *   registry.example.com/team/tool: { user: 1000, paths: { /app/tool: ./bin/tool } }
 *
 * `busybox` has no entry point, like many images: the container's arguments are then its whole command. The last one is
 * for volumes of the type `image`: a folder or a tar archive with the files, or with an OCI image. `paths` says where
 * programs and other files are that manifests name by their paths in the image; `user` as whom it runs where pods do not
 * say so. Relative paths begin at the table's folder.
 */
import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { Container } from '../../api/generated/types.ts';
import { isJsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';
import { type ImageCommand, ImageError } from './runtime.ts';

const fileBytesMax = 1024 * 1024;
/** The image for containers that bring their own command and run on this machine as it is. */
const hostImage = 'host';

/** A table with an error; the message says where and why. */
export class ImageTableError extends Error {
  override readonly name = 'ImageTableError';
}

export class ImageTable {
  #entries: ReadonlyMap<string, ImageCommand> = new Map();
  #read = '';

  private constructor(
    private readonly file: string | undefined,
    private readonly path: () => string,
  ) {}

  /**
   * Reads the table; throws `ImageTableError`.
   * @param table its file, or its entries
   * @param path the PATH to search for programs
   */
  static async open(
    table?: string | Readonly<Record<string, unknown>>,
    path = () => process.env['PATH'] ?? '',
  ): Promise<ImageTable> {
    const isFile = typeof table === 'string';
    const opened = new ImageTable(isFile ? table : undefined, path);
    if (isFile) await opened.#refresh();
    else if (table) opened.#take(table);
    return opened;
  }

  #take(entries: Readonly<Record<string, unknown>>): void {
    try {
      this.#entries = tableOf(entries);
    } catch (error) {
      throw new ImageTableError(`images: ${(error as Error).message}`);
    }
  }

  /** Throws `ImageError`. A changed file is read again, so that a waiting pod gets its command. */
  async resolve(image: string): Promise<ImageCommand> {
    await this.#refresh().catch((error: Error) => {
      throw new ImageError(error.message);
    });
    const found = this.#entry(image);
    if (found) return found.paths ? { ...found, paths: this.#placed(found.paths) } : found;
    const program = await this.#program(image);
    if (program) return { entrypoint: [program], args: [] };
    throw new ImageError(this.#advice(image));
  }

  /** The command of a container's image. A container with its own command can run without the image. */
  async resolveFor({ image = '', command }: Container): Promise<ImageCommand> {
    try {
      return await this.resolve(image);
    } catch (error) {
      if (error instanceof ImageError && command?.length) return { entrypoint: [], args: [] };
      throw error;
    }
  }

  /** Whether the table has an entry for an image, or the image is the machine itself. */
  async maps(image: string): Promise<boolean> {
    if (image === hostImage) return true;
    // A table with an error maps nothing; the error is shown when an image is resolved.
    await this.#refresh().catch(() => undefined);
    return this.#entry(image) !== undefined;
  }

  /** The path of an image's files. Throws `ImageError`. */
  async files(image: string): Promise<string> {
    await this.#refresh().catch((error: Error) => {
      throw new ImageError(error.message);
    });
    const files = this.#entry(image)?.files;
    if (files !== undefined) return resolve(dirname(this.file ?? ''), files);
    const table = this.file ?? 'a table (--images FILE)';
    throw new ImageError(
      `image ${JSON.stringify(image)} cannot be pulled: add an entry with "files", a folder or a tar archive of this machine, to ${table}`,
    );
  }

  /** The entry with the longest matching name: with tag or digest first, then without. */
  #entry(image: string): ImageCommand | undefined {
    const name = plainName(image);
    let best: [string, ImageCommand] | undefined;
    for (const [key, command] of this.#entries) {
      const fits = name === key || name.startsWith(`${key}:`) || name.startsWith(`${key}@`);
      if (fits && key.length > (best?.[0].length ?? -1)) best = [key, command];
    }
    return best?.[1];
  }

  #placed(paths: Readonly<Record<string, string>>): Record<string, string> {
    const base = dirname(this.file ?? '');
    return Object.fromEntries(Object.entries(paths).map(([path, source]) => [path, resolve(base, source)]));
  }

  async #program(image: string): Promise<string | undefined> {
    const name = baseName(image);
    if (!/^[\w.+-]+$/.test(name) || /^\.+$/.test(name) || name === hostImage) return undefined;
    for (const folder of this.path().split(delimiter).filter(Boolean)) {
      const path = join(folder, name);
      if (await isProgram(path)) return path;
    }
    return undefined;
  }

  #advice(image: string): string {
    const where = this.file
      ? `an entry for it to ${this.file}`
      : 'start with --images FILE and give it an entry there';
    const table = this.file ? `add ${where}` : where;
    if (image === hostImage)
      return `image "${hostImage}" is this machine and has no command of its own: set the container's command`;
    return (
      `image "${image}" cannot be pulled: containers are processes of this machine. ` +
      `Set the container's command, or ${table}, or install a program named "${baseName(image)}". ` +
      'To run it as a container instead, start Docker, Podman or containerd on this machine (--docker-socket and --cri-socket name the socket)'
    );
  }

  async #refresh(): Promise<void> {
    if (!this.file) return;
    let text: string;
    try {
      const { mtimeMs, size, ino } = await stat(this.file);
      const version = `${mtimeMs}/${size}/${ino}`;
      if (version === this.#read) return;
      if (size > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
      text = await readFile(this.file, 'utf8');
      this.#entries = readTable(text);
      this.#read = version;
    } catch (error) {
      this.#read = '';
      throw new ImageTableError(`image table ${this.file}: ${(error as Error).message}`);
    }
  }
}

/** Removes the implied prefix of Docker Hub and its official images. */
const plainName = (image: string): string =>
  image.replace(/^(?:docker\.io|index\.docker\.io)\//, '').replace(/^library\//, '');

/** The last part, without tag and digest. */
const baseName = (image: string): string => (image.split('@')[0]!.split('/').at(-1) ?? '').split(':')[0]!;

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

function readTable(text: string): Map<string, ImageCommand> {
  const { value } = readYaml(text);
  if (value === null || value === undefined) return new Map();
  if (!isJsonObject(value)) throw new Error('it must be a map from image names to commands');
  return tableOf(value);
}

const tableOf = (entries: Readonly<Record<string, unknown>>): Map<string, ImageCommand> =>
  new Map(Object.entries(entries).map(([name, entry]) => [plainName(name), readImageEntry(name, entry)]));

/** Throws an error that says what is wrong with the entry of an image. */
export function readImageEntry(name: string, entry: unknown): ImageCommand {
  if (typeof entry === 'string') return commandOf(name, splitCommand(name, entry));
  if (isTexts(entry)) return commandOf(name, entry);
  if (!isJsonObject(entry))
    throw new Error(
      `"${name}": give a command line, a list, or {command, args, env, workingDir, files, user, paths}`,
    );
  const { command = [], args = [], env = {}, workingDir, files, user, paths, ...rest } = entry;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new Error(`"${name}": unknown field "${unknown}"`);
  const entrypoint = typeof command === 'string' ? splitCommand(name, command) : command;
  if (!isTexts(entrypoint) || !isTexts(args))
    throw new Error(`"${name}": command and args are lists of texts`);
  if (!isJsonObject(env) || !isTexts(Object.values(env))) throw new Error(`"${name}": env is a map of texts`);
  if (workingDir !== undefined && typeof workingDir !== 'string')
    throw new Error(`"${name}": workingDir is a text`);
  if (files !== undefined && (typeof files !== 'string' || !files))
    throw new Error(`"${name}": files is the path of a folder or a tar archive`);
  if (user !== undefined && !/^[\w.-]+(:[\w.-]+)?$/.test(`${user as string}`))
    throw new Error(`"${name}": user is a number or a name, also with a group: 1000:1000`);
  if (paths !== undefined) checkPaths(name, paths);
  // No command means an image without an entry point; an empty one is an error.
  const own = isTexts(command) && !command.length ? { entrypoint: [] } : commandOf(name, entrypoint);
  return {
    ...own,
    args,
    env: env as Record<string, string>,
    workingDir,
    files,
    ...(user === undefined ? {} : { user: `${user as string}` }),
    ...(paths === undefined ? {} : { paths: paths as Record<string, string> }),
  };
}

function checkPaths(name: string, paths: unknown): void {
  const fits =
    isJsonObject(paths) &&
    Object.entries(paths).every(
      ([path, source]) => /^\/[^\0]*[^/\0]$/.test(path) && typeof source === 'string' && source !== '',
    );
  if (!fits)
    throw new Error(`"${name}": paths is a map from absolute paths in the image to paths of this machine`);
}

function commandOf(name: string, entrypoint: readonly string[]): ImageCommand {
  if (!entrypoint[0]) throw new Error(`"${name}": the command is empty`);
  return { entrypoint, args: [] };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Splits a line as a shell would: at blanks, respecting quotes and backslashes. No other shell syntax. */
function splitCommand(name: string, line: string): string[] {
  const words: string[] = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|([\s\S])/g;
  let word: string | undefined;
  for (const [whole, single, double, escaped, plain, odd] of line.matchAll(piece)) {
    if (odd !== undefined) throw new Error(`"${name}": a quote is not closed`);
    const text = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
    if (text !== undefined) word = (word ?? '') + text;
    else if (whole.trim() === '' && word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}
