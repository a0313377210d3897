/**
 * Snapshots of a running cluster: all its objects under a name, and the way back to them. What runs on machines is not
 * an object, so nodes stay as they are now, with the labels and taints of the snapshot, and pods that do not run any more
 * begin anew.
 */
import { alreadyExists, badRequest, notFound, unavailable } from '../../api/errors/errors.ts';
import type { Registry } from '../../registry/registry.ts';
import { returnTo } from '../../registry/stored-state.ts';
import { parseStoreKey } from '../../registry/view/key.ts';
import { readBackup } from '../../store/backup-file.ts';
import type { Stored } from '../../store/store.ts';
import type { KeptSnapshot, SnapshotShelf } from './snapshot-shelf.ts';

const snapshotsMax = 100;
/** One snapshot; it is read into memory as a whole. */
const snapshotBytesMax = 256 * 1024 * 1024;
/** All snapshots of a cluster. */
const totalBytesMax = 1024 * 1024 * 1024;
const nameCharsMax = 60;

const resource = { group: 'wherry.dev', resource: 'snapshots', kind: 'Snapshot' };

type Item = Pick<Stored, 'key' | 'value'>;

export class Snapshots {
  #isBusy = false;

  constructor(
    private readonly registry: Registry,
    private readonly shelf: SnapshotShelf,
  ) {}

  list(): Promise<KeptSnapshot[]> {
    return this.shelf.list();
  }

  /** @param replaces whether one of this name may be replaced */
  save(name: string, replaces: boolean): Promise<KeptSnapshot> {
    return this.#alone(async () => {
      if (name.length > nameCharsMax || !/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/.test(name))
        throw badRequest(
          `the name of a snapshot is small letters, digits, -, _ and dots, at most ${nameCharsMax}, not ${JSON.stringify(name.slice(0, 2 * nameCharsMax))}`,
        );
      const kept = await this.shelf.list();
      const others = kept.filter((one) => one.name !== name);
      if (others.length < kept.length && !replaces) throw alreadyExists(resource, name);
      if (others.length >= snapshotsMax)
        throw badRequest(`there are ${snapshotsMax} snapshots already; delete one first`);
      const used = others.reduce((sum, { bytes }) => sum + bytes, 0);
      await this.shelf.put(name, bounded(this.registry.store.backup(), used));
      return this.#found(name);
    });
  }

  /** Returns to a snapshot, and says how many objects that has changed. */
  load(name: string): Promise<KeptSnapshot & { readonly changed: number }> {
    return this.#alone(async () => {
      const found = await this.#found(name);
      if (found.bytes > snapshotBytesMax) throw badRequest(tooLarge);
      const items: Item[] = [];
      await readBackup(name, this.shelf.get(name), (versions) => {
        // A backup has no deletions.
        for (const { key, value } of versions) items.push({ key, value: value! });
      });
      const { store, view, sources } = this.registry;
      const changed = await returnTo(store, view, (now) => wantedOf(items, now, () => sources.uid()));
      return { ...found, changed };
    });
  }

  delete(name: string): Promise<KeptSnapshot> {
    return this.#alone(async () => {
      const found = await this.#found(name);
      await this.shelf.remove(name);
      return found;
    });
  }

  async #found(name: string): Promise<KeptSnapshot> {
    const found = (await this.shelf.list()).find((one) => one.name === name);
    if (!found) throw notFound(resource, name);
    return found;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) throw unavailable('another snapshot is being saved, loaded or deleted');
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }
}

const tooLarge = `a snapshot has at most ${snapshotBytesMax / 1024 / 1024} MB; wherry backup has no such bound`;

async function* bounded(chunks: AsyncIterable<Buffer>, used: number): AsyncIterable<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > snapshotBytesMax) throw badRequest(tooLarge);
    if (used + bytes > totalBytesMax)
      throw badRequest(
        `the snapshots of a cluster have at most ${totalBytesMax / 1024 / 1024} MB together; delete one first`,
      );
    yield chunk;
  }
}

interface StoredObject {
  metadata: { uid?: string; deletionTimestamp?: string };
  status?: { phase?: string; qosClass?: string };
}

const parsed = ({ value }: Item): StoredObject => JSON.parse(value.toString('utf8')) as StoredObject;
const written = (key: string, object: object): Item => ({ key, value: Buffer.from(JSON.stringify(object)) });

/** What the store is to hold: the objects of the snapshot, and what is true of the machines now. */
export function wantedOf(items: readonly Item[], now: readonly Stored[], uid: () => string): Item[] {
  const current = new Map(now.map((item) => [item.key, item]));
  const wanted = items.flatMap((item): Item[] => {
    if (isOfMachines(item)) return [];
    const { id } = parseStoreKey(item.key);
    const there = current.get(item.key);
    if (id === 'core/nodes') return there ? [node(item, there)] : [];
    return [id === 'core/pods' ? pod(item, there, uid) : item];
  });
  const names = new Set(wanted.map(({ key }) => key));
  const staying = now.filter(
    (item) => isOfMachines(item) || (parseStoreKey(item.key).id === 'core/nodes' && !names.has(item.key)),
  );
  return [...wanted, ...staying];
}

/** Leases say what lives now: nodes and leaders. */
const isOfMachines = ({ key }: Item): boolean => {
  const { id } = parseStoreKey(key);
  return id === 'coordination.k8s.io/leases' || id === 'storage.k8s.io/csinodes';
};

/** The node as it was, with its state of now; another node of the same name stays as it is. */
function node(item: Item, there: Stored): Item {
  const [before, after] = [parsed(item), parsed(there)];
  if (before.metadata.uid !== after.metadata.uid) return there;
  return written(item.key, { ...before, status: after.status });
}

/** A pod that still runs keeps what it does; one that has to be run again is a new one. */
function pod(item: Item, there: Stored | undefined, uid: () => string): Item {
  const before = parsed(item);
  const after = there && parsed(there);
  if (after && after.metadata.uid === before.metadata.uid && !after.metadata.deletionTimestamp)
    return item.value.equals(there.value) ? item : written(item.key, { ...before, status: after.status });
  const { phase, qosClass } = before.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') return item;
  const { deletionTimestamp: _deleted, ...metadata } = before.metadata;
  return written(item.key, {
    ...before,
    metadata: { ...metadata, uid: uid() },
    status: { phase: 'Pending', ...(qosClass === undefined ? {} : { qosClass }) },
  });
}
