/**
 * Migration from client-side to server-side apply. `kubectl apply` keeps what it applied in an annotation. The first
 * server-side apply by kubectl takes over the fields in that annotation; afterwards the annotation is kept up to date,
 * so that a client may go back.
 */
import { ownershipModel } from '../../api/custom-schema/ownership-model.ts';
import type { StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { structOf } from '../../api/ownership/field-type.ts';
import { compare, fieldsOf } from '../../api/ownership/field-walk.ts';
import {
  type Application,
  type Applied,
  ApplyConflict,
  applying,
} from '../../api/ownership/managed-fields.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, isJsonObject, type JsonObject, withSortedKeys } from '../../api/text/object.ts';
import { difference, type FieldSet, isEmptySet } from '../../api/values/field-set.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const clientSideManager = 'kubectl';
const annotationsBytesMax = 256 * 1024;

/** Applies for kubectl: fields of the annotation that the object still has cause no conflicts. */
export function* unlessApplied(
  application: Application,
  kind: Kind,
  live: ApiObject,
  status: (conflict: ApplyConflict) => StatusError,
): Generator<void, Applied> {
  try {
    return yield* applying(application);
  } catch (error) {
    if (!(error instanceof ApplyConflict)) throw error;
    if (application.isLong) yield;
    const ours =
      application.who.manager === clientSideManager ? stillApplied(kind, live, application.live) : undefined;
    if (!ours) throw status(error);
    const left = error.conflicts.flatMap(({ entry, fields }) => {
      const others = difference(fields, ours);
      return isEmptySet(others) ? [] : [{ entry, fields: others }];
    });
    if (left.length) throw status(new ApplyConflict(left));
    return yield* applying({ ...application, force: true });
  }
}

/** The fields of the annotation that the object still has; undefined without an annotation of this version. */
function stillApplied(kind: Kind, live: ApiObject, document: JsonObject): FieldSet | undefined {
  const text = live.metadata.annotations?.[annotation];
  if (!text) return undefined;
  try {
    const said = parseExact(text);
    if (!isJsonObject(said) || said.apiVersion !== kind.apiVersion) return undefined;
    const type = structOf(ownershipModel(kind.model));
    const { changed, removed } = compare(type, said, document);
    return difference(difference(fieldsOf(type, said), changed), removed);
  } catch {
    return undefined;
  }
}

/** Sets the annotation to what was applied, if the object has it. This changes no ownership. */
export function keepLastApplied(manager: string, object: ApiObject, body: JsonObject): void {
  const { annotations } = object.metadata;
  if (manager !== clientSideManager || !annotations?.[annotation]) return;
  annotations[annotation] = `${escaped(jsonText(withSortedKeys(withoutAnnotation(body))))}\n`;
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > annotationsBytesMax) delete annotations[annotation];
}

function withoutAnnotation(body: JsonObject): JsonObject {
  const { metadata } = body;
  if (!isJsonObject(metadata) || !isJsonObject(metadata.annotations)) return body;
  const { [annotation]: _, ...annotations } = metadata.annotations;
  return { ...body, metadata: { ...metadata, annotations } };
}

const escaped = (text: string): string =>
  text.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
