/** Proves that models and operations are shown as Kubernetes 1.36 shows them: to the letter, where a client may compare. */
import { describe, expect, it } from 'vitest';
import { KindTable } from '../../../api/kinds/kinds.ts';
import { servedComputedVersions } from '../../route-table.ts';
import { Discovery } from '../discovery.ts';
import { Documents } from './documents.ts';

type Json = any;

const kinds = new KindTable();
const documents = new Documents(new Discovery(kinds, servedComputedVersions(kinds)), kinds);
const parse = (document: { bytes: Buffer } | undefined): Json => JSON.parse(document!.bytes.toString());

const v2 = parse(await documents.v2());
const v3 = async (name: string): Promise<Json> => parse(await documents.v3(name));
const core = await v3('api/v1');

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const schemaOf = (name: string): Json => v2.definitions[name];

describe('models', () => {
  it.each([
    ['io.k8s.api.authentication.v1.TokenReviewSpec', ['token']],
    ['io.k8s.api.policy.v1.PodDisruptionBudgetStatus', undefined],
    ['io.k8s.api.scheduling.v1.PriorityClass', undefined],
    // In the order of the fields.
    ['io.k8s.api.core.v1.ContainerStatus', ['name', 'ready', 'restartCount', 'image', 'imageID']],
    [`${meta}.Condition`, ['type', 'status', 'lastTransitionTime', 'reason', 'message']],
  ])('%s requires %j', (name, required) => {
    expect(schemaOf(name).required).toEqual(required);
  });

  it('of another group are shown under the name that they have there', async () => {
    const term = 'io.k8s.api.core.v1.TopologySelectorTerm';
    const storage = await v3('apis/storage.k8s.io/v1');
    expect(schemaOf('io.k8s.api.storage.v1.StorageClass').properties.allowedTopologies.items).toEqual({
      $ref: `#/definitions/${term}`,
    });
    for (const definitions of [v2.definitions, storage.components.schemas]) {
      expect(definitions).toHaveProperty([term]);
      expect(definitions).not.toHaveProperty(['io.k8s.api.storage.v1.TopologySelectorTerm']);
    }
  });

  it('of apiregistration and apiextensions have the names of their packages', () => {
    const aggregator = 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1';
    for (const name of ['APIService', 'APIServiceList', 'ServiceReference'])
      expect(v2.definitions).toHaveProperty([`${aggregator}.${name}`]);
    const extensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
    const parts = schemaOf(`${extensions}.JSONSchemaProps`).properties;
    expect([parts.default.$ref, parts.items.$ref, parts.additionalProperties.$ref]).toEqual(
      ['JSON', 'JSONSchemaPropsOrArray', 'JSONSchemaPropsOrBool'].map(
        (name) => `#/definitions/${extensions}.${name}`,
      ),
    );
    for (const name of [
      'JSON',
      'JSONSchemaPropsOrArray',
      'JSONSchemaPropsOrBool',
      'JSONSchemaPropsOrStringArray',
    ])
      expect(v2.definitions).toHaveProperty([`${extensions}.${name}`]);
    expect(Object.keys(v2.definitions).filter((name) => name.includes('api.apiregistration'))).toEqual([]);
  });

  it('lack fields that only Kubernetes 1.1 had, which Swagger 1.2 shows', async () => {
    const spec = 'io.k8s.api.core.v1.ServiceSpec';
    for (const { properties } of [schemaOf(spec), core.components.schemas[spec]]) {
      expect(properties).not.toHaveProperty('deprecatedPublicIPs');
      expect(properties).toHaveProperty('externalIPs');
    }
    const old = parse(await documents.swagger12('/api/v1', 'http://localhost'));
    expect(old.models['v1.ServiceSpec'].properties).toHaveProperty('deprecatedPublicIPs');
  });

  it('list the values that a map may hold', () => {
    const { allocatedResourceStatuses } = schemaOf(
      'io.k8s.api.core.v1.PersistentVolumeClaimStatus',
    ).properties;
    expect(allocatedResourceStatuses.additionalProperties.enum).toEqual([
      'ControllerResizeInProgress',
      'ControllerResizeInfeasible',
      'NodeResizeInProgress',
      'NodeResizeInfeasible',
      'NodeResizePending',
    ]);
  });

  it('say which fields exclude each other', () => {
    for (const definitions of [v2.definitions, core.components.schemas])
      expect(definitions['io.k8s.api.core.v1.SeccompProfile']['x-kubernetes-unions']).toEqual([
        { discriminator: 'type', 'fields-to-discriminateBy': { localhostProfile: 'LocalhostProfile' } },
      ]);
  });

  it('show defaults in version 3 alone', () => {
    expect(JSON.stringify(v2.definitions)).not.toMatch(/"default":(?!\{"description|\{"\$ref)/);
    const { Container, ContainerPort, LocalObjectReference, Pod, PodSpec } = Object.fromEntries(
      ['Container', 'ContainerPort', 'LocalObjectReference', 'Pod', 'PodSpec'].map((name) => [
        name,
        core.components.schemas[`io.k8s.api.core.v1.${name}`].properties,
      ]),
    );
    expect(ContainerPort.protocol.default).toBe('TCP');
    expect(ContainerPort.containerPort.default).toBe(0);
    expect(ContainerPort.hostPort).not.toHaveProperty('default');
    expect(LocalObjectReference.name.default).toBe('');
    expect(Container.args.items).toEqual({ type: 'string', default: '' });
    expect(Pod.spec.default).toEqual({});
    expect(PodSpec.containers.items).toEqual({
      default: {},
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Container' }],
    });
    expect(PodSpec.securityContext).not.toHaveProperty('default');
  });

  it('that all versions share are named as kinds of each', async () => {
    const versionsIn = (schemas: Json): string[] =>
      schemas[`${meta}.DeleteOptions`]['x-kubernetes-group-version-kind'].map(
        ({ group, version }: Json) => `${group}/${version}`,
      );
    expect(versionsIn(core.components.schemas)).toEqual(['/v1']);
    expect(versionsIn((await v3('apis/apps/v1')).components.schemas)).toEqual(['/v1', 'apps/v1']);
    const all = versionsIn(v2.definitions);
    expect(all).toHaveLength(60);
    expect(all).toEqual([...all].sort());
    expect(schemaOf(`${meta}.Patch`).type).toBe('object');
  });
});

describe('operations', () => {
  const pods = '/api/v1/namespaces/{namespace}/pods';
  const codes = (path: string, method: string): string[] => Object.keys(v2.paths[path][method].responses);

  it('tell the codes of a success, and that of a client without credentials', () => {
    expect(codes(pods, 'post')).toEqual(['200', '201', '202', '401', 'default']);
    expect(codes(`${pods}/{name}`, 'put')).toEqual(['200', '201', '401', 'default']);
    expect(codes(`${pods}/{name}`, 'patch')).toEqual(['200', '201', '401', 'default']);
    expect(codes(`${pods}/{name}`, 'delete')).toEqual(['200', '202', '401', 'default']);
    expect(codes(pods, 'delete')).toEqual(['200', '401', 'default']);
    expect(v2.security).toEqual([{ BearerToken: [] }]);
    expect(core.components.securitySchemes).toHaveProperty('BearerToken');
  });

  it('tell the media types of their answers', () => {
    const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
    const streams = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
    expect(v2.paths[`${pods}/{name}`].get.produces).toEqual(types);
    expect(v2.paths[pods].get.produces).toEqual([...types, ...streams]);
    expect(Object.keys(core.paths[pods].get.responses[200].content)).toEqual([...types, ...streams]);
    expect(v2.paths[`${pods}/{name}/log`].get.produces).toEqual(['text/plain', ...types]);
  });

  it('have the names and tags of their group', () => {
    expect(v2.paths[`${pods}/{name}/log`].get.operationId).toBe('readCoreV1NamespacedPodLog');
    const schemas = v2.paths['/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas'].get;
    expect([schemas.operationId, schemas.tags]).toEqual([
      'listFlowcontrolApiserverV1FlowSchema',
      ['flowcontrolApiserver_v1'],
    ]);
    const roles = v2.paths['/apis/rbac.authorization.k8s.io/v1/clusterroles'].get;
    expect(roles.operationId).toBe('listRbacAuthorizationV1ClusterRole');
  });

  it('lead through proxies to a path, with every method', async () => {
    const proxied = v2.paths['/api/v1/nodes/{name}/proxy/{path}'];
    expect(Object.keys(proxied).sort()).toEqual(
      ['delete', 'get', 'head', 'options', 'parameters', 'patch', 'post', 'put'].sort(),
    );
    expect(proxied.head.operationId).toBe('connectCoreV1HeadNodeProxyWithPath');
    const old = parse(await documents.swagger12('/api/v1', 'http://localhost'));
    const methods = old.apis.flatMap(({ operations }: Json) => operations.map(({ method }: Json) => method));
    expect(methods).not.toContain('HEAD');
  });

  it('take the parameters of Kubernetes', () => {
    const names = (path: string, method: string): string[] =>
      [...v2.paths[path].parameters, ...(v2.paths[path][method].parameters ?? [])].map(
        ({ $ref, name }: Json) => name ?? $ref.split('/').at(-1),
      );
    expect(names(`${pods}/{name}`, 'get')).toEqual(['namespace', 'name', 'pretty']);
    expect(names(pods, 'get')).toContain('shardSelector');
    expect(names(pods, 'delete')).toEqual(
      expect.arrayContaining(['continue', 'timeoutSeconds', 'resourceVersion']),
    );
    expect(names(`${pods}/{name}/exec`, 'get')).not.toContain('pretty');
    expect(names(`${pods}/{name}/log`, 'get')).not.toContain('sinceTime');
    const ports = v2.paths[`${pods}/{name}/portforward`].get.parameters.find(
      ({ name }: Json) => name === 'ports',
    );
    expect(ports).toMatchObject({ type: 'integer', uniqueItems: true });
  });
});
