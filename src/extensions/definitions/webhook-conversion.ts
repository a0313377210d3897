/** Conversion webhooks: ConversionReviews of apiextensions.k8s.io, and the checks of their answers. */
import { errorsText, plain } from '../../api/errors/errors.ts';
import type {
  ConversionResponse,
  ObjectMeta,
  Status,
  WebhookConversion as WebhookSettings,
} from '../../api/generated/types.ts';
import type { Conversion, Kind } from '../../api/kind/kind.ts';
import { cannotUnmarshal, goQuoted, goType } from '../../api/model/go-format.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, isJsonObject, type JsonObject, sameJson } from '../../api/text/object.ts';
import { validateAnnotations, validateLabels } from '../../api/values/names.ts';
import type { HookCaller } from '../calls/hook-client.ts';
import { readReview, reviewVersions, typeProblem } from '../calls/review-answer.ts';

const timeoutMs = 30_000;
const group = 'apiextensions.k8s.io';

/** The conversion of one definition. */
export function webhookConversion(
  settings: WebhookSettings,
  { hooks, uid }: { readonly hooks: HookCaller; readonly uid: () => string },
): Conversion {
  const { clientConfig = {}, conversionReviewVersions = [] } = settings;
  const version = conversionReviewVersions.find((name) => reviewVersions.includes(name)) ?? 'v1';
  const apiVersion = `${group}/${version}`;
  return {
    async convert(objects: readonly ApiObject[], to: Kind): Promise<ApiObject[]> {
      const wanted = objects.filter((object) => object.apiVersion !== to.apiVersion);
      if (wanted.length === 0) return [...objects];
      const id = uid();
      const review = {
        kind: 'ConversionReview',
        apiVersion,
        request: { uid: id, desiredAPIVersion: to.apiVersion, objects: wanted },
        response: { uid: '', convertedObjects: null, result: { metadata: {} } },
      };
      const about = `conversion webhook for ${wanted[0]!.apiVersion}, Kind=${to.kind}`;
      let converted: readonly unknown[];
      try {
        const answer = await hooks.call(clientConfig, jsonText(review), timeoutMs);
        converted = convertedObjects(answer, version, id);
      } catch (error) {
        throw plain(`${about} failed: ${(error as Error).message}`);
      }
      if (converted.length !== wanted.length)
        throw plain(`${about} returned ${converted.length} objects, expected ${wanted.length}`);
      const results = converted.map((object, i) =>
        checkedObject(about, object, wanted[i]!, to, wanted.length === 1 ? undefined : i),
      );
      return objects.map((object) => (object.apiVersion === to.apiVersion ? object : results.shift()!));
    },
  };
}

/** The objects in an answer. Throws the reason why the answer has no objects. */
function convertedObjects(answer: JsonObject, version: string, id: string): readonly unknown[] {
  const type = { group, version, kind: 'ConversionReview', table: 'apiextensions-v1' };
  const { response } = readReview(answer, type) as { response?: ConversionResponse };
  const isVerified = version === 'v1';
  const problem = isVerified ? typeProblem(answer, type) : undefined;
  if (problem) throw new Error(problem);
  if (!response) throw new Error('no response provided');
  const { uid = '', result, convertedObjects: objects = [] } = response;
  if (isVerified && uid !== id)
    throw new Error(`expected response.uid=${JSON.stringify(id)}, got ${goQuoted(uid)}`);
  const { status = '', message } = (result ?? {}) as Status;
  if (status !== 'Success')
    throw new Error(message || `response.result.status was '${status}', not 'Success'`);
  return objects;
}

/**
 * The converted object with the metadata of the original one: only labels and annotations may change.
 *
 * @param i its place in a list; undefined for an object that was converted alone
 */
function checkedObject(
  about: string,
  value: unknown,
  original: ApiObject,
  to: Kind,
  i: number | undefined,
): ApiObject {
  const isAlone = i === undefined;
  const refused = (why: string): Error =>
    plain(
      `${about} returned invalid ${isAlone ? 'object at' : 'converted object at'} index ${i ?? 0}: ${why}`,
    );
  const unreadable = unstructuredProblem(value);
  if (unreadable) throw isAlone ? plain(unreadable) : refused(unreadable);
  const object = value as ApiObject;
  const { apiVersion = '', kind } = object;
  if (apiVersion !== to.apiVersion)
    throw refused(`invalid groupVersion (expected ${to.apiVersion}, received ${apiVersion})`);
  if (kind !== to.kind) throw refused(`invalid kind (expected ${to.kind}, received ${kind})`);
  const sent: unknown = object.metadata;
  const names = isJsonObject(sent) ? sent : {};
  for (const name of ['name', 'namespace', 'uid'] as const) {
    const after = typeof names[name] === 'string' ? names[name] : '';
    const before = original.metadata[name] ?? '';
    if (before === after) continue;
    const why = `must have the same ${name === 'uid' ? 'UID' : name}: ${before} != ${after}`;
    throw isAlone ? plain(`${about} returned invalid object: ${why}`) : refused(why);
  }
  const problem = metadataProblem(sent, original);
  if (problem)
    throw plain(`${about} returned invalid metadata${isAlone ? '' : ` in object at index ${i}`}: ${problem}`);
  const { labels, annotations } = names as ObjectMeta;
  return {
    ...object,
    metadata: {
      ...original.metadata,
      labels: labels ?? undefined,
      annotations: annotations ?? undefined,
    },
  };
}

/** Why a value cannot be an object of any kind. */
function unstructuredProblem(value: unknown): string | undefined {
  if (value === undefined || value === null) return 'unexpected end of JSON input';
  if (!isJsonObject(value))
    return cannotUnmarshal(value, 'value of type struct { Items json.RawMessage "json:\\"items\\"" }');
  return typeof value.kind === 'string' && value.kind
    ? undefined
    : `Object 'Kind' is missing in '${jsonText(value)}'`;
}

/** What is wrong with the labels and annotations of a converted object. */
function metadataProblem(sent: unknown, { metadata }: ApiObject): string | undefined {
  if (sent === undefined) return 'missing metadata in converted object';
  if (!isJsonObject(sent)) return `invalid metadata of type ${typeText(sent)} in converted object`;
  for (const field of ['labels', 'annotations'] as const) {
    const texts = sent[field];
    if (texts === undefined || texts === null) continue;
    if (!isJsonObject(texts))
      return `invalid metadata.${field} of type ${typeText(texts)} in converted object`;
    for (const key of Object.keys(texts).sort())
      if (typeof texts[key] !== 'string')
        return `metadata.${field}[${key}] must be a string, but is ${typeText(texts[key])} in converted object`;
    if (sameJson(texts, metadata[field] ?? {})) continue;
    const errors =
      field === 'labels'
        ? validateLabels(texts as Record<string, string>, 'metadata.labels')
        : validateAnnotations(texts as Record<string, string>, 'metadata.annotation');
    if (errors.length) return errorsText(errors);
  }
  return undefined;
}

const typeText = (value: unknown): string => (value === null ? '<nil>' : goType(value));
