/** The routes of a stored kind: the verb for each method of the collection, of objects and of their subresources. */
import type { Kind } from '../../api/kind.ts';
import { customScaleForm } from '../../registry/customscale.ts';
import { scaleForms } from '../../registry/scale.ts';
import { requestToken } from '../computed/tokenrequest.ts';
import type { Handler, Methods, ResourceRoutes, Route } from '../http/routes.ts';
import { bindPod } from './binding.ts';
import { evictPod } from './eviction.ts';
import {
  createObject,
  deleteCollection,
  deleteObject,
  getObject,
  listObjects,
  patchObject,
  replaceObject,
  type Serving,
} from './objects.ts';
import { scaleObject } from './scaling.ts';
import { type Watching, watchObjects } from './watching.ts';

const none: Methods = new Map();
const notUpgradable: ReadonlySet<string> = new Set();

export function kindRoutes(serving: Serving, watching: Watching, kind: Kind): ResourceRoutes {
  return {
    namespaced: kind.namespaced,
    custom: kind.custom ? kind : undefined,
    deprecation: kind.deprecation,
    all: undefined,
    watch: (context, info) => watchObjects(watching, context, kind, info),
    collection: new Map<string, Handler>([
      ['GET', (context, info) => listObjects(serving, context, kind, info)],
      ['POST', (context, info) => createObject(serving, context, kind, info)],
      ['DELETE', (context, info) => deleteCollection(serving, context, kind, info)],
    ]),
    object: objectMethods(serving, kind),
    parts: new Map(kind.subresources.map(({ name }) => [name, partRoute(serving, kind, name)])),
    upgradable: notUpgradable,
  };
}

function objectMethods(serving: Serving, kind: Kind): Methods {
  return new Map<string, Handler>([
    ['GET', (context, info) => getObject(serving, context, kind, info.namespace ?? '', info.name!)],
    [
      'PUT',
      (context, info) => replaceObject(serving, context, kind, info.namespace ?? '', info.name!, 'main'),
    ],
    [
      'PATCH',
      (context, info) => patchObject(serving, context, kind, info.namespace ?? '', info.name!, 'main'),
    ],
    ['DELETE', (context, info) => deleteObject(serving, context, kind, info.namespace ?? '', info.name!)],
  ]);
}

/** A subresource that the kind names but that has no handler: every method gets 405. */
function partRoute(serving: Serving, kind: Kind, part: string): Route {
  switch (part) {
    case 'binding':
      return only('POST', (context, info) => bindPod(serving, context, info.namespace, info.name));
    case 'eviction':
      return only('POST', (context, info) => evictPod(serving, context, kind, info));
    case 'token':
      return only('POST', (context, info) =>
        requestToken(serving, context, kind, info.namespace ?? '', info.name!),
      );
    case 'scale':
      return scaleRoute(serving, kind, kind.apiVersion);
    case 'finalize':
      return only('PUT', (context, info) =>
        replaceObject(serving, context, kind, info.namespace ?? '', info.name!, part),
      );
    case 'status':
    case 'ephemeralcontainers':
    case 'resize':
    case 'approval':
      return new Map<string, Handler>([
        ['GET', (context, info) => getObject(serving, context, kind, info.namespace ?? '', info.name!)],
        [
          'PUT',
          (context, info) => replaceObject(serving, context, kind, info.namespace ?? '', info.name!, part),
        ],
        [
          'PATCH',
          (context, info) => patchObject(serving, context, kind, info.namespace ?? '', info.name!, part),
        ],
      ]);
    default:
      return none;
  }
}

const only = (method: string, handler: Handler): Methods => new Map([[method, handler]]);

/** @param apiVersion of the path on which the kind is scaled */
function scaleRoute(serving: Serving, kind: Kind, apiVersion: string): Route {
  if (kind.scalePaths) {
    const handler: Handler = (context, info) => scaleObject(serving, context, kind, info, customScaleForm);
    return new Map(['GET', 'PUT', 'PATCH'].map((method) => [method, handler]));
  }
  if (!kind.namespaced || !Object.hasOwn(scaleForms, apiVersion)) return none;
  const form = scaleForms[apiVersion]!;
  return (context, info) => scaleObject(serving, context, kind, info, form);
}

/** The extensions group, in which core kinds were scaled first, and still can be. */
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
