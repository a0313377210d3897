/**
 * The objects that a new cluster begins with, from a snapshot or backup of this or another cluster. What belongs to the
 * machines and addresses of that cluster is left out or moved: nodes register themselves, pods are scheduled again, and
 * services get the same place in this cluster's range of addresses.
 */
import { createReadStream, statSync } from 'node:fs';
import { addressText, parseCIDR, parseIP } from '../../api/values/addresses.ts';
import { kubernetesService } from '../../registry/allocation/service-allocation.ts';
import { ownRangeName, rangeId } from '../../registry/allocation/service-ranges.ts';
import { formerKeys } from '../../registry/former-keys.ts';
import { parseStoreKey, storeKey } from '../../registry/view/key.ts';
import { readBackup } from '../../store/backup-file.ts';
import { type Store, type Stored, StoreUnavailableError, type Write } from '../../store/store.ts';
import { StartError } from '../shared/start-error.ts';
import { wantedOf } from './snapshots.ts';

/** The file is read into memory as a whole. */
const fileBytesMax = 256 * 1024 * 1024;
/** Writes that are under way together. */
const writesMax = 1_000;

type Item = Pick<Stored, 'key' | 'value'>;

interface Beginning {
  readonly file: string;
  /** The cluster's own ranges of service addresses. */
  readonly range: string;
  readonly uid: () => string;
}

/**
 * Writes the objects of a file into a store that has none; one that has objects keeps them. Every cluster has the
 * namespace `default`: it is written last, so that a start that was interrupted begins again.
 */
export async function writeFirstObjects(store: Store, { file, range, uid }: Beginning): Promise<void> {
  const last = storeKey('core/namespaces', '', 'default');
  const { items: present } = await store.range({ start: '' });
  if (present.some(({ key }) => key === last)) return;
  const wanted = moved(wantedOf(await readItems(file), [], uid), file, range);
  const removals = present.map(({ key, revision }) => ({ key, value: null, expected: revision }));
  const first = wanted.filter(({ key }) => key !== last);
  await writeAll(store, removals, file);
  for (const items of [first, wanted.filter(({ key }) => key === last)])
    await writeAll(
      store,
      items.map((item) => ({ ...item, expected: 0 })),
      file,
    );
}

async function writeAll(store: Store, writes: readonly Write[], file: string): Promise<void> {
  for (let at = 0; at < writes.length; at += writesMax) {
    const results = await Promise.all(writes.slice(at, at + writesMax).map((write) => store.write(write)));
    if (results.some(({ ok }) => !ok))
      throw new StartError(`the cluster cannot begin with ${file}: another server writes to the same store`);
  }
}

async function readItems(file: string): Promise<Item[]> {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new StartError(`there is no snapshot ${file}`);
  if (found.size > fileBytesMax)
    throw new StartError(`${file} has more than ${fileBytesMax / 1024 / 1024} MB; wherry restore takes it`);
  const items: Item[] = [];
  try {
    await readBackup(
      file,
      createReadStream(file),
      (versions) => {
        // A backup has no deletions.
        for (const { key, value } of versions) items.push({ key, value: value! });
      },
      formerKeys,
    );
    for (const { value } of items) JSON.parse(value.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new StartError(`${file} is of a cluster with encryption at rest; wherry restore takes it`);
    if (error instanceof StoreUnavailableError) throw new StartError(error.message, { cause: error });
    throw error;
  }
  return items;
}

interface StoredService {
  spec?: { clusterIP?: string; clusterIPs?: string[] };
}

/** Drops what the cluster makes for itself, lets pods be scheduled again, and moves services to the cluster's range. */
function moved(items: readonly Item[], file: string, range: string): Item[] {
  const isOwn = ({ key }: Item, id: string, { namespace, name }: { namespace: string; name: string }) => {
    const parts = parseStoreKey(key);
    return parts.id === id && parts.namespace === namespace && parts.name === name;
  };
  const cidr = items.find((item) => isOwn(item, rangeId, { namespace: '', name: ownRangeName }));
  const former = cidr && (parsed(cidr) as { spec?: { cidrs?: string[] } }).spec?.cidrs?.join(',');
  const place = (address: string): string => movedAddress(address, former ?? range, range, file);
  return items.flatMap((item): Item[] => {
    const { id } = parseStoreKey(item.key);
    if (item === cidr || id === 'networking.k8s.io/ipaddresses') return [];
    for (const made of ['core/services', 'core/endpoints', 'discovery.k8s.io/endpointslices'])
      if (isOwn(item, made, kubernetesService)) return [];
    if (id === 'core/pods') return [unbound(item)];
    return id === 'core/services' && former !== range ? [withAddresses(item, place)] : [item];
  });
}

/** A pod that is to run has no node yet. */
function unbound(item: Item): Item {
  const pod = parsed(item) as { spec: { nodeName?: string }; status?: { phase?: string } };
  if (pod.status?.phase !== 'Pending' || pod.spec.nodeName === undefined) return item;
  const { nodeName: _node, ...spec } = pod.spec;
  return written(item.key, { ...pod, spec });
}

function withAddresses(item: Item, place: (address: string) => string): Item {
  const service = parsed(item) as StoredService;
  const { clusterIP, clusterIPs } = service.spec ?? {};
  if (clusterIP === undefined) return item;
  const spec = { ...service.spec, clusterIP: place(clusterIP) };
  return written(item.key, {
    ...service,
    spec: clusterIPs ? { ...spec, clusterIPs: clusterIPs.map(place) } : spec,
  });
}

/** The address at the same place of the other range; what is no address of the former range stays. */
function movedAddress(address: string, from: string, to: string, file: string): string {
  const ip = parseIP(address);
  const former = ip && rangeOf(from, ip.family);
  if (!ip || !former || ip.value < former.first || ip.value > former.last) return address;
  const range = rangeOf(to, ip.family);
  const value = range && range.first + (ip.value - former.first);
  if (value === undefined || value > range!.last)
    throw new StartError(
      `${file} has a service at ${address}, which has no place in ${to}; start with --service-cluster-ip-range ${from}`,
    );
  return addressText({ family: ip.family, value });
}

const rangeOf = (text: string, family: 4 | 6) =>
  text
    .split(',')
    .map((one) => parseCIDR(one))
    .find((range) => range?.family === family);

const parsed = ({ value }: Item): object => JSON.parse(value.toString('utf8')) as object;
const written = (key: string, object: object): Item => ({ key, value: Buffer.from(JSON.stringify(object)) });
