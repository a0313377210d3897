/**
 * Takes objects of another cluster into this one: `GET /wherry/import` says what awaits them, `POST` brings some. They are
 * stored as they are, with uid, times, status and owners, past all admission, so it needs the right to all that is stored:
 * it is decided as for a resource, `imports.wherry.dev`. An object that is there already stays.
 */
import { badRequest, methodNotAllowed } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { JsonError, readJson } from '../../api/text/json.ts';
import { isJsonObject } from '../../api/text/object.ts';
import { isPathSegment } from '../../api/values/names.ts';
import { knownInOtherVersion } from '../../recorder/dump/copied-kinds.ts';
import { type NamedObject, objectProblem, typeProblem } from '../../recorder/dump/stored-form.ts';
import { nameProblem, storedObject } from '../../recorder/source/source-objects.ts';
import type { Registry } from '../../registry/registry.ts';
import { parseStoreKey } from '../../registry/view/key.ts';
import { actingAs } from '../../registry/writers.ts';
import { answerValue } from '../../server/http/answer.ts';
import { readBody } from '../../server/http/body.ts';
import type { RequestContext } from '../../server/http/context.ts';
import type { LimitKeeper } from '../../server/http/limits.ts';
import { checkKey } from '../../store/engine.ts';
import { inSlices } from '../../time-slices.ts';

/** Objects of one request. Its bytes are bounded as those of every body are. */
export const importObjectsMax = 1_000;
/** Steps of the event loop's slices that a byte takes: it is parsed, checked and written. */
const byteSteps = 6;

interface ImportParts {
  readonly registry: Registry;
  readonly keeper: LimitKeeper;
  readonly hasControllers: boolean;
}

/** What an importer asks before it begins. */
export interface ImportTarget {
  /** The uid of the namespace `kube-system`. */
  readonly cluster: string;
  readonly controllers: boolean;
  readonly bodyBytesMax: number;
}

/**
 * What became of an object. `there`: it is there from an earlier import; `taken`: another object has its name; `waiting`: its
 * kind is not served, or not yet.
 */
export interface ImportedObject {
  readonly state: 'written' | 'there' | 'taken' | 'waiting' | 'refused';
  readonly why?: string;
}

export async function answerImport(context: RequestContext, parts: ImportParts): Promise<void> {
  const { method } = context.info;
  if (method !== 'GET' && method !== 'POST') throw methodNotAllowed();
  const value = method === 'GET' ? target(parts) : await taken(context, parts);
  await answerValue(context, 200, value, { ...context.negotiate('none'), transform: undefined });
}

function target({ registry, keeper, hasControllers }: ImportParts) {
  const system = registry.view.collection('core/namespaces').get('', 'kube-system');
  const answer: ImportTarget = {
    cluster: system?.uid ?? '',
    controllers: hasControllers,
    bodyBytesMax: keeper.limits.bodyBytesMax,
  };
  return { kind: 'ImportTarget', apiVersion: 'wherry.dev/v1', ...answer };
}

async function taken(context: RequestContext, { registry, keeper }: ImportParts) {
  const objects = objectsOf(await readBody(context.request, keeper));
  const results: (ImportedObject | undefined)[] = objects.map(() => undefined);
  const isFirst = (object: unknown): boolean => isJsonObject(object) && first.has(String(object['kind']));
  const waiting = new Set<unknown>();
  // What others need is written before they are looked at.
  for (const now of [isFirst, (object: unknown) => !isFirst(object)]) {
    const ready: { readonly at: number; readonly place: Prepared }[] = [];
    const work = function* (): Generator<number, void> {
      for (const [at, object] of objects.entries()) {
        if (!now(object)) continue;
        const prepared = waits(object, waiting) ?? preparedOf(registry, object);
        if ('state' in prepared) {
          results[at] = prepared;
          if (prepared.state === 'waiting') waiting.add(uidOf(object));
        } else ready.push({ at, place: prepared });
        yield ('value' in prepared ? prepared.value.length : 1_000) * byteSteps;
      }
    };
    await inSlices(work());
    // All in one tick, so that they share a commit, in their order: owners come before what they own.
    await Promise.all(
      ready.map(async ({ at, place }) => {
        results[at] = await write(registry, place);
      }),
    );
  }
  return { kind: 'ImportResult', apiVersion: 'wherry.dev/v1', results };
}

/** What is owned by an object that waits would be collected as garbage. Owners come first. */
function waits(object: unknown, waiting: ReadonlySet<unknown>): ImportedObject | undefined {
  const metadata = isJsonObject(object) && isJsonObject(object['metadata']) ? object['metadata'] : {};
  const owners = Array.isArray(metadata['ownerReferences']) ? metadata['ownerReferences'] : [];
  if (!owners.some((owner) => isJsonObject(owner) && waiting.has(owner['uid']))) return undefined;
  return { state: 'waiting', why: 'the kind of its owner is not served' };
}

const first: ReadonlySet<string> = new Set(['Namespace', 'CustomResourceDefinition']);

function objectsOf(body: Buffer): readonly unknown[] {
  let value: unknown;
  try {
    ({ value } = readJson(body));
  } catch (error) {
    if (error instanceof JsonError) throw badRequest(`the body is no JSON: ${error.message}`);
    throw error;
  }
  const objects = isJsonObject(value) ? value['objects'] : undefined;
  if (!Array.isArray(objects) || objects.length > importObjectsMax)
    throw badRequest(`the body must have "objects": a list of at most ${importObjectsMax} objects`);
  return objects;
}

/** An object that can be written. */
interface Prepared {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly value: Buffer;
}

const uidOf = (object: unknown): unknown =>
  isJsonObject(object) && isJsonObject(object['metadata']) ? object['metadata']['uid'] : undefined;

const refused = (why: string): ImportedObject => ({ state: 'refused', why });

function preparedOf(registry: Registry, given: unknown): Prepared | ImportedObject {
  const problem = objectProblem(given);
  if (problem) return refused(problem);
  const object = given as NamedObject;
  const { apiVersion, kind: name, metadata } = object;
  if (isPathSegment(metadata.name).length) return refused(`${name}: its name cannot be one`);
  const kind = registry.kinds.kind(apiVersion, name) ?? knownInOtherVersion(apiVersion, name);
  if (!kind) return { state: 'waiting', why: 'its kind is not served' };
  const wrong = kind.custom ? undefined : (typeProblem(kind, object) ?? nameProblem(kind, object));
  if (wrong) return refused(wrong);
  try {
    const { key, value } = storedObject(kind, object);
    checkKey(key);
    const { namespace } = parseStoreKey(key);
    if (value.length > registry.store.valueBytesMax)
      return refused(`it has ${value.length} bytes, the store takes ${registry.store.valueBytesMax}`);
    if (namespace && !registry.view.collection('core/namespaces').get('', namespace))
      return refused(`its namespace ${namespace} is not there`);
    return { kind: kind.storage, namespace, name: metadata.name, value };
  } catch (error) {
    return refused((error as Error).message.slice(0, 300));
  }
}

async function write(registry: Registry, { value, ...place }: Prepared): Promise<ImportedObject> {
  const { kind, namespace, name } = place;
  const found = () => registry.view.collection(kind).get(namespace, name);
  if (!found()) {
    const request = actingAs('kube-apiserver', 'create');
    if ((await registry.commit(request, place, value, 0)) !== undefined) return { state: 'written' };
  }
  const before = found()?.uid;
  const { metadata } = JSON.parse(value.toString('utf8')) as NamedObject;
  return before === metadata['uid'] ? { state: 'there' } : { state: 'taken', why: 'it was there already' };
}
