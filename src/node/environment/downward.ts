/**
 * The downward API: fields of a pod that its containers see as variables and files. Error messages are
 * Kubernetes' own.
 */
import type {
  Container,
  Node,
  ObjectFieldSelector,
  Pod,
  ResourceFieldSelector,
} from '../../api/generated/types.ts';
import { isQualifiedName } from '../../api/values/names.ts';
import { parseQuantity } from '../../api/values/quantity.ts';

class DownwardError extends Error {}

/** Facts that the pod object lacks until its status is written. */
export interface DownwardFacts {
  readonly pod: Pod;
  readonly podIP: string;
  readonly hostIP: string;
}

/** The value of a field; empty for a label or annotation that does not exist. */
export function podField({ pod, podIP, hostIP }: DownwardFacts, ref: ObjectFieldSelector): string {
  const path = ref.fieldPath ?? '';
  const { metadata, spec } = pod;
  const [, map, key] = /^metadata\.(labels|annotations)\['([\s\S]*)'\]$/.exec(path) ?? [];
  if (map && key !== undefined) return mapValue(metadata[map as 'labels' | 'annotations'], path, map, key);
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return mapText(metadata.labels);
    case 'metadata.annotations':
      return mapText(metadata.annotations);
    case 'spec.nodeName':
      return spec?.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec?.serviceAccountName ?? '';
    case 'status.hostIP':
    case 'status.hostIPs':
      return hostIP;
    case 'status.podIP':
    case 'status.podIPs':
      return podIP;
    default:
      throw new DownwardError(`unsupported fieldPath: ${path}`);
  }
}

function mapValue(values: Record<string, string> | undefined, path: string, map: string, key: string) {
  // Annotation keys may have upper-case letters, label keys may not.
  const problems = isQualifiedName(map === 'annotations' ? key.toLowerCase() : key);
  if (problems.length) throw new DownwardError(`invalid key subscript in ${path}: ${problems.join(';')}`);
  return values && Object.hasOwn(values, key) ? values[key]! : '';
}

/** One `key="value"` per line, sorted by key. */
function mapText(values: Record<string, string> = {}): string {
  return Object.keys(values)
    .sort()
    .map((key) => `${key}=${quoted(values[key]!)}`)
    .join('\n');
}

const escapes: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** A Go string literal: programs that read these files unquote as Go does, with escapes that JSON does not have. */
function quoted(text: string): string {
  const inner = text.replace(/[\\"]|[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/gu, (char) => {
    const code = char.codePointAt(0)!;
    if (escapes[char]) return escapes[char];
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    if (code > 0xffff) return `\\U${code.toString(16).padStart(8, '0')}`;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
  return `"${inner}"`;
}

/** A request or limit of a container, in units of the divisor, rounded up. */
export function containerResource(ref: ResourceFieldSelector, pod: Pod, node: Node, own?: Container): string {
  const container = ref.containerName ? containerOf(pod, ref.containerName) : own;
  if (!container) throw new DownwardError(`container ${ref.containerName ?? ''} not found`);
  const [, list, name] =
    /^(requests|limits)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(ref.resource ?? '') ?? [];
  if (!list || !name) throw new DownwardError(`unsupported container resource : ${ref.resource ?? ''}`);
  const nano = list === 'limits' ? limit(container, pod, node, name) : request(container, name);
  const divisor = nanoOf(ref.divisor) || nanoOf('1');
  // CPU is counted in thousandths, other resources in whole units.
  const unit = name === 'cpu' ? 10n ** 6n : 10n ** 9n;
  return divideUp(divideUp(nano, unit), divideUp(divisor, unit)).toString();
}

function containerOf({ spec }: Pod, name: string): Container | undefined {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find((each) => each.name === name);
}

/** The container's limit, else the pod's, else what the node can allocate. */
function limit({ resources }: Container, { spec }: Pod, { status }: Node, name: string): bigint {
  return (
    amount(resources?.limits, name) ||
    amount(spec?.resources?.limits, name) ||
    amount(status?.allocatable, name)
  );
}

const request = ({ resources }: Container, name: string): bigint => amount(resources?.requests, name);

const amount = (list: Record<string, string> | undefined, name: string): bigint =>
  nanoOf(list && Object.hasOwn(list, name) ? list[name] : undefined);

const nanoOf = (text: string | undefined): bigint => (text ? parseQuantity(text).nano : 0n);

const divideUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor;
