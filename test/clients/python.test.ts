/** Proves that the official Python client works with a cluster; the calls are in `client.py`. */
import type { ChildProcess } from 'node:child_process';
import {
  AdmissionregistrationV1Api,
  AutoscalingV2Api,
  FlowcontrolApiserverV1Api,
  ResourceV1Api,
} from '@kubernetes/client-node';
import { beforeAll, expect, it } from 'vitest';
import { Following, withKubectl } from '../kubectl/kubectl.ts';
import { portServer } from '../streams/port-server.ts';
import { podOf, podsPath, shell, useRunningCluster } from '../streams/running.ts';
import { Client, housekeeping, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { homeOf, type LibraryKind, libraryKinds } from './library-kinds.ts';
import { outputOf, runPython } from './python.ts';

const describePython = describeWith('python3-kubernetes');

const run = (home: NodeJS.ProcessEnv, ...args: string[]): ChildProcess =>
  runPython('client.py', home, ...args);

interface Told {
  readonly name: string;
  readonly result?: Json;
  readonly error?: string;
}

/** The results of functions of the script. */
async function tell(home: NodeJS.ProcessEnv, given: object, ...names: string[]): Promise<Told[]> {
  const { stdout, stderr } = await outputOf(run(home, ...names), given);
  const lines = stdout.split('\n').slice(0, -1);
  expect(lines, stderr).toHaveLength(names.length);
  return lines.map((line) => JSON.parse(line));
}

function resultOf({ result, error }: Omit<Told, 'name'>): Json {
  if (error) throw new Error(error);
  return result;
}

describePython('the Python client', () => {
  /** No controller writes to the client's objects. The history is short enough for the client to exceed it. */
  const kubectl = withKubectl({
    controllers: housekeeping.filter((name) => name !== 'resourcequota'),
    history: { changesMax: 200 },
  });
  /** The library is older than these versions of groups, and than some kinds of versions that it has. */
  const newer: readonly LibraryKind['api'][] = [
    AdmissionregistrationV1Api,
    AutoscalingV2Api,
    FlowcontrolApiserverV1Api,
    ResourceV1Api,
  ];
  const newerKinds = ['CSIStorageCapacity', 'ServiceCIDR', 'VolumeAttributesClass'];
  /** `npm test` has each third: the client's code for kinds is generated, and the JavaScript client meets all. */
  const known = libraryKinds
    .filter(({ api, kind }) => !newer.includes(api) && !newerKinds.includes(kind))
    .filter((_, i) => isRelease || i % 3 === 0);
  const titleOf = ({ apiVersion, kind }: LibraryKind) => `${apiVersion} ${kind}`;
  let told: Told[];
  const result = (name: string): Json => resultOf(told.find((one) => one.name === name)!);

  beforeAll(async () => {
    const client = new Client(kubectl().cluster.url);
    for (const kind of known)
      if (kind.namespaced) await client.post('/api/v1/namespaces', { metadata: { name: homeOf(kind) } });
    const kinds = known.map((kind) => ({
      title: titleOf(kind),
      api: kind.api.name.replace(/^Object/, ''),
      kind: kind.kind,
      namespace: homeOf(kind),
      manifest: JSON.parse(
        JSON.stringify(kind.sample.manifest(homeOf(kind), 'NAME')).replace('"_default"', '"default"'),
      ),
      edit: kind.sample.edit,
    }));
    const names = ['kinds', 'objects', 'watches', 'dynamic_client', 'applies', 'yaml_files'];
    told = await tell(kubectl().environment, { kinds }, ...names);
  });

  it.each(known.map((kind) => [titleOf(kind), kind] as const))('does all it can with %s', (title, kind) => {
    expect(resultOf(result('kinds')[title])).toEqual({
      born: true,
      same: true,
      listed: ['python-a', 'python-b'],
      paged: [['python-a'], ['python-b'], null],
      ...(kind.namespaced ? { everywhere: ['python-b'] } : {}),
      json: kind.sample.edit.value,
      strategic: [['example.com/a'], ['example.com/a', 'example.com/b']],
      merge: [['example.com/c'], []],
      replaced: kind.sample.edit.value,
      late: 'Conflict',
      deleted: ['python-b'],
      left: [],
      missing: 404,
    });
  });

  it('has models, threads and failures', () => {
    const objects = result('objects');
    expect(objects).toMatchObject({
      image: 'registry.example/web:2',
      async: ['models'],
      renewed: true,
      deleted: 'Pod',
      missing: {
        status: 404,
        reason: 'Not Found',
        body: { reason: 'NotFound', details: { name: 'models', kind: 'pods' } },
      },
      invalid: { status: 422, reason: 'Unprocessable Entity', body: { reason: 'Invalid', code: 422 } },
      version: expect.stringMatching(/^v1\.\d+/),
    });
    expect(objects.groups).toEqual(expect.arrayContaining(['batch', 'autoscaling', 'networking.k8s.io']));
    expect(objects.resources).toEqual(expect.arrayContaining(['pods', 'pods/exec', 'configmaps']));
  });

  it('watches: for a time, until it is stopped, and not what is forgotten', () => {
    expect(result('watches')).toEqual({
      timed: [
        ['ADDED', 'watched', null],
        ['MODIFIED', 'watched', '1'],
        ['DELETED', 'watched', '1'],
      ],
      stopped: ['ADDED', 'MODIFIED', 'DELETED'],
      expired: [410, 'Expired'],
    });
  });

  it('has a dynamic form that finds out what there is', () => {
    expect(result('dynamic_client')).toMatchObject({
      created: { a: '1' },
      same: true,
      strategic: { a: '1', b: '2' },
      merge: { b: '2' },
      json: { b: '3' },
      replaced: { c: '4' },
      deleted: 'Success',
      events: ['ADDED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'],
      missing: [404, 'configmaps "dynamic" not found'],
      scale: ['Scale', 'autoscaling/v1', 'app=dynamic'],
      job: ['jobs', true, 'job'],
      short: 'ConfigMap',
      version: result('objects').version,
      kinds: expect.arrayContaining(['ConfigMap', 'Namespace', 'Pod']),
    });
  });

  it('applies, and gets to know of conflicts', () => {
    expect(result('applies')).toEqual({
      first: { a: '1' },
      conflict: [409, 'Apply failed with 1 conflict: conflict with "alice": .data.a'],
      forced: { a: '2' },
      owners: [['bob', 'Apply']],
    });
  });

  it('makes what is in a file', () => {
    expect(result('yaml_files')).toEqual({
      made: [
        ['Namespace', null, 'by-yaml'],
        ['ConfigMap', 'by-yaml', 'a'],
        ['Service', 'by-yaml', 'b'],
        ['Job', 'by-yaml', 'c'],
      ],
      again: [409, 409, 409, 409],
    });
  });

  it('elects a leader, and another when that one is gone', async () => {
    const names = ['one', 'two'];
    const candidates = names.map((name) => new Following(run(kubectl().environment, 'candidate', name)));
    const client = new Client(kubectl().cluster.url);
    const holder = async () => {
      const { body } = await client.get('/api/v1/namespaces/default/configmaps/python-leader');
      return JSON.parse(body.metadata.annotations['control-plane.alpha.kubernetes.io/leader']).holderIdentity;
    };
    try {
      const leading = candidates.map((candidate, i) => candidate.until(/^leads$/m).then(() => i));
      const first = await Promise.race(leading);
      expect(await holder()).toBe(names[first]);
      await candidates[first]!.stop();
      const second = await leading[1 - first]!;
      expect(await holder()).toBe(names[second]);
    } finally {
      for (const candidate of candidates) await candidate.stop();
    }
  });
});

describePython('the Python client, in running pods,', () => {
  const cluster = useRunningCluster();

  it('executes, attaches, forwards and follows', async () => {
    const talk = 'echo begins; while read -r word; do echo "heard $word"; done';
    const never = { restartPolicy: 'Never' };
    await Promise.all([
      cluster.run(podOf('server', portServer())),
      cluster.run(podOf('talker', shell(talk, { stdin: true }), never)),
    ]);
    const log = await cluster.client.get(`${podsPath}/server/log?follow=true&limitBytes=10`);
    const given = { pod: 'server', talker: 'talker', port: Number(/^port (\d+)/.exec(log.text)![1]) };
    const [streams] = await tell(cluster.kubectl.environment, given, 'streams');
    expect(resultOf(streams!)).toEqual({
      output: ['err', 'out'],
      failed: [7, 'no\n'],
      shell: ['heard something', 3],
      attached: 'heard hello',
      lines: ['begins', 'heard hello'],
      wire: 'over the wire',
      wire_error: null,
      log: 'heard hello\n',
    });
  });
});
