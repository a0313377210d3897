/**
 * Chooses ports and ranges for a cluster that is started without naming them: those it had before, else the first that
 * no other cluster of the user has, running or not, and that are free on this machine.
 */
import { type AddressRange, parseCIDR } from '../../api/values/addresses.ts';
import { checkPorts } from '../shared/ports.ts';
import { StartError } from '../shared/start-error.ts';
import type { ClusterRecord } from './cluster-record.ts';
import { runningProcess } from './cluster-state.ts';

const loopback = '127.0.0.1';
const portFirst = 8080;
const securePortFirst = 6443;
/** Maximum number of ports tried after the first. */
const portsTried = 500;
const rangesTried = 200;
/** The second number of the first pod range: 10.217.0.0/16, 10.218.0.0/16, … */
const podRangeFirst = 217;
const podRangesTried = 38;

/** Which values the command line leaves open; `any`: it asks for any free port, so that of the last start if it is free. */
export interface Open {
  readonly port: boolean | 'any';
  readonly securePort: boolean | 'any';
  readonly serviceRange: boolean;
  readonly podRange: boolean;
}

export type Allotment = Pick<ClusterRecord, 'port' | 'securePort' | 'serviceRange' | 'podRange'>;

export async function allot(
  open: Open,
  former: ClusterRecord | undefined,
  others: readonly ClusterRecord[],
): Promise<Allotment> {
  const ports = new Set(others.flatMap(({ port, securePort }) => [port, securePort]));
  const port = await portFor(open.port, former?.port, portFirst, ports);
  const securePort = await portFor(open.securePort, former?.securePort, securePortFirst, ports);
  const serviceRange = open.serviceRange ? (former?.serviceRange ?? serviceRangeBeside(others)) : undefined;
  const podRange = open.podRange ? (former?.podRange ?? podRangeBeside(others)) : undefined;
  return Object.fromEntries(
    Object.entries({ port, securePort, serviceRange, podRange }).filter(([, value]) => value !== undefined),
  );
}

async function portFor(
  open: boolean | 'any',
  former: number | undefined,
  first: number,
  taken: ReadonlySet<number | undefined>,
): Promise<number | undefined> {
  if (open === 'any') return former !== undefined && (await isFree(former)) ? former : undefined;
  return open ? (former ?? freePort(first, taken)) : undefined;
}

async function isFree(port: number): Promise<boolean> {
  try {
    await checkPorts([{ host: loopback, port }]);
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

async function freePort(first: number, taken: ReadonlySet<number | undefined>): Promise<number> {
  for (let port = first; port < first + portsTried; port++)
    if (!taken.has(port) && (await isFree(port))) return port;
  throw new StartError(`no port from ${first} to ${first + portsTried - 1} is free`);
}

/**
 * The first range that overlaps with none of another cluster; otherwise the first that overlaps with none of a
 * running one.
 * @param ranges in the order in which they are chosen
 */
function rangeBeside(ranges: readonly string[], others: readonly ClusterRecord[], flag: string): string {
  const known = rangesOf(others);
  const isBeside = (taken: readonly AddressRange[]) => (text: string) => {
    const range = parseCIDR(text)!;
    return !taken.some((one) => overlap(range, one));
  };
  const range =
    ranges.find(isBeside(known)) ??
    ranges.find(isBeside(rangesOf(others.filter((one) => runningProcess(one) !== undefined))));
  if (range === undefined) throw new StartError(`no range is left; name one by --${flag}`);
  return range;
}

/** All ranges of clusters, of services and of pods; there may be one of each family, with a comma between them. */
const rangesOf = (clusters: readonly ClusterRecord[]): AddressRange[] =>
  clusters
    .flatMap(({ serviceRange = '', podRange = '' }) => [...serviceRange.split(','), podRange])
    .flatMap((text) => parseCIDR(text.trim()) ?? []);

const overlap = (one: AddressRange, other: AddressRange): boolean =>
  one.family === other.family && one.first <= other.last && other.first <= one.last;

const serviceRangeBeside = (others: readonly ClusterRecord[]): string =>
  rangeBeside(
    Array.from({ length: rangesTried }, (_, i) => `10.0.${i}.0/24`),
    others,
    'service-cluster-ip-range',
  );

const podRangeBeside = (others: readonly ClusterRecord[]): string =>
  rangeBeside(
    Array.from({ length: podRangesTried }, (_, i) => `10.${podRangeFirst + i}.0.0/16`),
    others,
    'pod-range',
  );
