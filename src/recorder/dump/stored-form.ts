/**
 * The form in which objects of another cluster are stored: their own JSON, with every field that it has, also those that
 * this version of Wherry does not know. The order of the first fields is the one that the view relies on
 * (`registry/view/entry.ts`); `resourceVersion` is left out, because it is stamped in.
 */
import { createHash } from 'node:crypto';
import type { Kind } from '../../api/kind/kind.ts';
import { type DecodeError, decodeObject } from '../../api/model/decode.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, isJsonObject, type JsonObject, setKey } from '../../api/text/object.ts';

/** The order in which metadata is written; managed fields are the last. */
const metadataOrder = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
] as const;
const ordered: ReadonlySet<string> = new Set([...metadataOrder, 'resourceVersion', 'managedFields']);
/** Memory that is taken at once. */
const slabBytes = 1024 * 1024;
const uidForm = /^[\w.:/-]{1,253}$/;
const nameForm = /^[^\u0000-\u001f/]{1,253}$/u;

/** An object that can be stored. */
export interface NamedObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject & { readonly name: string };
}

/** Why a value cannot be stored as an object; undefined: it can. */
export function objectProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'a document is no object';
  const { apiVersion, kind, metadata } = value;
  if (typeof kind !== 'string' || typeof apiVersion !== 'string' || !kind || !apiVersion)
    return 'a document has no kind or apiVersion';
  if (!isJsonObject(metadata) || typeof metadata['name'] !== 'string' || !metadata['name'])
    return `a ${kind.slice(0, 63)} has no name`;
  const { name, namespace = '' } = metadata;
  if (!nameForm.test(name) || typeof namespace !== 'string' || (namespace && !nameForm.test(namespace)))
    return `a ${kind.slice(0, 63)} has a name that no object can have`;
  return undefined;
}

/** What is wrong with the types of an object's fields; undefined: nothing. */
export function typeProblem(kind: Kind, object: NamedObject): string | undefined {
  try {
    decodeObject(kind.model, object);
    return undefined;
  } catch (error) {
    return (error as DecodeError).message.slice(0, 300);
  }
}

/** Where many objects are written behind each other: memory of its own for each takes as long as writing it. */
export class Slab {
  #bytes = Buffer.alloc(0);
  #at = 0;

  write(text: string): Buffer {
    const length = Buffer.byteLength(text);
    if (length > slabBytes / 8) return Buffer.from(text);
    if (this.#at + length > this.#bytes.length) {
      this.#bytes = Buffer.allocUnsafeSlow(slabBytes);
      this.#at = 0;
    }
    const start = this.#at;
    this.#at += this.#bytes.write(text, start);
    return this.#bytes.subarray(start, this.#at);
  }
}

/** The bytes that are stored. @param namespace that the object belongs to; '' for none */
export function storedForm(object: NamedObject, namespace: string, slab?: Slab): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const out: JsonObject = { kind, apiVersion, metadata: storedMetadata(object, metadata, namespace) };
  for (const name of Object.keys(rest)) setKey(out, name, rest[name]);
  const text = jsonText(out);
  return slab ? slab.write(text) : Buffer.from(text);
}

function storedMetadata(object: NamedObject, metadata: JsonObject, namespace: string): JsonObject {
  const out: JsonObject = {};
  const { uid } = metadata;
  const shown = {
    ...metadata,
    uid: typeof uid === 'string' && uidForm.test(uid) ? uid : madeUid(object, namespace),
    ...(namespace ? { namespace } : {}),
  } as JsonObject;
  for (const name of metadataOrder) if (shown[name] !== undefined) out[name] = shown[name];
  for (const name of Object.keys(metadata)) if (!ordered.has(name)) setKey(out, name, metadata[name]);
  if (metadata['managedFields'] !== undefined) out['managedFields'] = metadata['managedFields'];
  return out;
}

/** A uid for an object without one, always the same for the same name. */
function madeUid({ apiVersion, kind, metadata }: NamedObject, namespace: string): string {
  const digest = createHash('sha256')
    .update(`${apiVersion}\n${kind}\n${namespace}\n${metadata.name}`)
    .digest('hex');
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
}

/** The object as the version of its kind that is stored. */
export function asStorage({ stored, storage, model }: Kind, object: NamedObject): NamedObject {
  if (!stored) return object;
  const { resourceVersion, managedFields } = object.metadata;
  const decoded = decodeObject(model, object) as unknown as ApiObject;
  const converted = stored.toStored(decoded, undefined) as unknown as NamedObject;
  return {
    ...converted,
    kind: storage.kind,
    apiVersion: storage.apiVersion,
    metadata: {
      ...(converted.metadata as JsonObject),
      name: object.metadata.name,
      resourceVersion,
      managedFields,
    },
  };
}
