/**
 * Compares a resource of the source with what is recorded of it, and writes the differences alone: what is listed and not
 * recorded, or not so, and what is recorded and not listed any more.
 */
import { StatusError } from '../../api/errors/errors.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { readPage } from '../source/cluster-copy.ts';
import type { SourceClient } from '../source/source-client.ts';
import { type SourceKind, sourcePath } from '../source/source-kinds.ts';
import type { CopiedObject } from '../source/source-objects.ts';
import type { Recording, SourceChange } from './recording.ts';

/** Objects per request, and changes per commit. */
const pageSize = 500;
/** How often a list is begun anew because its pages have expired. */
const expiriesMax = 5;

interface ListingParts {
  readonly client: SourceClient;
  readonly recording: Recording;
  /** The form in which an object is stored, with what has to be stored with it; empty: it cannot be. */
  stored(item: unknown): readonly (CopiedObject & { readonly version: string })[];
  /** The resource under which the objects are stored; undefined while no object is stored. */
  id(): string | undefined;
  readonly accept: string;
}

/** Writes the differences. Resolves with the version of the list, and the number of differences. */
export async function writeDifferences(
  kind: SourceKind,
  parts: ListingParts,
): Promise<{ readonly version: string; readonly changes: number }> {
  for (let expiries = 0; ; )
    try {
      return await listOnce(kind, parts);
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 410 && ++expiries <= expiriesMax)) throw error;
    }
}

async function listOnce(kind: SourceKind, parts: ListingParts) {
  const { client, recording, stored, accept } = parts;
  const listed = new Set<string>();
  let changes = 0;
  let version = '';
  for (let next: string | undefined = ''; next !== undefined; ) {
    const query = new URLSearchParams({ limit: String(pageSize), ...(next ? { continue: next } : {}) });
    const page = readPage(await client.get(`${sourcePath(kind)}?${query}`, accept));
    const different: SourceChange[] = [];
    for (const item of page.items)
      for (const object of stored(item)) {
        listed.add(object.key);
        const how = await recording.compared(object.key, object.value);
        if (how === 'same') continue;
        if (how === 'replaced') different.push({ ...object, value: null });
        different.push(object);
      }
    await recording.found(different);
    changes += different.length;
    version ||= page.version;
    next = page.more;
  }
  const id = parts.id();
  if (id !== undefined) changes += await removeOthers(recording, id, listed);
  return { version, changes };
}

/** Deletes what is recorded of a resource and not listed. */
export async function removeOthers(
  recording: Recording,
  id: string,
  listed: ReadonlySet<string>,
): Promise<number> {
  const gone: SourceChange[] = [];
  for await (const { key, value } of recording.objects(id))
    if (!listed.has(key) && !isMade(value)) gone.push({ key, value: null, version: '' });
  for (let from = 0; from < gone.length; from += pageSize)
    await recording.found(gone.slice(from, from + pageSize));
  return gone.length;
}

/** Definitions that were made from discovery are of no list. */
const isMade = (value: Buffer): boolean => value.includes('"wherry.dev/made-from-discovery"');

/** The version of an object of the source. */
export function versionOf({ metadata }: JsonObject): string {
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  return typeof version === 'string' ? version : '';
}
