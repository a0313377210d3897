/** Conversion webhooks: ConversionReviews of apiextensions.k8s.io, and the checks of their answers. */
import { plain } from '../../api/errors.ts';
import type { ObjectMeta, WebhookConversion as WebhookSettings } from '../../api/generated/types.ts';
import { jsonText } from '../../api/jsontext.ts';
import type { Conversion, Kind } from '../../api/kind.ts';
import { type ApiObject, isJsonObject, type JsonObject } from '../../api/object.ts';
import type { HookCaller } from '../webhooks/hookclient.ts';

const timeoutMs = 30_000;
const reviewVersions: readonly string[] = ['v1', 'v1beta1'];

/** The conversion of one definition. */
export function webhookConversion(
  settings: WebhookSettings,
  { hooks, uid }: { readonly hooks: HookCaller; readonly uid: () => string },
): Conversion {
  const { clientConfig = {}, conversionReviewVersions = [] } = settings;
  const version = conversionReviewVersions.find((name) => reviewVersions.includes(name)) ?? 'v1';
  const apiVersion = `apiextensions.k8s.io/${version}`;
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
      let answer: JsonObject;
      try {
        answer = await hooks.call(clientConfig, jsonText(review), timeoutMs);
      } catch (error) {
        throw plain(`${about} failed: ${(error as Error).message}`);
      }
      const results = convertedObjects(about, answer, apiVersion, id, wanted.length).map((object, i) =>
        checkedObject(about, object, wanted[i]!, to, i),
      );
      return objects.map((object) => (object.apiVersion === to.apiVersion ? object : results.shift()!));
    },
  };
}

function convertedObjects(
  about: string,
  { kind, apiVersion, response }: JsonObject,
  expectedVersion: string,
  id: string,
  count: number,
): unknown[] {
  if (kind !== 'ConversionReview' || apiVersion !== expectedVersion)
    throw plain(`${about} failed: expected webhook response of ${expectedVersion}, Kind=ConversionReview`);
  if (!isJsonObject(response)) throw plain(`${about} failed: no response provided`);
  if (response['uid'] !== id && expectedVersion.endsWith('/v1'))
    throw plain(
      `${about} failed: expected response.uid=${JSON.stringify(id)}, got ${jsonText(response['uid'] ?? '')}`,
    );
  const { status, message = '' } = (isJsonObject(response['result']) ? response['result'] : {}) as {
    status?: unknown;
    message?: unknown;
  };
  if (status !== 'Success')
    throw plain(
      status === 'Failure'
        ? `${about} failed: ${message || 'unknown error'}`
        : `${about} failed: response.result.status was ${jsonText(status ?? '')}, not Success`,
    );
  const objects = Array.isArray(response['convertedObjects']) ? response['convertedObjects'] : [];
  if (objects.length !== count) throw plain(`${about} returned ${objects.length} objects, expected ${count}`);
  return objects;
}

/** The converted object with the metadata of the original one: only labels and annotations may change. */
function checkedObject(about: string, value: unknown, original: ApiObject, to: Kind, i: number): ApiObject {
  const refused = (why: string): Error =>
    plain(`${about} returned invalid converted object at index ${i}: ${why}`);
  if (!isJsonObject(value)) throw refused('it is no object');
  const object = value as unknown as ApiObject;
  if (object.apiVersion !== to.apiVersion)
    throw refused(`invalid groupVersion (expected ${to.apiVersion}, received ${object.apiVersion ?? ''})`);
  if (object.kind !== to.kind) throw refused(`invalid kind (expected ${to.kind}, received ${object.kind})`);
  if (!isJsonObject(object.metadata))
    throw plain(
      `${about} returned invalid metadata in object at index ${i}: missing metadata in converted object`,
    );
  for (const name of ['name', 'namespace', 'uid'] as const) {
    const [before, after] = [original.metadata[name] ?? '', object.metadata[name] ?? ''];
    if (before !== after)
      throw refused(`must have the same ${name === 'uid' ? 'UID' : name}: ${before} != ${after}`);
  }
  const texts = (field: 'labels' | 'annotations'): Record<string, string> | undefined => {
    const found: unknown = object.metadata[field];
    if (found === undefined || found === null) return undefined;
    if (!isJsonObject(found) || Object.values(found).some((text) => typeof text !== 'string'))
      throw plain(`${about} returned invalid metadata in object at index ${i}: ${field} must be texts`);
    return found as Record<string, string>;
  };
  const metadata: ObjectMeta = {
    ...original.metadata,
    labels: texts('labels'),
    annotations: texts('annotations'),
  };
  return { ...object, metadata };
}
