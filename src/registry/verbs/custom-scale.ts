/** The scale of custom objects: a view of the numbers that their definition points at. */

import { badRequest, internal } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { selfLink } from '../../api/kind/meta.ts';
import { type ScalePaths, scaleNames, setValueAt } from '../../api/kind/scale-paths.ts';
import { modelOf } from '../../api/model/model.ts';
import { nameColumn } from '../../api/rules/shared/columns.ts';
import { valueAt } from '../../api/text/json-path.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { elapsed } from '../../api/values/elapsed.ts';
import type { Scale, ScaleForm } from './scale.ts';

export const customScaleForm: ScaleForm = {
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  group: 'autoscaling',
  model: modelOf('Scale', 'autoscaling-v1'),
  selectorIsMap: false,
  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: 'Number of desired replicas' },
    { name: 'Available', type: 'integer', description: 'Number of actual replicas' },
    { name: 'Age', type: 'date', description: 'How long ago the object was created.' },
  ],
  cells(scale) {
    const { metadata, spec, status } = scale as Scale;
    return [metadata.name, spec.replicas ?? 0, status.replicas, elapsed(metadata.creationTimestamp)];
  },
};

/** The scale of an object, which must have a number of replicas. */
export function customScale(object: ApiObject, kind: Kind, paths: ScalePaths): Scale {
  if (replicasAt(object, paths.spec) === undefined)
    throw internal(`the spec replicas field ${JSON.stringify(paths.spec)} does not exist`);
  return partialScale(object, kind, paths);
}

/** The scale of an object that may have no replicas yet. */
export function partialScale(object: ApiObject, kind: Kind, paths: ScalePaths): Scale {
  const { name = '', namespace, selfLink: link, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = replicasAt(object, paths.spec);
  const selector = paths.selector ? valueAt(object, scaleNames(paths.selector)) : undefined;
  return {
    kind: customScaleForm.kind,
    apiVersion: customScaleForm.apiVersion,
    metadata: {
      name,
      namespace,
      selfLink: link && `${selfLink(kind, namespace ?? '', name)}/scale`,
      uid,
      resourceVersion,
      creationTimestamp,
    },
    spec: replicas ? { replicas } : {},
    status: {
      replicas: replicasAt(object, paths.status) ?? 0,
      ...(typeof selector === 'string' && selector ? { selector } : {}),
    },
  };
}

function replicasAt(object: ApiObject, path: string): number | undefined {
  const value = valueAt(object, scaleNames(path));
  return Number.isInteger(value) ? (value as number) : undefined;
}

/** Stands for the missing replicas of a scale that is about to be changed: a value that no client would send. */
const unsetReplicas = -2_147_483_648;

/** The scale that a change begins with. */
export function scaleToChange(object: ApiObject, kind: Kind, paths: ScalePaths): Scale {
  const scale = partialScale(object, kind, paths);
  if (replicasAt(object, paths.spec) === undefined) scale.spec.replicas = unsetReplicas;
  return scale;
}

/** The object with another number of replicas; a Scale without any means none. */
export function rescaled(object: ApiObject, { spec }: ScalePaths, replicas = 0): ApiObject {
  if (replicas === unsetReplicas)
    throw badRequest(`the spec replicas field ${JSON.stringify(spec)} cannot be empty`);
  setValueAt(object, scaleNames(spec), replicas);
  return object;
}
