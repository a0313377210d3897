/** The router: from what a request asks for to the handler that answers it. */
import { badRequest, methodNotAllowed, resourceNotFound, success } from '../../api/errors.ts';
import type { Binding, Eviction } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind.ts';
import { modelOf } from '../../api/model.ts';
import { isJsonObject } from '../../api/object.ts';
import { bind } from '../../registry/binding.ts';
import { settleNamespace } from '../../registry/create.ts';
import { evict } from '../../registry/eviction.ts';
import { type Input, readObject } from '../../registry/input.ts';
import { read } from '../../registry/list.ts';
import { patched } from '../../registry/patch.ts';
import { rescale, type Scale, type ScaleForm, scaleForms, scaleOf } from '../../registry/scale.ts';
import type { Upgrade } from '../../streams/tunnel.ts';
import { answerBackup } from '../computed/backup.ts';
import { answerComponentStatus, type Component } from '../computed/componentstatus.ts';
import { answerMetrics, metricsResources, metricsVersion } from '../computed/metricsapi.ts';
import { answerReview, reviewVersions } from '../computed/reviews.ts';
import { requestToken } from '../computed/tokenrequest.ts';
import type { UsageReports } from '../computed/usagereports.ts';
import { AggregatedDiscovery } from '../discovery/aggregateddiscovery.ts';
import { type ComputedVersions, Discovery } from '../discovery/discovery.ts';
import { OpenApi } from '../discovery/openapi.ts';
import { versionInfo } from '../discovery/version.ts';
import {
  checkPathName,
  createObject,
  deleteCollection,
  deleteObject,
  getObject,
  listObjects,
  objectBody,
  patchBody,
  patchObject,
  patchType,
  replaceObject,
  type Serving,
  writeOptions,
} from '../objects/objects.ts';
import { answerObject } from '../objects/presentation.ts';
import { type Watching, watchOverHttp } from '../objects/watching.ts';
import { expositionType } from '../observe/exposition.ts';
import { answerHealth, type HealthCheck } from '../observe/health.ts';
import type { Connecting } from '../pods/connecting.ts';
import type { Proxying } from '../pods/proxying.ts';
import { answerText, answerValue } from './answer.ts';
import type { RequestContext } from './context.ts';
import { isConnection, isProxy, type ResourceInfo } from './requestinfo.ts';

/** Versions of which nothing is stored. */
const computedVersions: ComputedVersions = new Map([...reviewVersions, [metricsVersion, metricsResources]]);

export class Router {
  readonly #discovery: Discovery;
  readonly #aggregated: AggregatedDiscovery;
  readonly #openApi: OpenApi;
  /** Loaded with the first connection, like all that carries them: few starts need it. */
  #proxying: Promise<Proxying> | undefined;

  constructor(
    private readonly serving: Serving,
    private readonly watching: Watching,
    private readonly components: readonly Component[],
    private readonly connecting: Connecting,
    private readonly usage: UsageReports,
    private readonly health: readonly HealthCheck[],
    /** The figures of the server, as text. */
    private readonly metrics: () => Promise<string>,
  ) {
    const { chance, kinds } = serving.registry;
    this.#discovery = new Discovery(kinds, computedVersions);
    this.#aggregated = new AggregatedDiscovery(this.#discovery);
    this.#openApi = new OpenApi(this.#discovery, kinds, () => chance.nowMs());
  }

  route(context: RequestContext): void | Promise<void> {
    const { resource } = context.info;
    if (isProxy(resource)) return this.#proxy().then((proxying) => proxying.request(context, resource));
    return resource ? this.#resource(context, resource) : this.#page(context);
  }

