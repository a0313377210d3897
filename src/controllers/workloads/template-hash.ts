/** Template hashes: a short hash of a deployment's pod template, for the names and labels of its replica sets. */

import type { Deployment, PodTemplateSpec } from '../../api/generated/types.ts';
import { encodeObject } from '../../api/model/encode.ts';
import { modelOf } from '../../api/model/model.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { hashOf } from './revision-history.ts';

const nameCharactersMax = 253;

export const templateHashKey = 'pod-template-hash';

/** The canonical text of a template, without the hash label. */
export function templateText({ metadata = {}, spec }: PodTemplateSpec): string {
  const { [templateHashKey]: _, ...labels } = metadata.labels ?? {};
  const template = { metadata: { ...metadata, labels }, spec } as JsonObject;
  return encodeObject(modelOf('PodTemplateSpec'), template);
}

/** The hash of a deployment's template; another one after each name collision. */
export const templateHash = ({ spec, status }: Deployment): string =>
  hashOf(templateText(spec?.template ?? {}), status?.collisionCount);

/** The name of a deployment with a hash appended; a long name is cut to make room. */
export function replicaSetName(deployment: string, hash: string): string {
  const room = nameCharactersMax - hash.length - 1;
  const base = deployment.length > room ? deployment.slice(0, room).replace(/[-.]+$/, '') : deployment;
  return `${base}-${hash}`;
}
