/** Objects in files: YAML or JSON, one document or many, a file or a folder with all its folders. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';

/** Files of a folder, with those of its folders. */
const filesMax = 10_000;
const fileBytesMax = 64 * 1024 * 1024;
/** Characters of an object that a message shows. */
const shownChars = 200;
const endings = ['.yaml', '.yml', '.json'];

/** An object, and where it was found. */
export interface FoundObject {
  readonly object: JsonObject;
  /** The file, or undefined for a text. */
  readonly file: string | undefined;
}

/** The objects of a file, or of all files of a folder, in the order of their names. */
export async function objectsOfFiles(place: string): Promise<FoundObject[]> {
  const found: FoundObject[] = [];
  for (const file of await filesOf(place)) {
    const { size } = await stat(file);
    if (size > fileBytesMax) throw new RangeError(`the file ${file} has more than ${fileBytesMax} bytes`);
    found.push(...objectsOfText(await readFile(file, 'utf8'), file));
  }
  return found;
}

async function filesOf(place: string): Promise<string[]> {
  const found = await stat(place).catch(() => undefined);
  if (!found) throw new Error(`there is no file or folder ${place}`);
  if (found.isFile()) return [place];
  const names = (await readdir(place, { recursive: true })).filter((name) =>
    endings.includes(path.extname(name)),
  );
  if (names.length > filesMax) throw new RangeError(`the folder ${place} has more than ${filesMax} files`);
  return names.sort().map((name) => path.join(place, name));
}

/** The objects of all documents of a text. */
export function objectsOfText(text: string, file: string | undefined): FoundObject[] {
  const found: FoundObject[] = [];
  let line = 0;
  for (const document of text.split(/^---(?:[ \t].*)?\r?$/m)) {
    // Blank lines before it, so that errors name lines of the whole text.
    if (/^\s*[^\s#]/m.test(document))
      for (const object of expanded([parsedValue('\n'.repeat(line) + document, file)]))
        found.push({ object, file });
    line += document.split('\n').length - 1;
  }
  return found;
}

function parsedValue(text: string, file: string | undefined): unknown {
  try {
    return readYaml(text).value;
  } catch (error) {
    throw file === undefined ? error : new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** Lists count as the objects in them. */
export function expanded(values: readonly unknown[]): JsonObject[] {
  return values.flatMap((value) => {
    if (value === null) return [];
    if (!isJsonObject(value))
      throw new Error(`${JSON.stringify(value)?.slice(0, shownChars)} is no object of the API`);
    const { kind, items } = value;
    return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)
      ? expanded(items)
      : [value];
  });
}
