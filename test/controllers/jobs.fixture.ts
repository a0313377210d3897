/**
 * Helpers for tests of jobs: a namespace per test, mirrors of it, jobs to create, and pods that end as a test
 * says.
 */
import { afterEach, beforeEach, expect } from 'vitest';
import { type Client, type Json, useCluster } from '../support/http.ts';
import { Mirror } from './mirror.ts';

export let api: Client;
export let namespace = '';
let count = 0;
const opened: Mirror[] = [];

export const core = (resource: string, name = '') =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;
export const jobs = (name = '') => `/apis/batch/v1/namespaces/${namespace}/jobs${name && `/${name}`}`;

/** A cluster for the tests of a file, and a namespace in it for each of them. */
export function useJobs(): void {
  // No scheduler: these tests set where pods run and how they end.
  api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector'] });
  beforeEach(async () => {
    namespace = `jobs-${++count}`;
    expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
  });
  afterEach(() => {
    for (const mirror of opened.splice(0)) mirror.close();
  });
}

export async function mirror(path: string): Promise<Mirror> {
  const made = await Mirror.open(api, path);
  opened.push(made);
  return made;
}

export const template = (spec: object = {}) => ({
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }], ...spec },
});

export async function makeJob(spec: object, name = 'work'): Promise<Json> {
  const reply = await api.post(jobs(), { metadata: { name }, spec: { template: template(), ...spec } });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

export async function setStatus(pod: Json, status: object): Promise<void> {
  const reply = await api.patch(`${core('pods', pod.metadata.name)}/status`, { status });
  expect(reply.status, reply.text).toBe(200);
}

/** The status of an ended pod, with a time long enough ago for the job's back-off to be over. */
export const ended = (phase: string, exitCode: number, finishedAt = '2026-01-02T03:04:05Z') => ({
  phase,
  containerStatuses: [
    {
      name: 'c',
      image: 'i:1',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, finishedAt } },
    },
  ],
});
export const succeed = (pod: Json) => setStatus(pod, ended('Succeeded', 0));
export const fail = (pod: Json, exitCode = 1) => setStatus(pod, ended('Failed', exitCode));

export const isOver = ({ status }: Json): boolean => ['Succeeded', 'Failed'].includes(status.phase);
export const active = (pods: Json[]): Json[] =>
  pods.filter((pod) => !isOver(pod) && !pod.metadata.deletionTimestamp);
export const conditions = ({ status }: Json): string[] =>
  (status.conditions ?? []).map((one: Json) => `${one.type}=${one.status} ${one.reason}`).sort();
export const isTrue = (type: string) => (job: Json) =>
  job.status.conditions?.some((one: Json) => one.type === type && one.status === 'True');
