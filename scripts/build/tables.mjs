/**
 * Keeps the tables of the bundle (fields, descriptions, roles, minors) compressed in a file of their own, `tables.bin`:
 * as text in the bundle they would take a third more. Its first line is an index in JSON, from the key of each table
 * to the place of its bytes behind that line.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const fileName = 'tables.bin';
const keyLength = 8;

/** A hundred times faster than the best, and a tenth larger. */
const fastQuality = 5;

/** Key to text, of the tables that the build has met. */
const met = new Map();

/** Code with a function `read` that returns a text, which `tables.bin` holds compressed. */
export function compressed(text) {
  const key = createHash('sha256').update(text).digest('base64url').slice(0, keyLength);
  met.set(key, text);
  return `import { readTable } from 'tables'; const read = () => readTable('${key}');`;
}

/**
 * The reader, as a plugin for esbuild. It reads the file when the bundle is loaded: a table that is first used after the
 * package was replaced by another version is still there.
 */
export const tables = {
  name: 'tables',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^tables$/ }, ({ path }) => ({ path, namespace: 'tables' }));
    onLoad({ filter: /^tables$/, namespace: 'tables' }, () => ({
      contents: `import { readFileSync } from 'node:fs';
        import path from 'node:path';
        import { brotliDecompressSync } from 'node:zlib';
        const bytes = readFileSync(path.join(__dirname, '${fileName}'));
        const indexEnd = bytes.indexOf(10);
        let index;
        export function readTable(key) {
          index ??= JSON.parse(bytes.latin1Slice(0, indexEnd));
          const place = index[key];
          if (!place) throw new Error('${fileName} belongs to another version of Wherry: install the package again');
          const begin = indexEnd + 1 + place[0];
          return brotliDecompressSync(bytes.subarray(begin, begin + place[1])).toString('utf8');
        }`,
    }));
  },
};

/**
 * Writes the tables that the build has met, in the order of their keys, so that equal sources make equal files.
 * @param small compress as well as possible, which takes seconds
 */
export function writeTables(folder, { small }) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: small ? constants.BROTLI_MAX_QUALITY : fastQuality,
  };
  const index = {};
  const parts = [];
  let end = 0;
  for (const [key, text] of [...met].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const bytes = brotliCompressSync(text, { params });
    index[key] = [end, bytes.length];
    parts.push(bytes);
    end += bytes.length;
  }
  writeFileSync(
    path.join(folder, fileName),
    Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...parts]),
  );
}
