/** Create: from a decoded object to a stored one. */
import { alreadyExists, badRequest, generateNameExhausted, plain } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import { generatedName, nameSuffix, validateMeta } from '../api/meta.ts';
import type { ApiObject } from '../api/object.ts';
import { admitted, mutate } from './admission/admission.ts';
import { allocated } from './allocation/allocation.ts';
import { Entry } from './entry.ts';
import type { Registry, WriteOptions } from './registry.ts';
import { check, nameErrors } from './validation.ts';

/** A generated name that is taken is tried anew this often. */
const nameTriesMax = 8;

/** Takes the namespace from the path, and refuses an object that claims another. */
export function settleNamespace(kind: Pick<Kind, 'namespaced'>, object: ApiObject, namespace: string): void {
  if (!kind.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (object.metadata.namespace && object.metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  object.metadata.namespace = namespace;
}

export async function create(
  registry: Registry,
  kind: Kind,
  namespace: string,
  object: ApiObject,
  options: WriteOptions,
): Promise<Entry> {
  kind.defaults?.(object);
  settleNamespace(kind, object, namespace);
  const meta = object.metadata;
  if (meta.resourceVersion) throw plain('resourceVersion should not be set on objects to be created');
  meta.deletionTimestamp = undefined;
  meta.deletionGracePeriodSeconds = undefined;
  const generate = !meta.name && Boolean(meta.generateName);
  const request = {
    operation: 'create' as const,
    kind,
    namespace,
    name: meta.name ?? '',
    subresource: undefined,
    object,
    old: undefined,
    dryRun: options.dryRun,
    afterwards: [],
  };
  // Whether its namespace exists, and its name is free, may just have changed through another server.
  const behind = registry.view.caughtUp();
  if (behind) await behind;
  await mutate(registry, request);

  meta.creationTimestamp = registry.now();
  meta.uid = registry.chance.uid();
  if (generate) request.name = meta.name = generatedName(meta.generateName!, suffix(registry));
  prepare(kind, object, registry.now());
  const name = meta.name ?? '';
  allocated(registry, request, () =>
    check(kind, name, () => [
      ...validateMeta(kind, meta),
      ...nameErrors(kind, namespace, name),
      ...(kind.validate?.(object) ?? []),
    ]),
  );
  if (kind.warnings) options.warnings.push(...kind.warnings(object, undefined));
  const entry = await admitted(registry, request, () =>
    insert(registry, kind, namespace, object, generate, options.dryRun),
  );
  return entry!;
}

/** Stores a new object; a generated name that is taken is replaced by another. */
async function insert(
  registry: Registry,
  kind: Kind,
  namespace: string,
  object: ApiObject,
  generate: boolean,
  dryRun: boolean,
): Promise<Entry> {
  const meta = object.metadata;
  for (let tries = 1; ; tries++) {
    const name = meta.name!;
    const value = registry.encode(kind, object);
    const taken = registry.view.collection(kind).get(namespace, name);
    if (!taken && dryRun) return Entry.of(kind, namespace, name, value, 0);
    if (!taken) {
      const revision = await registry.commit(kind, namespace, name, value, 0);
      if (revision !== undefined) return registry.entryOf(kind, namespace, name, value, revision);
    }
    if (!generate) throw alreadyExists(kind, name, isDeleting(registry, kind, namespace, name));
    if (tries >= nameTriesMax) throw generateNameExhausted(kind, name);
    meta.name = generatedName(meta.generateName!, suffix(registry));
    // Some kinds write their name elsewhere, too.
    kind.prepareForCreate?.(object, { now: meta.creationTimestamp! });
  }
}

const suffix = (registry: Registry): string => nameSuffix((bound) => registry.chance.randomBelow(bound));

function prepare(kind: Kind, object: ApiObject, now: string): void {
  if (kind.hasStatus && !kind.keepStatusOnCreate) object.status = undefined;
  if (kind.generationOf) object.metadata.generation = 1;
  kind.prepareForCreate?.(object, { now });
}

const isDeleting = (registry: Registry, kind: Kind, namespace: string, name: string): boolean =>
  registry.view.collection(kind).get(namespace, name)?.object().metadata.deletionTimestamp !== undefined;
