/** Scale: the subresource that reads and sets the number of replicas. */

import { badRequest, invalid as invalidObject } from '../../api/errors/errors.ts';
import { invalid } from '../../api/errors/field-error.ts';
import type { Column, Kind } from '../../api/kind/kind.ts';
import {
  formatMapSelector,
  type LabelSelectorObject,
  type Labels,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import { selfLink } from '../../api/kind/meta.ts';
import { modelOf } from '../../api/model/model.ts';
import { ageCell, ageColumn, nameColumn } from '../../api/rules/shared/columns.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Cell } from '../../api/values/elapsed.ts';
import type { Expected } from '../input.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { converted } from '../view/entry-conversion.ts';
import type { Writing } from '../writing.ts';
import { customScale, partialScale, rescaled, scaleToChange } from './custom-scale.ts';
import { checkPreconditions, modify } from './modify.ts';
import type { Track } from './ownership.ts';
import { trackScale } from './scale-ownership.ts';
import { checkName } from './update.ts';

export interface Scale extends ApiObject {
  spec: { replicas?: number };
  status: { replicas: number; selector?: unknown };
}

/** The shape of a Scale: autoscaling/v1, or that of the former extensions group. */
export interface ScaleForm extends Expected {
  readonly group: string;
  readonly selectorIsMap: boolean;
  readonly columns: readonly Column[];
  cells(scale: ApiObject): Cell[];
}

const table: Pick<ScaleForm, 'columns' | 'cells'> = {
  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: 'Number of replicas wanted.' },
    { name: 'Available', type: 'integer', description: 'Number of replicas there are.' },
    ageColumn,
  ],
  cells(scale) {
    const { spec, status } = scale as Scale;
    return [scale.metadata.name, spec.replicas ?? 0, status.replicas, ageCell(scale)];
  },
};

/** The form for all kinds but those of the former extensions group. */
export const usualScale: ScaleForm = {
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  group: 'autoscaling',
  model: modelOf('Scale', 'autoscaling-v1'),
  selectorIsMap: false,
  ...table,
};

const formerScale: ScaleForm = {
  kind: 'Scale',
  apiVersion: 'extensions/v1beta1',
  group: 'extensions',
  model: modelOf('Scale', 'extensions-v1beta1'),
  selectorIsMap: true,
  ...table,
};

/** @param apiVersion of the scaled kind, or of the request path */
export const scaleFormOf = (apiVersion: string): ScaleForm =>
  apiVersion === formerScale.apiVersion ? formerScale : usualScale;

/** The scaled object: kinds differ in the type of their selector. */
interface Scalable extends ApiObject {
  spec?: { replicas?: number; selector?: unknown };
  status?: { replicas?: number };
}

export function scaleOf(entry: Entry, form: ScaleForm, kind: Kind = entry.kind): Scale {
  const object = entry.object(kind);
  return kind.scaling?.paths
    ? customScale(object, kind, kind.scaling?.paths)
    : scaleOfObject(kind, object, form);
}

/** The Scale of an object that need not be stored. */
export function scaleOfObject(kind: Kind, object: ApiObject, form: ScaleForm): Scale {
  if (kind.scaling?.paths) return partialScale(object, kind, kind.scaling?.paths);
  const scaled = object as Scalable;
  const { name, namespace, selfLink: link, uid, resourceVersion, creationTimestamp } = scaled.metadata;
  const selector = shownSelector(kind, scaled.spec?.selector ?? {}, form);
  const replicas = scaled.spec?.replicas ?? 0;
  return {
    kind: form.kind,
    apiVersion: form.apiVersion,
    metadata: {
      name,
      namespace,
      selfLink: link && `${selfLink(servedBy(kind, form), namespace!, name!)}/scale`,
      uid,
      // The Scale of 1.1 had no resourceVersion, so a PUT is no conflict when the object has changed meanwhile.
      ...(form.selectorIsMap ? {} : { resourceVersion }),
      creationTimestamp,
    },
    spec: replicas ? { replicas } : {},
    status: {
      replicas: scaled.status?.replicas ?? 0,
      ...(Object.keys(selector).length ? { selector } : {}),
    },
  };
}

/** The path of a scale: below the scaled object, or below its name in the group that served it first. */
const servedBy = ({ apiVersion, resource }: Kind, form: ScaleForm) => ({
  apiVersion: form.selectorIsMap ? form.apiVersion : apiVersion,
  resource,
  namespaced: true,
});

function shownSelector({ scaling }: Kind, selector: object, form: ScaleForm): object | string {
  if (!scaling?.selectorIsMap) return selectorFromObject(selector as LabelSelectorObject).toString();
  return form.selectorIsMap ? selector : formatMapSelector(selector as Labels);
}

/** Sets the number of replicas from the new Scale; its other fields are ignored. */
export async function rescale(
  writing: Writing,
  request: Request,
  target: Target,
  form: ScaleForm,
  read: (current: Scale, entry: Entry) => ApiObject,
  track: Track = trackScale,
): Promise<Scale> {
  const { kind, namespace, name } = target;
  const entry = await modify(
    writing,
    request,
    target,
    (current) => {
      const wanted = read(changeableScale(current, form, kind), current) as Scale;
      checkName(wanted, name);
      if (wanted.metadata.namespace && wanted.metadata.namespace !== namespace)
        throw badRequest(
          'the namespace of the provided object does not match the namespace sent on the request',
        );
      const scaled = current.object(kind) as Scalable;
      checkPreconditions(kind, name, wanted.metadata, current, scaled);
      if (kind.scaling?.paths) return rescaled(scaled, kind.scaling?.paths, wanted.spec?.replicas);
      const replicas = wanted.spec?.replicas ?? 0;
      if (replicas < 0)
        throw invalidObject(form, name, [
          invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
        ]);
      scaled.spec = { ...scaled.spec, replicas };
      return scaled;
    },
    track,
  );
  await converted(kind, [entry]);
  return scaleOf(entry, form, kind);
}

/** The current scale; that of a custom object may have no replicas yet. */
function changeableScale(current: Entry, form: ScaleForm, kind: Kind): Scale {
  const object = current.object(kind);
  return kind.scaling?.paths
    ? scaleToChange(object, kind, kind.scaling?.paths)
    : scaleOfObject(kind, object, form);
}
