/** Env: rules for the environment of a container, and for the pod fields that it may refer to. */
import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  Container,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../generated/types.ts';
import { isConfigKey, isEnvName, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const envSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;

/** Pod fields that the downward API knows; each place allows only some of them. */
const knownFields = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.host',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.phase',
  'status.podIP',
  'status.podIPs',
]);
export const envFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

const resourceFields: readonly string[] = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function* envErrors(container: Container, path: string): Findings {
  for (const [i, variable] of (container.env ?? []).entries())
    yield* variableErrors(variable, index(child(path, 'env'), i));
  for (const [i, source] of (container.envFrom ?? []).entries())
    yield* envFromErrors(source, child(path, 'envFrom'), i);
}

function* variableErrors(variable: EnvVar, path: string): Findings {
  if (!variable.name) yield required(child(path, 'name'));
  else yield* problemsOf(child(path, 'name'), variable.name, isEnvName(variable.name));
  if (!variable.valueFrom) return;
  const from = child(path, 'valueFrom');
  yield* sourceErrors(variable.valueFrom, from);
  const sources = envSources.filter((name) => variable.valueFrom?.[name]).length;
  if (sources === 0)
    yield invalid(
      from,
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  else if (variable.value) yield invalid(from, '', 'may not be specified when `value` is not empty');
  else if (sources > 1) yield invalid(from, '', 'may not have more than one field specified at a time');
}

function* sourceErrors(source: EnvVarSource, path: string): Findings {
  if (source.fieldRef) yield* fieldRefErrors(source.fieldRef, child(path, 'fieldRef'), envFields);
  if (source.resourceFieldRef)
    yield* resourceFieldErrors(source.resourceFieldRef, child(path, 'resourceFieldRef'));
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[name];
    if (!reference) continue;
    const { name: object = '', key } = reference;
    yield* problemsOf(child(child(path, name), 'name'), object, isSubdomain1123(object));
    if (!key) yield required(child(child(path, name), 'key'));
    else yield* problemsOf(child(child(path, name), 'key'), key, isConfigKey(key));
  }
}

function* envFromErrors(source: EnvFromSource, path: string, position: number): Findings {
  const entry = index(path, position);
  if (source.prefix) yield* problemsOf(child(entry, 'prefix'), source.prefix, isEnvName(source.prefix));
  for (const name of ['configMapRef', 'secretRef'] as const) {
    const reference = source[name];
    if (!reference) continue;
    const namePath = child(child(entry, name), 'name');
    if (!reference.name) yield required(namePath);
    else yield* problemsOf(namePath, reference.name, isSubdomain1123(reference.name));
  }
  if (!source.configMapRef && !source.secretRef)
    yield invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
  else if (source.configMapRef && source.secretRef)
    yield invalid(path, '', 'may not have more than one field specified at a time');
}

/** Pods have only one version. */
export function defaultFieldRef(reference: ObjectFieldSelector | undefined): void {
  if (reference) reference.apiVersion ||= 'v1';
}

/** A field of the pod, such as `metadata.name` or `metadata.labels['app']`. `usable` are the plain ones. */
export function* fieldRefErrors(
  reference: ObjectFieldSelector,
  path: string,
  usable: readonly string[],
): Findings {
  const { apiVersion, fieldPath } = reference;
  const pathPath = child(path, 'fieldPath');
  if (!apiVersion) return yield required(child(path, 'apiVersion'));
  if (!fieldPath) return yield required(pathPath);
  const unreadable = (problem: string) =>
    invalid(pathPath, fieldPath, `error converting fieldPath: ${problem}`);
  if (apiVersion !== 'v1') return yield unreadable(`unsupported pod version: ${apiVersion}`);
  const [map, key] = subscript(fieldPath);
  if (key !== undefined) {
    if (map === 'metadata.annotations') yield* problemsOf(path, key, isQualifiedName(key.toLowerCase()));
    else if (map === 'metadata.labels') yield* problemsOf(path, key, isQualifiedName(key));
    else yield unreadable(`field label does not support subscript: ${fieldPath}`);
    return;
  }
  if (!knownFields.has(fieldPath)) return yield unreadable(`field label not supported: ${fieldPath}`);
  const field = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  if (!usable.includes(field)) yield notSupported(pathPath, field, usable);
}

/** Splits `map['key']`. */
function subscript(fieldPath: string): [map: string, key: string | undefined] {
  const open = fieldPath.indexOf("['");
  if (open <= 0 || !fieldPath.endsWith("']")) return [fieldPath, undefined];
  return [fieldPath.slice(0, open), fieldPath.slice(open + 2, -2)];
}

/**
 * A resource of a container. In a container's environment the container name is optional; in a volume it is required.
 */
export function* resourceFieldErrors(
  reference: ResourceFieldSelector,
  path: string,
  inVolume = false,
): Findings {
  const { resource = '', divisor } = reference;
  if (inVolume && !reference.containerName) yield required(child(path, 'containerName'));
  else if (!resource) yield required(child(path, 'resource'));
  else if (!resourceFields.includes(resource) && !isHugePagesField(resource))
    yield notSupported(child(path, 'resource'), resource, resourceFields);
  if (divisor === undefined || sign(parseQuantity(divisor)) === 0) return;
  const what = divisorResource(resource);
  if (!what || what.divisors.includes(divisor)) return;
  const listed = what.name === 'cpu' ? what.divisors.join(' and ') : what.divisors.join(', ');
  yield invalid(
    child(path, 'divisor'),
    resource,
    `only divisor's values ${listed} are supported with the ${what.name} resource`,
  );
}

const isHugePagesField = (resource: string): boolean => /^(?:limits|requests)\.hugepages-/.test(resource);

function divisorResource(resource: string): { name: string; divisors: readonly string[] } | undefined {
  if (isHugePagesField(resource)) return { name: 'hugepages', divisors: byteDivisors };
  switch (resource.slice(resource.indexOf('.') + 1)) {
    case 'cpu':
      return { name: 'cpu', divisors: ['1m', '1'] };
    case 'memory':
      return { name: 'memory', divisors: byteDivisors };
    case 'ephemeral-storage':
      return { name: 'local ephemeral storage', divisors: byteDivisors };
    default:
      return undefined;
  }
}
