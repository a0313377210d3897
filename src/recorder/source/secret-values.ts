/** What a copy keeps of secrets. */
import { isJsonObject, type JsonObject, setKey } from '../../api/text/object.ts';
import type { NamedObject } from '../dump/stored-form.ts';

/** `keys`: names and keys, with other values. `none`: no secrets. `values`: as they are. */
export type SecretMode = 'keys' | 'none' | 'values';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const removed = Buffer.from('removed').toString('base64');

/** The object as it may be copied: with `keys`, the values of a secret are others, wherever it has them. */
export function withSecretMode(object: NamedObject, mode: SecretMode): NamedObject {
  if (mode === 'values' || object.kind !== 'Secret' || object.apiVersion !== 'v1') return object;
  const { stringData: _text, ...rest } = object as NamedObject & { stringData?: unknown };
  const { annotations } = object.metadata;
  const { [lastApplied]: _applied, ...others } = isJsonObject(annotations) ? annotations : ({} as JsonObject);
  const data: JsonObject = {};
  if (isJsonObject(object['data'])) for (const key of Object.keys(object['data'])) setKey(data, key, removed);
  return { ...rest, data, metadata: { ...object.metadata, annotations: others } } as NamedObject;
}
