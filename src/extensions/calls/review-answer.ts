/**
 * The review in a webhook's answer. As Kubernetes' client does, it is read as the type that was sent: kind and
 * apiVersion may be missing for that, and are compared afterwards.
 */
import { DecodeError, decodeObject } from '../../api/model/decode.ts';
import { cannotUnmarshal } from '../../api/model/go-format.ts';
import { modelOf } from '../../api/model/model.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { HookCallError } from './hook-client.ts';

/** The name by which Kubernetes' error messages call the list of accepted kinds. */
const scheme = 'k8s.io/apiserver/pkg/util/webhook/client.go:71';

/** The type of review that was sent. */
export interface ReviewType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The field table that describes it. */
  readonly table: string;
}

/** Versions of reviews that webhooks may answer with, of any group. */
export const reviewVersions: readonly string[] = ['v1', 'v1beta1'];

/** Reads the review; throws a HookCallError when the answer is not one. */
export function readReview(answer: JsonObject, { group, version, kind, table }: ReviewType): JsonObject {
  const sentKind = textOf(answer.kind, 'kind') || kind;
  const sent = textOf(answer.apiVersion, 'apiVersion') || `${group}/${version}`;
  const known = reviewVersions.find((name) => sent === `${group}/${name}`);
  if (sentKind !== kind || !known)
    throw new HookCallError(
      `no kind ${JSON.stringify(sentKind)} is registered for version ${JSON.stringify(sent)} in scheme ${JSON.stringify(scheme)}`,
    );
  if (known !== version)
    throw new HookCallError(`converting (${known}.${kind}) to (${version}.${kind}): unknown conversion`);
  try {
    return decodeObject(modelOf(kind, table), answer);
  } catch (error) {
    if (error instanceof DecodeError) throw new HookCallError(error.message);
    throw error;
  }
}

function textOf(value: unknown, name: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw new HookCallError(
    `couldn't get version/kind; json parse error: ${cannotUnmarshal(value, `struct field .${name} of type string`)}`,
  );
}

/** What is wrong with the kind and version of an answer; undefined when both are right. */
export function typeProblem(answer: JsonObject, { group, version, kind }: ReviewType): string | undefined {
  const apiVersion = `${group}/${version}`;
  if (answer.kind === kind && answer.apiVersion === apiVersion) return undefined;
  return `expected webhook response of ${apiVersion}, Kind=${kind}, got ${answer.apiVersion ?? '/'}, Kind=${answer.kind ?? ''}`;
}