  /** A request for another protocol that is no watch. Serves the connection to its end. */
  async upgrade(context: RequestContext, upgrade: Upgrade): Promise<void> {
    const info = context.info.resource;
    if (isProxy(info)) return (await this.#proxy()).upgrade(context, info, upgrade);
    const kind = info && this.#kindOf(info);
    if (kind && !info.watchPrefix && isConnection(info)) return this.#connect(context, kind, info, upgrade);
    throw badRequest('this path does not take an upgrade of the connection');
  }

  #proxy(): Promise<Proxying> {
    this.#proxying ??= import('../pods/proxying.ts').then(({ Proxying }) => new Proxying(this.connecting));
    return this.#proxying;
  }

  async #connect(context: RequestContext, kind: Kind, info: ResourceInfo, upgrade?: Upgrade): Promise<void> {
    const { connect } = await import('../pods/podconnections.ts');
    return connect(this.connecting, context, kind, info, upgrade);
  }

  /** Whether there is such a resource or, with a subresource, such a part of it. */
  serves(apiVersion: string, resource: string, subresource: string | undefined): boolean {
    return this.#discovery.serves(apiVersion, subresource ? `${resource}/${subresource}` : resource);
  }

  async #page(context: RequestContext): Promise<void> {
    if (!(await this.#other(context))) answerText(context, 404, '404 page not found\n');
  }

  /** The kind and namespace a watch path addresses; undefined when the request is no watch. */
  watchTarget(context: RequestContext): { kind: Kind; info: ResourceInfo } | undefined {
    const info = context.info.resource;
    if (!info || context.info.method !== 'GET') return undefined;
    if (!info.watchPrefix && !context.info.queryText.includes('watch')) return undefined;
    const kind = this.#kindOf(info);
    if (!kind) return undefined;
    if (info.watchPrefix)
      return info.subresource === undefined && fitsScope(kind, info) ? { kind, info } : undefined;
    const asked = info.name === undefined && context.query.flag('watch');
    return asked && fitsScope(kind, info, true) ? { kind, info } : undefined;
  }

  #kindOf(info: ResourceInfo): Kind | undefined {
    return this.serving.registry.kinds.resource(info.apiVersion, info.resource);
  }

  // Paths that are not about resources

  async #other(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if (method === 'GET' || method === 'HEAD') {
      if (await answerHealth(context, this.health)) return true;
      if (path === '/metrics') {
        answerText(context, 200, await this.metrics(), expositionType);
        return true;
      }
    }
    if (await answerBackup(context, this.serving.registry)) return true;
    if (await this.#aggregated.answer(context)) return true;
    const value = this.#document(context, path);
    if (value === undefined) return this.#openApi.answer(context);
    if (method !== 'GET') throw methodNotAllowed();
    const negotiated = context.negotiate();
    const pretty = path === '/version' || path === '/';
    await answerValue(context, 200, value, {
      ...negotiated,
      transform: undefined,
      pretty: pretty || negotiated.pretty,
    });
    return true;
  }

  #document(context: RequestContext, path: string): unknown {
    if (path === '/' || path === '') return { paths: this.#discovery.paths() };
    if (path === '/version') return versionInfo;
    if (path === '/api') return this.#discovery.apiVersions(context.request.headers.host ?? '');
    if (path === '/apis') return this.#discovery.groupList();
    const [, root, group, version, ...rest] = path.split('/');
    if (rest.length) return undefined;
    if (root === 'api' && version === undefined) return this.#known(this.#discovery.resourceList(group!));
    if (root !== 'apis') return undefined;
    const described = this.#discovery.group(group!);
    if (!described || version === undefined) return described;
    return this.#known(this.#discovery.resourceList(`${group}/${version}`));
  }

  /** A version that is not served is an API error, not an unknown page. */
  #known<T>(document: T | undefined): T {
    if (document === undefined) throw resourceNotFound();
    return document;
  }

  // Resources

  #resource(context: RequestContext, info: ResourceInfo): void | Promise<void> {
    if (info.apiVersion !== 'v1' && !this.#discovery.group(info.apiVersion.split('/')[0]!)) {
      // A group nobody knows is no part of the API.
      if (context.info.path.startsWith('/apis/')) return answerText(context, 404, '404 page not found\n');
      throw resourceNotFound();
    }
    if (info.apiVersion === metricsVersion)
      return answerMetrics(this.serving.registry, this.usage, context, info);
    if (reviewVersions.has(info.apiVersion)) return answerReview(this.serving, context, info);
    const kind = this.#kindOf(info);
    if (kind?.deprecation) context.warnings.push(kind.deprecation);
    const target = this.watchTarget(context);
    if (target) return watchOverHttp(this.watching, context, target.kind, target.info);
    if (info.watchPrefix) {
      if (kind && context.info.method !== 'GET') throw methodNotAllowed();
      throw resourceNotFound();
    }
    if (info.apiVersion === 'v1' && info.resource === 'componentstatuses')
      return answerComponentStatus(context, info, this.components, this.serving.registry.chance.nowMs());
    if (info.apiVersion === 'v1' && info.resource === 'bindings') return this.#bindings(context, info);
    const scaled = this.#scaledKind(info);
    if (scaled) return this.#scale(context, scaled, info, scaleForms[info.apiVersion]!);
    if (!kind) throw resourceNotFound();
    if (info.name === undefined) return this.#collection(context, kind, info);
    if (!fitsScope(kind, info)) throw resourceNotFound();
    if (info.subresource === undefined) return this.#object(context, kind, info);
    if (isConnection(info)) return this.#connect(context, kind, info);
    return this.#subresource(context, kind, info);
  }

  #collection(context: RequestContext, kind: Kind, info: ResourceInfo): Promise<void> {
    if (!fitsScope(kind, info, true)) throw resourceNotFound();
    switch (context.info.method) {
      case 'GET':
        return listObjects(this.serving, context, kind, info);
      case 'POST':
        return createObject(this.serving, context, kind, info);
      case 'DELETE':
        return deleteCollection(this.serving, context, kind, info);
      default:
        throw methodNotAllowed();
    }
  }

  #object(context: RequestContext, kind: Kind, info: ResourceInfo): void | Promise<void> {
    const namespace = info.namespace ?? '';
    switch (context.info.method) {
      case 'GET':
        return getObject(this.serving, context, kind, namespace, info.name!);
      case 'PUT':
        return replaceObject(this.serving, context, kind, namespace, info.name!, 'main');
      case 'PATCH':
        return patchObject(this.serving, context, kind, namespace, info.name!, 'main');
      case 'DELETE':
        return deleteObject(this.serving, context, kind, namespace, info.name!);
      default:
        throw methodNotAllowed();
    }
  }

  #subresource(context: RequestContext, kind: Kind, info: ResourceInfo): void | Promise<void> {
    const namespace = info.namespace ?? '';
    const name = info.name!;
    const part = info.subresource;
    const { method } = context.info;
    const known = kind.subresources.find((sub) => sub.name === part);
    if (!known || info.tail.length) throw resourceNotFound();
    if (part === 'binding' && method === 'POST') return this.#bind(context, namespace, name);
    if (part === 'eviction' && method === 'POST') return this.#evict(context, kind, namespace, name);
    if (part === 'token' && method === 'POST')
      return requestToken(this.serving, context, kind, namespace, name);
    if (part === 'status' || part === 'finalize' || part === 'ephemeralcontainers' || part === 'resize') {
      if (method === 'PUT') return replaceObject(this.serving, context, kind, namespace, name, part);
      if (part === 'finalize') throw methodNotAllowed();
      if (method === 'GET') return getObject(this.serving, context, kind, namespace, name);
      if (method === 'PATCH') return patchObject(this.serving, context, kind, namespace, name, part);
    }
    throw methodNotAllowed();
  }

  /** The kind whose replicas a path is about. Controllers of the core group have a second path, in extensions. */
  #scaledKind(info: ResourceInfo): Kind | undefined {
    if (info.subresource !== 'scale' || info.namespace === undefined || info.tail.length) return undefined;
    if (!Object.hasOwn(scaleForms, info.apiVersion)) return undefined;
    const home = info.apiVersion === 'extensions/v1beta1' ? 'v1' : info.apiVersion;
    const kind = this.serving.registry.kinds.resource(home, info.resource);
    return kind?.subresources.some(({ name }) => name === 'scale') ? kind : undefined;
  }

  async #scale(context: RequestContext, kind: Kind, info: ResourceInfo, form: ScaleForm): Promise<void> {
    const { registry } = this.serving;
    const namespace = info.namespace!;
    const name = info.name!;
    checkPathName(name);
    const answer = (scale: Scale) => answerObject(context, 200, form, scale, registry.chance.nowMs());
    switch (context.info.method) {
      case 'GET': {
        const entry = await read(registry, kind, namespace, name, context.query.get('resourceVersion'));
        return answer(scaleOf(entry, form));
      }
      case 'PUT': {
        const options = writeOptions(context, 'UpdateOptions');
        const input = await objectBody(this.serving, context, 'Scale');
        const wanted = () => readObject(registry.kinds, form, input, options);
        return answer(await rescale(registry, kind, namespace, name, form, wanted, options));
      }
      case 'PATCH': {
        patchType(context);
        const options = writeOptions(context, 'PatchOptions');
        const change = await patchBody(this.serving, context);
        const wanted = (current: object) => patched(change, form, current, options);
        return answer(await rescale(registry, kind, namespace, name, form, wanted, options));
      }
      default:
        throw methodNotAllowed();
    }
  }

  #bindings(context: RequestContext, info: ResourceInfo): Promise<void> {
    if (info.name !== undefined) throw resourceNotFound();
    if (context.info.method !== 'POST') throw methodNotAllowed();
    return this.#bind(context, info.namespace, undefined);
  }

  async #bind(
    context: RequestContext,
    namespace: string | undefined,
    name: string | undefined,
  ): Promise<void> {
    const { registry } = this.serving;
    const options = writeOptions(context, 'CreateOptions');
    const input = await objectBody(this.serving, context, 'Binding');
    const expected = { kind: 'Binding', apiVersion: 'v1', model: modelOf('Binding') };
    const binding = readObject(registry.kinds, expected, input, options) as Binding;
    const pods = registry.kinds.resource('v1', 'pods')!;
    await bind(
      registry,
      pods,
      namespace ?? (binding.metadata.namespace || 'default'),
      name,
      binding,
      options,
    );
    await this.#succeeded(context);
  }

  async #evict(context: RequestContext, pods: Kind, namespace: string, name: string): Promise<void> {
    checkPathName(name);
    const { registry } = this.serving;
    const options = writeOptions(context, 'CreateOptions');
    const input = await objectBody(this.serving, context, 'Eviction');
    const expected = { kind: 'Eviction', apiVersion: evictionVersion(input), model: modelOf('Eviction') };
    const eviction = readObject(registry.kinds, expected, input, options) as Eviction;
    settleNamespace(pods, eviction, namespace);
    await evict(registry, pods, namespace, name, eviction, options);
    await this.#succeeded(context);
  }

  /** Something was done that leaves no object to show. */
  #succeeded(context: RequestContext): Promise<void> {
    const { createStatus } = this.serving;
    return answerValue(context, createStatus, success(createStatus), {
      ...context.negotiate(),
      transform: undefined,
    });
  }
}

/** Bodies of both versions are alike, and clients send either. */
const evictionVersion = ({ value }: Input): string =>
  isJsonObject(value) && value.apiVersion === 'policy/v1beta1' ? value.apiVersion : 'policy/v1';

/** Namespaced objects live in a namespace, others do not; a namespaced collection may span all namespaces. */
function fitsScope(kind: Kind, info: ResourceInfo, collection = info.name === undefined): boolean {
  if (!kind.namespaced) return info.namespace === undefined;
  return info.namespace !== undefined || collection;
}
