/** Proves that the official JavaScript library handles every kind dynamically, and reports failures. */
import {
  CoreV1Api,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { at, edited } from '../contract/samples.ts';
import { housekeeping, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { Calls } from './calls.ts';
import { failureOf, useLibrary } from './library.ts';
import { libraryKinds } from './library-kinds.ts';

const library = useLibrary({ controllers: housekeeping.filter((name) => name !== 'resourcequota') });
const core = (name: string, request?: object, options?: object) =>
  library.call(CoreV1Api, name, request, options);
let objects: KubernetesObjectApi;
/** With `npm test` a third of them, others than informers have: the client makes the same requests for each. */
const kinds = libraryKinds.filter((_, i) => isRelease || i % 3 === 1);

beforeAll(async () => {
  objects = KubernetesObjectApi.makeApiClient(library.config);
  for (const kind of libraryKinds) {
    const name = new Calls(library, kind).namespace;
    if (name) await core('createNamespace', { body: { metadata: { name } } });
  }
});

describe('KubernetesObjectApi', () => {
  it.each(kinds)('handles $apiVersion $kind', async (kind) => {
    const calls = new Calls(library, kind);
    const { apiVersion, sample } = kind;
    const list = async (selector: string): Promise<string[]> =>
      (
        await objects.list(
          apiVersion,
          kind.kind,
          calls.namespace || undefined,
          undefined,
          undefined,
          undefined,
          undefined,
          selector,
        )
      ).items.map(({ metadata }) => metadata!.name!);
    const made: Json = await objects.create(calls.manifest('one'));
    const reference = { apiVersion, kind: kind.kind, metadata: made.metadata };
    expect(await objects.read(reference)).toEqual(made);
    const { pointer, value } = sample.edit;
    const replaced: Json = await objects.replace(edited(made, sample));
    expect(at(replaced, pointer)).toEqual(value);
    const { name, namespace } = made.metadata;
    const labelled = (labels: object): KubernetesObject =>
      ({ apiVersion, kind: kind.kind, metadata: { name, namespace, labels } }) as KubernetesObject;
    const strategic = await objects.patch(labelled({ strategic: 'yes' }));
    const merged = await objects.patch(
      labelled({ merged: 'yes' }),
      undefined,
      undefined,
      'tests',
      undefined,
      PatchStrategy.MergePatch,
    );
    expect(strategic.metadata!.labels).toMatchObject({ contract: 'one', strategic: 'yes' });
    expect(merged.metadata!.labels).toMatchObject({ contract: 'one', strategic: 'yes', merged: 'yes' });
    expect(await list('contract=one,merged=yes')).toEqual(['one']);
    expect(await list('contract=one,merged!=yes')).toEqual([]);
    await objects.create(calls.manifest('two'), undefined, 'All');
    expect(await list('contract=two')).toEqual([]);
    const deleted: Json = await objects.delete(
      reference,
      undefined,
      undefined,
      undefined,
      undefined,
      'Background',
    );
    expect(deleted.kind).toBe(kind.deleteAnswer === 'object' ? kind.kind : 'Status');
    await expect.poll(() => list('contract=one')).toEqual([]);
    expect(await failureOf(objects.read(reference))).toMatchObject({
      code: 404,
      status: { details: { name: 'one', kind: kind.segment } },
    });
  });

  it('knows no kind that is not served', async () => {
    const unknown = objects.read({ apiVersion: 'v1', kind: 'Nothing', metadata: { name: 'a' } });
    await expect(unknown).rejects.toThrow('Unrecognized API version and kind: v1 Nothing');
  });
});

describe('failures', () => {
  const here = { namespace: 'default' };
  const name = 'kept';
  const body = { metadata: { name }, data: { a: '1' } };
  const container = { name: 'web', image: 'registry.example/web:1' };

  beforeAll(async () => {
    await core('createNamespacedConfigMap', { ...here, body });
    const hard = { 'count/secrets': '0' };
    await core('createNamespacedResourceQuota', { ...here, body: { metadata: { name }, spec: { hard } } });
    const quota = await core('readNamespacedResourceQuota', { ...here, name });
    const status = { hard, used: { 'count/secrets': '0' } };
    await core('replaceNamespacedResourceQuotaStatus', { ...here, name, body: { ...quota, status } });
  });

  const table: [string, number, string, () => Promise<unknown>, RegExp, object][] = [
    [
      'of what is not there',
      404,
      'NotFound',
      () => core('readNamespacedPod', { ...here, name: 'nobody' }),
      /^pods "nobody" not found$/,
      { name: 'nobody', kind: 'pods' },
    ],
    [
      'of what is there already',
      409,
      'AlreadyExists',
      () => core('createNamespacedConfigMap', { ...here, body }),
      /^configmaps "kept" already exists$/,
      { name, kind: 'configmaps' },
    ],
    [
      'of a change that comes too late',
      409,
      'Conflict',
      () =>
        core('replaceNamespacedConfigMap', {
          ...here,
          name,
          body: { ...body, metadata: { name, resourceVersion: '1' } },
        }),
      /^Operation cannot be fulfilled on configmaps "kept": the object has been modified/,
      { name, kind: 'configmaps' },
    ],
    [
      'of what is invalid, with all causes',
      422,
      'Invalid',
      () =>
        core('createNamespacedPod', {
          ...here,
          body: { metadata: { name: 'A' }, spec: { containers: [{ ...container, name: '' }] } },
        }),
      /^Pod "A" is invalid: \[/,
      {
        name: 'A',
        kind: 'Pod',
        causes: expect.arrayContaining([
          expect.objectContaining({ field: 'metadata.name', reason: 'FieldValueInvalid' }),
          expect.objectContaining({ field: 'spec.containers[0].name', reason: 'FieldValueRequired' }),
        ]),
      },
    ],
    [
      'of a body of the wrong kind',
      400,
      'BadRequest',
      () =>
        core('createNamespacedConfigMap', { ...here, body: { apiVersion: 'v1', kind: 'Pod', metadata: {} } }),
      /cannot be handled as a ConfigMap/,
      {},
    ],
    [
      'of a selector that nobody understands',
      400,
      'BadRequest',
      () => core('listNamespacedPod', { ...here, fieldSelector: 'spec.nothing=a' }),
      /field label not supported: spec\.nothing/,
      {},
    ],
    [
      'of what a quota does not allow',
      403,
      'Forbidden',
      () => core('createNamespacedSecret', { ...here, body: { metadata: { name } } }),
      /exceeded quota: kept, requested: count\/secrets=1, used: count\/secrets=0, limited: count\/secrets=0/,
      { name, kind: 'secrets' },
    ],
    [
      'of a namespace that is not there',
      404,
      'NotFound',
      () => core('createNamespacedConfigMap', { namespace: 'nowhere', body }),
      /^namespaces "nowhere" not found$/,
      { name: 'nowhere', kind: 'namespaces' },
    ],
    [
      'of a patch in a way that is not known',
      415,
      'UnsupportedMediaType',
      () =>
        core(
          'patchNamespacedConfigMap',
          { ...here, name, body: {} },
          setHeaderOptions('Content-Type', 'text/plain'),
        ),
      /^415: Unsupported Media Type: accepted media types include: application\/json-patch\+json, /,
      {},
    ],
    [
      'of a precondition that does not hold',
      409,
      'Conflict',
      () => core('deleteNamespacedConfigMap', { ...here, name, body: { preconditions: { uid: 'other' } } }),
      /ConfigMap "kept": the UID in the precondition \(other\) does not match the UID in record \(/,
      { name, kind: 'ConfigMap' },
    ],
  ];

  it.each(table)('%s have code %i and reason %s', async (_, code, reason, call, message, details) => {
    const failure = await failureOf(call());
    expect(failure).toMatchObject({
      code,
      status: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        code,
        reason,
        message: expect.stringMatching(message),
        ...(Object.keys(details).length ? { details } : {}),
      },
    });
  });
});
