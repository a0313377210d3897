/** The routes of a stored kind: the verb for each method of the collection, of objects and of their subresources. */
import type { Kind, Verb } from '../api/kind/kind.ts';
import type { Subresource } from '../api/kind/subresource.ts';
import type { Part, Target } from '../registry/target.ts';
import { customScaleForm } from '../registry/verbs/custom-scale.ts';
import { type ScaleForm, scaleFormOf } from '../registry/verbs/scale.ts';
import { requestToken } from './computed/token-request.ts';
import type { Handler, RequestContext } from './http/context.ts';
import type { ResourceInfo } from './http/request-info.ts';
import type { Methods, ResourceRoutes, Route } from './http/routes.ts';
import { bindPod } from './objects/binding.ts';
import { evictPod } from './objects/eviction.ts';
import {
  createObject,
  deleteCollection,
  deleteObject,
  getObject,
  listObjects,
  patchObject,
  replaceObject,
  type Serving,
} from './objects/objects.ts';
import { scaleObject } from './objects/scaling.ts';
import { type Watching, watchObjects } from './objects/watching.ts';

const none: Methods = new Map();
const notUpgradable: ReadonlySet<string> = new Set();

export function kindRoutes(serving: Serving, watching: Watching, kind: Kind): ResourceRoutes {
  const about = (verb: ObjectVerb): Handler => handlerFor(serving, verb, kind, 'main');
  return {
    namespaced: kind.namespaced,
    custom: kind.custom ? kind : undefined,
    deprecation: kind.deprecation,
    all: undefined,
    watch: (context, info) => watchObjects(watching, context, kind, info),
    collection: new Map<string, Handler>([
      ['GET', about(listObjects)],
      ['POST', about(createObject)],
      ['DELETE', about(deleteCollection)],
    ]),
    object: objectMethods(serving, kind),
    parts: new Map(kind.subresources.map((part) => [part.name, partRoute(serving, kind, part)])),
    upgradable: notUpgradable,
  };
}

/** A verb of stored objects, over HTTP. */
type ObjectVerb = (serving: Serving, context: RequestContext, target: Target) => void | Promise<void>;

/** Runs a verb on what the path names. */
const handlerFor =
  (serving: Serving, verb: ObjectVerb, kind: Kind, part: Part): Handler =>
  (context, info) =>
    verb(serving, context, targetIn(info, kind, part));

/**
 * The object or subresource that the path names; the name is '' for a collection, the namespace '' for all namespaces.
 */
const targetIn = ({ namespace = '', name = '' }: ResourceInfo, kind: Kind, part: Part): Target => ({
  kind,
  namespace,
  name,
  part,
});

function objectMethods(serving: Serving, kind: Kind): Methods {
  const about = (verb: ObjectVerb): Handler => handlerFor(serving, verb, kind, 'main');
  return new Map<string, Handler>([
    ['GET', about(getObject)],
    ['PUT', about(replaceObject)],
    ['PATCH', about(patchObject)],
    ['DELETE', about(deleteObject)],
  ]);
}

const partMethods: readonly [method: string, verb: Verb, handler: ObjectVerb][] = [
  ['GET', 'get', getObject],
  ['PUT', 'update', replaceObject],
  ['PATCH', 'patch', patchObject],
];

/** A subresource that the kind names but that has no handler: every method gets 405. */
function partRoute(serving: Serving, kind: Kind, part: Subresource): Route {
  const { name, verbs, change, binding, eviction, scaling } = part;
  const about = (verb: ObjectVerb): Handler => handlerFor(serving, verb, kind, name as Part);
  if (change)
    return new Map(
      partMethods.flatMap(([method, verb, handler]) =>
        verbs.includes(verb) ? [[method, about(handler)] as const] : [],
      ),
    );
  if (scaling) return scaleRoute(serving, kind, kind.apiVersion);
  if (binding) return only('POST', about(bindPod));
  if (eviction) return only('POST', about(evictPod));
  return name === 'token' ? only('POST', about(requestToken)) : none;
}

const only = (method: string, handler: Handler): Methods => new Map([[method, handler]]);

/** @param apiVersion of the path on which the kind is scaled */
function scaleRoute(serving: Serving, kind: Kind, apiVersion: string): Route {
  if (kind.scaling?.paths) {
    const handler = scaling(serving, kind, customScaleForm);
    return new Map(['GET', 'PUT', 'PATCH'].map((method) => [method, handler]));
  }
  return kind.namespaced ? scaling(serving, kind, scaleFormOf(apiVersion)) : none;
}

const scaling =
  (serving: Serving, kind: Kind, form: ScaleForm): Handler =>
  (context, info) =>
    scaleObject(serving, context, targetIn(info, kind, 'scale'), form);

/** The extensions group, which served the scale of core kinds before they had their own, and still does. */
export const oldScaleVersion = 'extensions/v1beta1';

/** The scale routes of a core kind in that group, merged with the routes of a resource of the same name there. */
export function oldScaleRoutes(
  serving: Serving,
  kind: Kind,
  beside: ResourceRoutes | undefined,
): ResourceRoutes {
  const scale = scaleRoute(serving, kind, oldScaleVersion);
  if (beside) return { ...beside, parts: new Map([...beside.parts, ['scale', scale]]) };
  return {
    namespaced: kind.namespaced,
    deprecation: undefined,
    all: undefined,
    watch: undefined,
    collection: undefined,
    object: undefined,
    parts: new Map([['scale', scale]]),
    upgradable: notUpgradable,
  };
}
