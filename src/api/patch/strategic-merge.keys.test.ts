/** Proves that every list of the real models is merged by its key, or replaced, as Kubernetes does it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PatchError } from '../errors/patch-error.ts';
import { type FieldTableFile, type Model, modelOf } from '../model/model.ts';
import type { JsonObject } from '../text/object.ts';
import { applyStrategicMerge } from './strategic-merge.ts';

/** The result, or the patch error as text. Anything else that is thrown fails the test. */
const outcome = (model: Model, original: object, patch: unknown): unknown => {
  try {
    return applyStrategicMerge(model, original, patch);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return `${error.code} ${error.kind}: ${error.message}`;
  }
};

/** Mergeable lists: the path in a served kind, and the merge key. */
const MERGED: [kind: string, path: string, key: string][] = [
  ['Pod', 'metadata.finalizers', 'scalars'],
  ['Pod', 'metadata.ownerReferences', 'uid'],
  ['Pod', 'spec.volumes', 'name'],
  ['Pod', 'spec.containers', 'name'],
  ['Pod', 'spec.initContainers', 'name'],
  ['Pod', 'spec.ephemeralContainers', 'name'],
  ['Pod', 'spec.imagePullSecrets', 'name'],
  ['Pod', 'spec.schedulingGates', 'name'],
  ['Pod', 'spec.hostAliases', 'ip'],
  ['Pod', 'spec.topologySpreadConstraints', 'topologyKey'],
  ['Pod', 'spec.resourceClaims', 'name'],
  ...['containers', 'initContainers', 'ephemeralContainers'].flatMap((list): typeof MERGED => [
    ['Pod', `spec.${list}[name].ports`, 'containerPort'],
    ['Pod', `spec.${list}[name].env`, 'name'],
    ['Pod', `spec.${list}[name].volumeMounts`, 'mountPath'],
    ['Pod', `spec.${list}[name].volumeDevices`, 'devicePath'],
  ]),
  ['Pod', 'status.conditions', 'type'],
  ['Pod', 'status.podIPs', 'ip'],
  ['Pod', 'status.hostIPs', 'ip'],
  ['Pod', 'status.resourceClaimStatuses', 'name'],
  ['Node', 'status.conditions', 'type'],
  ['Node', 'status.addresses', 'type'],
  ['Node', 'spec.podCIDRs', 'scalars'],
  ['Namespace', 'status.conditions', 'type'],
  ['ReplicationController', 'status.conditions', 'type'],
  ['ReplicationController', 'spec.template.spec.containers[name].env', 'name'],
  ['PodTemplate', 'template.spec.volumes', 'name'],
  ['PersistentVolumeClaim', 'status.conditions', 'type'],
  ['Service', 'status.conditions', 'type'],
  ['Service', 'spec.ports', 'port'],
  ['ServiceAccount', 'secrets', 'name'],
  ['ComponentStatus', 'conditions', 'type'],
  ['extensions-v1beta1:Job', 'status.conditions', 'type'],
  ['extensions-v1beta1:Job', 'metadata.finalizers', 'scalars'],
  ['extensions-v1beta1:Job', 'spec.template.spec.containers[name].ports', 'containerPort'],
  // Not reachable by a patch of a pod, because containerStatuses is atomic.
  ['ContainerStatus', 'allocatedResourcesStatus', 'name'],
  ['ContainerStatus', 'volumeMounts', 'mountPath'],
];

const ATOMIC: [kind: string, path: string][] = [
  ['Pod', 'spec.tolerations'],
  ['Pod', 'spec.containers[name].args'],
  ['Pod', 'spec.containers[name].command'],
  ['Pod', 'spec.containers[name].envFrom'],
  ['Pod', 'spec.dnsConfig.nameservers'],
  ['Pod', 'status.containerStatuses'],
  ['Node', 'spec.taints'],
  ['Service', 'spec.externalIPs'],
  ['ServiceAccount', 'imagePullSecrets'],
  ['Endpoints', 'subsets'],
  ['LimitRange', 'spec.limits'],
  ['ResourceQuota', 'spec.scopes'],
  ['extensions-v1beta1:Ingress', 'spec.rules'],
  ['extensions-v1beta1:Ingress', 'spec.tls'],
];

