/** Proves that a backup is read back exactly, in chunks of any size, and that any other file is refused. */
import { describe, expect, it } from 'vitest';
import { readBackup, writeBackup } from './backup-file.ts';
import type { Version } from './engine.ts';
import { type Stored, StoreUnavailableError } from './store.ts';

const stored: Stored[] = Array.from({ length: 40 }, (_, i) => ({
  key: `configmaps\0default\0name-${String(i).padStart(2, '0')}`,
  value: Buffer.alloc(i * 37, `value ${i} `),
  revision: ((i * 7) % 40) + 1,
}));

async function* pagesOf(items: readonly Stored[]): AsyncGenerator<readonly Stored[]> {
  for (let i = 0; i < items.length; i += 7) yield items.slice(i, i + 7);
}

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

async function written(items: readonly Stored[] = stored, revision = 40): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of writeBackup(revision, pagesOf(items))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function readAll(bytes: Buffer, size = 1000) {
  const versions: Version[] = [];
  const summary = await readBackup('b', piecesOf(bytes, size), (batch) => void versions.push(...batch));
  return { ...summary, items: versions.map(({ key, value, revision }) => ({ key, value, revision })) };
}

const refusal = async (bytes: Buffer): Promise<string> => {
  const error = await readAll(bytes).then(
    () => new Error('it was taken'),
    (reason: Error) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return error.message;
};

describe('a backup file', () => {
  it('is taken back as it was, whatever the pieces', async () => {
    const bytes = await written();
    for (const size of [5, 100, 1_000_000])
      expect(await readAll(bytes, size)).toEqual({ revision: 40, objects: 40, items: stored });
    expect(await readAll(await written([], 3))).toEqual({ revision: 3, objects: 0, items: [] });
  });

  it('is refused when any of its bits has changed', async () => {
    const bytes = await written(stored.slice(0, 4));
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      expect(await refusal(changed), `byte ${at}`).toMatch(
        /^the backup b (is damaged|has format)|^b is not a backup/,
      );
    }
  });

  it('is refused wherever it is cut off, and when something follows', async () => {
    const bytes = await written(stored.slice(0, 4));
    for (let length = 0; length < 16; length++)
      expect(await refusal(bytes.subarray(0, length))).toBe('b is not a backup of Wherry');
    for (let length = 16; length < bytes.length; length++)
      expect(await refusal(bytes.subarray(0, length))).toBe('the backup b is damaged: it ends too early');
    const longer = Buffer.concat([bytes, Buffer.from('x')]);
    expect(await refusal(longer)).toBe('the backup b is damaged: something follows its end');
  });

  it('is refused when it is of another format, or something else altogether', async () => {
    const other = Buffer.from(await written());
    other.write('3', 14);
    expect(await refusal(other)).toBe('the backup b has format 3, and this version of Wherry reads format 2');
    // Keys of a former format have another meaning.
    other.write('1', 14);
    expect(await refusal(other)).toBe('the backup b has format 1, and this version of Wherry reads format 2');
    expect(await refusal(Buffer.from('{"kind":"List"}'.repeat(100)))).toBe('b is not a backup of Wherry');
  });

  it('is refused when its parts are whole and do not fit together', async () => {
    const [first, second] = stored as [Stored, Stored];
    expect(await refusal(await written([second, first]))).toMatch(/object 2 is not in order/);
    expect(await refusal(await written([first, first]))).toMatch(/object 2 is not in order/);
    expect(await refusal(await written([{ ...first, revision: 41 }]))).toMatch(/object 1 does not match/);
  });
});
