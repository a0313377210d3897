/**
 * Encrypts the values of some resources on their way to the store, and decrypts them on the way back. Everything else
 * is passed on: keys stay readable, and so do values of other resources. A backup contains values as they are stored.
 */
import { groupResource, type ResourceId } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import {
  type Change,
  type Locks,
  type Peers,
  type RangePage,
  type RangeQuery,
  SEPARATOR,
  type Store,
  type Stored,
  type StoreStats,
  type Subscription,
  type Write,
  type WriteResult,
} from '../../store/store.ts';
import { parseStoreKey } from '../view/key.ts';
import { isSealed, keyTold, UnreadableValueError, withoutConfiguration } from '../view/unreadable.ts';
import type { SealingRule } from './encryption-configuration.ts';

type Keys = SealingRule['keys'];

/** Maximum bytes that encryption adds: prefix, nonce, padding and tag. */
const overheadBytesMax = 512;

export class EncryptedStore implements Store {
  /** Keys by resource; undefined for a resource whose values are not encrypted. */
  readonly #keys = new Map<ResourceId, Keys | undefined>();
  /** Keys in the store whose values were written with an older cipher key, or unencrypted. */
  readonly #stale = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly rules: readonly SealingRule[],
    private readonly kinds: Pick<KindTable, 'versions'>,
  ) {}

  /** Whether a value should be written again although it does not change, because its cipher key is an old one. */
  isStale(key: string): boolean {
    return this.#stale.has(key);
  }

  get valueBytesMax(): number {
    return this.store.valueBytesMax - overheadBytesMax;
  }

  get locks(): Locks | undefined {
    return this.store.locks;
  }

  get peers(): Peers | undefined {
    return this.store.peers;
  }

  get compacted(): number {
    return this.store.compacted;
  }

  revision(): number | Promise<number> {
    return this.store.revision();
  }

  get prefetchRevision(): Store['prefetchRevision'] {
    return this.store.prefetchRevision?.bind(this.store);
  }

  async get(key: string): Promise<Stored | undefined> {
    const stored = await this.store.get(key);
    return stored && this.#opened(stored);
  }

  async range(query: RangeQuery): Promise<RangePage> {
    const page = await this.store.range(query);
    return { ...page, items: page.items.map((item) => this.#opened(item)) };
  }

  async write(write: Write): Promise<WriteResult> {
    const result = await this.store.write({
      ...write,
      value: write.value && this.#seal(write.key, write.value),
    });
    if (result.ok) {
      this.#stale.delete(write.key);
      return result;
    }
    return { ok: false, current: result.current && this.#opened(result.current) };
  }

  watch(
    after: number,
    listener: (changes: readonly Change[]) => void,
    passed?: (revision: number) => void,
  ): Subscription {
    return this.store.watch(
      after,
      (changes) => listener(changes.map((change) => this.#openedChange(change))),
      passed,
    );
  }

  compact(revision: number): Promise<void> {
    return this.store.compact(revision);
  }

  stats(): StoreStats | Promise<StoreStats> {
    return this.store.stats();
  }

  backup(): AsyncIterable<Buffer> {
    return this.store.backup();
  }

  close(): Promise<void> {
    return this.store.close();
  }

  #opened(stored: Stored): Stored {
    const value = this.#open(stored.key, stored.value);
    return value === stored.value ? stored : { ...stored, value };
  }

  #openedChange(change: Change): Change {
    if (!change.value) return change;
    const value = this.#open(change.key, change.value);
    return value === change.value ? change : { ...change, value };
  }

  #seal(key: string, value: Buffer): Buffer {
    const writer = this.#keysOf(key)?.[0];
    return writer ? Buffer.concat([writer.prefix, writer.seal(value, pathOf(key))]) : value;
  }

  #open(key: string, value: Buffer): Buffer {
    const keys = this.#keysOf(key);
    const { id, namespace, name } = parseStoreKey(key);
    if (!keys) {
      if (isSealed(value)) throw withoutConfiguration(id, value);
      return value;
    }
    const sealed = isSealed(value);
    const at = keys.findIndex((cipher) => (cipher ? startsWith(value, cipher.prefix) : !sealed));
    const { resource } = groupResource(id);
    if (at < 0)
      throw new UnreadableValueError(
        sealed
          ? `the store holds ${resource} that are encrypted with ${keyTold(value)}, which the encryption configuration does not have for them`
          : `the store holds ${resource} that are not encrypted, and the encryption configuration has no identity provider for them`,
      );
    if (at === 0) this.#stale.delete(key);
    else this.#stale.add(key);
    const cipher = keys[at];
    if (!cipher) return value;
    try {
      return cipher.open(value.subarray(cipher.prefix.length), pathOf(key));
    } catch (error) {
      const where = namespace ? ` in the namespace ${JSON.stringify(namespace)}` : '';
      throw new UnreadableValueError(
        `${resource} ${JSON.stringify(name)}${where} cannot be decrypted with ${keyTold(value)}: it is another key, or the value was changed`,
        { cause: error },
      );
    }
  }

  #keysOf(key: string): Keys | undefined {
    const id = key.slice(0, key.indexOf(SEPARATOR)) as ResourceId;
    if (this.#keys.has(id)) return this.#keys.get(id);
    const keys = this.rules.find(({ resources }) =>
      resources.some((pattern) => this.#isMeant(pattern, id)),
    )?.keys;
    this.#keys.set(id, keys);
    return keys;
  }

  /** Whether a pattern of the configuration means a resource, under any group that serves it. */
  #isMeant(pattern: string, id: ResourceId): boolean {
    const names = [groupResource(id), ...this.kinds.versions(id)];
    return names.some(({ group, resource }) => {
      const dot = pattern.indexOf('.');
      const wantedResource = dot < 0 ? pattern : pattern.slice(0, dot);
      const wantedGroup = dot < 0 ? '' : pattern.slice(dot + 1);
      return (
        (wantedResource === '*' || wantedResource === resource) &&
        (wantedGroup === '*' || wantedGroup === group)
      );
    });
  }
}

const startsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;

/**
 * The path that is bound to the ciphertext, such as `/registry/core/secrets/team/x`: a value copied to another key
 * cannot be decrypted there.
 */
const pathOf = (key: string): Buffer => Buffer.from(`/registry/${key.replaceAll(SEPARATOR, '/')}`);