/**
 * A value with a list at a path: `spec.containers[name].env` becomes { spec: { containers: [{ name: 'here', env }] }
 * }.
 */
function at(path: string, list: unknown[]): JsonObject {
  const [segment, ...rest] = path.split('.') as [string, ...string[]];
  const [, name, key] = /^(\w+)(?:\[(\w+)\])?$/.exec(segment)!;
  const inner = rest.length === 0 ? list : at(rest.join('.'), list);
  return { [name!]: key ? [{ [key]: 'here', ...(inner as JsonObject) }] : inner };
}

/** The field a path ends at. */
function fieldAt(kind: string, path: string): string {
  let model = modelOf(kind);
  const parts = path.replaceAll(/\[\w+\]/g, '').split('.');
  for (const part of parts.slice(0, -1)) {
    const field = model.fields.get(part)!;
    model = (field.items ?? field).model;
  }
  return `${model.file}:${model.name}.${parts.at(-1)}`;
}

describe('every list', () => {
  test.each(MERGED)('of %s at %s is merged by %s', (kind, path, key) => {
    const element = (id: number): unknown =>
      key === 'scalars' ? `v${id}` : { [key]: /[pP]ort$/.test(key) ? id : `v${id}` };
    const more = (id: number, extra: object): unknown =>
      key === 'scalars' ? element(id) : { ...(element(id) as object), ...extra };
    const original = at(path, [more(1, { untouched: 1 }), more(2, { before: 1 })]);
    const patch = at(path, [more(2, { after: 2 }), element(3)]);
    expect(outcome(modelOf(kind), original, patch)).toEqual(
      at(path, [more(1, { untouched: 1 }), more(2, { before: 1, after: 2 }), element(3)]),
    );
    if (key === 'scalars') return;
    const deletion = at(path, [more(1, { $patch: 'delete' })]);
    expect(outcome(modelOf(kind), original, deletion)).toEqual(at(path, [more(2, { before: 1 })]));
    expect(outcome(modelOf(kind), original, at(path, [{ other: 1 }]))).toBe(
      `500 directive: map: map[other:1] does not contain declared merge key: ${key}`,
    );
  });

  test.each(ATOMIC)('of %s at %s is replaced', (kind, path) => {
    expect(fieldAt(kind, path)).toBeTruthy();
    const scalars = /args|command|nameservers|externalIPs|scopes/.test(path);
    const [one, two] = scalars ? ['a', 'b'] : [{ name: 'a' }, { name: 'b' }];
    expect(outcome(modelOf(kind), at(path, [one]), at(path, [two]))).toEqual(at(path, [two]));
  });

  test('that the field tables call mergeable is in the list above, with the same key', () => {
    const declared = new Map<string, string>();
    for (const file of ['core-v1', 'extensions-v1beta1']) {
      const group = file.split('-')[0];
      const url = new URL(`../kinds/${group}/${file}.fields.json`, import.meta.url);
      const { models } = JSON.parse(readFileSync(url, 'utf8')) as FieldTableFile;
      for (const [name, { fields }] of Object.entries(models)) {
        for (const [field, { patchStrategy, patchMergeKey }] of Object.entries(fields)) {
          if (patchStrategy || patchMergeKey)
            declared.set(`${file}:${name}.${field}`, patchMergeKey ?? 'scalars');
        }
      }
    }
    const listed = new Map(MERGED.map(([kind, path, key]) => [fieldAt(kind, path), key]));
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(declared));
    for (const [kind, path] of ATOMIC) expect(declared.has(fieldAt(kind, path)), path).toBe(false);
  });
});
